//! The hooks of delegated ordering.

use super::front::{Front, SLOT};
use super::params::DelegatedParams;
use super::port::{BufferPer, Ports};
use super::stats::{COUNTERS, SUMS};
use crate::info::MachineShape;
use fencepost_kernel::{HwThread, LineAddr, LineData};
use fencepost_machine::memory::ModuleSpec;
use fencepost_machine::network::Protocol;
use fencepost_machine::seam::{
    Access, ControllerParts, Cx, Design, Epoch, Exit, Gate, Hooks, Instr, Level, NetworkPort, QueuePlan, ReadAnswer,
    Snoop, SnoopAnswer, Statistics, Way, Why, Write, WriteId,
};

/// The one write queue of this design.
pub(super) const QUEUE: u8 = 0;

/// Delegated ordering, with either epoch rule.
#[derive(Clone, Debug)]
pub struct Delegated {
    pub(super) params: DelegatedParams,
    /// The buffers, one per core and network channel.
    pub front: Front,
    /// FENCEs that leave together, of which some have left: the buffers of the others, a bit each.
    pub(super) leaving: u64,
    protocol: Option<Protocol>,
}

impl Delegated {
    /// The mechanism for a machine of this shape; `merge` selects one epoch pointer per core.
    pub fn new(params: DelegatedParams, shape: MachineShape, merge: bool) -> Delegated {
        let params = DelegatedParams {
            fault: params.fault.or_planted(),
            ..params
        };
        let ports = Ports::new(shape, BufferPer::Core, shape.channels);
        Delegated {
            front: Front::new(&params, ports, shape.hw_threads, merge),
            leaving: 0,
            protocol: None,
            params,
        }
    }
    /// The same mechanism as the server of clients that persist by this protocol.
    pub fn for_clients(self, protocol: Protocol) -> Delegated {
        Delegated {
            protocol: Some(protocol),
            ..self
        }
    }
    /// The oldest epoch that is not durable; only merging epochs ask.
    fn active(&self, cx: &dyn Cx) -> Epoch {
        match self.front.tracker.merge {
            Some(_) => cx.active_epoch(QUEUE),
            None => Epoch::default(),
        }
    }
}

impl Design for Delegated {
    fn hooks(&self) -> Hooks {
        Hooks {
            loads: true,
            stores: true,
            snoops: true,
            leaving: true,
            reads: true,
            writes: true,
            ..Hooks::default()
        }
    }
    fn controller(&self, machine: &ModuleSpec) -> ControllerParts {
        let queues = QueuePlan {
            ordered_issue: self.params.ordered_issue,
            ..QueuePlan::default()
        };
        ControllerParts {
            queues,
            ..ControllerParts::of(machine)
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        let gate = self.front.instr(cx, hw_thread, instr);
        self.schedule(cx);
        gate
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData, _: u8) -> Gate {
        let active = self.active(cx);
        let gate = self.front.nt_store(cx, hw_thread, line, data, active);
        self.schedule(cx);
        gate
    }
    fn performed(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, a: Access, _: &mut u32) {
        let active = self.active(cx);
        if self.front.performed(cx, hw_thread, line, a, active) {
            self.schedule(cx);
        }
    }
    fn snooped(&mut self, cx: &mut dyn Cx, by: HwThread, line: LineAddr, kind: Snoop) -> SnoopAnswer {
        let active = self.active(cx);
        self.front.requested(cx, self.front.ports.of(by), line, kind, active)
    }
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, _: &LineData, why: Why) -> Exit {
        self.front.leaving(cx, from, way, why)
    }
    fn read_missed(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr) -> ReadAnswer {
        self.front.read_missed(line)
    }
    fn queue_freed(&mut self, cx: &mut dyn Cx, queue: u8) {
        self.front.path.queue_freed(queue);
        self.schedule(cx);
    }
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, _: &Write) {
        if self.front.path.durable(id) {
            self.front.answer_drains(cx);
        }
    }
    fn network_port(&mut self) -> Option<&mut dyn NetworkPort> {
        Some(self)
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        match tag {
            SLOT => self.slot(cx),
            _ => self.front.drain_answered(cx, tag),
        }
    }
    fn drain(&mut self, cx: &mut dyn Cx) -> bool {
        self.schedule(cx);
        self.front.tracker.is_empty()
    }
    fn statistics(&self) -> Statistics {
        Statistics {
            sums: SUMS,
            ..Statistics::of(COUNTERS)
        }
    }
    fn unsound(&self) -> Option<String> {
        self.front.unsound()
    }
    fn explain(&self, hw_thread: HwThread) -> Option<String> {
        let refused = self.front.path.refuses(QUEUE);
        let why = || "waits for a free entry of the write queue".to_string();
        self.front.explain(hw_thread, |_| refused.then(why))
    }
}

impl NetworkPort for Delegated {
    fn line(&mut self, cx: &mut dyn Cx, port: HwThread, line: LineAddr, data: &LineData) -> Gate {
        let active = self.active(cx);
        let gate = self.front.remote_line(cx, port, line, data, active);
        self.schedule(cx);
        gate
    }
    fn end(&mut self, cx: &mut dyn Cx, port: HwThread, region: u32) -> Gate {
        let gate = self.front.remote_end(cx, port, region);
        self.schedule(cx);
        gate
    }
    fn protocol(&self) -> Option<Protocol> {
        self.protocol
    }
}
