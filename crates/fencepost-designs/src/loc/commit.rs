//! Commit, abort, and what they do to the versions of lines.

use super::config::LocFault;
use super::engine::{Loc, Phase, Store};
use super::format::Name;
use super::lines::{Captured, Moving, Version};
use super::memlog::Block;
use super::stats;
use super::txs::Key;
use fencepost_kernel::{HartId, LineAddr, LineData, TxId, planted};
use fencepost_machine::seam::{Cause, CleanKind, Cx, Gate, Level};

/// Injected aborts of one hart in a row, at most: programs make progress whatever the seed.
const ABORTS_IN_A_ROW: u32 = 3;

impl Loc {
    /// A hart's TxCommit. The transaction joins the window when first asked; where commits wait, it is asked again.
    pub(super) fn commit_asked(&mut self, cx: &mut dyn Cx, hart: HartId, id: TxId) -> Gate {
        if self.committing[hart.index()].is_some() {
            return self.commit_waits(cx, hart);
        }
        let Some(key) = self.running(hart, id) else {
            return Gate::Go;
        };
        if self.txs.tx(key).lines.is_empty() {
            // It stands behind everything that it may have read: a TxFlush after it makes that durable too.
            self.last_commit[hart.index()] = self.txs.next_order() - 1;
            cx.retire(hart, id);
            self.txs.free(key);
            cx.kick(None);
            return Gate::Go;
        }
        if self.aborts_now(key) {
            self.row_of_aborts[hart.index()] += 1;
            self.abort(cx, key);
            return Gate::Go;
        }
        if !matches!(self.phase, Phase::Open | Phase::Gathering) {
            return Gate::Wait(Cause::WindowFull);
        }
        self.row_of_aborts[hart.index()] = 0;
        cx.retire(hart, id);
        let order = self.join(cx, key);
        self.maybe_close(cx);
        if !self.cfg.waits {
            return Gate::Go;
        }
        self.committing[hart.index()] = Some(order);
        self.commit_waits(cx, hart)
    }
    /// Commits complete in commit order, once durable.
    fn commit_waits(&mut self, cx: &mut dyn Cx, hart: HartId) -> Gate {
        let order = self.committing[hart.index()];
        if order.is_some_and(|o| o <= self.txs.last_committed && o == self.released + 1) {
            self.released += 1;
            self.committing[hart.index()] = None;
            cx.kick(None);
            return Gate::Go;
        }
        Gate::Wait(Cause::CommitPending)
    }
    pub(super) fn abort_asked(&mut self, cx: &mut dyn Cx, hart: HartId, id: TxId) -> Gate {
        if let Some(key) = self.running(hart, id) {
            self.abort(cx, key);
        }
        Gate::Go
    }
    pub(super) fn flush_asked(&mut self, cx: &mut dyn Cx, hart: HartId) -> Gate {
        if self.last_commit[hart.index()] <= self.txs.last_committed {
            return Gate::Go;
        }
        self.flush_wanted = true;
        self.maybe_close(cx);
        Gate::Wait(Cause::LogPending)
    }
    fn aborts_now(&mut self, key: Key) -> bool {
        let (one_in, _) = self.cfg.aborts;
        let tx = self.txs.tx(key);
        let hart = tx.hart;
        if tx.doomed {
            return true;
        }
        let first = !std::mem::replace(&mut tx.judged, true);
        let may = first && one_in > 0 && self.row_of_aborts[hart.index()] < ABORTS_IN_A_ROW;
        may && self.aborts.chance(1, u64::from(one_in))
    }

