//! What a thread of the simulated machine runs.

use crate::steady::WarmUp;
use fencepost_kernel::{Dialect, Logging, Mem, Pm, Program, RareCommits, run_thread};
use fencepost_machine::ThreadBody;

/// How a program is run.
#[derive(Copy, Clone, Debug)]
pub struct Run {
    /// Instructions of the design.
    pub dialect: Dialect,
    /// Hardware threads.
    pub threads: u32,
    /// Operations of a thread before measuring begins.
    pub warm_up: u32,
    /// All operations of a thread.
    pub ops: u32,
    /// Every operation asks for its own acknowledgement.
    pub ack_every: bool,
    /// Commits of the program for each that a thread makes.
    pub commit_every: u32,
    /// Bytes of the cache that holds resident data.
    pub cache: u64,
    /// Where volatile memory begins that the program does not use.
    pub free: u64,
}

/// The operations of a thread, then one explicit drain that acknowledges them all.
pub(crate) fn steady_body<P: Program>(program: &P, run: Run, thread: u32) -> ThreadBody {
    let warm_up = WarmUp::new((thread, run.threads), run.warm_up, run.free);
    let program = program.clone();
    Box::new(move |m| {
        let mut pm = Pm::new(m, run.dialect);
        pm.ack_every = run.ack_every;
        pm.rare = RareCommits::every(run.commit_every);
        warm_up.run(&program, &mut pm, run.ops);
        acknowledge_all(pm, run.ops);
    })
}

/// What a thread of a bare run does: its operations (each acknowledged if `how.1`), without warm-up, then one explicit drain that
/// acknowledges them all.
pub fn thread_body<P: Program>(program: &P, dialect: Dialect, how: (u32, bool), thread: u32) -> ThreadBody {
    let (program, (ops, ack_every)) = (program.clone(), how);
    Box::new(move |m| {
        let mut pm = Pm::new(m, dialect);
        pm.ack_every = ack_every;
        run_thread(&program, &mut pm, thread, 0, ops);
        acknowledge_all(pm, ops);
    })
}

fn acknowledge_all<M: Mem>(mut pm: Pm<'_, M>, ops: u32) {
    if pm.dialect.logging != Logging::None {
        pm.durable();
        pm.m.ack(ops - 1);
    }
}
