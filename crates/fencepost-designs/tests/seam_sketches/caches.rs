//! Sketches of Themis, LOC and Kiln: order kept in and around the caches.

use super::write;
use fencepost_designs::testkit::*;
use fencepost_kernel::*;
use fencepost_machine::seam::*;
use std::collections::{BTreeMap, VecDeque};

// ---- Themis: a line remembers the tail of the write-combining buffer and leaves the L1 only behind it

#[derive(Default)]
struct ThemisSketch {
    tail: u32,
    ack: u32,
    in_flight: VecDeque<WriteId>,
}
impl Design for ThemisSketch {
    fn hooks(&self) -> Hooks {
        Hooks {
            stores: true,
            holds: true,
            leaving: true,
            writes: true,
            ..Hooks::default()
        }
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, data: &LineData, _mask: u8) -> Gate {
        if self.tail - self.ack >= 16 {
            return Gate::Wait(Cause::WcbFull);
        }
        match cx.write(write(line, *data, 0, WriteCause::NonTemporal, Some(hart))) {
            Ok(id) => {
                self.tail += 1;
                self.in_flight.push_back(id);
                Gate::Go
            }
            Err(cause) => Gate::Wait(cause),
        }
    }
    fn performed(&mut self, _: &mut dyn Cx, _: HartId, line: LineAddr, a: Access, _: &LineData, meta: &mut u32) {
        if a == Access::Store && line.is_persistent() {
            *meta = self.tail;
        }
    }
    fn may_leave(&mut self, _: &mut dyn Cx, from: Level, way: &Way, _: Why) -> Gate {
        match from {
            Level::L1(_) if way.dirty && way.meta > self.ack => Gate::Wait(Cause::OrderPending),
            _ => Gate::Go,
        }
    }
    fn accepted(&mut self, cx: &mut dyn Cx, id: WriteId, _: &Write) {
        self.in_flight.retain(|w| *w != id);
        self.ack = self.tail - self.in_flight.len() as u32;
        if self.ack == 64 {
            // The pointers wrap: everything restarts from zero.
            (self.tail, self.ack) = (0, 0);
            cx.clear_meta(Level::L1(CoreId(0)));
        }
        cx.kick(None);
    }
}

#[test]
fn themis_holds_a_line_behind_older_non_temporal_stores() {
    let mut b = Bench::new(ThemisSketch::default(), 1, 1, 64);
    let data = filled(1);
    assert_eq!(b.design.nt_store(&mut b.cx, HartId(0), pm_line(0), &data, 1), Gate::Go);
    let meta = b.store(0, pm_line(1), 0, 2);
    let way = Way {
        line: pm_line(1),
        dirty: true,
        meta,
        frozen: false,
    };
    let from = Level::L1(CoreId(0));
    for why in [Why::Replaced, Why::Cleaned, Why::TakenBy(CoreId(1))] {
        assert_eq!(
            b.design.may_leave(&mut b.cx, from, &way, why),
            Gate::Wait(Cause::OrderPending)
        );
    }
    b.run_for(Ps(1));
    assert_eq!(b.design.may_leave(&mut b.cx, from, &way, Why::Replaced), Gate::Go);
    for n in 0..15 {
        b.design.nt_store(&mut b.cx, HartId(0), pm_line(10 + n), &data, 1);
    }
    assert_eq!(b.design.tail, 16);
}

// ---- LOC: versions of a line, the log, in-place writes after it, rollback, and hardware recovery

