//! Entries of the reorder buffer.

use crate::frontend::Op;
use crate::seam::Cause;

/// How far an entry has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Progress {
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

/// One dispatched operation.
#[derive(Copy, Clone, Debug)]
pub struct Entry {
    /// The operation.
    pub op: Op,
    /// Its number within the thread, from 1.
    pub id: u32,
    /// Instructions it stands for.
    pub weight: u32,
    /// Reorder buffer entries it holds.
    pub space: u32,
    /// The oldest and the youngest operation that wait for its result (0: none).
    pub awaited_by: (u32, u32),
    /// The next younger operation that waits for the result that this one waits for (0: none).
    pub next_waiting: u32,
    /// When it was dispatched, in cycles.
    pub dispatched: u64,
    /// When its result is available, in cycles; says nothing until the entry is done.
    pub result: u64,
    /// When it committed, once it has, in cycles.
    pub committed_at: u64,
    /// What a wait for it is charged to.
    pub cause: Cause,
    /// How far it has come.
    pub progress: Progress,
}

impl Entry {
    /// Fills unused space.
    pub const EMPTY: Entry = Entry {
        op: Op::NOTHING,
        id: 0,
        weight: 0,
        space: 0,
        awaited_by: (0, 0),
        next_waiting: 0,
        dispatched: 0,
        result: 0,
        committed_at: 0,
        cause: Cause::Execute,
        progress: Progress::Done,
    };
    /// Whether it is known when the result is available.
    #[inline]
    pub fn done(&self) -> bool {
        self.progress == Progress::Done
    }
}
