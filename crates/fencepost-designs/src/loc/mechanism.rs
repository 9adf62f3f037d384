//! The hooks of the seam, for all transactional designs.

use super::config::LocFault;
use super::engine::{Loc, NV_WRITTEN, Phase, Store};
use super::lines::{Line, Moving, Version};
use super::memlog::{Durable, MemLog};
use super::stats;
use super::txs::Key;
use fencepost_kernel::{HartId, Image, LineAddr, LineData, WriteCause};
use fencepost_machine::seam::{
    Access, Cause, Cx, Design, Exit, Gate, Hooks, Instr, Level, Place, StatInfo, TxStart, Way, Why, Write, WriteId,
};

impl Loc {
    fn has_active_owner(&self, v: &Version) -> bool {
        v.owners.iter().any(|k| self.txs.is_active(*k))
    }
    /// A store of a running transaction performed.
    fn stored(&mut self, cx: &mut dyn Cx, key: Key, line: LineAddr) {
        let txs = &self.txs;
        let entry: &mut Line = self.lines.entry(line).or_default();
        let shares = match entry.chain.last() {
            None => false,
            Some(v) if v.owners.contains(&key) => {
                // Written again after it was logged: another block.
                if v.captured.is_some() {
                    self.uncapture(cx, line);
                }
                return;
            }
            Some(v) => v.owners.iter().any(|k| txs.is_active(*k)),
        };
        if shares {
            let v = entry.chain.last_mut().expect("there is a version to share");
            v.owners.push(key);
            let (logged, committed) = (v.captured.is_some(), v.last.is_some());
            if committed {
                self.shared.insert(line);
            }
            if logged {
                self.uncapture(cx, line);
            }
        } else {
            entry.chain.push(Version {
                owners: vec![key],
                ..Version::default()
            });
        }
        self.txs.tx(key).lines.push(line);
    }
    /// Whether the newest bytes of a line may be written home: nothing newer than the last committed transaction.
    fn may_go_home(&self, line: LineAddr) -> bool {
        let last = self.versions(line).last();
        last.is_none_or(|v| v.captured.is_some() && v.order.is_some_and(|o| o <= self.txs.last_committed))
    }
    fn leaves_last_level(&mut self, cx: &mut dyn Cx, line: LineAddr, data: &LineData) -> Exit {
        let newest = self.versions(line).last();
        let Some(v) = newest.filter(|_| !self.may_go_home(line)) else {
            self.goes_home(line);
            return Exit::Down;
        };
        if v.captured.is_none() {
            cx.count(stats::EVICTED, 1);
            let (by, index) = (self.owner_of(v), self.versions(line).len() - 1);
            self.capture(cx, line, index, by, *data);
            self.pump(cx);
        }
        Exit::Drop
    }
    /// A home write of the line as it stands begins.
    pub(super) fn goes_home(&mut self, line: LineAddr) {
        let l = self.lines.entry(line).or_default();
        l.homing.push_back(l.chain.last().and_then(|v| v.order));
    }
    /// Whom a version's block is charged to: a running owner if there is one, else the last to commit.
    pub(super) fn owner_of(&self, v: &Version) -> Key {
        let active = v.owners.iter().copied().find(|k| self.txs.is_active(*k));
        active.or(v.last).expect("a version has an owner")
    }
    fn log_buffer_full(&self) -> bool {
        match &self.store {
            Store::Log(Some(log)) => log.waiting.len() >= self.cfg.buffer as usize,
            _ => false,
        }
    }
}

/// Whether home writes of this cause were counted when they began: the caches' and the design's own.
fn announced(cause: WriteCause) -> bool {
    matches!(cause, WriteCause::Eviction | WriteCause::Flush | WriteCause::Home)
}

