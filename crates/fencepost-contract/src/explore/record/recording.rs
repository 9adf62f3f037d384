//! What a recording leaves, and why there may be none.

use fencepost_kernel::{Addr, HwThread, Image, Trace};
use std::panic::Location;

/// One recorded execution.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What happened, in order.
    pub trace: Trace,
    /// Memory after the setup: durable before the first operation.
    pub initial: Image,
    /// Memory at the end, as the threads see it.
    pub memory: Image,
}

/// A thread that waits for ever: for a lock, or spinning on plain loads for a store that nobody will make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The thread.
    pub thread: HwThread,
    /// What it waits for: the lock word, or the word that it loads.
    pub lock: Addr,
    /// Whether it spins on loads.
    pub spins: bool,
    /// Who holds it, or wrote the word last, if a thread did.
    pub holder: Option<HwThread>,
    /// The line of the program that waits.
    pub source: &'static Location<'static>,
}

/// Why an execution could not be recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// All threads that have not finished wait for locks.
    #[error("no thread can go on: {}", .0.iter().map(describe).collect::<Vec<_>>().join("; "))]
    Deadlock(Vec<Waiter>),
    /// The budget's time was over before the execution was.
    #[error("the recording took longer than the budget allows")]
    OutOfTime,
    /// More threads than ids.
    #[error("{0} threads are too many; at most 256 can be recorded")]
    TooManyThreads(usize),
}
fn describe(w: &Waiter) -> String {
    let holder = w
        .holder
        .map_or("nobody that runs".into(), |h| format!("thread {}", h.0));
    let place = (w.source.file(), w.source.line());
    if w.spins {
        return format!(
            "thread {} spins on plain loads of {} at {}:{}, and no thread stores any more; to wait for another \
             thread, use a lock or an atomic operation",
            w.thread.0, w.lock, place.0, place.1
        );
    }
    format!(
        "thread {} waits at {}:{} for the lock at {}, held by {holder}",
        w.thread.0, place.0, place.1, w.lock
    )
}
