//! The loop by hand: a swap of two lines under two locks, each word stored behind an undo record. It shares no code with the programs.

use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries of the array, and locks striped over them: as `sps` has them.
pub(crate) const ENTRIES: u64 = 10_000;
pub(crate) const LOCKS: u64 = 512;

/// What the loop works on.
pub(crate) struct Memory {
    /// A line for the commit word, then sixteen records of four words.
    pub log: *mut u64,
    pub cells: *mut [u64; 8],
    pub locks: *mut [AtomicU64; 8],
    /// Of the newest transaction.
    pub seq: u64,
}

#[inline(always)]
unsafe fn stream(at: *mut u64, v: u64) {
    // SAFETY: the caller's word is valid and aligned.
    unsafe { asm!("movnti qword ptr [{}], {}", in(reg) at, in(reg) v, options(nostack, preserves_flags)) }
}
#[inline(always)]
unsafe fn write_back(at: *const u64) {
    // SAFETY: the caller's address is valid, and the CPU has the instruction.
    unsafe { asm!("clwb byte ptr [{}]", in(reg) at, options(nostack, preserves_flags)) }
}
#[inline(always)]
fn fence() {
    // SAFETY: part of x86-64.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) }
}
#[inline(always)]
fn acquire(lock: &AtomicU64) {
    while lock.swap(1, Ordering::Acquire) != 0 {
        std::hint::spin_loop();
    }
}
#[inline(always)]
fn fold(check: u64, word: u64) -> u64 {
    (check ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Memory {
    /// The sum of all words: swaps do not change it.
    ///
    /// # Safety
    /// The entries are valid.
    pub(crate) unsafe fn sum(&self) -> u64 {
        // SAFETY: as the caller promises.
        let entry = |i| unsafe { self.cells.add(i).read_volatile() };
        (0..ENTRIES as usize).map(|i| entry(i).iter().sum::<u64>()).sum()
    }
    /// One swap; whether a fence stands between each record and its store.
    ///
    /// # Safety
    /// The log, all entries and all locks are valid and aligned to lines, both numbers are those of entries, and the CPU has `clwb`.
    #[inline(always)]
    pub(crate) unsafe fn swap<const FENCED: bool>(&mut self, (a, b): (u64, u64)) {
        let (first, second) = ((a % LOCKS) as usize, (b % LOCKS) as usize);
        let (first, second) = (first.min(second), first.max(second));
        self.seq += 1;
        // SAFETY: as the caller promises.
        unsafe {
            let locks = [&(*self.locks.add(first))[0], &(*self.locks.add(second))[0]];
            acquire(locks[0]);
            if second != first {
                acquire(locks[1]);
            }
            let x = self.cells.add(a as usize).cast::<u64>();
            let y = self.cells.add(b as usize).cast::<u64>();
            let mut record = self.log.add(8);
            let (mut of_x, mut of_y) = ([0; 8], [0; 8]);
            for i in 0..8 {
                of_x[i] = x.add(i).read_volatile();
                of_y[i] = y.add(i).read_volatile();
            }
            for (line, values) in [(x, of_y), (y, of_x)] {
                for (i, v) in values.into_iter().enumerate() {
                    let at = line.add(i);
                    let old = at.read_volatile();
                    stream(record, at as u64);
                    stream(record.add(1), old);
                    stream(record.add(2), self.seq << 32 | fold(fold(0, at as u64), old) >> 32);
                    if FENCED {
                        fence();
                    }
                    at.write_volatile(v);
                    record = record.add(4);
                }
            }
            write_back(x);
            write_back(y);
            fence();
            stream(self.log, self.seq);
            fence();
            locks[0].store(0, Ordering::Release);
            if second != first {
                locks[1].store(0, Ordering::Release);
            }
        }
    }
}
