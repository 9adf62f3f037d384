//! The hooks of a design whose persist buffers feed BROI entries.

use super::epoch_first::EpochScheduler;
use super::outgoing::Outgoing;
use super::params::{BroiFault, BroiParams, Release};
use super::queues::Tally;
use super::scheduler::BroiScheduler;
use super::siblings::Siblings;
use crate::delegated::front::{Front, SLOT};
use crate::delegated::stats;
use crate::info::MachineShape;
use fencepost_kernel::stats::{Seen, Sum};
use fencepost_kernel::{HwThread, LineAddr, LineData};
use fencepost_machine::memory::{ModuleSpec, Scheduler};
use fencepost_machine::network::Protocol;
use fencepost_machine::seam::{
    Access, ControllerParts, Cx, Design, Epoch, Exit, Gate, Hooks, Instr, Level, NetworkPort, QueuePlan, ReadAnswer,
    Snoop, SnoopAnswer, StatInfo, Statistics, Way, Why, Write, WriteId,
};
use std::rc::Rc;

/// Counters: those of persist buffers, then those of the controller.
const ALL: [StatInfo; stats::COUNTERS.len() + COUNTERS.len()] = {
    let mut all = [COUNTERS[0]; stats::COUNTERS.len() + COUNTERS.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = match i < stats::COUNTERS.len() {
            true => stats::COUNTERS[i],
            false => COUNTERS[i - stats::COUNTERS.len()],
        };
        i += 1;
    }
    all
};
fencepost_kernel::stats! {
    /// What is counted besides what every persist buffer counts.
    COUNTERS {
        /// Hits in a shared L1 that counted as requests because a sibling had used the line.
        SIBLING_HITS = "sibling_hits", "accesses";
        /// Requests that became ready at the controller: no barrier in front of them.
        READY = "ready_requests", "requests";
        /// Of those, requests that found another ready one of their bank.
        BANK_CONFLICTS = "bank_conflicts", "requests";
        /// Remote requests that were ready and waited while the controller's queue was too full for them.
        REMOTE_HELD = "remote_held", "requests";
    }
}
/// Index of one of [`COUNTERS`] among all.
const fn own(counter: usize) -> usize {
    stats::COUNTERS.len() + counter
}

/// What all of them add up to: the first are of persist buffers.
const SUMS: [Sum; stats::SUMS.len() + 2] = {
    let mut all = [Sum::of(&[own(READY)], Seen::Issued); stats::SUMS.len() + 2];
    all[1] = Sum::at_most(&[own(BANK_CONFLICTS)], Seen::Counter(own(READY)));
    let mut i = 0;
    while i < stats::SUMS.len() {
        all[2 + i] = stats::SUMS[i];
        i += 1;
    }
    all
};

/// Which scheduler serves the BROI entries.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Schedules {
    /// Unordered epochs merge to the largest size.
    EpochFirst,
    /// By bank-level parallelism.
    BankParallel,
}

/// Persist buffers that feed BROI entries.
#[derive(Debug)]
pub struct Broi {
    pub(super) params: BroiParams,
    schedules: Schedules,
    /// The persist buffers.
    pub front: Front,
    siblings: Siblings,
    /// What was sent to each BROI entry.
    pub(super) outgoing: Vec<Outgoing>,
    /// BROI entries with a free unit, and with a free barrier index register: a bit each.
    free_units: u64,
    free_registers: u64,
    /// How clients persist, where the mechanism is their server.
    protocol: Option<Protocol>,
    tally: Rc<Tally>,
}

impl Broi {
    /// The mechanism for a machine of this shape.
    pub fn new(mut params: BroiParams, shape: MachineShape, schedules: Schedules) -> Broi {
        if !shape.writes_stay_in_order {
            params.release = Release::Media;
        }
        let ports = params.ports(shape);
        Broi {
            schedules,
            front: Front::new(&params.buffer_params(), ports, shape.hw_threads, false),
            siblings: Siblings::default(),
            outgoing: vec![Outgoing::default(); ports.count()],
            free_units: u64::MAX,
            free_registers: u64::MAX,
            protocol: None,
            tally: Rc::default(),
            params,
        }
    }
    /// The same mechanism as the server of clients that persist by this protocol.
    pub fn for_clients(self, protocol: Protocol) -> Broi {
        Broi {
            protocol: Some(protocol),
            ..self
        }
    }
    /// An access hit in an L1 that the thread shares: the sibling's buffer is asked as by a bus request.
    fn ask_siblings(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, access: Access) {
        let ports = self.front.ports;
        if let Some((port, kind)) = self.siblings.performed(&ports, hw_thread, line, access)
            && self.params.fault != BroiFault::SiblingHitUnseen
        {
            cx.count(own(SIBLING_HITS), 1);
            self.front.requested(cx, port, line, kind, Epoch::default());
        }
    }
    /// A BROI entry filled or emptied.
    pub(super) fn update_free(&mut self, port: usize) {
        let [unit, register] = self.takes(port);
        let set = |mask: &mut u64, free: bool| *mask = *mask & !(1 << port) | u64::from(free) << port;
        set(&mut self.free_units, unit);
        set(&mut self.free_registers, register);
    }
    /// Whether a BROI entry has a free unit, and a register for the next barrier.
    fn takes(&self, port: usize) -> [bool; 2] {
        let remote = port >= usize::from(self.front.ports.local);
        let registers = match remote {
            true => self.params.remote_barriers,
            false => self.params.barriers,
        };
        let entry = &self.outgoing[port];
        [
            entry.units() < usize::from(self.params.units),
            entry.takes_barrier(registers),
        ]
    }
    /// Buffers whose next entry can be sent, a bit each: no dependence is open, and its BROI entry can take it.
    pub(super) fn ready(&self) -> u64 {
        let (free, fences) = (self.front.tracker.free_heads(), self.front.tracker.fence_heads());
        let persists = !fences & self.free_units & !self.front.path.refused();
        self.front
            .oldest_of_pools(free & (fences & self.free_registers | persists))
    }
    fn report(&mut self, cx: &mut dyn Cx) {
        cx.count(own(READY), self.tally.ready.take());
        cx.count(own(BANK_CONFLICTS), self.tally.conflicts.take());
        cx.count(own(REMOTE_HELD), self.tally.held.take());
    }
}

