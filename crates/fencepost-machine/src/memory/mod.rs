//! Memory controllers and media: a component of its own that knows neither caches nor designs.
//!
//! [`MediaSpec`] says what the medium is (geometry and timing), [`ControllerSpec`] how the controller uses it, a
//! design's [`QueuePlan`] how its write queue is divided. [`Controller`] does the work: bounded
//! queues, epochs and same-line order (`writes`), the next request of every bank ([`Scheduler`]) and
//! the commands for it (`schedule`), bank, rank and bus timing, row policy and refresh (`timing`).
//!
//! Where papers differ, a small interface stands: [`Scheduler`] (which request next), [`RangeRegisters`] (which queue
//! takes a write), [`FlowControl`] (when a write may leave for the memory module).

mod bits;
mod channels;
mod contents;
mod controller;
mod drain;
mod drain_steps;
mod epochs;
mod flow;
mod issuing;
mod leaving;
mod map;
mod module;
mod module_steps;
mod newest;
mod partition;
mod preset;
mod request;
mod schedule;
mod spec;
mod stats;
mod steps;
mod timed;
mod timing;
mod trace;
mod view;
mod watermarks;
mod writes;

pub use controller::{Controller, ReadQueueFull};
pub use flow::{Entries, FlowControl};
pub use map::{AddressMap, Location};
pub use module::ModuleSpec;
pub use partition::{LineRange, NoFreeRegister, RangeRegisters, RegisterWrite};
pub use preset::{Mark, MediaPreset, Origin};
pub use request::{DrainScope, Epoch, QueuePlan, Write, WriteId};
pub use schedule::{Choice, FrFcfs, Handle, OpenRow, Scheduler, Waiting};
pub use spec::{
    ControllerSpec, DurableAt, DurableOverride, Mapping, MediaSpec, PagePolicy, SlotFreed, SpecError, StoredAt,
    WritePolicy,
};
pub use stats::MemStats;
pub use trace::{TraceOp, TraceResult, record_trace, run_trace, trace_controller};
pub use writes::WriteRefusal;

use fencepost_kernel::{LineAddr, Ps};

/// A read under way; chosen by whoever asks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadId(pub u64);

/// What a command to the medium does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// Opens a row.
    Activate {
        /// The row.
        row: u64,
    },
    /// Closes the open row.
    Precharge,
    /// Closes all open rows of the rank of the bank.
    PrechargeAll,
    /// Reads a line of the open row.
    Read {
        /// The row.
        row: u64,
        /// Line within the row.
        column: u16,
    },
    /// Writes a line of the open row.
    Write {
        /// The row.
        row: u64,
        /// Line within the row.
        column: u16,
    },
    /// Refreshes the whole rank of the bank.
    Refresh,
}

/// A command sent to the medium. With closed pages, every column command precharges its bank as soon as it may.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CommandRecord {
    /// When it was on the command bus.
    pub time: Ps,
    /// Channel.
    pub channel: u16,
    /// Bank within the channel (rank times banks per rank plus bank); of what concerns a rank, its first.
    pub bank: u16,
    /// What it does.
    pub kind: CommandKind,
}

/// What happened in a controller.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MemEvent {
    /// The data of a read is back.
    ReadDone {
        /// Which read.
        id: ReadId,
        /// Its line.
        line: LineAddr,
    },
    /// A write arrived in its queue. `write.epoch` is the epoch it actually joined.
    Accepted {
        /// Which write.
        id: WriteId,
        /// What it writes.
        write: Write,
    },
    /// A write's data went to the medium. Of merged writes, only the oldest is reported.
    Issued {
        /// Which write.
        id: WriteId,
    },
    /// A write left the controller and is in the queues of the memory module.
    ModuleAccepted {
        /// Which write.
        id: WriteId,
        /// What it writes.
        write: Write,
    },
    /// A write is durable: when the medium stored it or, where the queue is durable, when it arrived. Writes that were
    /// merged become durable together, oldest first, all with the merged bytes and each with its own hardware thread and cause.
    Durable {
        /// Which write.
        id: WriteId,
        /// The bytes that are durable now.
        write: Write,
        /// Whether this is a record of the persist log: true for the first of merged writes only, so that the log has
        /// one record for each time bytes became durable.
        record: bool,
    },
    /// An entry of a write queue became free after a push to that queue was refused.
    SlotFree {
        /// The queue.
        queue: u8,
    },
    /// An entry of the read queue became free after a read was refused.
    ReadSlotFree,
    /// The flow control of the memory module learned what its design waits for.
    FlowChanged,
    /// A drain asked for is satisfied.
    Drained {
        /// The caller's own mark.
        tag: u64,
    },
}
