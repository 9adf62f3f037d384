//! Barrier regions from the network, and persist buffers that wait for the medium.

use crate::broi::{Broi, BroiParams, Schedules};
use crate::delegated::PortId;
use crate::info::MachineShape;
use crate::testkit::{Bench, dram_line, filled, pm_line};
use fencepost_kernel::{Fence, HwThread, LineAddr, Ps};
use fencepost_machine::seam::{Cause, Design as _, Epoch, Gate, Instr, NetworkPort as _, Snoop};

/// The second port of the network, behind four threads.
const NETWORK: HwThread = HwThread(5);
const FULL: Gate = Gate::Wait(Cause::PersistBufferFull);
const DMB: Instr = Instr::Fence(Fence::Dmb);

/// Two cores of two threads.
fn bench() -> Bench<Broi> {
    let shape = MachineShape {
        hw_threads: 4,
        cores: 2,
        ..MachineShape::default()
    };
    Bench::new(
        Broi::new(BroiParams::default(), shape, Schedules::BankParallel),
        4,
        2,
        8,
    )
}
impl Bench<Broi> {
    /// Persist buffer entries in use, by buffer: four threads, two channels.
    fn fill(&self) -> Vec<usize> {
        self.design
            .front
            .tracker
            .ports
            .iter()
            .map(|p| p.entries.len())
            .collect()
    }
    /// The adapter offers a line of a block.
    fn line(&mut self, line: LineAddr, value: u64) -> Gate {
        self.design.line(&mut self.cx, NETWORK, line, &filled(value))
    }
    /// The block of a region is complete.
    fn end(&mut self, region: u32) -> Gate {
        self.design.end(&mut self.cx, NETWORK, region)
    }
    /// Regions reported as durable.
    fn regions(&self) -> Vec<u32> {
        assert!(self.cx.regions.iter().all(|r| r.0 == NETWORK));
        self.cx.regions.iter().map(|r| r.1).collect()
    }
    fn all_arrive(&mut self) {
        self.run_for(Ps::from_ns(100));
    }
    /// The device stores the oldest write it may take.
    fn one_durable(&mut self) {
        let id = self.candidates()[0];
        self.write_to_device(id);
        self.all_arrive();
    }
    fn epochs(&self) -> Vec<(u8, Option<Epoch>)> {
        self.cx.writes.iter().map(|w| (w.write.queue, w.write.epoch)).collect()
    }
}

/// Blocks are sets of the remote entry; a block is reported when it is durable, and counted.
#[test]
fn a_block_is_one_barrier_region() {
    let mut b = bench();
    assert_eq!(
        [b.line(pm_line(100), 1), b.line(pm_line(101), 2), b.end(7)],
        [Gate::Go; 3]
    );
    assert_eq!(b.fill()[5], 3, "two lines and the FENCE");
    assert_eq!([b.line(pm_line(200), 3), b.end(8)], [Gate::Go; 2]);
    b.all_arrive();
    assert_eq!(
        b.epochs(),
        [(5, Some(Epoch(0))), (5, Some(Epoch(0))), (5, Some(Epoch(1)))]
    );
    b.one_durable();
    assert_eq!(b.regions(), [], "half of it is not");
    b.one_durable();
    assert_eq!(b.regions(), [7]);
    b.one_durable();
    assert_eq!((b.regions(), b.fill()[5]), (vec![7, 8], 0));
    let counter = b
        .design
        .statistics()
        .counters
        .iter()
        .position(|s| s.name == "remote_regions");
    assert_eq!(b.cx.counters[&counter.expect("a counter")], 2);
}

/// A full buffer refuses, and nothing is lost: with eight entries the FENCE of an eight-line block waits for one.
#[test]
fn a_full_buffer_refuses_lines() {
    let mut b = bench();
    let taken = (0..9).take_while(|n| b.line(pm_line(*n), *n) == Gate::Go).count();
    assert_eq!((taken, b.end(1)), (8, FULL));
    b.all_arrive();
    b.one_durable();
    assert_eq!(b.end(1), Gate::Go);
    assert_eq!(b.line(pm_line(50), 9), FULL, "the FENCE has the entry");
    b.one_durable();
    assert_eq!((b.line(pm_line(50), 9), b.end(2)), (Gate::Go, FULL));
    b.one_durable();
    assert_eq!(b.end(2), Gate::Go);
    for _ in 0..6 {
        b.one_durable();
    }
    assert_eq!(b.regions(), [1, 2]);
}

