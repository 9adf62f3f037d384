//! The hierarchy alone: a fake rest of the machine, whose memory answers after a fixed time.

use super::outside::Outside;
use super::private::Waiter;
use super::state::{Hierarchy, Lookup, ReadFor, Side, Step};
use crate::seam::{
    CleanKind, Exit, Gate, Hooks, Level, Place, ReadAnswer, Snoop, SnoopAnswer, Way, Why, Write, WriteId,
};
use crate::spec::{CleanPath, MachineSpec};
use fencepost_kernel::{Addr, Bytes, CoreId, HwThread, LineAddr, LineData, Ps};

mod design;
mod grants;
mod marks;
mod rolled_back;
mod second_level;
mod sound;
mod waiting;

/// From a read in the controller's queue to its data.
const MEDIA: Ps = Ps(40_000);

#[derive(Copy, Clone, PartialEq, Debug)]
enum Next {
    Step(Step),
    Read(Side, u64),
    Write(Side, WriteId),
}

/// Time, events, and a design that may hold lines back.
#[derive(Default)]
struct Fake {
    now: Ps,
    agenda: Vec<(Ps, u64, Next)>,
    seq: u64,
    ids: u64,
    /// Writes that controllers have taken: line and when.
    written: Vec<(LineAddr, Ps)>,
    cleaned: Vec<(u64, bool, Ps)>,
    /// The design keeps this line in its cache.
    held: Option<LineAddr>,
    /// No free entry in the write queues.
    full: bool,
    /// How often a controller was asked whether it takes a write.
    asked: usize,
    /// A line whose newest bytes lie elsewhere, and where.
    logged: Option<(LineAddr, LineAddr)>,
    /// A line that the design has.
    supplied: Option<LineAddr>,
    /// Queues whose writers were told to try again.
    freed: Vec<u8>,
}
impl Fake {
    fn at(&mut self, at: Ps, next: Next) {
        self.seq += 1;
        self.agenda.push((at, self.seq, next));
    }
}
impl Outside for Fake {
    fn now(&self) -> Ps {
        self.now
    }
    fn schedule(&mut self, at: Ps, step: Step) {
        assert!(at >= self.now, "nothing is scheduled in the past");
        self.at(at, Next::Step(step));
    }
    fn line_data(&self, _: LineAddr) -> LineData {
        LineData::default()
    }
    fn push_write(&mut self, side: Side, write: Write) -> Option<WriteId> {
        if self.full {
            return None;
        }
        self.ids += 1;
        let id = WriteId(self.ids);
        self.written.push((write.line, self.now));
        self.at(self.now + write.delay, Next::Write(side, id));
        Some(id)
    }
    fn takes_none(&mut self, _: Side, _: LineAddr, _: u8) -> bool {
        self.asked += 1;
        self.full
    }
    fn routes(&mut self, _: Side) -> bool {
        false
    }
    fn push_read(&mut self, side: Side, id: u64, _: LineAddr) -> bool {
        self.at(self.now + MEDIA, Next::Read(side, id));
        true
    }
    fn answer(&mut self, _: Side, _: u64) -> Option<[u64; 8]> {
        None
    }
    fn wake_memory(&mut self, _: Side) {}
    fn memory_is_current(&self, _: LineAddr, _: LineAddr, _: Option<&LineData>) -> bool {
        true
    }
    fn may_leave(&mut self, _: &mut Hierarchy, _: Level, way: &Way, _: Why) -> Gate {
        match self.held == Some(way.line) {
            true => Gate::Wait(crate::seam::Cause::OrderPending),
            false => Gate::Go,
        }
    }
    fn leaving(&mut self, _: &mut Hierarchy, _: Level, _: &Way, _: &LineData, _: Why) -> Exit {
        Exit::Down
    }
    fn snooped(&mut self, _: &mut Hierarchy, _: HwThread, _: LineAddr, _: Snoop) -> SnoopAnswer {
        SnoopAnswer::Pass
    }
    fn place(&mut self, _: &mut Hierarchy, _: HwThread, _: &Way) -> Place {
        Place::Here
    }
    fn read_missed(&mut self, _: &mut Hierarchy, _: HwThread, line: LineAddr) -> ReadAnswer {
        match self.supplied == Some(line) {
            true => ReadAnswer::Supply,
            false => ReadAnswer::Pass,
        }
    }
    fn read_from(&mut self, _: &mut Hierarchy, line: LineAddr) -> LineAddr {
        self.logged.filter(|l| l.0 == line).map_or(line, |l| l.1)
    }
    fn design_read_done(&mut self, _: &mut Hierarchy, _: u64, _: LineAddr) {}
    fn cleaned(&mut self, _: &mut Hierarchy, _: HwThread, tag: u64, found: Option<&LineData>) {
        let now = self.now;
        self.cleaned.push((tag, found.is_some(), now));
    }
    fn queue_freed(&mut self, _: &mut Hierarchy, queue: u8) {
        self.freed.push(queue);
    }
}