    /// The transaction takes its place in commit order.
    fn join(&mut self, cx: &mut dyn Cx, key: Key) -> u64 {
        let order = self.txs.commit(key);
        let tx = self.txs.tx(key);
        let (hart, lines) = (tx.hart, tx.lines.clone());
        self.last_commit[hart.index()] = order;
        self.window.push(key);
        cx.count(stats::COMMITS, 1);
        for line in lines {
            let v = self.newest(line);
            v.last = Some(key);
            v.order = Some(order);
            self.settle(cx, line);
            if self.cfg.fault == LocFault::InPlaceEarly {
                cx.clean(hart, line, CleanKind::KeepExclusive, line.0);
            }
        }
        order
    }
    fn newest(&mut self, line: LineAddr) -> &mut Version {
        let chain = self.lines.get_mut(&line).map(|l| &mut l.chain);
        chain
            .and_then(|c| c.last_mut())
            .expect("a transaction's line has its version")
    }
    /// Once nobody who runs shares the newest version, it belongs to the one that committed last: the others and the
    /// version it overwrote, if that was not logged, are merged into it.
    fn settle(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let v = self.newest(line);
        let (owners, last) = (v.owners.clone(), v.last);
        if owners.iter().any(|k| self.txs.is_active(*k)) {
            if last.is_some() {
                self.shared.insert(line);
            }
            return;
        }
        self.shared.remove(&line);
        let Some(last) = last else { return };
        for other in owners.into_iter().filter(|k| *k != last) {
            self.merge(cx, other, last);
        }
        self.newest(line).owners = vec![last];
        if self.newest(line).captured.as_ref().is_some_and(|c| c.by != last) {
            // The block that was logged counts for another transaction.
            self.recapture(cx, line);
        }
        while let Some((below, frozen)) = self.unlogged_below(line) {
            if let Some((level, meta)) = frozen {
                cx.drop_version(level, line, meta);
            }
            let at = self.lines[&line].chain.len() - 2;
            self.lines.get_mut(&line).map(|l| l.chain.remove(at));
            self.merge(cx, below, last);
        }
    }
    /// The owner of the version below the newest, if the log does not have it.
    fn unlogged_below(&self, line: LineAddr) -> Option<(Key, Option<(Level, u32)>)> {
        if planted!(
            "loc.nothing-merged",
            "versions that a successor of the window overwrote are not logged"
        ) {
            return None;
        }
        let chain = &self.lines.get(&line)?.chain;
        let below = chain.len().checked_sub(2).map(|i| &chain[i])?;
        let key = below.last.filter(|_| below.captured.is_none())?;
        Some((key, below.frozen))
    }
    /// One block of `x` need not be written: its successor `y` has it.
    fn merge(&mut self, cx: &mut dyn Cx, x: Key, y: Key) {
        cx.count(stats::MERGED, 1);
        let pairs = &mut self.txs.tx(x).pairs;
        match pairs.iter_mut().find(|p| p.0 == y) {
            Some(pair) => pair.1 += 1,
            None => {
                pairs.push((y, 1));
                self.pair_entries += 1;
            }
        }
    }

    /// A version's bytes go into the log.
    pub(super) fn capture(&mut self, cx: &mut dyn Cx, line: LineAddr, index: usize, by: Key, data: LineData) {
        let tx = self.txs.tx(by);
        tx.blocks += 1;
        let (hart, order) = (tx.hart, tx.order);
        let at = match &mut self.store {
            Store::Nv(nv) => {
                cx.count(stats::BLOCKS, 1);
                self.nv_busy = self.nv_busy.max(cx.now()) + self.cfg.nv_write;
                Some(nv.put(cx, line, by, order, &data))
            }
            Store::Log(_) => None,
        };
        if let Some(log) = self.log(cx) {
            log.waiting.push_back(Block {
                key: by,
                hart,
                name: Name::Early(0),
                home: line,
                data,
                count: 0,
            });
        }
        let l = self.lines.get_mut(&line).expect("the line has versions");
        l.chain[index].captured = Some(Captured { by, at, data });
    }
    /// The newest version is not as it was logged any more. A block that still waits for a group is taken back.
    pub(super) fn uncapture(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let Some(gone) = self.newest(line).captured.take() else {
            return;
        };
        match (&mut self.store, gone.at) {
            (Store::Nv(nv), Some(at)) => nv.clear(cx, at),
            (Store::Log(Some(log)), None) => {
                log.waiting.retain(|b| (b.key, b.home) != (gone.by, line));
                cx.kick(None); // Lines that could not leave for want of buffer space.
            }
            _ => return,
        }
        if let Some(tx) = self.txs.get_mut(gone.by) {
            tx.blocks -= 1;
        }
    }
    fn recapture(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        self.uncapture(cx, line);
        let by = self.owner_of(&self.lines[&line].chain[self.lines[&line].chain.len() - 1]);
        let (index, data) = (self.lines[&line].chain.len() - 1, cx.coherent(line));
        self.capture(cx, line, index, by, data);
        self.pump(cx);
    }
    /// No way can keep an older version: it is logged.
    pub(super) fn version_overflows(
        &mut self,
        cx: &mut dyn Cx,
        line: LineAddr,
        level: Level,
        meta: u32,
        data: &LineData,
    ) {
        let frozen = |v: &Version| v.frozen == Some((level, meta));
        let Some(index) = self.lines.get(&line).and_then(|l| l.chain.iter().position(frozen)) else {
            return;
        };
        cx.count(stats::OVERFLOWS, 1);
        let v = &mut self.lines.get_mut(&line).expect("just found").chain[index];
        v.frozen = None;
        let by = v.last.expect("a frozen version is committed");
        self.capture(cx, line, index, by, *data);
        self.pump(cx);
    }

