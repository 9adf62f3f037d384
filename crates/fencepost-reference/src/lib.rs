//! A second machine for checked runs: what a run did, judged by a functional model.
//!
//! The simulator computes times, and everything else on the way. Runs that go wrong in times alone keep every contract: a write that
//! joins one whose data has left already becomes durable too early, and is in order by luck. This crate has no time. It takes what a run
//! left behind (its trace, its persist log, the account of its controller, its counters, its memory) and asks of it what must hold of
//! any machine: memory per word in coherence order (`coherence`), every accepted write durable once and with its own bytes, tables in
//! step with what programs asked for, counters that add up. It shares no code with the machine, the designs and the checker; it sees the types of
//! `fencepost-kernel` in which a run is written down, and nothing else.
//!
//! A breach is a defect of the simulator, whatever the contract says of the run.
//!
//! Times have a judge of their own: [`dram`] holds the commands of a memory controller against the standard's timing rules.

mod accounts;
mod buffers;
mod coherence;
mod counts;
pub mod dram;
mod durable;
mod order;
mod registers;
mod run;
mod sums;
#[cfg(test)]
mod tests;
mod transactions;
mod turns;
mod writes;

pub use run::{Breach, Controller, Counted, Counts, Hardware, Report, Run, ThreadTime};

/// Judges a run.
///
/// # Errors
/// The first breach.
pub fn judge(run: &Run<'_>) -> Result<(), Breach> {
    coherence::judge(run)?;
    durable::judge(run)?;
    let writes = writes::judge(run)?;
    registers::judge(run)?;
    transactions::judge(run)?;
    buffers::judge(run)?;
    counts::judge(run, &writes)?;
    accounts::judge(run, &writes)?;
    sums::judge(run)
}