pub(super) struct Bench {
    pub(super) h: Hierarchy,
    out: Fake,
    spec: MachineSpec,
    /// Waiters whose line has arrived, and when.
    arrived: Vec<(Waiter, Ps)>,
}
impl Bench {
    pub(super) fn new(spec: MachineSpec, hooks: Hooks) -> Bench {
        Bench {
            h: Hierarchy::new(&spec, hooks),
            out: Fake::default(),
            spec,
            arrived: Vec::new(),
        }
    }
    fn access(&mut self, core: u8, line: LineAddr, exclusive: bool) -> Lookup {
        let waiter = Waiter::Load(HwThread(core), 1);
        self.h.access(&mut self.out, CoreId(core), line, exclusive, waiter)
    }
    /// Until nothing is left to do.
    fn run(&mut self) {
        self.run_until(|_| false);
    }
    fn run_until(&mut self, enough: impl Fn(&Fake) -> bool) {
        while !enough(&self.out)
            && let Some(i) = (0..self.out.agenda.len()).min_by_key(|i| (self.out.agenda[*i].0, self.out.agenda[*i].1))
        {
            let (at, _, next) = self.out.agenda.swap_remove(i);
            self.out.now = at;
            let (h, out) = (&mut self.h, &mut self.out);
            match next {
                Next::Step(Step::Remote(_)) => unreachable!("no network here"),
                Next::Read(side, id) => h.read_done(out, side, id),
                Next::Write(side, id) => h.write_arrived(out, side, id, &LineData::default()),
                Next::Step(Step::Grant(c, m)) => h.grant(out, c, m),
                Next::Step(Step::ReadSend(side, what)) => h.send_read(out, side, what),
                Next::Step(Step::Clean(slot)) => h.clean(out, slot),
                Next::Step(Step::Cleaned(hw_thread, tag)) => out.cleaned(h, hw_thread, tag, None),
                Next::Step(Step::CleanAnswered(slot)) => h.clean_answered(out, slot),
                Next::Step(Step::Starved(_)) => {}
                Next::Step(Step::Fill(c, m)) => {
                    let Some(arrived) = h.fill(out, c, m) else { continue };
                    let waiters = (0..).map_while(|i| self.h.waiter(i));
                    self.arrived.extend(waiters.map(|w| (w, at)));
                    self.h.served(&mut self.out, arrived);
                }
            }
        }
    }
    /// Brings a line into a core's L1 and returns how long that took.
    pub(super) fn fetch(&mut self, core: u8, line: LineAddr, exclusive: bool) -> Ps {
        let from = self.out.now;
        assert_eq!(self.access(core, line, exclusive), Lookup::Missed);
        self.run();
        let (_, at) = *self.arrived.last().expect("a waiter was called");
        at - from
    }
    /// Stores to a line that the core may write.
    fn store(&mut self, core: u8, line: LineAddr) {
        let Lookup::Hit(way) = self.access(core, line, true) else {
            panic!("the line is there");
        };
        self.h.store(CoreId(core), line, way);
    }
    /// From a miss in the L1 to the grant of an idle bus.
    fn to_grant(&self) -> Ps {
        self.spec.l1.latency + self.spec.bus.arbitration
    }
}
pub(super) fn line(i: u64) -> LineAddr {
    Addr::pm(i * 64).line()
}

