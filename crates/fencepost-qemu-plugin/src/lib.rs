//! A plugin for `qemu-x86_64` 7.2 that records what an unmodified program does to a persistent file, or notes what a recovery
//! reads of its image.
//!
//! ```text
//! qemu-x86_64 -cpu max -plugin libfencepost_qemu_plugin.so,recording=/tmp/folder PROGRAM ARGS
//! ```
//!
//! The folder of a recording holds `options` (see `options::Options`); each process of the program leaves a journal in it.
//! Every store, non-temporal store, atomic, flush and fence that concerns a shared mapping of a persistent file becomes an event,
//! with the place of the instruction, and so do system calls that write such files or make them durable. Children and the
//! programs that they execute are recorded, too. One thread of all of them runs at a time and hands on after some memory
//! accesses and in system calls, so the events are in one total order that the machine really executed. Loads of
//! persistent memory, and atomics on volatile memory, are recorded once there are several threads: contracts need to know
//! where they met; so are plain accesses to words that atomics have accessed, and plain loads that see another thread's plain store
//! after which their thread does not come already, and accesses to volatile memory that processes share.
//!
//! With `image=FILE,reads=FILE` instead (`offset=N,image=FILE` for each file of several) it notes which bytes of the image the program reads before it
//! has stored them itself; with `input=FILE,output=FILE,folder=FOLDER` added it does so for one image after another, see `served.rs`.
//!
//! This crate, like QEMU's own plugin interface, only declares what it uses; it contains no code of QEMU.

#![allow(unsafe_code, reason = "an interface of C")]

mod accesses;
mod among;
mod calls;
mod code;
mod contents;
mod executed;
mod files;
mod flags;
mod gap;
mod guest;
mod guest_recorder;
mod handed;
mod marks;
mod met;
mod observer;
mod options;
mod peers;
mod place;
mod qemu;
mod recent;
mod registers;
mod served;
mod threads;
mod turns;
mod unwind;
mod waiting;
mod warm;
mod warmth;
mod work;

use fencepost_record::{Class, classify};
use guest_recorder::Recorder;
use marks::Mark;
use observer::Observer;
use place::Place;
use served::Served;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::sync::OnceLock;
use work::EXECUTED;

/// Version of the plugin interface.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

static RECORDER: OnceLock<Recorder> = OnceLock::new();
static OBSERVER: OnceLock<Observer> = OnceLock::new();
/// Found at the first translation, when the program is loaded and has one thread.
static MARKS: OnceLock<HashMap<u64, Mark>> = OnceLock::new();

/// Called by QEMU when it loads the plugin.
///
/// # Safety
/// `argv` must point to `argc` C strings, as QEMU passes them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    _: *const c_void,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: as promised by the caller.
    let arguments = (0..argc as usize).map(|i| unsafe { CStr::from_ptr(*argv.add(i)) }.to_string_lossy().into_owned());
    if let Err(why) = start(&arguments.collect::<Vec<_>>()) {
        eprintln!("fencepost: cannot record: {why}");
        return 1;
    }
    // SAFETY: the callbacks have the types that the interface asks for, and live as long as the process.
    unsafe {
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
        qemu::qemu_plugin_register_vcpu_syscall_cb(id, syscall);
        qemu::qemu_plugin_register_vcpu_syscall_ret_cb(id, syscall_returned);
        qemu::qemu_plugin_register_atexit_cb(id, at_exit, std::ptr::null_mut());
    }
    0
}

fn start(arguments: &[String]) -> Result<(), String> {
    let (mut recording, mut images, mut reads, mut offset) = (None, Vec::new(), None, 0);
    let mut served = [None; 3];
    for argument in arguments {
        match argument.split_once('=') {
            Some(("recording", v)) => recording = Some(v),
            Some(("offset", v)) => offset = v.parse().map_err(|_| format!("offset={v} is no number"))?,
            Some(("image", v)) => images.push((offset, v)),
            Some(("reads", v)) => reads = Some(v),
            Some(("input", v)) => served[0] = Some(v),
            Some(("output", v)) => served[1] = Some(v),
            Some(("folder", v)) => served[2] = Some(v),
            _ => {
                return Err(format!(
                    "unknown argument `{argument}`; there are recording=, or image= and reads="
                ));
            }
        }
    }
    match (recording, images.as_slice(), reads) {
        (Some(folder), [], None) => {
            registers::make_readable()?;
            let _ = RECORDER.set(Recorder::join(Path::new(folder))?);
        }
        (None, [_, ..], Some(reads)) => {
            let served = match served {
                [Some(input), Some(output), Some(folder)] => Some(Served::new(input, output, folder)?),
                _ => None,
            };
            let _ = OBSERVER.set(Observer::new(&images, reads, served)?);
        }
        _ => return Err("recording=FOLDER is needed, or image=FILE and reads=FILE".into()),
    }
    Ok(())
}

