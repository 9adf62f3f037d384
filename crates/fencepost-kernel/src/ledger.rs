//! What became of every write in the controller of persistent memory, and of the tables that choose its queues, in order: an account
//! that a reference can balance from outside.

use crate::log::WriteCause;
use crate::span::Span;
use crate::units::LineAddr;

/// One entry of the account.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LedgerEvent {
    /// Events of the trace before it.
    pub at: u32,
    /// What happened.
    pub kind: LedgerKind,
}

/// What happened. Writes are numbered by the machine, each once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LedgerKind {
    /// The controller accepted a write. The trace's event before it names the stores of its words.
    Accepted {
        /// The write.
        id: u64,
        /// Its line.
        line: LineAddr,
        /// Why it was sent.
        cause: WriteCause,
        /// The queue that took it.
        queue: u8,
        /// The epoch of the queue that it joined, if it joined one.
        epoch: Option<u64>,
    },
    /// Its data went to the medium: nothing that arrives from now on goes with it. Of merged writes only the oldest is named.
    Issued {
        /// The write.
        id: u64,
    },
    /// It is durable. Of writes that were merged the oldest comes first, with `record`: the bytes became durable once.
    Durable {
        /// The write.
        id: u64,
        /// Whether the persist log has a record of it.
        record: bool,
    },
    /// A range was written into an address-range register.
    RegisterSet {
        /// The queue to which the register belongs.
        queue: u8,
        /// Its lines, in bytes.
        range: Span,
    },
    /// The register that held it was cleared.
    RegisterCleared {
        /// The queue to which the register belongs.
        queue: u8,
        /// Its lines, in bytes.
        range: Span,
    },
    /// An entry went into a persist buffer: a line, or a barrier.
    Buffered {
        /// The buffer.
        buffer: u8,
        /// The entry's number in it, ascending.
        entry: u64,
        /// The line; none for a barrier.
        line: Option<LineAddr>,
    },
    /// The newest entry of a buffer waits for one of another buffer, and for all before that.
    WaitsFor {
        /// The buffer.
        buffer: u8,
        /// Whose entry it waits for.
        other: u8,
        /// Which.
        entry: u64,
    },
    /// An entry is on its way to the controller.
    Sent {
        /// The buffer.
        buffer: u8,
        /// The entry.
        entry: u64,
        /// The write that it became.
        write: u64,
    },
    /// An entry left its buffer.
    Left {
        /// The buffer.
        buffer: u8,
        /// The entry.
        entry: u64,
    },
}
