//! The test kit convicts the mistakes that a new design typically makes, and nothing else.

use fencepost_contract::{Contract, ContractKind};
use fencepost_designs::testkit::{Bench, Kit, Mini, Mistake, Mix, Op, Order};
use fencepost_kernel::{Addr, Fence, HwThread, LineAddr, LineData, Ps, Stream, WriteCause};
use fencepost_machine::seam::{
    Access, Cause, Cx, Design, Exit, FenceAction, Gate, Hooks, Instr, Level, ReadAnswer, Snoop, SnoopAnswer, Way, Why,
    Write, WriteId,
};
use std::collections::VecDeque;

/// An interest that the design needs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Interest {
    Gates,
    Stores,
    Leaving,
    Reads,
    Writes,
    Loads,
    Snoops,
    Holds,
}

/// What is wrong with a [`Buffer`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    NoKick,
    LeavesOut(Interest),
    GatesIgnored,
    NonTemporalWithoutRequest,
    NonTemporalPastTheBuffer,
    StaleRead,
    SuppliesWhatItLacks,
    FenceNotCounted,
    FenceBeforeStores,
    OrderInverted,
    DependenceDropped,
    DrainAnsweredEarly,
    FreeEntryIgnored,
    EndsTooEarly,
}

/// One persist buffer for all cores. A fence opens an epoch; writes of one epoch pass one another.
struct Buffer {
    wrong: Wrong,
    /// Epochs opened by each hardware thread; only their sum counts, unless dependences are dropped.
    opened: Vec<u64>,
    waiting: VecDeque<Entry>,
    /// Writes handed over and not durable.
    out: Vec<(WriteId, Entry)>,
}
#[derive(Copy, Clone)]
struct Entry {
    hw_thread: HwThread,
    epoch: u64,
    line: LineAddr,
    data: LineData,
}
const ENTRIES: usize = 2;

impl Buffer {
    fn new(wrong: Wrong, hw_threads: usize) -> Buffer {
        Buffer {
            wrong,
            opened: vec![0; hw_threads],
            waiting: VecDeque::new(),
            out: Vec::new(),
        }
    }
    fn is(&self, wrong: Wrong) -> bool {
        self.wrong == wrong
    }
    fn epoch(&self, hw_thread: HwThread) -> u64 {
        match self.is(Wrong::DependenceDropped) {
            true => self.opened[hw_thread.index()],
            false => self.opened.iter().sum(),
        }
    }
    fn append(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: LineData) {
        if self.waiting.len() < ENTRIES || !self.is(Wrong::GatesIgnored) {
            let epoch = self.epoch(hw_thread);
            self.waiting.push_back(Entry {
                hw_thread,
                epoch,
                line,
                data,
            });
        }
        self.send(cx);
    }
    /// Hands over what may go: nothing while writes of another epoch are not durable.
    fn send(&mut self, cx: &mut dyn Cx) {
        let next = |b: &Buffer| match b.is(Wrong::OrderInverted) {
            true => b.waiting.back().copied(),
            false => b.waiting.front().copied(),
        };
        while let Some(e) = next(self) {
            let apart = |o: &&(WriteId, Entry)| !self.is(Wrong::DependenceDropped) || o.1.hw_thread == e.hw_thread;
            let held = self.out.iter().filter(apart).any(|o| o.1.epoch != e.epoch);
            let write = Write {
                line: e.line,
                data: e.data,
                queue: 0,
                epoch: None,
                cause: WriteCause::Persist,
                hw_thread: Some(e.hw_thread),
                delay: Ps::ZERO,
            };
            let Some(Ok(id)) = (!held).then(|| cx.write(write)) else {
                return;
            };
            self.out.push((id, e));
            match self.is(Wrong::OrderInverted) {
                true => self.waiting.pop_back(),
                false => self.waiting.pop_front(),
            };
            if !self.is(Wrong::NoKick) {
                cx.kick(None);
            }
        }
    }
    fn idle(&self) -> bool {
        self.waiting.is_empty() && self.out.is_empty()
    }
}