impl Design for Broi {
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
    /// A queue for each BROI entry.
    fn controller(&self, machine: &ModuleSpec) -> ControllerParts {
        let local = usize::from(self.front.ports.local);
        let scheduler: Box<dyn Scheduler> = match self.schedules {
            Schedules::EpochFirst => Box::new(EpochScheduler::new(&self.params, local, &self.tally)),
            Schedules::BankParallel => Box::new(BroiScheduler::new(&self.params, local, &self.tally)),
        };
        ControllerParts {
            queues: QueuePlan {
                queues: self.front.ports.count() as u8,
                entries_each: Some(self.params.units.into()),
                ordered_issue: self.params.release == Release::Drain,
                scheduler_orders: true,
                ..QueuePlan::default()
            },
            scheduler: Some(scheduler),
            ..ControllerParts::of(machine)
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        let gate = self.front.instr(cx, hw_thread, instr);
        self.schedule(cx);
        gate
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData, _: u8) -> Gate {
        let gate = self.front.nt_store(cx, hw_thread, line, data, Epoch::default());
        self.schedule(cx);
        gate
    }
    fn performed(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, a: Access, _: &mut u32) {
        if self.front.ports.share_caches() {
            self.ask_siblings(cx, hw_thread, line, a);
        }
        if self.front.performed(cx, hw_thread, line, a, Epoch::default()) {
            self.schedule(cx);
        }
    }
    fn snooped(&mut self, cx: &mut dyn Cx, by: HwThread, line: LineAddr, kind: Snoop) -> SnoopAnswer {
        let ports = self.front.ports;
        if ports.share_caches() {
            self.siblings.requested(&ports, by, line);
        }
        self.front.requested(cx, ports.of(by), line, kind, Epoch::default())
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
    fn issued(&mut self, cx: &mut dyn Cx, id: WriteId) {
        if self.params.release == Release::Drain {
            let holder = self.outgoing.iter().position(|o| o.holds(id));
            if let Some(port) = holder {
                self.complete(cx, port, id);
            }
        }
    }
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        if !self.front.path.durable(id) {
            return;
        }
        self.complete(cx, usize::from(write.queue), id);
        self.front.answer_drains(cx);
        self.report(cx);
    }
    fn network_port(&mut self) -> Option<&mut dyn NetworkPort> {
        (self.params.remote_channels > 0).then_some(self as &mut dyn NetworkPort)
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
            sums: &SUMS,
            ..Statistics::of(&ALL)
        }
    }
    fn broken_rule(&self) -> Option<String> {
        let entry = self.tally.overfull.get()?;
        Some(format!(
            "BROI entry {entry} holds more barriers than registers, or more requests than units"
        ))
    }
    fn unsound(&self) -> Option<String> {
        if self.params.fault != BroiFault::None {
            return None;
        }
        let of_port = |port: usize| {
            let entry = &self.outgoing[port];
            let sent = entry.entries() != self.front.tracker.ports[port].sent;
            let noted = [self.free_units, self.free_registers].map(|mask| mask >> port & 1 == 1);
            match entry.unsound() {
                None if sent => Some("what was sent of its buffer"),
                None if noted != self.takes(port) => Some("the note of what is free"),
                what => what,
            }
        };
        let of_entry = || {
            let (port, what) = (0..self.outgoing.len()).find_map(|p| Some((p, of_port(p)?)))?;
            Some(format!("what is known of BROI entry {port}: {what}"))
        };
        self.front.unsound().or_else(of_entry)
    }
    fn explain(&self, hw_thread: HwThread) -> Option<String> {
        self.front.explain(hw_thread, |port| {
            let bit = 1 << port.0;
            let is_fence = self.front.tracker.fence_heads() & bit != 0;
            match is_fence {
                true if self.free_registers & bit == 0 => Some("waits for a barrier index register".into()),
                false if self.free_units & bit == 0 => Some("waits for a unit of its BROI entry".into()),
                _ => None,
            }
        })
    }
}

impl NetworkPort for Broi {
    fn line(&mut self, cx: &mut dyn Cx, port: HwThread, line: LineAddr, data: &LineData) -> Gate {
        let gate = self.front.remote_line(cx, port, line, data, Epoch::default());
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

/// What a controller makes ready it issues, once; and what persist buffers count adds up here as it does without such a controller.
#[test]
fn counts_are_held_to_what_they_add_up_to() {
    let design = Broi::new(BroiParams::default(), MachineShape::default(), Schedules::BankParallel);
    let sums = design.statistics().sums;
    let ready = |s: &&Sum| s.counters == [own(READY)] && s.to == Seen::Issued && !s.at_most;
    assert_eq!(sums.iter().filter(ready).count(), 1);
    assert!(stats::SUMS.iter().all(|s| sums.contains(s)));
}
