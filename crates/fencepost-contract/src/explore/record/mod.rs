//! Recording: runs programs functionally, thread by thread under a seeded scheduler, and writes down the execution.
//!
//! Single-threaded or not, the threads are coroutines of one real thread, switched at the places that
//! [`Granularity`] names; the same seed gives the same execution. What happens between two switches happens at once,
//! so a recording is sequentially consistent, or (with [`Order::StoreBuffers`]) totally store ordered; how stores become
//! durable is the contract's business, not its own.

mod buffer;
mod effects;
mod execution_recorder;
mod memory;
mod recording;
mod schedule;
mod state;

pub use execution_recorder::Recorder;
pub use memory::RecordMem;
pub use recording::{RecordError, Recording, Waiter};
pub use schedule::{Granularity, Order, Schedule};

use fencepost_kernel::{Dialect, Pm, Program, run_thread};

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
