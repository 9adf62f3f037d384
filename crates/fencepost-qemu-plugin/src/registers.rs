//! Guest registers in callbacks.
//!
//! A flush has no memory callback: QEMU translates it to nothing, so its address must be computed from registers. QEMU 7.2
//! keeps computed registers in host registers across a plugin callback, because the callback's helper says that it reads
//! none. [`make_readable`] changes that word in two entries of QEMU's table of helpers, in this process only, and refuses anything it
//! does not recognise.

use crate::qemu;
use fencepost_record::{Operand, Register};
use std::ffi::{c_int, c_void};

/// Names of the helpers behind execution and memory callbacks.
const HELPERS: [&[u8]; 2] = [b"\0plugin_vcpu_udata_cb\0", b"\0plugin_vcpu_mem_cb\0"];
/// Its flags in 7.2: it reads and writes no globals (`TCG_CALL_NO_RWG`).
const READS_NOTHING: u32 = 1;
/// It writes no globals (`TCG_CALL_NO_WG`), so what it may read is written back before.
const READS: u32 = 2;

/// A part of QEMU's own image in memory.
struct Part {
    from: usize,
    to: usize,
    readable: bool,
    writable: bool,
}

/// Makes callbacks see the registers as they are.
///
/// # Errors
/// Why this QEMU is not one that we know.
pub(crate) fn make_readable() -> Result<(), String> {
    // SAFETY: as in `own_cpu`.
    if unsafe { qemu::dlsym(std::ptr::null_mut(), c"thread_cpu".as_ptr()) }.is_null() {
        return Err("QEMU's variable with a thread's vCPU was not found".into());
    }
    let parts = parts()?;
    HELPERS.iter().try_for_each(|name| patch(&parts, name))
}
/// Changes what one helper says of itself.
fn patch(parts: &[Part], helper: &[u8]) -> Result<(), String> {
    let name = find_name(parts, helper).ok_or("QEMU's helper for callbacks was not found")?;
    let entry = find_entry(parts, name).ok_or("QEMU's table of helpers was not found")?;
    let flags = (entry + 8) as *mut u32;
    // SAFETY: `entry` is an aligned pointer-sized field within a readable part, and the flags follow it in the same struct.
    let found = unsafe { flags.read() };
    match found {
        READS => return Ok(()),
        READS_NOTHING => {}
        other => {
            return Err(format!("QEMU's helper for callbacks has the unknown flags {other}"));
        }
    }
    let page = flags as usize & !0xfff;
    const READ_WRITE: c_int = 3;
    // SAFETY: the page belongs to QEMU's data; giving it write permission takes nothing away, and the word is only read
    // by the translator, which runs after installation.
    unsafe {
        if qemu::mprotect(page as *mut c_void, 0x2000, READ_WRITE) != 0 {
            return Err("QEMU's table of helpers cannot be written".into());
        }
        flags.write(READS);
    }
    Ok(())
}

/// The parts of the running executable, from `/proc/self/maps`.
fn parts() -> Result<Vec<Part>, String> {
    let own = std::fs::read_link("/proc/self/exe").map_err(|e| e.to_string())?;
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(|e| e.to_string())?;
    let mut parts: Vec<Part> = Vec::new();
    for line in maps.lines().filter(|l| l.ends_with(&*own.to_string_lossy())) {
        let (range, rest) = line.split_once(' ').ok_or("an odd line in /proc/self/maps")?;
        let (from, to) = range.split_once('-').ok_or("an odd line in /proc/self/maps")?;
        let number = |t: &str| usize::from_str_radix(t, 16).map_err(|e| e.to_string());
        parts.push(Part {
            from: number(from)?,
            to: number(to)?,
            readable: rest.starts_with('r'),
            writable: rest.as_bytes().get(1) == Some(&b'w'),
        });
    }
    Ok(parts)
}
fn bytes(part: &Part) -> &'static [u8] {
    // SAFETY: a readable part of the executable's image, which stays mapped as long as the process lives.
    unsafe { std::slice::from_raw_parts(part.from as *const u8, part.to - part.from) }
}
fn find_name(parts: &[Part], helper: &[u8]) -> Option<usize> {
    let mut readable = parts.iter().filter(|p| p.readable && !p.writable);
    readable.find_map(|p| {
        bytes(p)
            .windows(helper.len())
            .position(|w| w == helper)
            .map(|i| p.from + i + 1)
    })
}
fn find_entry(parts: &[Part], name: usize) -> Option<usize> {
    let wanted = name.to_ne_bytes();
    let mut readable = parts.iter().filter(|p| p.readable);
    readable.find_map(|p| {
        bytes(p)
            .chunks_exact(8)
            .position(|w| w == wanted)
            .map(|i| p.from + i * 8)
    })
}

