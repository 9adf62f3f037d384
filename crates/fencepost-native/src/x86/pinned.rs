//! Threads on processors of their own, and where they meet.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::atomic::{AtomicU32, Ordering};

/// The processors this process may use.
pub fn cpus() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|c| set.is_set(*c)).collect()
}

/// Keeps the calling thread on one of `cpus`, in turn. A kernel that refuses costs precision, nothing else.
pub fn pin(cpus: &[usize], thread: u32) {
    if let Some(cpu) = cpus.get(thread as usize % cpus.len().max(1)) {
        let mut set = CpuSet::new();
        set.set(*cpu);
        let _ = sched_setaffinity(None, &set);
    }
}

/// Runs `body` on so many threads; what each returned.
pub fn on_threads<T: Send>(threads: u32, body: &(dyn Fn(u32) -> T + Sync)) -> Vec<T> {
    std::thread::scope(|s| {
        let handles: Vec<_> = (0..threads).map(|t| s.spawn(move || body(t))).collect();
        let joined = handles.into_iter().map(|h| h.join());
        joined
            .map(|r| r.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Where threads wait for one another. Spins, so that all leave at once.
#[derive(Debug)]
pub struct Meeting {
    threads: u32,
    arrived: AtomicU32,
}
impl Meeting {
    /// For so many threads.
    pub fn new(threads: u32) -> Meeting {
        Meeting {
            threads,
            arrived: AtomicU32::new(0),
        }
    }
    /// Returns when all threads have called it as often as this one, `times`, counted from 1.
    pub fn wait(&self, times: u32) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let mut spins = 0u32;
        while self.arrived.load(Ordering::Acquire) < times * self.threads {
            spins += 1;
            match spins % 256 {
                0 => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }
}
