//! What QEMU 7.2 offers to plugins (API version 1), declared here; and three of its own symbols.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// Plugin, instruction, block and vCPU handles are QEMU's business.
pub(crate) type Id = u64;
/// A block of instructions being translated.
pub(crate) type Block = c_void;
/// An instruction being translated.
pub(crate) type Insn = c_void;

/// Memory callback: vCPU, what kind of access, address, what was registered.
pub(crate) type OnMemory = extern "C" fn(c_uint, c_uint, u64, *mut c_void);
/// Execution callback: vCPU, what was registered.
pub(crate) type OnExec = extern "C" fn(c_uint, *mut c_void);
/// System call callback: plugin, vCPU, number, eight arguments.
pub(crate) type OnSyscall = extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
/// System call return callback: plugin, vCPU, number, result.
pub(crate) type OnSyscallReturn = extern "C" fn(Id, c_uint, i64, i64);

/// Loads and stores.
pub(crate) const READ_WRITE: c_int = 3;
/// The callback wants to read registers. 7.2 takes no notice; see [`crate::registers`].
pub(crate) const READ_REGISTERS: c_int = 1;
/// Add to a counter.
pub(crate) const ADD: c_int = 0;

unsafe extern "C" {
    pub(crate) fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, f: extern "C" fn(Id, *mut Block));
    pub(crate) fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub(crate) fn qemu_plugin_tb_get_insn(block: *const Block, i: usize) -> *mut Insn;
    pub(crate) fn qemu_plugin_insn_data(insn: *const Insn) -> *const u8;
    pub(crate) fn qemu_plugin_insn_size(insn: *const Insn) -> usize;
    pub(crate) fn qemu_plugin_insn_vaddr(insn: *const Insn) -> u64;
    pub(crate) fn qemu_plugin_register_vcpu_mem_cb(
        insn: *mut Insn,
        f: OnMemory,
        flags: c_int,
        rw: c_int,
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_register_vcpu_insn_exec_cb(insn: *mut Insn, f: OnExec, flags: c_int, data: *mut c_void);
    pub(crate) fn qemu_plugin_register_vcpu_tb_exec_cb(block: *mut Block, f: OnExec, flags: c_int, data: *mut c_void);
    pub(crate) fn qemu_plugin_register_vcpu_tb_exec_inline(block: *mut Block, op: c_int, counter: *mut u64, n: u64);
    pub(crate) fn qemu_plugin_mem_size_shift(info: c_uint) -> c_uint;
    pub(crate) fn qemu_plugin_mem_is_store(info: c_uint) -> bool;
    pub(crate) fn qemu_plugin_register_vcpu_syscall_cb(id: Id, f: OnSyscall);
    pub(crate) fn qemu_plugin_register_vcpu_syscall_ret_cb(id: Id, f: OnSyscallReturn);
    pub(crate) fn qemu_plugin_register_atexit_cb(id: Id, f: extern "C" fn(Id, *mut c_void), data: *mut c_void);
    pub(crate) fn qemu_plugin_start_code() -> u64;
    pub(crate) fn qemu_plugin_path_to_binary() -> *const c_char;

    /// Where guest address 0 lies in this process.
    pub(crate) static guest_base: u64;
    pub(crate) fn page_get_flags(address: u64) -> c_int;
    pub(crate) fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    pub(crate) fn x86_cpu_gdb_read_register(cpu: *mut c_void, buffer: *mut ByteArray, register: c_int) -> c_int;
    pub(crate) fn fork_start();
    pub(crate) fn fork_end(child: c_int);
    pub(crate) fn target_mmap(start: u64, length: u64, access: c_int, flags: c_int, fd: c_int, offset: u64) -> i64;
    pub(crate) fn target_munmap(start: u64, length: u64) -> c_int;
    pub(crate) fn process_queued_cpu_work(cpu: *mut c_void);
    pub(crate) fn mmap_lock();
    pub(crate) fn mmap_unlock();
    pub(crate) fn curr_cflags(cpu: *mut c_void) -> u32;
    pub(crate) fn tb_gen_code(cpu: *mut c_void, pc: u64, base: u64, flags: u32, cflags: c_int) -> *mut c_void;
    pub(crate) fn g_byte_array_new() -> *mut ByteArray;
    pub(crate) fn g_byte_array_set_size(buffer: *mut ByteArray, n: c_uint) -> *mut ByteArray;
    pub(crate) fn fork() -> c_int;
    pub(crate) fn _exit(status: c_int) -> !;
    pub(crate) fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int;
}

/// glib's array of bytes.
#[repr(C)]
pub(crate) struct ByteArray {
    /// The bytes.
    pub data: *const u8,
    /// How many.
    pub length: c_uint,
}
