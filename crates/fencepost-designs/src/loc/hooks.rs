//! The hooks of the seam, for all transactional designs.

use super::config::LocFault;
use super::engine::Engine;
use super::lines::{Line, Moving};
use super::stats;
use super::store::{Durable, Store};
use super::tables::Phase;
use fencepost_kernel::{HwThread, LineAddr, LineData, TxId, WriteCause};
use fencepost_machine::seam::{
    Access, Cause, Cx, Design, Exit, Gate, Hooks, Level, Place, ReadAnswer, Recovery, Statistics, Transactions,
    TxStart, Versions, Way, Why, Write, WriteId,
};

/// Whether home writes of this cause were counted when they began: the caches' and the design's own.
fn announced(cause: WriteCause) -> bool {
    matches!(cause, WriteCause::Eviction | WriteCause::Flush | WriteCause::Home)
}

impl<S: Store> Design for Engine<S> {
    fn hooks(&self) -> Hooks {
        Hooks {
            gate_stores: true,
            stores: true,
            marks: true,
            holds: true,
            leaving: true,
            versions: true,
            reads: true,
            writes: true,
            ..Hooks::default()
        }
    }
    fn transactions(&mut self) -> Option<&mut dyn Transactions> {
        Some(self)
    }
    fn versions(&mut self) -> Option<&mut dyn Versions> {
        Some(self)
    }
    fn may_access(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr, access: Access) -> Gate {
        let moving = access == Access::Store && self.tables.lines.get(&line).is_some_and(|l| l.moving == Moving::Home);
        if moving {
            Gate::Wait(Cause::LogPending)
        } else {
            Gate::Go
        }
    }
    fn performed(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, access: Access, meta: &mut u32) {
        let Some(key) = self.tables.txs.active(hw_thread) else {
            return;
        };
        if access == Access::Store && line.is_persistent() {
            self.stored(cx, key, line);
            *meta = (key % (1 << 20)) as u32;
        }
    }
    fn may_leave(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, why: Why) -> Gate {
        let logs = from == Level::Llc && why == Why::Replaced && way.line.is_persistent();
        if !logs || !self.store.refuses() || self.tables.may_go_home(way.line) {
            return Gate::Go;
        }
        match self.tables.versions(way.line).last() {
            Some(v) if v.captured.is_none() => {
                self.pump(cx);
                Gate::Wait(Cause::LogPending)
            }
            _ => Gate::Go,
        }
    }
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, data: &LineData, why: Why) -> Exit {
        if !way.line.is_persistent() {
            return Exit::Down;
        }
        match (from, why) {
            (_, Why::VersionOverflow) => {
                self.version_overflows(cx, way.line, from, way.meta, data);
                Exit::Drop
            }
            (_, Why::Cleaned) if self.tables.cfg.tx.fault == LocFault::InPlaceEarly => Exit::Down,
            (_, Why::Cleaned) => match self.tables.lines.get(&way.line).map(|l| l.moving) {
                Some(Moving::Home) | None => {
                    self.goes_home(way.line);
                    Exit::Down
                }
                // To the non-volatile cache; or a non-temporal store takes the line out of the caches.
                Some(Moving::ToLlc) => Exit::Down,
                Some(_) => self.leaves_last_level(cx, way.line, data),
            },
            (Level::Llc, Why::Replaced) => self.leaves_last_level(cx, way.line, data),
            _ => Exit::Down,
        }
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, _: HwThread, tag: u64, found: Option<&LineData>) {
        self.clean_ended(cx, LineAddr(tag), found.is_some());
    }
    fn read_missed(&mut self, cx: &mut dyn Cx, _: HwThread, line: LineAddr) -> ReadAnswer {
        let taken = self.tables.versions(line).last().and_then(|v| v.captured.as_ref());
        let supplies = taken.is_some_and(|c| self.store.supplies(c));
        if !supplies {
            return ReadAnswer::Pass;
        }
        cx.count(stats::READS_BUFFERED, 1);
        ReadAnswer::Supply
    }
    fn accepted(&mut self, _: &mut dyn Cx, _: WriteId, write: &Write) {
        if write.cause.is_log() {
            self.store.accepted(write.line);
        } else if announced(write.cause)
            && let Some(l) = self.tables.lines.get_mut(&write.line)
        {
            l.arrived = l.homing.len().min(l.arrived + 1);
        }
    }
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        if !write.cause.is_log() {
            if announced(write.cause) {
                self.home_durable(cx, write.line);
            }
            return;
        }
        match self.store.durable(&mut self.tables, cx, id) {
            Durable::Content => {
                self.hand_over(cx);
                self.advance(cx);
                self.reclaim(cx);
            }
            Durable::Head => {
                self.in_place_done(cx);
                self.pump(cx);
            }
            Durable::Part => {}
        }
    }
    fn queue_freed(&mut self, cx: &mut dyn Cx, _: u8) {
        self.pump(cx);
        self.pump_home(cx);
    }
    /// Timers are the store's alone.
    fn timer(&mut self, cx: &mut dyn Cx, _: u64) {
        self.store.timer(&self.tables, cx);
        self.advance(cx);
    }
    fn drain(&mut self, cx: &mut dyn Cx) -> bool {
        self.tables.draining = true;
        self.maybe_close(cx);
        self.pump(cx);
        self.checkpoint_if_needed(cx);
        let closed = self.tables.phase == Phase::Open && self.tables.window.is_empty();
        closed && self.checkpoint.idle() && self.store.idle()
    }
    fn recover(&self, memory: &mut Recovery<'_>) {
        self.store.recover(memory);
    }
    fn statistics(&self) -> Statistics {
        Statistics {
            sums: stats::SUMS,
            ..Statistics::of(stats::COUNTERS)
        }
    }
    fn broken_rule(&self) -> Option<String> {
        self.store.broken_rule()
    }
    fn unsound(&self) -> Option<String> {
        self.contradiction()
    }
    fn explain(&self, hw_thread: HwThread) -> Option<String> {
        let t = &self.tables;
        let running = t.txs.active(hw_thread).map(|k| format!("transaction {k} runs; "));
        Some(format!(
            "{}{:?}: {} of {} transactions in the window, {} lines shared with running ones, {} of {} table entries, committed up to \
             {}, {}{}",
            running.unwrap_or_default(),
            t.phase,
            t.window.len(),
            t.cfg.degree,
            self.shared.len(),
            t.txs.in_use(),
            t.cfg.tx.tx_entries,
            t.txs.last_committed,
            self.explain_home(),
            self.store.explain(),
        ))
    }
}

