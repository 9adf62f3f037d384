//! What the processes of a recorded program share: whose turn it is, and which files were touched.

#![allow(unsafe_code, reason = "memory that processes share")]

use rustix::fs::{Mode, OFlags, ftruncate, open};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Threads that may wait for a turn at once.
pub(super) const SLOTS: usize = 1024;
/// Persistent files that may be named.
pub const MOST_FILES: usize = 64;

/// States of a slot.
pub(super) const IDLE: u32 = 0;
pub(super) const WAITING: u32 = 1;
pub(super) const GRANTED: u32 = 2;

/// Recording has ended because it cannot be written.
pub const FAILED: u32 = 2;

/// State in memory that every process of the recorded program maps. All zero is the state at the start.
#[repr(C)]
#[derive(Debug)]
pub struct Shared {
    /// Thread that is inside the few instructions that change the turn; 0 for nobody.
    pub(super) lock: AtomicU32,
    /// Slot of the thread whose turn it is, from 1; 0 for nobody.
    pub(super) holder: AtomicU32,
    /// Threads that wait.
    pub(super) waiting: AtomicU32,
    /// The thread that gave its turn back to wait for something else; 0 once it is known to be asleep.
    pub(super) leaver: AtomicU32,
    /// Events so far: an event's number is its place in the one order of all of them.
    pub events: AtomicU64,
    /// Threads that have recorded something, or processes' threads that may.
    pub threads: AtomicU32,
    /// Whether there was ever more than one thread.
    pub several: AtomicU32,
    /// Whether a persistent file was touched: nothing is of interest before.
    pub begun: AtomicU32,
    /// Whether the region of interest was entered, where there is one.
    pub inside: AtomicU32,
    /// Whether recording has ended before the program did: 1 by something that is not followed, [`FAILED`] by an error.
    pub ended: AtomicU32,
    /// Processes that joined.
    pub processes: AtomicU32,
    /// Whether a process was ever forked: it may do something before it joins.
    pub forked: AtomicU32,
    pub(super) tickets: AtomicU64,
    pub(super) random: AtomicU64,
    /// Steps that threads have taken, in whole turns.
    pub(super) steps: AtomicU64,
    /// Times that a thread has made something durable.
    pub(super) persists: AtomicU64,
    /// Times that a thread has stood back.
    pub(super) stood_back: AtomicU64,
    /// The persistent files, in the order in which they were named.
    pub files: [SharedFile; MOST_FILES],
    pub(super) slots: [Slot; SLOTS],
}

/// What is known of a persistent file.
#[repr(C)]
#[derive(Debug)]
pub struct SharedFile {
    /// Device and inode; 0 while it is not known.
    pub device: AtomicU64,
    /// As `device`.
    pub inode: AtomicU64,
    /// Whether its content was taken down: from then on everything counts.
    pub touched: AtomicU32,
    /// Its largest length so far.
    pub length: AtomicU64,
    /// The length from which on every other one is an event.
    pub first_length: AtomicU64,
    /// Whether it was stored to, cut or mapped: what length it got before that is how it is laid out.
    pub laid_out: AtomicU32,
    /// Whether its length has changed and was not made durable.
    pub length_pending: AtomicU32,
}

/// A thread that takes turns.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Slot {
    /// Its number in the system; 0 for a slot that is free.
    pub(super) thread: AtomicU32,
    /// Its process.
    pub(super) process: AtomicU32,
    pub(super) state: AtomicU32,
    pub(super) ticket: AtomicU64,
    /// It stands back until there were so many steps, 0 if it does not;
    pub(super) until_step: AtomicU64,
    /// or until there were so many persists.
    pub(super) until_persist: AtomicU64,
}

impl Shared {
    /// Maps the state in this file, which is made if it is not there. It stays mapped.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<&'static Shared> {
        let file = open(path, OFlags::RDWR | OFlags::CREATE, Mode::RUSR | Mode::WUSR)?;
        let length = size_of::<Shared>();
        ftruncate(&file, length as u64)?;
        // SAFETY: a new mapping of the whole file, which is never unmapped; every field is an atomic, for which any bytes are
        // a value, and the mapping is aligned to pages.
        unsafe {
            let at = mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )?;
            Ok(&*at.cast::<Shared>())
        }
    }
}