impl Design for Buffer {
    fn hooks(&self) -> Hooks {
        let declares = |interest| self.wrong != Wrong::LeavesOut(interest);
        Hooks {
            gate_loads: declares(Interest::Gates),
            gate_stores: declares(Interest::Gates),
            stores: declares(Interest::Stores),
            leaving: declares(Interest::Leaving),
            reads: declares(Interest::Reads),
            writes: declares(Interest::Writes),
            ..Hooks::default()
        }
    }
    /// Only drains make their thread wait.
    fn fence(&self, kind: Fence) -> FenceAction {
        match kind {
            _ if self.is(Wrong::FenceBeforeStores) => FenceAction::AT_ONCE,
            Fence::Dsb | Fence::Pcommit => FenceAction::AFTER_STORES,
            _ => FenceAction::MARKER,
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        let Instr::Fence(fence) = instr else { return Gate::Go };
        if !self.is(Wrong::FenceNotCounted) {
            self.opened[hw_thread.index()] += 1;
        }
        self.send(cx);
        match fence {
            Fence::Dsb | Fence::Pcommit if !self.idle() && !self.is(Wrong::DrainAnsweredEarly) => {
                Gate::Wait(Cause::DrainPending)
            }
            _ => Gate::Go,
        }
    }
    fn may_access(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr, access: Access) -> Gate {
        let full = access == Access::Store && line.is_persistent() && self.waiting.len() >= ENTRIES;
        match full && !self.is(Wrong::GatesIgnored) {
            true => Gate::Wait(Cause::PersistBufferFull),
            false => Gate::Go,
        }
    }
    fn performed(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, a: Access, _: &mut u32) {
        if a == Access::Store && line.is_persistent() {
            let now = cx.coherent(line);
            self.append(cx, hw_thread, line, now);
        }
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData, _: u8) -> Gate {
        match self.wrong {
            Wrong::NonTemporalWithoutRequest => return Gate::Go,
            Wrong::NonTemporalPastTheBuffer => return Straight.nt_store(cx, hw_thread, line, data, 0),
            _ if self.waiting.len() >= ENTRIES => return Gate::Wait(Cause::PersistBufferFull),
            _ => self.append(cx, hw_thread, line, *data),
        }
        Gate::Go
    }
    fn leaving(&mut self, _: &mut dyn Cx, from: Level, way: &Way, _: &LineData, why: Why) -> Exit {
        let to_memory = from == Level::Llc || why == Why::Cleaned;
        match to_memory && way.line.is_persistent() {
            true => Exit::Drop,
            false => Exit::Down,
        }
    }
    fn read_missed(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr) -> ReadAnswer {
        let supplies = match self.wrong {
            Wrong::StaleRead => false,
            Wrong::SuppliesWhatItLacks => line.is_persistent(),
            _ => self.waiting.iter().any(|e| e.line == line),
        };
        match supplies {
            true => ReadAnswer::Supply,
            false => ReadAnswer::Pass,
        }
    }
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, _: &Write) {
        self.out.retain(|o| o.0 != id);
        self.send(cx);
        if !self.is(Wrong::NoKick) {
            cx.kick(None);
        }
    }
    fn queue_freed(&mut self, cx: &mut dyn Cx, _: u8) {
        if !self.is(Wrong::FreeEntryIgnored) {
            self.send(cx);
        }
    }
    fn drain(&mut self, cx: &mut dyn Cx) -> bool {
        if self.is(Wrong::EndsTooEarly) {
            self.waiting.clear();
        }
        self.send(cx);
        self.idle()
    }
}

/// A design that overrides nothing: what the seam does by default.
struct Straight;
impl Design for Straight {}

fn kit(order: Order) -> Kit {
    Kit {
        contract: Contract::from(ContractKind::Rcbsp),
        complete: true,
        mix: Mix {
            threads: 3,
            ops: 14,
            pm_lines: 3,
            dram_lines: 2,
            fences: &Fence::ALL,
            flushes: &[],
            nt_stores: true,
        },
        order,
        durable_on_accept: false,
    }
}
fn mistake_with(kit: Kit, wrong: Wrong) -> Option<Mistake> {
    kit.try_out(|| Buffer::new(wrong, 3), 3_000)
        .err()
        .map(|(_, mistake)| mistake)
}
fn mistake(wrong: Wrong) -> Option<Mistake> {
    mistake_with(kit(Order::StoresLag), wrong)
}

/// The design as it should be: clean however far cores run ahead, and it does reorder.
#[test]
fn a_sound_design_is_not_convicted() {
    for order in [Order::InOrder, Order::StoresLag, Order::Relaxed] {
        for durable_on_accept in [false, true] {
            let kit = Kit {
                durable_on_accept,
                ..kit(order)
            };
            match kit.try_out(|| Buffer::new(Wrong::Nothing, 3), 300) {
                Ok(reordered) => assert!(reordered > 0 || durable_on_accept, "{order:?}: never reordered"),
                Err((seed, mistake)) => {
                    panic!("{order:?}, durable on accept: {durable_on_accept}, seed {seed}: {mistake}")
                }
            }
        }
    }
}