impl Design for Loc {
    fn hooks(&self) -> Hooks {
        Hooks {
            gates: true,
            stores: true,
            holds: true,
            leaving: true,
            versions: true,
            reads: true,
            writes: true,
            ..Hooks::default()
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hart: HartId, instr: Instr) -> Gate {
        match instr {
            Instr::TxCommit(id) => self.commit_asked(cx, hart, id),
            Instr::TxAbort(id) => self.abort_asked(cx, hart, id),
            Instr::TxFlush => self.flush_asked(cx, hart),
            _ => Gate::Go,
        }
    }
    fn tx_begin(&mut self, cx: &mut dyn Cx, hart: HartId) -> TxStart {
        if self.phase == Phase::Open && self.txs.in_use() >= self.cfg.entries as usize {
            cx.count(stats::TABLE_FULL, 1);
            self.maybe_close(cx);
            self.checkpoint_if_needed(cx);
        }
        if self.phase != Phase::Open || self.txs.in_use() >= self.cfg.entries as usize {
            return TxStart::Wait(Cause::WindowFull);
        }
        TxStart::Go(self.txs.begin(hart))
    }
    fn may_access(&mut self, _: &mut dyn Cx, _: HartId, line: LineAddr, access: Access) -> Gate {
        let moving = access == Access::Store && self.lines.get(&line).is_some_and(|l| l.moving == Moving::Home);
        if moving {
            Gate::Wait(Cause::LogPending)
        } else {
            Gate::Go
        }
    }
    fn performed(
        &mut self,
        cx: &mut dyn Cx,
        hart: HartId,
        line: LineAddr,
        access: Access,
        _: &LineData,
        meta: &mut u32,
    ) {
        let Some(key) = self.txs.active(hart) else { return };
        if access == Access::Store && line.is_persistent() {
            self.stored(cx, key, line);
            *meta = (key % (1 << 20)) as u32;
        }
    }
    /// A committed version that the log does not have yet keeps its bytes; anything else may be overwritten.
    fn place(&mut self, cx: &mut dyn Cx, hart: HartId, way: &Way) -> Place {
        if !way.line.is_persistent() || self.txs.active(hart).is_none() {
            return Place::Here;
        }
        match self.versions(way.line).last() {
            Some(v) if v.captured.is_none() && !self.has_active_owner(v) => {}
            _ => return Place::Here,
        }
        let level = Level::L1(cx.core_of(hart));
        let last = self.lines.get_mut(&way.line).and_then(|l| l.chain.last_mut());
        last.expect("a version is there").frozen = Some((level, way.meta));
        Place::Fork
    }

    fn may_leave(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, why: Why) -> Gate {
        let logs = from == Level::Llc && why == Why::Replaced && way.line.is_persistent();
        if !logs || !self.log_buffer_full() || self.may_go_home(way.line) {
            return Gate::Go;
        }
        match self.versions(way.line).last() {
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
            (_, Why::Cleaned) if self.cfg.fault == LocFault::InPlaceEarly => Exit::Down,
            (_, Why::Cleaned) => match self.lines.get(&way.line).map(|l| l.moving) {
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
    fn cleaned(&mut self, cx: &mut dyn Cx, _: HartId, tag: u64, found: Option<&LineData>) {
        let line = LineAddr(tag);
        match self.lines.get(&line).map(|l| l.moving) {
            Some(Moving::ToLlc) => self.reached_llc(cx, line),
            Some(Moving::Home) => self.home_cleaned(cx, line, found.is_some()),
            _ => {}
        }
    }
    fn read_missed(&mut self, cx: &mut dyn Cx, _: HartId, line: LineAddr) -> bool {
        let captured = self.versions(line).last().and_then(|v| v.captured.as_ref());
        let supplies = captured.is_some_and(|c| match (&self.store, c.at) {
            (_, None) => true,
            (Store::Log(Some(log)), Some(at)) => log.holds(at),
            _ => false,
        });
        if supplies {
            cx.count(stats::READS_BUFFERED, 1);
        }
        supplies
    }
    fn read_from(&mut self, cx: &mut dyn Cx, line: LineAddr) -> LineAddr {
        let newest = self.lines.get(&line).and_then(|l| Some((l, l.chain.last()?)));
        // A version that has reached the controller on its way home is answered there.
        let arrived = |l: &Line| l.arrived == l.homing.len();
        let logged = newest.filter(|(l, v)| v.order.is_none() || l.homing.back() != Some(&v.order) || !arrived(l));
        let at = logged.and_then(|(_, v)| v.captured.as_ref()).and_then(|c| c.at);
        if at.is_some() {
            cx.count(stats::READS_LOGGED, 1);
        }
        at.unwrap_or(line)
    }
    fn accepted(&mut self, _: &mut dyn Cx, _: WriteId, write: &Write) {
        match (write.cause.is_log(), &mut self.store) {
            (true, Store::Log(Some(log))) => log.arrived(write.line),
            (false, _) if announced(write.cause) => {
                if let Some(l) = self.lines.get_mut(&write.line) {
                    l.arrived = l.homing.len().min(l.arrived + 1);
                }
            }
            _ => {}
        }
    }
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        if !write.cause.is_log() {
            if announced(write.cause) {
                self.home_durable(cx, write.line);
            }
            return;
        }
        let Some(log) = self.log(cx) else { return };
        match log.durable(cx, id) {
            Durable::Group(meaning) => self.group_durable(cx, &meaning),
            Durable::Head => {
                self.in_place_done(cx);
                self.pump(cx);
            }
            Durable::Part => {}
        }
    }
    fn write_room(&mut self, cx: &mut dyn Cx, _: u8) {
        self.pump(cx);
        self.pump_home(cx);
    }
    fn read_done(&mut self, cx: &mut dyn Cx, tag: u64, _: LineAddr, data: &LineData) {
        self.log_read(cx, LineAddr(tag), data);
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        if tag == NV_WRITTEN {
            self.nv_written(cx);
        }
    }
    fn drain(&mut self, cx: &mut dyn Cx) -> bool {
        self.draining = true;
        self.maybe_close(cx);
        self.pump(cx);
        self.checkpoint_if_needed(cx);
        let idle = match &self.store {
            Store::Log(log) => log.as_ref().is_none_or(MemLog::idle),
            Store::Nv(_) => true,
        };
        self.phase == Phase::Open && self.window.is_empty() && self.checkpoint.idle() && idle
    }
    fn recover(&self, image: &mut Image) {
        match self.store {
            Store::Log(_) => super::recover::recover(image, self.pairs_that_count()),
            Store::Nv(_) => super::nv::recover(image),
        }
    }
    fn stats(&self) -> &'static [StatInfo] {
        stats::COUNTERS
    }
    fn broken_rule(&self) -> Option<String> {
        match &self.store {
            Store::Log(Some(log)) => log.broken().cloned(),
            _ => None,
        }
    }
    fn explain(&self, hart: HartId) -> Option<String> {
        let running = self.txs.active(hart).map(|k| format!("transaction {k} runs; "));
        let full = match &self.store {
            Store::Log(Some(log)) => log.explain(),
            _ => String::new(),
        };
        Some(format!(
            "{}{:?}: {} of {} transactions in the window, {} blocks to log, {} lines shared with running ones, {} of {} \
             table entries, committed up to {}, {}{full}",
            running.unwrap_or_default(),
            self.phase,
            self.window.len(),
            self.cfg.degree,
            self.todo.len(),
            self.shared.len(),
            self.txs.in_use(),
            self.cfg.entries,
            self.txs.last_committed,
            self.explain_home(),
        ))
    }
}
