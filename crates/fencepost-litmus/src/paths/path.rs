//! The ways through one thread: its accesses, fences and dependences for every choice of what its reads return.

mod atomics;
mod state;
mod walk;

use crate::format::op::{Barrier, FlushKind, Order, Width};
pub use walk::paths;

/// A set of events of one thread, by number.
pub type Set = u64;

/// What an event is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Flushes a line.
    Flush(FlushKind),
}

/// What a path depends on: which reads (by number) a later event needs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// For its address.
    pub addr: Set,
    /// For its value.
    pub data: Set,
    /// Control: a branch before it was decided by these.
    pub ctrl: Set,
    /// Control or address of an access, then a context synchronisation, before it.
    pub isync_ctrl: Set,
    /// An access whose address needed these, then a context synchronisation, before it.
    pub isync_addr: Set,
    /// The choice of what it addresses or writes, or of whether it happens, needed these (conditional select, compare and swap).
    pub pick: Set,
    /// As `isync_ctrl` and `isync_addr`, of a choice.
    pub isync_pick: Set,
    /// Reads whose choices decided the address of an access before it.
    pub pick_addr_po: Set,
}

/// An access or a flush.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is.
    pub kind: Kind,
    /// Where.
    pub addr: u64,
    /// What it read or wrote.
    pub value: u64,
    /// Bytes.
    pub width: Width,
    /// Acquire, release.
    pub order: Order,
    /// Part of an exclusive pair.
    pub exclusive: bool,
    /// Part of an atomic instruction.
    pub atomic: bool,
    /// Read of an atomic instruction without a result.
    pub no_return: bool,
    /// Non-temporal store.
    pub nt: bool,
    /// Dependences.
    pub needs: Needs,
    /// Of a write: the read that it forms an atomic pair with.
    pub rmw: Option<u8>,
    /// Operation of the thread's code.
    pub op: u16,
}

impl Event {
    /// Whether it reads.
    pub fn is_read(&self) -> bool {
        self.kind == Kind::Read
    }
    /// Whether it writes.
    pub fn is_write(&self) -> bool {
        self.kind == Kind::Write
    }
}

/// One way through a thread.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// In program order.
    pub events: Vec<Event>,
    /// Each with the number of events before it.
    pub fences: Vec<(u8, Barrier)>,
    /// Final registers.
    pub registers: Vec<u64>,
}

/// The values that a word may have, as far as known.
pub trait Domain {
    /// Every value that a read of the address may return.
    fn values(&self, address: u64) -> &[u64];
}

/// Why paths cannot be listed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// More events than a set holds.
    #[error("more than 64 accesses in a thread")]
    TooManyEvents,
    /// More paths than is sensible.
    #[error("too many ways through a thread")]
    TooManyPaths,
}
