//! What a design may bring along: parts of the persistent-memory controller, a port for the network, hardware transactions, versions of
//! lines, ranges with queues of their own, and what it counts.

use super::{Bound, Cx, Gate, Place, QueuePlan, StatInfo, TxStart, Way};
use crate::memory::{FlowControl, ModuleSpec, Scheduler};
use crate::network::Protocol;
use fencepost_kernel::stats::Sum;
use fencepost_kernel::{HwThread, LineAddr, LineData, QueueId, Span, TxId};

/// The persistent-memory controller as a design has it.
pub struct ControllerParts {
    /// Its write queues.
    pub queues: QueuePlan,
    /// The design's own scheduler of writes; first ready, first come, first served without. What both must know they share (an `Rc`), or
    /// the scheduler reads it off the writes.
    pub scheduler: Option<Box<dyn Scheduler>>,
    /// The stage between controller and medium.
    pub module: ModuleSpec,
    /// How the controller learns of free entries of the module, where there is one; without, it knows of each at once.
    pub flow_control: Option<Box<dyn FlowControl>>,
}
impl ControllerParts {
    /// One queue, and the machine's own module.
    pub fn of(machine: &ModuleSpec) -> ControllerParts {
        ControllerParts {
            queues: QueuePlan::default(),
            scheduler: None,
            module: machine.clone(),
            flow_control: None,
        }
    }
}

/// A port for the network: remote barrier regions take effect at the design like stores of a thread of their own.
///
/// `port` is a number behind those of all hardware threads, and [`Cx::core_of`] gives it a core number of its own behind all cores: the
/// design's persist buffer for the port learns of dependences as any other.
pub trait NetworkPort {
    /// A line of a region is about to take effect in the caches; `data` is the line with the remote bytes in place.
    fn line(&mut self, cx: &mut dyn Cx, port: HwThread, line: LineAddr, data: &LineData) -> Gate;
    /// A region ended: what follows on this port persists after it. [`Cx::region_durable`] is due once everything of the port up to here
    /// is durable.
    fn end(&mut self, cx: &mut dyn Cx, port: HwThread, region: u32) -> Gate;
    /// How clients persist over the network, for designs that are defined by it.
    fn protocol(&self) -> Option<Protocol> {
        None
    }
}

/// Hardware transactions. Each instruction is asked when it is the oldest of its thread and every older store has performed.
pub trait Transactions {
    /// A transaction begins.
    fn begin(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) -> TxStart;
    /// The running transaction commits; [`Cx::roll_back`] makes an abort of it.
    fn commit(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tx: TxId) -> Gate;
    /// The running transaction is aborted.
    fn abort(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tx: TxId) -> Gate;
    /// The thread waits until every transaction that it committed is durable.
    fn flush(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) -> Gate;
}

/// Versions of lines: older ones that stay frozen in a cache, and newer ones that a log in memory has before their home.
pub trait Versions {
    /// A store is about to overwrite a way; older bytes may be dirty there or in a lower level.
    fn place(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, way: &Way) -> Place;
    /// Where memory holds the newest bytes of a line that missed every cache: at home, or in a log.
    fn read_from(&mut self, cx: &mut dyn Cx, line: LineAddr) -> LineAddr;
    /// A version that the design asked for ([`Cx::read`]) has been read.
    fn read_done(&mut self, cx: &mut dyn Cx, tag: u64, line: LineAddr, data: &LineData);
}

/// Ranges of addresses with write queues of their own. Each instruction is asked when it is the oldest of its thread and every older store
/// has performed.
pub trait Ranges {
    /// A range is to be bound to a queue.
    fn bind(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, range: Span) -> Bound;
    /// What a queue holds is committed.
    fn commit(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, queue: QueueId) -> Gate;
    /// One binding of a range is undone.
    fn release(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, range: Span) -> Gate;
}

/// What a design counts, each in the order of its indices, and its stall causes.
#[derive(Copy, Clone, Debug, Default)]
pub struct Statistics {
    /// Counters, kept with [`Cx::count`].
    pub counters: &'static [StatInfo],
    /// Histograms, kept with [`Cx::sample`].
    pub histograms: &'static [StatInfo],
    /// Stall causes of the design's own, at most eight: [`Cause::own`](super::Cause::own) names one by its place here.
    pub causes: &'static [StatInfo],
    /// What its counters add up to: checked runs hold it to that.
    pub sums: &'static [Sum],
}
impl Statistics {
    /// A design that keeps these counters and nothing else.
    pub fn of(counters: &'static [StatInfo]) -> Statistics {
        Statistics {
            counters,
            ..Statistics::default()
        }
    }
}
