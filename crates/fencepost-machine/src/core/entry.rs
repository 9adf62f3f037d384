//! Entries of the reorder buffer.

use super::ring::Slot;
use crate::frontend::{Op, OpKind};
use crate::seam::Cause;

/// How far an entry has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Waits for the operation its address or data comes from.
    Operand,
    /// A load that waits for an older full fence.
    Fence,
    /// Under way in the memory system, or scheduled to be.
    Issued,
    /// Acts only as the oldest instruction; not tried yet.
    AtHead,
    /// Acting as the oldest instruction.
    Acting,
    /// When the result is available is known.
    Done,
}

/// One dispatched operation. It fills one line of the host's cache, because the threads take turns and find little there.
#[derive(Copy, Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Entry {
    /// The operation.
    pub op: Op,
    /// When it was dispatched or, once it has committed, when it did; in cycles.
    pub since: u64,
    /// When its result is available, in cycles, once the entry is done; of a load until then, see `load_turns`.
    pub result: u64,
    /// Its number within the thread, from 1.
    pub id: u32,
    /// How many entries behind it the youngest lies that waits for its result (0: none waits).
    pub awaited_by: u32,
    /// How many entries behind the one that it waits for the next one that waits for that lies; of the youngest, the oldest.
    pub next_waiting: u32,
    /// Reorder buffer entries it holds.
    pub space: u16,
    /// What a wait for it is charged to.
    pub cause: Cause,
    /// How far it has come.
    pub progress: Progress,
}
const _: () = assert!(size_of::<Entry>() == 64);

impl Slot for Entry {
    const EMPTY: Entry = Entry {
        op: Op::NOTHING,
        since: 0,
        result: 0,
        id: 0,
        awaited_by: 0,
        next_waiting: 0,
        space: 0,
        cause: Cause::Execute,
        progress: Progress::Done,
    };
}

impl Entry {
    /// Instructions it stands for.
    #[inline]
    pub(crate) fn weight(&self) -> u64 {
        match self.op.kind {
            OpKind::Compute => self.op.value,
            // A marker holds no space, anything else one entry.
            _ => self.space.into(),
        }
    }
    /// Whether it is known when the result is available.
    #[inline]
    pub(crate) fn done(&self) -> bool {
        self.progress == Progress::Done
    }
}
