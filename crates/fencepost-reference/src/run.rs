//! What is judged, and how a breach is told.

use fencepost_kernel::{Image, PersistRecord, Trace};
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
    /// What the hardware is.
    pub hardware: Hardware,
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