#[test]
fn what_is_never_kicked_is_never_asked_again() {
    assert_eq!(mistake(Wrong::NoKick), Some(Mistake::Stuck));
    // Where writes are durable before their entry is free, nothing else tells of the entry.
    let early = Kit {
        durable_on_accept: true,
        ..kit(Order::StoresLag)
    };
    assert_eq!(mistake_with(early, Wrong::FreeEntryIgnored), Some(Mistake::Stuck));
}

#[test]
fn every_interest_that_is_left_out_is_noticed() {
    for interest in [
        Interest::Gates,
        Interest::Stores,
        Interest::Leaving,
        Interest::Reads,
        Interest::Writes,
    ] {
        assert_eq!(
            mistake(Wrong::LeavesOut(interest)),
            Some(Mistake::Undeclared),
            "{interest:?}"
        );
    }
    for interest in [Interest::Loads, Interest::Snoops, Interest::Holds] {
        let found = kit(Order::StoresLag).try_out(|| Kicks { leaves_out: interest }, 100);
        assert_eq!(found.err().map(|f| f.1), Some(Mistake::Undeclared), "{interest:?}");
    }
}

/// A design that does something in hooks of which it does not declare all.
struct Kicks {
    leaves_out: Interest,
}
impl Design for Kicks {
    fn hooks(&self) -> Hooks {
        Hooks {
            loads: self.leaves_out != Interest::Loads,
            snoops: self.leaves_out != Interest::Snoops,
            holds: self.leaves_out != Interest::Holds,
            ..Hooks::default()
        }
    }
    fn performed(&mut self, cx: &mut dyn Cx, _: HwThread, _: LineAddr, a: Access, _: &mut u32) {
        if a == Access::Load {
            cx.kick(None);
        }
    }
    fn snooped(&mut self, cx: &mut dyn Cx, _: HwThread, _: LineAddr, _: Snoop) -> SnoopAnswer {
        cx.kick(None);
        SnoopAnswer::Pass
    }
    fn may_leave(&mut self, cx: &mut dyn Cx, _: Level, _: &Way, _: Why) -> Gate {
        cx.kick(None);
        Gate::Go
    }
}

#[test]
fn stores_that_are_lost_or_overtaken_are_noticed() {
    for wrong in [
        Wrong::GatesIgnored,
        Wrong::NonTemporalWithoutRequest,
        Wrong::NonTemporalPastTheBuffer,
        Wrong::EndsTooEarly,
    ] {
        let found = mistake(wrong);
        assert!(
            matches!(found, Some(Mistake::Order(_) | Mistake::Stale(_))),
            "{wrong:?}: {found:?}"
        );
    }
}

#[test]
fn stale_reads_are_noticed() {
    for wrong in [Wrong::StaleRead, Wrong::SuppliesWhatItLacks] {
        let found = mistake(wrong);
        assert!(matches!(found, Some(Mistake::Stale(_))), "{wrong:?}: {found:?}");
    }
}

#[test]
fn broken_order_is_noticed() {
    for wrong in [
        Wrong::FenceNotCounted,
        Wrong::FenceBeforeStores,
        Wrong::OrderInverted,
        Wrong::DependenceDropped,
        Wrong::DrainAnsweredEarly,
    ] {
        let found = mistake(wrong);
        assert!(matches!(found, Some(Mistake::Order(_))), "{wrong:?}: {found:?}");
    }
}

/// What the checker is told of a run is what its programs did: which stores were non-temporal, too.
#[test]
fn the_record_has_each_store_as_it_was() {
    let line = Addr::pm(0).line();
    let program = [Op::NtStore(line, 0), Op::Store(line, 1), Op::NtStore(line, 2)];
    let mut mini = Mini::new(
        Bench::new(Buffer::new(Wrong::Nothing, 1), 1, 1, 64),
        &[program.into()],
        Order::InOrder,
    );
    assert!(mini.run(&mut Stream::new(1, "record")));
    let stores: Vec<bool> = mini.trace.stores.iter().map(|s| s.nt).collect();
    assert_eq!(stores, [true, false, true]);
}
