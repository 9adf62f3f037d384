//! What a channel is given when it acts, and what it returns.

use super::Scheduler;
use crate::memory::CommandRecord;
use crate::memory::map::AddressMap;
use crate::memory::spec::ControllerSpec;
use crate::memory::stats::MemStats;
use crate::memory::timing::{Delays, Direction};
use crate::memory::writes::Writes;
use fencepost_kernel::{LineAddr, Ps};

/// What a channel looks at besides its own state.
pub(crate) struct Context<'a> {
    /// Delays of the medium.
    pub delays: &'a Delays,
    /// Where lines live.
    pub map: &'a AddressMap,
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
    /// Where commands are recorded.
    pub commands: Option<&'a mut Vec<CommandRecord>>,
    /// Counters.
    pub stats: &'a mut MemStats,
}

/// A line crosses the bus.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Transfer {
    /// Which way.
    pub direction: Direction,
    /// For whom: read id, or entry of the write queue.
    pub key: u64,
    /// The line.
    pub line: LineAddr,
    /// When it has arrived (read) or is stored (write).
    pub done: Ps,
}
