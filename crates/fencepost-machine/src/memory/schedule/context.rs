//! What a channel is given for a step, and what it answers.

use super::bank_queues::Request;
use super::{Handle, Scheduler, Waiting};
use crate::memory::spec::ControllerSpec;
use crate::memory::stats::MemStats;
use crate::memory::timing::{Delays, Direction};
use crate::memory::writes::{Slot, Writes};
use crate::memory::{CommandRecord, IssueFilter};
use fencepost_kernel::Ps;

/// What a channel looks at besides its own state.
pub struct Context<'a> {
    /// Delays of the medium.
    pub delays: &'a Delays,
    /// Policies.
    pub spec: &'a ControllerSpec,
    /// The write queues.
    pub queues: &'a Writes,
    /// A write queue is at or above its high watermark.
    pub above_high_watermark: bool,
    /// Every write queue is at or below its low watermark.
    pub below_low_watermark: bool,
    /// The design's scheduler of writes.
    pub scheduler: Option<&'a mut (dyn Scheduler + 'static)>,
    /// The design's say about single writes.
    pub filter: Option<IssueFilter<'a>>,
    /// Where commands are recorded.
    pub commands: Option<&'a mut Vec<CommandRecord>>,
    /// Counters.
    pub stats: &'a mut MemStats,
}

/// What a channel did in a step.
pub enum Issued {
    /// A command that moves no data.
    RowCommand,
    /// A line crosses the bus; it has arrived (read) or is stored (write) at this time.
    Column(Direction, Request, Ps),
}

/// A queued write as a scheduler sees it.
pub(super) fn waiting<'a>(queues: &'a Writes, handle: Handle, order: u64, r: &Request) -> Waiting<'a> {
    let slot = r.key as Slot;
    Waiting {
        handle,
        line: r.line,
        row: r.row,
        since: r.since,
        order,
        write: Some((queues.id(slot), queues.write(slot))),
    }
}