#[test]
fn a_miss_takes_the_sum_of_its_path_and_then_hits() {
    let mut b = Bench::new(MachineSpec::default(), Hooks::default());
    let (llc, bus) = (b.spec.llc.latency, b.spec.bus.clone());
    let cold = b.to_grant() + llc + bus.to_memory + MEDIA + bus.to_memory;
    assert_eq!(b.fetch(0, line(1), false), cold);
    assert!(matches!(b.access(0, line(1), false), Lookup::Hit(_)));
    // Another core: clean and exclusive in the first, so that one supplies it.
    let peer = b.to_grant() + bus.snoop + bus.transfer;
    assert_eq!(b.fetch(1, line(1), false), peer);
    // A store to a shared line asks for permission only.
    assert_eq!(b.fetch(0, line(1), true), b.to_grant() + bus.snoop);
    assert!(
        matches!(b.access(1, line(1), false), Lookup::Missed),
        "the copy was invalidated"
    );
    assert_eq!((b.h.counters.llc_misses, b.h.counters.invalidations), (1, 1));
}

#[test]
fn requests_for_a_busy_line_queue_up_and_other_lines_overlap() {
    let mut b = Bench::new(MachineSpec::default(), Hooks::default());
    for (core, i) in [(0, 1), (1, 1), (2, 2)] {
        assert_eq!(b.access(core, line(i), true), Lookup::Missed);
    }
    b.run();
    let bus = b.spec.bus.clone();
    let data = b.to_grant() + b.spec.llc.latency + bus.to_memory * 2 + MEDIA;
    let when = |core| {
        b.arrived
            .iter()
            .find(|(w, _)| w.hw_thread() == HwThread(core))
            .unwrap()
            .1
    };
    assert_eq!(when(0), data);
    assert_eq!(
        when(1),
        data + bus.snoop + bus.transfer,
        "granted when the first has its data"
    );
    assert_eq!(when(2), data + bus.occupancy * 2, "third on the bus");
}

#[test]
fn an_l2_hit_needs_no_bus() {
    let mut spec = MachineSpec::default();
    let l2 = Ps::from_ns(5);
    spec.l2 = Some(crate::spec::CacheSpec {
        size: Bytes(1 << 20),
        latency: l2,
        ..spec.l1.clone()
    });
    spec.l1.size = Bytes(64);
    spec.l1.ways = 1;
    let mut b = Bench::new(spec, Hooks::default());
    b.fetch(0, line(1), false);
    b.fetch(0, line(2), false); // replaces it in the first level
    let grants = b.h.counters.bus_grants;
    assert_eq!(b.fetch(0, line(1), false), b.spec.l1.latency + l2);
    assert_eq!(b.h.counters.bus_grants, grants);
}

#[test]
fn a_dirty_line_is_written_when_it_is_cleaned_and_not_again() {
    let mut b = Bench::new(MachineSpec::default(), Hooks::default());
    b.fetch(0, line(1), true);
    b.store(0, line(1));
    let now = b.out.now;
    for tag in [7, 8] {
        let (at, step) =
            b.h.request_clean(b.out.now, HwThread(0), line(1), CleanKind::KeepShared, tag);
        b.out.schedule(at, step);
        b.run();
    }
    let bus = b.spec.bus.clone();
    let arrives = now + b.to_grant() + bus.snoop + bus.transfer + bus.to_memory;
    assert_eq!(b.out.cleaned[0], (7, true, arrives));
    assert_eq!(
        (b.out.cleaned[1].0, b.out.cleaned[1].1),
        (8, false),
        "nothing is dirty any more"
    );
    assert_eq!(b.out.written.len(), 1);
    assert_eq!(b.h.dirty_lines(), []);
}