impl<S: Store> Transactions for Engine<S> {
    fn begin(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) -> TxStart {
        if self.tables.phase == Phase::Open && self.tables.full() {
            cx.count(stats::TABLE_FULL, 1);
            self.maybe_close(cx);
            self.checkpoint_if_needed(cx);
        }
        let executes = match self.tables.phase {
            Phase::Open => true,
            Phase::InPlace => self.store.overlaps(),
            Phase::Gathering | Phase::Logging => false,
        };
        if !executes || self.tables.full() {
            return TxStart::Wait(Cause::WindowFull);
        }
        TxStart::Go(self.tables.txs.begin(hw_thread))
    }
    fn commit(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tx: TxId) -> Gate {
        self.commit_asked(cx, hw_thread, tx)
    }
    fn abort(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tx: TxId) -> Gate {
        self.abort_asked(cx, hw_thread, tx)
    }
    fn flush(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) -> Gate {
        self.flush_asked(cx, hw_thread)
    }
}

impl<S: Store> Versions for Engine<S> {
    /// A committed version that the log does not have yet keeps its bytes; anything else may be overwritten.
    fn place(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, way: &Way) -> Place {
        if !way.line.is_persistent() || self.tables.txs.active(hw_thread).is_none() {
            return Place::Here;
        }
        match self.tables.versions(way.line).last() {
            Some(v) if v.captured.is_none() && !self.tables.has_active_owner(v) => {}
            _ => return Place::Here,
        }
        let level = Level::L1(cx.core_of(hw_thread));
        let last = self.tables.lines.get_mut(&way.line).and_then(|l| l.chain.last_mut());
        last.expect("a version is there").frozen = Some((level, way.meta));
        Place::Fork
    }
    fn read_from(&mut self, cx: &mut dyn Cx, line: LineAddr) -> LineAddr {
        let newest = self.tables.lines.get(&line).and_then(|l| Some((l, l.chain.last()?)));
        // A version that has reached the controller on its way home is answered there.
        let arrived = |l: &Line| l.arrived == l.homing.len();
        let logged = newest.filter(|(l, v)| v.order.is_none() || l.homing.back() != Some(&v.order) || !arrived(l));
        let at = logged.and_then(|(_, v)| v.captured.as_ref()).and_then(|c| c.at);
        if at.is_some() {
            cx.count(stats::READS_LOGGED, 1);
        }
        at.unwrap_or(line)
    }
    fn read_done(&mut self, cx: &mut dyn Cx, tag: u64, _: LineAddr, data: &LineData) {
        self.log_read(cx, LineAddr(tag), data);
    }
}
