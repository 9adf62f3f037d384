//! What the hierarchy needs of the rest of the machine.

use super::held::Words;
use super::state::{Hierarchy, Side, Step};
use crate::seam::{Exit, Gate, Level, Place, ReadAnswer, Snoop, SnoopAnswer, Way, Why, Write, WriteId};
use fencepost_kernel::{HwThread, LineAddr, LineData, Ps};

/// The time, the bytes, the memory controllers and the design, as the hierarchy sees them.
///
/// Questions to the design take the hierarchy along: the design may act on it while it answers (clean a line, drop a
/// version), as [`crate::seam::Cx`] allows.
pub(crate) trait Outside {
    /// The present.
    fn now(&self) -> Ps;
    /// Has `step` handed back at `at`.
    fn schedule(&mut self, at: Ps, step: Step);
    /// The newest bytes of a line.
    fn line_data(&self, line: LineAddr) -> LineData;

    /// Hands a write to a controller; `None` if its queue is full.
    fn push_write(&mut self, side: Side, write: Write) -> Option<WriteId>;
    /// Whether a controller would refuse any write to a line, whose queue is full or closed; it takes that as a refusal.
    fn takes_none(&mut self, side: Side, line: LineAddr, queue: u8) -> bool;
    /// Whether a controller chooses the queue of a write by its line.
    fn routes(&mut self, side: Side) -> bool;
    /// Hands a read to a controller; false if its queue is full. The answer is [`Hierarchy::read_done`] with `id`.
    fn push_read(&mut self, side: Side, id: u64, line: LineAddr) -> bool;
    /// The bytes of a read that is done, where bytes are kept.
    fn answer(&mut self, side: Side, id: u64) -> Option<Words>;
    /// Something was handed to a controller: it may act earlier than it meant to.
    fn wake_memory(&mut self, side: Side);
    /// Whether memory, read at `from`, would return the newest bytes of `line`. `waiting` are the bytes of a write to
    /// `from` that no controller has taken yet.
    fn memory_is_current(&self, line: LineAddr, from: LineAddr, waiting: Option<&LineData>) -> bool;

    /// See [`crate::seam::Design::may_leave`].
    fn may_leave(&mut self, h: &mut Hierarchy, from: Level, way: &Way, why: Why) -> Gate;
    /// See [`crate::seam::Design::leaving`].
    fn leaving(&mut self, h: &mut Hierarchy, from: Level, way: &Way, data: &LineData, why: Why) -> Exit;
    /// See [`crate::seam::Design::snooped`].
    fn snooped(&mut self, h: &mut Hierarchy, by: HwThread, line: LineAddr, kind: Snoop) -> SnoopAnswer;
    /// See [`crate::seam::Versions::place`].
    fn place(&mut self, h: &mut Hierarchy, hw_thread: HwThread, way: &Way) -> Place;
    /// See [`crate::seam::Design::read_missed`].
    fn read_missed(&mut self, h: &mut Hierarchy, by: HwThread, line: LineAddr) -> ReadAnswer;
    /// See [`crate::seam::Versions::read_from`].
    fn read_from(&mut self, h: &mut Hierarchy, line: LineAddr) -> LineAddr;
    /// See [`crate::seam::Versions::read_done`].
    fn design_read_done(&mut self, h: &mut Hierarchy, tag: u64, line: LineAddr);
    /// See [`crate::seam::Design::cleaned`].
    fn cleaned(&mut self, h: &mut Hierarchy, hw_thread: HwThread, tag: u64, found: Option<&LineData>);
    /// See [`crate::seam::Design::queue_freed`].
    fn queue_freed(&mut self, h: &mut Hierarchy, queue: u8);
}