/// With look-ups of the levels a clean pays them once on the way down, memory, and the wires back; so does one in vain.
#[test]
fn a_clean_pays_for_the_levels_and_the_way_back_where_the_machine_says_so() {
    let times = |clean_path, l2: Option<Ps>| {
        let mut spec = MachineSpec::default();
        spec.bus.clean_path = clean_path;
        spec.l2 = l2.map(|latency| crate::spec::CacheSpec {
            latency,
            ..spec.l1.clone()
        });
        let mut b = Bench::new(spec, Hooks::default());
        b.fetch(0, line(1), true);
        b.store(0, line(1));
        [7, 8].map(|tag| {
            let now = b.out.now;
            let (at, step) = b.h.request_clean(now, HwThread(0), line(1), CleanKind::KeepShared, tag);
            b.out.schedule(at, step);
            b.run();
            let done = b.out.cleaned.last().expect("it was answered");
            assert_eq!((done.0, done.1), (tag, tag == 7));
            done.2 - at
        })
    };
    let spec = MachineSpec::default();
    let (bus, llc, l2) = (spec.bus, spec.llc.latency, Ps::from_ns(5));
    let down = bus.snoop + bus.transfer + bus.to_memory;
    assert_eq!(times(CleanPath::Acceptance, None), [down, bus.snoop]);
    let back = bus.to_memory + bus.transfer;
    assert_eq!(
        times(CleanPath::Levels, None),
        [down + llc + back, bus.snoop + llc + bus.transfer]
    );
    assert_eq!(
        times(CleanPath::Levels, Some(l2)),
        [down + l2 + llc + back, bus.snoop + l2 + llc + bus.transfer]
    );
}

#[test]
fn a_line_that_the_design_holds_waits_in_the_write_back_buffer() {
    let mut spec = MachineSpec::default();
    spec.l1.size = Bytes(64);
    spec.l1.ways = 1;
    let hooks = Hooks {
        holds: true,
        ..Hooks::default()
    };
    let mut b = Bench::new(spec, hooks);
    b.fetch(0, line(1), true);
    b.store(0, line(1));
    b.out.held = Some(line(1));
    b.fetch(0, line(2), false); // its victim may not leave
    assert_eq!(b.h.counters.private_writebacks, 0);
    // Another core asks for it: not before it has left.
    assert_eq!(b.access(1, line(1), false), Lookup::Missed);
    let before = b.arrived.len();
    b.run();
    assert_eq!(b.arrived.len(), before, "refused while it waits");
    b.out.held = None;
    b.h.drain_write_back(&mut b.out, CoreId(0));
    b.h.retry_refused(&mut b.out, u64::MAX);
    b.run();
    assert_eq!((b.arrived.len(), b.h.counters.private_writebacks), (before + 1, 1));
}

#[test]
fn a_read_of_the_design_takes_the_way_to_memory_and_no_register() {
    let mut b = Bench::new(MachineSpec::default(), Hooks::default());
    let (at, step) = b.h.read_for_design(Ps(5), line(3), 9);
    assert_eq!(
        (at, step),
        (
            Ps(5) + b.spec.bus.to_memory,
            Step::ReadSend(Side::Pm, ReadFor::Design(0))
        )
    );
    b.out.schedule(at, step);
    b.run();
    assert_eq!(b.out.now, at + MEDIA);
    assert_eq!(b.h.counters.memory_reads, [0, 0], "only misses count");
}

/// Direct data I/O: the cores lose their copies, and the shared cache supplies the line at its own latency.
#[test]
fn a_line_from_the_network_is_in_the_shared_cache_only() {
    let mut b = Bench::new(MachineSpec::default(), Hooks::default());
    let cores = b.spec.core.cores;
    b.fetch(0, line(1), true);
    b.store(0, line(1));
    assert!(b.h.may_take_remote(&mut b.out, 0, CoreId(cores), line(1)));
    b.h.take_remote(&mut b.out, CoreId(cores), line(1));
    assert_eq!(b.h.dirty_lines(), vec![line(1)]);
    assert_eq!(b.fetch(0, line(1), false), b.to_grant() + b.spec.llc.latency);
    // While a line's data is under way, the network waits behind it.
    assert_eq!(b.access(1, line(2), true), Lookup::Missed);
    let granted = loop {
        let i = (0..b.out.agenda.len())
            .min_by_key(|i| (b.out.agenda[*i].0, b.out.agenda[*i].1))
            .expect("a grant");
        let (at, _, next) = b.out.agenda.swap_remove(i);
        b.out.now = at;
        if let Next::Step(Step::Grant(c, m)) = next {
            b.h.grant(&mut b.out, c, m);
            break at;
        }
    };
    assert!(granted > Ps::ZERO && !b.h.may_take_remote(&mut b.out, 3, CoreId(cores), line(2)));
}
