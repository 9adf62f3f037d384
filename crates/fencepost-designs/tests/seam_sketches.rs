//! SKETCHES, not designs: the awkward part of each paper against the seam, to show that the hooks suffice.
//!
//! Each sketch does just enough of its mechanism to touch the hooks that the paper needs; nothing here is registered or
//! simulated. The last test drives every hook of the trait once, through the recording double.

use fencepost_designs::testkit::{Bench, Call, Hook, Recorder, filled, pm_line};
use fencepost_kernel::{Addr, CoreId, Fence, HartId, Image, LineAddr, LineData, Ps, QueueId, TxId, WriteCause};
use fencepost_machine::seam::{
    Access, Cause, CleanKind, Cx, Design, DrainScope, Epoch, Exit, Gate, Hooks, Instr, Level, Place, QueuePlan,
    RemoteWrite, Snoop, SnoopAnswer, TxStart, Way, Why, Write, WriteId,
};
use std::collections::{BTreeMap, VecDeque};

fn write(line: LineAddr, data: LineData, queue: u8, cause: WriteCause, hart: Option<HartId>) -> Write {
    Write {
        line,
        data,
        queue,
        epoch: None,
        cause,
        hart,
        delay: Ps::ZERO,
    }
}

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
struct LocSketch {
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

// ---- BROI: the controller picks by bank and barrier; remote epochs arrive through the network port

#[derive(Default)]
struct BroiSketch {
    barrier: BTreeMap<u8, Epoch>,
    remote: VecDeque<(RemoteWrite, usize)>,
    lost: u32,
}
impl Design for BroiSketch {
    fn hooks(&self) -> Hooks {
        Hooks {
            issue: true,
            writes: true,
            ..Hooks::default()
        }
    }
    fn may_issue(&self, _: WriteId, w: &Write) -> bool {
        let open = w.hart.and_then(|h| self.barrier.get(&h.0));
        open.is_none_or(|ready| w.epoch.is_none_or(|e| e <= *ready))
    }
    fn remote_write(&mut self, cx: &mut dyn Cx, w: RemoteWrite, data: &[LineData]) -> Gate {
        if cx.queued(0) >= 4 {
            return Gate::Wait(Cause::RemotePending);
        }
        for (i, d) in data.iter().enumerate() {
            let line = LineAddr(w.base.line().0 + i as u64);
            let bank = cx.bank(line) % cx.banks();
            cx.sample(0, u64::from(bank));
            cx.ddio_fill(line, d);
        }
        self.remote.push_back((w, data.len()));
        Gate::Go
    }
    fn ddio_filled(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let data = cx.coherent(line);
        let _ = cx.write(write(line, data, 0, WriteCause::Remote, None));
    }
    fn durable(&mut self, cx: &mut dyn Cx, _: WriteId, w: &Write) {
        if let Some(hart) = w.hart {
            self.barrier.insert(hart.0, Epoch(w.epoch.map_or(0, |e| e.0) + 1));
            cx.kick_writes();
        }
        if w.cause == WriteCause::Remote
            && let Some((remote, left)) = self.remote.front_mut()
        {
            *left -= 1;
            if *left == 0 {
                cx.acknowledge_remote(remote.channel, remote.sequence);
                self.remote.pop_front();
            }
        }
    }
    fn remote_lost(&mut self, _: &mut dyn Cx, _: u8) {
        self.lost += 1;
        self.remote.clear();
    }
}

#[test]
fn broi_orders_its_own_entries_and_acknowledges_remote_epochs() {
    let mut b = Bench::new(BroiSketch::default(), 2, 1, 64);
    b.design.barrier.insert(1, Epoch(0));
    let late = Write {
        epoch: Some(Epoch(1)),
        ..write(pm_line(9), filled(1), 0, WriteCause::Persist, Some(HartId(1)))
    };
    assert!(!b.design.may_issue(WriteId(0), &late));
    let remote = RemoteWrite {
        channel: 1,
        base: pm_line(0).base(),
        len: 128,
        sequence: 5,
    };
    assert_eq!(
        b.design.remote_write(&mut b.cx, remote, &[filled(1), filled(2)]),
        Gate::Go
    );
    for line in [pm_line(0), pm_line(1)] {
        b.design.ddio_filled(&mut b.cx, line);
    }
    b.run_for(Ps(1));
    for _ in 0..2 {
        let id = b.candidates()[0];
        b.write_to_device(id);
    }
    assert!(b.cx.calls.contains(&Call::AcknowledgeRemote(1, 5)));
    b.design.remote_lost(&mut b.cx, 1);
    assert_eq!(b.design.lost, 1);
}

// ---- Per-task committing: sub-queues by range, credits at both controllers

struct FgcSketch {
    ranges: Vec<(Addr, u64, QueueId)>,
    credit: [u16; 9],
    committing: [bool; 9],
}
impl Design for FgcSketch {
    fn hooks(&self) -> Hooks {
        Hooks {
            writes: true,
            ..Hooks::default()
        }
    }
    fn queue_plan(&self) -> QueuePlan {
        QueuePlan {
            queues: 9,
            entries_each: Some(8),
            ordered_issue: false,
        }
    }
    fn bind(&mut self, _: &mut dyn Cx, _: HartId, base: Addr, len: u64) -> QueueId {
        let used = |q: u8| self.ranges.iter().filter(|r| r.2 == QueueId(q)).count();
        let queue = QueueId((0..8).min_by_key(|q| used(*q)).unwrap_or(0));
        self.ranges.push((base, len, queue));
        queue
    }
    fn route(&self, line: LineAddr) -> u8 {
        let at = line.base().0;
        let bound = self.ranges.iter().find(|r| (r.0.0..r.0.0 + r.1).contains(&at));
        bound.map_or(8, |r| r.2.0)
    }
    fn admit(&mut self, _: &mut dyn Cx, w: &Write) -> Gate {
        match usize::from(w.queue) {
            q if self.committing[q] => Gate::Wait(Cause::CommitPending),
            q if self.credit[q] == 0 => Gate::Wait(Cause::Credit),
            _ => Gate::Go,
        }
    }
    fn accepted(&mut self, _: &mut dyn Cx, _: WriteId, w: &Write) {
        self.credit[usize::from(w.queue)] -= 1;
    }
    fn module_accepted(&mut self, cx: &mut dyn Cx, _: WriteId, _: &Write) {
        cx.count(0, 1);
    }
    fn instr(&mut self, cx: &mut dyn Cx, _: HartId, instr: Instr) -> Gate {
        match instr {
            Instr::CommitQueue(q) if !self.committing[usize::from(q.0)] => {
                self.committing[usize::from(q.0)] = true;
                cx.gate_queue(q.0, false);
                cx.read(LineAddr(u64::from(q.0)), u64::from(q.0));
                Gate::Wait(Cause::CommitPending)
            }
            Instr::CommitQueue(q) if self.credit[usize::from(q.0)] < 8 || cx.queued(q.0) > 0 => {
                Gate::Wait(Cause::CommitPending)
            }
            Instr::CommitQueue(q) => {
                self.committing[usize::from(q.0)] = false;
                cx.gate_queue(q.0, true);
                Gate::Go
            }
            Instr::ReleaseQueue(q) => {
                self.ranges.retain(|r| r.2 != q);
                Gate::Go
            }
            _ => Gate::Go,
        }
    }
    fn read_done(&mut self, cx: &mut dyn Cx, tag: u64, _: LineAddr, _: &LineData) {
        self.credit[tag as usize] = 8;
        cx.kick(None);
    }
}

#[test]
fn per_task_commit_gates_its_queue_until_credits_are_back() {
    let design = FgcSketch {
        ranges: Vec::new(),
        credit: [8; 9],
        committing: [false; 9],
    };
    let mut b = Bench::new(design, 1, 1, 8);
    let q = b.design.bind(&mut b.cx, HartId(0), pm_line(0).base(), 4096);
    assert_eq!((b.design.route(pm_line(3)), b.design.route(pm_line(100))), (q.0, 8));
    b.cx.lines.insert(pm_line(3), filled(3));
    b.cx.clean(HartId(0), pm_line(3), CleanKind::Invalidate, 0);
    assert!(b.finish_clean(true));
    let commit = Instr::CommitQueue(q);
    assert_eq!(b.instr(0, commit), Gate::Wait(Cause::CommitPending));
    let id = b.candidates()[0];
    b.write_to_device(id);
    assert_eq!(
        b.instr(0, commit),
        Gate::Wait(Cause::CommitPending),
        "the credits are not back"
    );
    b.finish_read();
    assert_eq!(b.instr(0, commit), Gate::Go);
}

// ---- every hook of the seam, through the recording double

#[test]
fn the_recording_double_sees_every_hook() {
    let r = Recorder::new(LocSketch::default());
    let _ = r.hooks();
    let mut b = Bench::new(r, 2, 1, 1); // queue_plan
    let way = Way {
        line: pm_line(0),
        dirty: true,
        meta: 0,
        frozen: false,
    };
    let l1 = Level::L1(CoreId(0));
    assert_eq!(b.instr(0, Instr::Fence(Fence::Sfence)), Gate::Go);
    b.design.tx_begin(&mut b.cx, HartId(0));
    b.design.bind(&mut b.cx, HartId(0), Addr(0), 64);
    assert_eq!(
        b.design.may_access(&mut b.cx, HartId(0), pm_line(0), Access::Store),
        Gate::Go
    );
    b.store(0, pm_line(0), 0, 1); // performed
    b.design.place(&mut b.cx, HartId(0), &way);
    assert_eq!(b.snoop(1, pm_line(0), Snoop::Read), SnoopAnswer::Pass);
    assert_eq!(b.design.may_leave(&mut b.cx, l1, &way, Why::Replaced), Gate::Go);
    b.design.leaving(&mut b.cx, l1, &way, &filled(1), Why::Replaced);
    b.design.victim(l1, &[way]);
    b.cx.clean(HartId(0), pm_line(0), CleanKind::KeepShared, 1);
    assert!(b.finish_clean(true)); // route, admit, accepted, cleaned
    b.design.read_missed(&mut b.cx, HartId(0), pm_line(0));
    b.design.owned_read(&mut b.cx, pm_line(0));
    let data = filled(2);
    assert_eq!(
        b.design.nt_store(&mut b.cx, HartId(0), pm_line(1), &data, 1),
        Gate::Wait(Cause::WriteQueueFull)
    );
    b.cx.when_drained(DrainScope::Empty(None), 9);
    let id = b.candidates()[0]; // may_issue
    b.write_to_device(id); // durable, write_room, drained
    b.design
        .module_accepted(&mut b.cx, id, &write(pm_line(0), data, 0, WriteCause::Flush, None));
    b.cx.read(pm_line(0), 3);
    b.finish_read();
    let remote = RemoteWrite {
        channel: 0,
        base: Addr(0),
        len: 64,
        sequence: 1,
    };
    b.design.remote_write(&mut b.cx, remote, &[data]);
    b.design.ddio_filled(&mut b.cx, pm_line(0));
    b.design.remote_lost(&mut b.cx, 0);
    let now = b.cx.now();
    b.cx.timer(now, 1);
    b.run_for(Ps(1));
    b.design.drain(&mut b.cx);
    b.design.recover(&mut Image::default());
    let _ = (b.design.stats(), b.design.histograms(), b.design.explain(HartId(0)));
    assert_eq!(b.design.missing(), [] as [Hook; 0]);
    assert_eq!(b.design.seen.borrow()[&Hook::Drained], 1);
    assert_eq!(b.design.seen.borrow()[&Hook::WriteRoom], 1);
}
