//! What is judged, and how a breach is told.

use fencepost_kernel::stats::Sum;
use fencepost_kernel::{Image, PersistRecord, Ps, Trace};
use std::fmt;

/// What a run left behind.
#[derive(Copy, Clone, Debug)]
pub struct Run<'a> {
    /// Persistent memory before the run.
    pub initial: &'a Image,
    /// Memory as the threads saw it at the end.
    pub coherent: &'a Image,
    /// Persistent memory as a power failure at the end would have left it.
    pub durable: &'a Image,
    /// What happened.
    pub trace: &'a Trace,
    /// What became durable, in order.
    pub records: &'a [PersistRecord],
    /// What was counted, where all of the run was.
    pub counts: Option<Counts>,
    /// What it reports of times and memory, where all of the run was.
    pub report: Option<Report<'a>>,
    /// What the hardware is.
    pub hardware: Hardware,
}

/// What a run reports of times and memory.
#[derive(Copy, Clone, Debug)]
pub struct Report<'a> {
    /// From the start of the measured part to the last thread's end.
    pub time: Ps,
    /// The threads.
    pub threads: &'a [ThreadTime],
    /// Whether an instruction may complete after the last one has committed: its time is not all accounted for then.
    pub in_order: bool,
    /// The controllers of persistent and of volatile memory.
    pub controllers: [Controller; 2],
    /// Durable events before the measured part.
    pub durable_before: u64,
    /// What the design counted.
    pub design: Counted<'a>,
}

/// Where a thread's time went.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// When its measured part began and ended.
    pub began: Ps,
    /// When its last instruction committed.
    pub ended: Ps,
    /// Busy time and stalls in between.
    pub accounted: Ps,
    /// Operations, instructions, and memory operations among these, of the measured part.
    pub ops: u64,
    /// Instructions.
    pub instructions: u64,
    /// Memory operations.
    pub memory_ops: u64,
}

/// What a memory controller counted from the beginning.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Controller {
    /// Lines read from the medium and written to it.
    pub lines: [u64; 2],
    /// Column accesses that found their row open, no row open, another row open.
    pub rows: [u64; 3],
    /// Bytes over the data buses.
    pub bytes: u64,
    /// Time in which they were transferring, and the time that one line takes.
    pub busy: Ps,
    /// Time of one line.
    pub burst: Ps,
    /// Its channels.
    pub channels: u64,
    /// Their changes from reading to writing.
    pub switches: u64,
    /// Reads answered from a queued write.
    pub forwarded: u64,
    /// Writes merged into others in its queues and below.
    pub merged: u64,
    /// Lines that the caches and designs had from it, and those that it had from them.
    pub asked: [u64; 2],
    /// Whether all that it accepted has been written to the medium.
    pub empty: bool,
}

/// What a design counted from the beginning.
#[derive(Copy, Clone, Debug)]
pub struct Counted<'a> {
    /// Its counters.
    pub counters: &'a [u64],
    /// How many samples each of its histograms has.
    pub samples: &'a [u64],
    /// What they add up to.
    pub sums: &'a [Sum],
}

/// Counters of a whole run.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events of the trace before the measured part.
    pub events_before: usize,
    /// Of those, stores, non-temporal stores, flushes and fences, as they were counted when the measured part began.
    pub threads_before: [u64; 4],
    /// Stores, non-temporal stores, flushes and fences that took effect.
    pub threads: [u64; 4],
    /// Accesses that missed in a first level, and read requests that missed the last one.
    pub misses: [u64; 2],
    /// Lines that the medium of persistent memory wrote.
    pub written: u64,
    /// Writes merged into others, in queues and in a volatile cache below them.
    pub merged: u64,
}

/// What the reference must know of the hardware.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Hardware {
    /// Writes are durable when the controller accepts them.
    pub durable_on_accept: bool,
    /// A volatile cache below the controller may keep accepted writes for ever.
    pub volatile_below: bool,
    /// Every store to persistent memory becomes durable without being flushed.
    pub persists_every_store: bool,
    /// A write of an epoch issues when every write of earlier epochs of its queue is durable.
    pub epochs_in_turn: bool,
    /// Entries of persist buffers name what they wait for, and names are handed on.
    pub buffers_name_entries: bool,
    /// Registers for ranges of addresses, of all queues together.
    pub range_registers: u16,
    /// Threads that ran a program; what has a higher number came over a network.
    pub threads: u32,
}

/// Something that no machine may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The rule, in a few words.
    pub rule: &'static str,
    /// What broke it.
    pub what: String,
    /// Index of the trace's event at which it shows, if it is one.
    pub event: Option<usize>,
}
impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the functional reference: {}", self.what)?;
        if let Some(event) = self.event {
            write!(f, ", at event {event} of the trace")?;
        }
        write!(f, " ({})", self.rule)
    }
}
impl std::error::Error for Breach {}

/// A breach, unless the condition holds.
pub(crate) fn must(
    holds: bool,
    rule: &'static str,
    event: Option<usize>,
    what: impl FnOnce() -> String,
) -> Result<(), Breach> {
    match holds {
        true => Ok(()),
        false => Err(Breach {
            rule,
            what: what(),
            event,
        }),
    }
}