extern "C" fn translate(_: u64, block: *mut c_void) {
    // SAFETY: QEMU hands out instructions of this block, which live while it is translated; places are never freed, as
    // translated code refers to them.
    unsafe {
        let count = qemu::qemu_plugin_tb_n_insns(block);
        if let Some(observer) = OBSERVER.get() {
            observer.translated(qemu::qemu_plugin_insn_vaddr(qemu::qemu_plugin_tb_get_insn(block, 0)));
            for i in 0..count {
                let insn = qemu::qemu_plugin_tb_get_insn(block, i);
                let size = qemu::qemu_plugin_insn_size(insn);
                let code = std::slice::from_raw_parts(qemu::qemu_plugin_insn_data(insn), size);
                let callback: qemu::OnMemory = match classify(code) {
                    Class::Atomic => observed_atomic,
                    _ => observed,
                };
                qemu::qemu_plugin_register_vcpu_mem_cb(insn, callback, 0, qemu::READ_WRITE, std::ptr::null_mut());
            }
            return;
        }
        if RECORDER.get().is_some_and(|r| r.options.region_gap.is_some()) {
            qemu::qemu_plugin_register_vcpu_tb_exec_cb(block, entered, 0, std::ptr::null_mut());
        }
        qemu::qemu_plugin_register_vcpu_tb_exec_inline(block, qemu::ADD, EXECUTED.as_ptr(), count as u64);
        for i in 0..count {
            let insn = qemu::qemu_plugin_tb_get_insn(block, i);
            let size = qemu::qemu_plugin_insn_size(insn);
            let code = std::slice::from_raw_parts(qemu::qemu_plugin_insn_data(insn), size);
            let at = qemu::qemu_plugin_insn_vaddr(insn);
            match marked_at(at) {
                Some(Mark::Region) => qemu::qemu_plugin_register_vcpu_insn_exec_cb(insn, region, 0, at as *mut c_void),
                Some(Mark::Acknowledge) => {
                    qemu::qemu_plugin_register_vcpu_insn_exec_cb(insn, acknowledged, 0, at as *mut c_void);
                }
                None => {}
            }
            let class = classify(code);
            if class == Class::Stack {
                continue;
            }
            let place = Box::leak(Box::new(Place {
                at,
                next: at + size as u64,
                class,
                name: OnceLock::new(),
            }));
            let data = std::ptr::from_mut(place).cast();
            match class {
                Class::Flush(..) | Class::Fence(_) => {
                    qemu::qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, qemu::READ_REGISTERS, data);
                }
                _ => qemu::qemu_plugin_register_vcpu_mem_cb(insn, accessed, 0, qemu::READ_WRITE, data),
            }
        }
    }
}
fn marked_at(at: u64) -> Option<Mark> {
    let marks = MARKS.get_or_init(|| {
        let recorder = RECORDER.get();
        recorder
            .map(|r| {
                r.loaded();
                marks::find(r)
            })
            .unwrap_or_default()
    });
    marks.get(&at).copied()
}
extern "C" fn entered(_: c_uint, _: *mut c_void) {
    if let Some(recorder) = RECORDER.get() {
        recorder.may_begin();
    }
}
extern "C" fn region(vcpu: c_uint, at: *mut c_void) {
    if let Some(recorder) = RECORDER.get() {
        recorder.marked(vcpu, Mark::Region, at as u64);
    }
}
extern "C" fn acknowledged(vcpu: c_uint, at: *mut c_void) {
    if let Some(recorder) = RECORDER.get() {
        recorder.marked(vcpu, Mark::Acknowledge, at as u64);
    }
}
extern "C" fn accessed(vcpu: c_uint, info: c_uint, address: u64, data: *mut c_void) {
    // SAFETY: `data` is a place that was leaked for this instruction.
    let place = unsafe { &*data.cast::<Place>() };
    // SAFETY: `info` is what QEMU passed.
    let (store, shift) = unsafe {
        (
            qemu::qemu_plugin_mem_is_store(info),
            qemu::qemu_plugin_mem_size_shift(info),
        )
    };
    if let Some(recorder) = RECORDER.get() {
        recorder.memory(vcpu, store, 1 << shift, address, place);
    }
}
extern "C" fn observed(_: c_uint, info: c_uint, address: u64, _: *mut c_void) {
    observe(info, address, false);
}
extern "C" fn observed_atomic(_: c_uint, info: c_uint, address: u64, _: *mut c_void) {
    observe(info, address, true);
}
fn observe(info: c_uint, address: u64, atomic: bool) {
    let Some(observer) = OBSERVER.get() else {
        return;
    };
    // Nearly all accesses are elsewhere.
    if !observer.may_be_image(address, address.saturating_add(64)) {
        return;
    }
    // SAFETY: `info` is what QEMU passed.
    let (store, shift) = unsafe {
        (
            qemu::qemu_plugin_mem_is_store(info),
            qemu::qemu_plugin_mem_size_shift(info),
        )
    };
    // An atomic that loads and stores may call back once, as a store.
    if store && atomic {
        observer.memory(false, 1 << shift, address);
    }
    observer.memory(store, 1 << shift, address);
}
extern "C" fn executed(vcpu: c_uint, data: *mut c_void) {
    // SAFETY: `data` is a place that was leaked for this instruction.
    let place = unsafe { &*data.cast::<Place>() };
    let Some(recorder) = RECORDER.get() else {
        return;
    };
    match &place.class {
        Class::Fence(name) => recorder.fence(vcpu, name, place),
        Class::Flush(name, operand) => recorder.flush(vcpu, name, operand, place),
        _ => {}
    }
}
extern "C" fn syscall(
    _: u64,
    vcpu: c_uint,
    number: i64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    f: u64,
    _: u64,
    _: u64,
) {
    if let Some(recorder) = RECORDER.get() {
        recorder.call(vcpu, number, [a, b, c, d, e, f]);
    }
    if let Some(observer) = OBSERVER.get() {
        observer.call(number, [a, b, c, d, e, f]);
    }
}
extern "C" fn syscall_returned(_: u64, vcpu: c_uint, number: i64, result: i64) {
    if let Some(recorder) = RECORDER.get() {
        recorder.call_returned(vcpu, number, result);
    }
    if let Some(observer) = OBSERVER.get() {
        observer.call_returned(number, result);
    }
}
extern "C" fn at_exit(_: u64, _: *mut c_void) {
    if let Some(recorder) = RECORDER.get() {
        recorder.tell(&format!("exited {}\n", std::process::id()));
        recorder.end();
    }
    if let Some(observer) = OBSERVER.get() {
        observer.end();
    }
}
