//! Private caches, the coherence bus and the shared cache.
//!
//! The bus grants one request at a time; a grant snoops every cache and every port of the design at once and moves
//! all coherence state, so it is the atomic order point. Data follows after its latency, and until it has arrived the
//! line is busy: later requests for it queue up behind.

mod clean;
mod expel;
mod fill;
mod grant;
mod leave;
mod lines;
mod miss;
mod outgoing;
mod read;

pub(crate) use leave::level_key;
use lines::Lines;
pub(crate) use miss::Lookup;

use crate::cache::Tags;
use crate::seam::{Cause, CleanKind, Level, Snoop, Way, Why, Write};
use fencepost_kernel::{CoreId, HartId, LineAddr, LineData, Ps};
use std::collections::VecDeque;

/// Who waits for a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A load, by operation number.
    Load(HartId, u32),
    /// The store queue's entry of this operation.
    Store(HartId, u32),
    /// The instruction at the commit head.
    Head(HartId),
}
impl Waiter {
    pub(crate) fn hart(self) -> HartId {
        match self {
            Waiter::Load(h, _) | Waiter::Store(h, _) | Waiter::Head(h) => h,
        }
    }
}

/// An outstanding miss of a core.
#[derive(Clone, Debug)]
pub(crate) struct Miss {
    pub line: LineAddr,
    pub exclusive: bool,
    /// The bytes are not wanted, only everybody else's copies gone (non-temporal stores).
    pub drop_copies: bool,
    pub waiters: Vec<Waiter>,
    pub cause: Cause,
    pub granted: bool,
    pub kind: Snoop,
    /// Installed on arrival.
    pub fill: Option<FillState>,
    pub since: Ps,
    /// Where memory is read, when the line's newest bytes are not at home.
    pub from: Option<LineAddr>,
}

/// What a granted miss installs when its data arrives.
#[derive(Copy, Clone, Debug)]
pub(crate) struct FillState {
    pub state: crate::cache::State,
    pub dirty: bool,
    pub meta: u32,
}

/// A dirty line between caches: refused by the design or on its way to memory.
#[derive(Clone, Debug)]
pub(crate) struct Departure {
    pub from: Level,
    pub way: Way,
    pub data: LineData,
    pub why: Why,
    /// Cleans that wait for it; with any, the line goes on to memory.
    pub notify: Vec<(HartId, u64)>,
    pub since: Ps,
}

/// A core's private side.
pub(crate) struct Core {
    pub l1: Tags,
    pub l2: Option<Tags>,
    pub misses: Vec<Option<Miss>>,
    /// Lists of waiters of past misses, for misses to come.
    pub spare: Vec<Vec<Waiter>>,
    /// Accesses that found no free miss register.
    pub starved: VecDeque<Waiter>,
    pub blocked: Option<Cause>,
    pub write_back: VecDeque<Departure>,
    /// Fills that found the write-back buffer full.
    pub stuck_fills: Vec<u8>,
}

/// The shared last-level cache.
pub(crate) struct SharedCache {
    pub tags: Tags,
    pub write_back: VecDeque<Departure>,
}

/// A clean walking the hierarchy.
#[derive(Copy, Clone, Debug)]
pub(crate) struct CleanRequest {
    pub hart: HartId,
    pub line: LineAddr,
    pub kind: CleanKind,
    pub tag: u64,
}

/// A write of the machine's own waiting for admission.
#[derive(Clone, Debug)]
pub(crate) struct OutgoingWrite {
    pub write: Write,
    pub notify: Vec<(HartId, u64)>,
    pub since: Ps,
    pub refused: Option<Cause>,
}

/// What waits behind a busy line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    Miss(CoreId, u8),
    Clean(u32),
}

/// The coherence bus.
#[derive(Default)]
pub(crate) struct Bus {
    pub free_at: Ps,
    /// Who may hold each line, and who waits for its data.
    pub lines: Lines,
    /// Requests the design delayed.
    pub refused: Vec<(Behind, Cause)>,
    /// Requests that found the write path to memory full.
    pub throttled: VecDeque<Behind>,
    /// Outstanding reads of the shared cache.
    pub reads: u32,
    pub starved_reads: VecDeque<(CoreId, u8)>,
}