#[derive(Default)]
pub struct LocSketch {
    running: u32,
    committed: u32,
    window: u32,
    head: u64,
    logged: BTreeMap<LineAddr, LineData>,
    log_writes: BTreeMap<WriteId, LineAddr>,
}
impl Design for LocSketch {
    fn hooks(&self) -> Hooks {
        Hooks {
            stores: true,
            holds: true,
            leaving: true,
            versions: true,
            reads: true,
            writes: true,
            ..Hooks::default()
        }
    }
    fn tx_begin(&mut self, _: &mut dyn Cx, _: HartId) -> TxStart {
        if self.running - self.committed >= self.window.max(2) {
            return TxStart::Wait(Cause::WindowFull);
        }
        self.running += 1;
        TxStart::Go(TxId(self.running))
    }
    fn place(&mut self, _: &mut dyn Cx, _: HartId, way: &Way) -> Place {
        match way.meta {
            0 => Place::Here,
            m if m == self.running => Place::Here,
            _ => Place::Fork,
        }
    }
    fn victim(&mut self, _: Level, ways: &[Way]) -> Option<usize> {
        ways.iter().position(|w| !w.frozen && !w.dirty)
    }
    fn performed(&mut self, _: &mut dyn Cx, _: HartId, _: LineAddr, a: Access, _: &LineData, meta: &mut u32) {
        if a == Access::Store {
            *meta = self.running;
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hart: HartId, instr: Instr) -> Gate {
        match instr {
            Instr::TxCommit(tx) => {
                // The newest version comes through the clean, an older one from its frozen way.
                cx.clean(hart, pm_line(0), CleanKind::KeepExclusive, u64::from(tx.0));
                if let Some(old) = cx.version(Level::L1(CoreId(0)), pm_line(0), tx.0 - 1) {
                    self.log(cx, pm_line(0), old);
                    cx.drop_version(Level::L1(CoreId(0)), pm_line(0), tx.0 - 1);
                }
                Gate::Go
            }
            Instr::TxAbort(tx) => {
                cx.roll_back(hart, tx);
                Gate::Go
            }
            Instr::TxFlush if self.committed < self.running => Gate::Wait(Cause::LogPending),
            _ => Gate::Go,
        }
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, _: HartId, tag: u64, found: Option<&LineData>) {
        if let Some(data) = found {
            self.log(cx, pm_line(0), *data);
        }
        self.committed = tag as u32;
        cx.set_meta(Level::Llc, pm_line(0), 0);
        cx.kick(None);
    }
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, w: &Write) {
        // In place only once the log has it.
        if let Some(home) = self.log_writes.remove(&id) {
            let _ = cx.write(write(home, w.data, 0, WriteCause::Home, None));
        }
    }
    fn leaving(&mut self, _: &mut dyn Cx, from: Level, way: &Way, data: &LineData, _: Why) -> Exit {
        if from == Level::Llc && way.meta != 0 {
            self.logged.insert(way.line, *data);
            return Exit::Drop;
        }
        Exit::Down
    }
    fn owned_read(&mut self, _: &mut dyn Cx, line: LineAddr) -> Option<LineData> {
        self.logged.get(&line).copied()
    }
    fn recover(&self, image: &mut Image) {
        for (line, data) in &self.logged {
            image.set_line(*line, data);
        }
    }
}
impl LocSketch {
    fn log(&mut self, cx: &mut dyn Cx, home: LineAddr, data: LineData) {
        let (base, len) = cx.log_area();
        let at = Addr(base.0 + self.head % len).line();
        self.head += 64;
        if let Ok(id) = cx.write(write(at, data, 0, WriteCause::Log, None)) {
            self.log_writes.insert(id, home);
        }
    }
}

#[test]
fn loc_logs_versions_then_writes_in_place_and_recovers_by_itself() {
    let mut b = Bench::new(LocSketch::default(), 1, 1, 64);
    let begin = |b: &mut Bench<LocSketch>| b.design.tx_begin(&mut b.cx, HartId(0));
    assert_eq!(begin(&mut b), TxStart::Go(TxId(1)));
    let meta = b.store(0, pm_line(0), 0, 1);
    assert_eq!(begin(&mut b), TxStart::Go(TxId(2)));
    let way = Way {
        line: pm_line(0),
        dirty: true,
        meta,
        frozen: false,
    };
    assert_eq!(b.design.place(&mut b.cx, HartId(0), &way), Place::Fork);
    b.cx.versions.insert((pm_line(0), 1), filled(1));
    assert_eq!(begin(&mut b), TxStart::Wait(Cause::WindowFull));
    assert_eq!(b.instr(0, Instr::TxCommit(TxId(2))), Gate::Go);
    assert!(b.finish_clean(false));
    b.run_for(Ps(1));
    let log = b.candidates()[0];
    b.write_to_device(log);
    assert_eq!(b.cx.writes.last().map(|w| w.write.cause), Some(WriteCause::Home));
    let frozen = Way { meta: 2, ..way };
    let exit = b
        .design
        .leaving(&mut b.cx, Level::Llc, &frozen, &filled(7), Why::Replaced);
    assert_eq!(exit, Exit::Drop);
    assert_eq!(b.design.owned_read(&mut b.cx, pm_line(0)), Some(filled(7)));
    let mut image = Image::default();
    b.design.recover(&mut image);
    assert_eq!(image.line(pm_line(0)).words, [7; 8]);
}

// ---- Kiln: the last level is non-volatile, commit moves lines into it

struct KilnSketch;
impl Design for KilnSketch {
    fn instr(&mut self, cx: &mut dyn Cx, hart: HartId, instr: Instr) -> Gate {
        if let Instr::TxCommit(tx) = instr {
            cx.clean(hart, pm_line(0), CleanKind::ToLlc, u64::from(tx.0));
        }
        Gate::Go
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, _: HartId, _: u64, found: Option<&LineData>) {
        if let Some(data) = found {
            cx.durable_elsewhere(pm_line(0), data);
        }
    }
}

#[test]
fn kiln_makes_lines_durable_in_the_last_level() {
    let mut b = Bench::new(KilnSketch, 1, 1, 64);
    b.instr(0, Instr::TxCommit(TxId(1)));
    assert_eq!(b.cx.cleans[0].kind, CleanKind::ToLlc);
    b.finish_clean(true);
    assert!(b.cx.calls.iter().any(|c| matches!(c, Call::DurableElsewhere(..))));
}
