//! Steady state: data that stays in caches is there before measuring begins, and all threads are measured over the same operations.
//!
//! The caches hold the resident data when the run begins, each thread's share of it ([`resident_lines`]). A thread then runs its warm-up
//! operations and waits for the others. The machine begins to measure when the last thread has done its warm-up operations; nobody has
//! done more of them, so every thread is measured over exactly the operations asked for. Without warm-up operations the caches are empty
//! and nobody waits: a cold run.

use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, HwThread, LineAddr, Mem, Pm, Program, resident, run_thread};

/// The hottest of the program's resident data, as much as a cache of so many bytes holds, dealt out to the threads; the hottest line is
/// the last.
pub fn resident_lines<P: Program>(program: &P, threads: u32, cache: u64) -> Vec<(HwThread, LineAddr)> {
    let lines = resident(&program.resident(), cache, 0, 1);
    let hotter = (0..lines.len()).rev();
    let thread = |i: usize| HwThread((i % threads as usize) as u8);
    hotter.map(thread).zip(lines).collect()
}

/// How one thread comes to the measured part.
#[derive(Clone, Debug)]
pub struct WarmUp {
    /// This thread, of so many.
    pub thread: u32,
    /// All threads.
    pub threads: u32,
    /// Operations before the measured ones.
    pub ops: u32,
    /// Locks behind the program's volatile memory: one a thread, held until it arrives, and one that holds back the rest.
    locks: Addr,
}

impl WarmUp {
    /// Runs `ops` operations. Volatile memory from `free` on belongs to nobody.
    pub fn new((thread, threads): (u32, u32), ops: u32, free: u64) -> WarmUp {
        WarmUp {
            thread,
            threads,
            ops,
            locks: Addr(free.next_multiple_of(LINE_BYTES)),
        }
    }
    fn lock<D: Copy + Default>(&self, i: u32) -> At<D> {
        At::new(Addr(self.locks.0 + u64::from(i) * LINE_BYTES))
    }
    /// Runs operations `0..ops` of the thread, warm-up and measured.
    pub fn run<P: Program, M: Mem>(&self, program: &P, pm: &mut Pm<'_, M>, ops: u32) {
        if self.ops > 0 {
            pm.m.lock(self.lock(self.thread));
            run_thread(program, pm, self.thread, 0, self.ops);
            self.wait_for_all(pm.m);
        }
        run_thread(program, pm, self.thread, self.ops, ops);
    }
    /// Thread 0 waits for every other's lock; the others wait for that of thread 0. Waiting on locks costs no events.
    fn wait_for_all<M: Mem>(&self, m: &mut M) {
        if self.thread == 0 {
            for other in 1..self.threads {
                m.lock(self.lock(other));
                m.unlock(self.lock(other));
            }
            m.unlock(self.lock(0));
        } else {
            m.unlock(self.lock(self.thread));
            m.lock(self.lock(0));
            m.unlock(self.lock(0));
        }
    }
}
