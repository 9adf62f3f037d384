//! Code that copies of a process have translated is translated in the process itself, so that the next copy has it.

use crate::guest;
use crate::qemu;
use crate::registers::{self, Flags};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Blocks of instructions at most: the emulator must not run out of space for them here.
const MOST: usize = 1 << 15;

/// Addresses of blocks, in memory that all copies share.
struct Blocks {
    count: AtomicU64,
    at: [AtomicU64; MOST],
}

/// What copies have translated.
pub(crate) struct Warm {
    blocks: &'static Blocks,
    known: Mutex<(usize, HashSet<u64>)>,
}

impl Warm {
    /// Nothing yet.
    pub(crate) fn new() -> Result<Warm, String> {
        // SAFETY: a new mapping that is never unmapped; every field is an atomic, for which zeroes are a value.
        let blocks = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                size_of::<Blocks>(),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )
            .map(|at| &*at.cast::<Blocks>())
        };
        Ok(Warm {
            blocks: blocks.map_err(|e| e.to_string())?,
            known: Mutex::default(),
        })
    }
    /// Before the first copy. With the first shared mapping the emulator translates everything anew, for several threads; every copy
    /// maps its image.
    pub(crate) fn begin(&self) {
        const PAGE: u64 = 4096;
        /// `PROT_READ`; `MAP_SHARED` and `MAP_ANONYMOUS`.
        const MAPPING: [i32; 2] = [1, 1 | 0x20];
        // SAFETY: as the emulator maps for the program, in a system call of its only thread.
        unsafe {
            let at = qemu::target_mmap(0, PAGE, MAPPING[0], MAPPING[1], -1, 0);
            if at > 0 {
                let _ = qemu::target_munmap(at as u64, PAGE);
            }
            // It only plans to throw away what it has translated: else each copy would, first of all.
            if let Some(Flags { cpu, .. }) = registers::flags() {
                qemu::process_queued_cpu_work(cpu);
            }
        }
    }
    /// A copy translates a block.
    pub(crate) fn note(&self, at: u64) {
        let number = self.blocks.count.fetch_add(1, Relaxed) as usize;
        if let Some(place) = self.blocks.at.get(number) {
            place.store(at, Relaxed);
        }
    }
    /// Translates what the last copy had to translate.
    pub(crate) fn translate(&self) {
        let Ok(mut known) = self.known.lock() else {
            return;
        };
        let end = (self.blocks.count.load(Relaxed) as usize).min(MOST);
        let Some(Flags { cpu, flags }) = registers::flags() else {
            return;
        };
        for place in &self.blocks.at[known.0.min(end)..end] {
            let at = place.load(Relaxed);
            // Code that the copy has mapped itself is not there.
            if known.1.insert(at) && guest::is_readable(at, at + 1) {
                // SAFETY: in a system call of the only thread, on code that is there; the lock is the one that translation needs.
                unsafe {
                    qemu::mmap_lock();
                    qemu::tb_gen_code(cpu, at, 0, flags, qemu::curr_cflags(cpu) as i32);
                    qemu::mmap_unlock();
                }
            }
        }
        known.0 = end;
    }
}