/// The debugger's numbers of the registers, in the order of encodings (`rax rcx rdx rbx rsp rbp rsi rdi r8 ..`).
const DEBUGGER: [c_int; 16] = [0, 2, 3, 1, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// Instruction pointer, stack pointer and frame pointer of the vCPU whose callback runs. In the callback of a memory access
/// the first may be that of an earlier instruction.
pub(crate) fn frame() -> [u64; 3] {
    [16, 7, 6].map(numbered)
}
/// A guest register, in a callback.
fn read(register: Register) -> u64 {
    numbered(DEBUGGER[usize::from(register.0 & 15)])
}
/// The vCPU of this thread, from a variable of the emulator that each thread has: its list of all of them may lose one, and free it,
/// while it is walked.
fn own_cpu() -> *mut c_void {
    thread_local! {
        // SAFETY: a null handle asks in all libraries, and the name is a C string. Of a variable that each thread has, the address
        // is the calling thread's, as long as the thread lives.
        static CPU: *const *mut c_void =
            unsafe { qemu::dlsym(std::ptr::null_mut(), c"thread_cpu".as_ptr()) }.cast_const().cast();
    }
    // SAFETY: as said there; `make_readable` has refused an emulator without this variable.
    CPU.with(|cpu| unsafe { **cpu })
}
/// A register by the debugger's number.
fn numbered(register: c_int) -> u64 {
    thread_local! {
        // SAFETY: glib's allocator has no precondition.
        static BUFFER: *mut qemu::ByteArray = unsafe { qemu::g_byte_array_new() };
    }
    let cpu = own_cpu();
    if cpu.is_null() {
        return 0;
    }
    BUFFER.with(|buffer| {
        // SAFETY: the vCPU is the one whose callback runs, so it exists and does not change meanwhile; the buffer is this
        // thread's own, and holds as many bytes as it says.
        unsafe {
            qemu::g_byte_array_set_size(*buffer, 0);
            qemu::x86_cpu_gdb_read_register(cpu, *buffer, register);
            match (**buffer).length {
                8 => (**buffer).data.cast::<u64>().read_unaligned(),
                _ => 0,
            }
        }
    })
}

/// The address of an operand of an instruction that ends at `next`.
pub(crate) fn address(operand: &Operand, next: u64) -> u64 {
    let base = operand.base.map_or(0, read);
    let index = operand.index.map_or(0, |(r, scale)| read(r).wrapping_mul(scale.into()));
    let start = if operand.from_next { next } else { 0 };
    base.wrapping_add(index)
        .wrapping_add(start)
        .wrapping_add(operand.displacement as u64)
}

/// What a block of instructions is translated for: the vCPU, and the mode that it is in.
pub(crate) struct Flags {
    /// The vCPU of this thread.
    pub cpu: *mut c_void,
    /// QEMU's `hflags`, and what of the flags of x86 counts as mode.
    pub flags: u32,
}

/// The mode of this thread's vCPU, in a system call of it. `None` if it is not found where QEMU 7.2 has it.
pub(crate) fn flags() -> Option<Flags> {
    /// Bytes of a vCPU in which its registers begin.
    const SEARCHED: usize = 4096;
    /// Words from the first register to `hflags`: 16 registers, instruction pointer, flags, three of the lazy flags, one for two halves.
    const MODE: usize = 22;
    /// Protection ring 3, long mode, 64-bit code.
    const USER: u32 = 3 | 1 << 14 | 1 << 15;
    /// `IOPL`, `TF`, `RF`, `VM`, `AC`.
    const MODES: u32 = 0x3000 | 0x100 | 0x1_0000 | 0x2_0000 | 0x4_0000;
    let cpu = own_cpu();
    let wanted: Vec<u64> = DEBUGGER.into_iter().chain([16]).map(numbered).collect();
    // SAFETY: a vCPU has far more bytes than are searched, and lives as long as its thread.
    let words = unsafe { std::slice::from_raw_parts(cpu.cast_const().cast::<u64>(), SEARCHED / 8) };
    let at = words.windows(wanted.len()).position(|w| w == wanted)?;
    let (eflags, mode) = (*words.get(at + 17)? as u32, *words.get(at + MODE)? as u32);
    let known = mode & USER == USER && wanted.iter().any(|r| *r != 0);
    known.then_some(Flags {
        cpu,
        flags: mode | eflags & MODES,
    })
}