/// Coherence finds what local and remote persists have to do with one another, in both directions.
#[test]
fn remote_and_local_persists_of_a_line_depend_on_one_another() {
    let mut b = bench();
    b.store(0, pm_line(0), 0, 1);
    assert_eq!([b.line(pm_line(0), 2), b.end(1)], [Gate::Go; 2]);
    b.all_arrive();
    assert_eq!(
        b.cx.written_lines(),
        [pm_line(0)],
        "the remote line waits for the thread's"
    );
    b.one_durable();
    assert_eq!(b.cx.writes.len(), 2);
    b.snoop(0, pm_line(0), Snoop::ReadExclusive);
    b.store(0, pm_line(0), 0, 3);
    b.all_arrive();
    assert_eq!(b.cx.writes.len(), 2, "and the other way round");
    b.one_durable();
    b.one_durable();
    let order: Vec<u8> =
        b.cx.durable_order
            .iter()
            .map(|id| b.cx.writes[id.0 as usize].write.queue)
            .collect();
    assert_eq!(order, [0, 5, 0]);
}

/// Sending frees nothing: the dependant of another core goes when the medium has stored what it depends on.
#[test]
fn dependants_are_released_when_the_medium_has_stored() {
    let mut b = bench();
    b.store(0, pm_line(0), 0, 1);
    b.snoop(2, pm_line(0), Snoop::ReadExclusive);
    b.store(2, pm_line(0), 0, 2);
    b.all_arrive();
    assert_eq!(b.cx.writes.len(), 1);
    assert_eq!(b.fill()[..4], [1, 0, 1, 0]);
    b.one_durable();
    assert_eq!(b.fill()[..4], [0, 0, 1, 0]);
    assert_eq!(b.cx.writes.len(), 2);
}

/// BRO-SEM5, Figure 5: b; barrier; d on one thread, a; barrier; c on the other, a and d of one line, a before d. Here between
/// siblings, so that no bus request tells of it: whoever saw a's thread persists behind a.
#[test]
fn a_sibling_hit_is_a_conflict() {
    let mut b = bench();
    b.snoop(0, pm_line(0), Snoop::ReadExclusive);
    b.store(0, pm_line(0), 0, 1);
    b.load(1, pm_line(0));
    assert_eq!(b.instr(1, DMB), Gate::Go);
    b.store(1, pm_line(9), 0, 1);
    b.all_arrive();
    assert_eq!(b.cx.written_lines(), [pm_line(0)], "the sibling's store waits");
    b.one_durable();
    assert_eq!(b.cx.written_lines(), [pm_line(0), pm_line(9)]);
    // A thread that has used nothing of its sibling's waits for nobody.
    b.store(0, pm_line(20), 0, 1);
    b.load(1, dram_line(3));
    assert_eq!(b.instr(1, DMB), Gate::Go);
    b.store(1, pm_line(30), 0, 1);
    b.all_arrive();
    assert_eq!(b.cx.writes.len(), 4);
}

/// Two barriers fit in an entry; the third waits until the first set is durable.
#[test]
fn barrier_index_registers_bound_what_is_sent() {
    let mut b = bench();
    for n in 0..4 {
        b.store(0, pm_line(n), 0, 1);
        if n < 3 {
            assert_eq!(b.instr(0, DMB), Gate::Go);
        }
    }
    b.all_arrive();
    assert_eq!(b.cx.writes.len(), 3);
    let why = b.design.explain(HwThread(0)).expect("it waits");
    for what in ["persist buffer 0 holds 7 entries", "waits for a barrier index register"] {
        assert!(why.contains(what), "{why}");
    }
    b.one_durable();
    assert_eq!(b.cx.writes.len(), 4);
    assert_eq!(b.design.outgoing[PortId(0).index()].units(), 3);
}
