//! What a design may bring along: parts of the persistent-memory controller, and a port for the network.

use super::{Cx, Gate, QueuePlan};
use crate::memory::{FlowControl, ModuleSpec, Scheduler};
use crate::network::Protocol;
use fencepost_kernel::{HwThread, LineAddr, LineData};

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