    /// Rolls a transaction back, and dooms those that began after it.
    fn abort(&mut self, cx: &mut dyn Cx, key: Key) {
        let tx = self.txs.tx(key);
        let (hart, id, lines, doomed) = (tx.hart, tx.id, std::mem::take(&mut tx.lines), tx.doomed);
        cx.count(stats::ABORTS, 1);
        cx.count(stats::DOOMED, u64::from(doomed));
        cx.roll_back(hart, id);
        if !doomed {
            // Those after a doomed one were doomed with it; what began since saw nothing of the first abort.
            self.txs.doom_after(key);
        }
        for line in lines {
            self.newest(line).owners.retain(|k| *k != key);
            if self.newest(line).owners.is_empty() {
                self.unwrite(cx, line);
            } else {
                let logged = self.newest(line).captured.is_some();
                self.settle(cx, line);
                if logged {
                    self.recapture(cx, line);
                }
            }
        }
        self.txs.free(key);
        if let Some(log) = self.log(cx) {
            log.waiting.retain(|b| b.key != key);
        }
        self.maybe_close(cx);
        cx.kick(None);
    }
    /// The newest version is gone; the predecessor's becomes current again (memory has been restored already).
    fn unwrite(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let chain = &mut self.lines.get_mut(&line).expect("the line has versions").chain;
        let gone = chain.pop().expect("the aborted version");
        if let (Store::Nv(nv), Some(at)) = (&mut self.store, gone.captured.as_ref().and_then(|c| c.at)) {
            nv.clear(cx, at);
        }
        let chain = &mut self.lines.get_mut(&line).expect("still there").chain;
        let index = chain.len().wrapping_sub(1);
        let Some(below) = chain.last_mut() else { return };
        let Some((level, meta)) = below.frozen.take() else {
            return;
        };
        let data = cx.version(level, line, meta);
        cx.drop_version(level, line, meta);
        if self.cfg.fault == LocFault::NoRescue {
            let lost = chain.pop().and_then(|v| v.last);
            lost.into_iter().for_each(|x| self.merge(cx, x, x));
            return;
        }
        cx.count(stats::RESCUED, 1);
        if let (true, Some(data)) = (gone.captured.is_some(), data) {
            // The aborted bytes had left the caches, so the predecessor's are nowhere but here.
            let by = below.last.expect("a frozen version is committed");
            self.capture(cx, line, index, by, data);
            self.pump(cx);
        }
    }
    /// Forgets a line about which there is nothing to know.
    pub(super) fn forget_if_idle(&mut self, line: LineAddr) {
        if self.lines.get(&line).is_some_and(|l| l.idle()) {
            self.lines.remove(&line);
        }
    }
    /// Sets why a line is being moved.
    pub(super) fn set_moving(&mut self, line: LineAddr, moving: Moving) {
        if let Some(l) = self.lines.get_mut(&line) {
            l.moving = moving;
        }
    }
}
