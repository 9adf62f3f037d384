//! Recording: runs programs functionally, thread by thread under a seeded scheduler, and writes down the execution.
//!
//! Single-threaded or not, the threads are coroutines of one real thread, switched at the places that
//! [`Granularity`] names; the same seed gives the same execution. What happens between two switches happens at once,
//! so a recording is sequentially consistent, or (with [`Order::StoreBuffers`]) totally store ordered; how stores become
//! durable is the contract's business, not its own.

mod buffer;
mod memory;
mod schedule;
mod state;

pub use memory::RecordMem;
pub use schedule::{Granularity, Order, Recorder, Schedule};

use fencepost_kernel::{Addr, Dialect, HartId, Image, Pm, Program, Trace, run_thread};
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
    pub thread: HartId,
    /// What it waits for: the lock word, or the word that it loads.
    pub lock: Addr,
    /// Whether it spins on loads.
    pub spins: bool,
    /// Who holds it, or wrote the word last, if a thread did.
    pub holder: Option<HartId>,
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

/// Records a program of the kernel's kind: its setup, then operations `0..ops` of each thread.
///
/// With `ack_every`, each operation ends with the dialect's `durable` and is acknowledged.
pub fn record_program<P: Program>(
    program: &P,
    dialect: Dialect,
    threads: u32,
    ops: u32,
    ack_every: bool,
    schedule: Schedule,
) -> Result<Recording, RecordError> {
    let mut recorder = Recorder::new(schedule).setup(|m| program.setup(m));
    for thread in 0..threads {
        let program = program.clone();
        recorder = recorder.thread(move |m| {
            let mut pm = Pm::new(m, dialect);
            pm.ack_every = ack_every;
            run_thread(&program, &mut pm, thread, 0, ops);
        });
    }
    recorder.run()
}
