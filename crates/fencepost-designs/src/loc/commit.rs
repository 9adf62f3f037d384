//! Commits: a transaction takes its place in commit order, and versions that a successor overwrote are merged into the successor's.

use super::config::LocFault;
use super::engine::Engine;
use super::stats;
use super::store::Store;
use super::tables::Phase;
use super::txs::Key;
use fencepost_kernel::decision;
use fencepost_kernel::{HwThread, LineAddr, TxId, planted};
use fencepost_machine::seam::{Cause, CleanKind, Cx, Gate, Level};

impl<S: Store> Engine<S> {
    /// A hardware thread's TxCommit. The transaction joins the window when first asked; where commits wait, it is asked again.
    pub(super) fn commit_asked(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, id: TxId) -> Gate {
        if self.committing[hw_thread.index()].is_some() {
            return self.commit_waits(cx, hw_thread);
        }
        let Some(key) = self.tables.running(hw_thread, id) else {
            return Gate::Go;
        };
        if decision!("loc.empty-transaction", self.tables.txs.tx(key).lines.is_empty()) {
            // It stands behind everything that it may have read: a TxFlush after it makes that durable too.
            self.last_commit[hw_thread.index()] = self.tables.txs.next_order() - 1;
            cx.retire(hw_thread, id);
            self.tables.txs.free(key);
            cx.kick(None);
            return Gate::Go;
        }
        if self.aborts_now(key) {
            self.aborts_in_a_row[hw_thread.index()] += 1;
            self.abort(cx, key);
            return Gate::Go;
        }
        if !matches!(self.tables.phase, Phase::Open | Phase::Gathering) {
            return Gate::Wait(Cause::WindowFull);
        }
        self.aborts_in_a_row[hw_thread.index()] = 0;
        cx.retire(hw_thread, id);
        let order = self.join(cx, key);
        self.maybe_close(cx);
        if !self.tables.cfg.waits {
            return Gate::Go;
        }
        self.committing[hw_thread.index()] = Some(order);
        self.commit_waits(cx, hw_thread)
    }
    /// Commits complete in commit order, once durable.
    fn commit_waits(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) -> Gate {
        let order = self.committing[hw_thread.index()];
        if order.is_some_and(|o| o <= self.tables.txs.last_committed && o == self.released + 1) {
            self.released += 1;
            self.committing[hw_thread.index()] = None;
            cx.kick(None);
            return Gate::Go;
        }
        Gate::Wait(Cause::CommitPending)
    }
    /// A hardware thread's TxFlush: it waits until everything that the thread committed is durable.
    pub(super) fn flush_asked(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) -> Gate {
        if self.last_commit[hw_thread.index()] <= self.tables.txs.last_committed {
            return Gate::Go;
        }
        // While a window is being made durable it is the one that holds the thread's last commit; the next need not close for this thread.
        if self.tables.phase != Phase::Logging {
            self.flush_wanted = true;
            self.maybe_close(cx);
        }
        Gate::Wait(Cause::LogPending)
    }

    /// The transaction takes its place in commit order.
    fn join(&mut self, cx: &mut dyn Cx, key: Key) -> u64 {
        let order = self.tables.txs.commit(key);
        let tx = self.tables.txs.tx(key);
        let (hw_thread, mut lines) = (tx.hw_thread, std::mem::take(&mut self.joining));
        lines.clone_from(&tx.lines);
        self.last_commit[hw_thread.index()] = order;
        self.tables.window.push(key);
        cx.count(stats::COMMITS, 1);
        for line in lines.drain(..) {
            let v = self.tables.newest(line);
            v.last = Some(key);
            v.order = Some(order);
            self.settle(cx, line);
            if self.tables.cfg.tx.fault == LocFault::InPlaceEarly {
                cx.clean(hw_thread, line, CleanKind::KeepExclusive, line.0);
            }
        }
        self.joining = lines;
        order
    }
    /// Once nobody who runs shares the newest version, it belongs to the one that committed last: the others and the
    /// version it overwrote, if the store has not taken that, are merged into it.
    pub(super) fn settle(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let v = self.tables.newest(line);
        let (mut owners, last) = (std::mem::take(&mut v.owners), v.last);
        if owners.iter().any(|k| self.tables.txs.is_active(*k)) {
            if last.is_some() {
                self.shared.insert(line);
            }
            self.tables.newest(line).owners = owners;
            return;
        }
        if !self.shared.is_empty() {
            self.shared.remove(&line);
        }
        let Some(last) = last else {
            self.tables.newest(line).owners = owners;
            return;
        };
        for other in owners.drain(..).filter(|k| *k != last) {
            self.merge(cx, other, last);
        }
        owners.push(last);
        let newest = self.tables.newest(line);
        newest.owners = owners;
        if newest.captured.as_ref().is_some_and(|c| c.by != last) {
            // The block that was taken counts for another transaction.
            self.recapture(cx, line);
        }
        while let Some((below, frozen)) = self.unlogged_below(line) {
            if let Some((level, meta)) = frozen {
                cx.drop_version(level, line, meta);
            }
            if let Some(l) = self.tables.lines.get_mut(&line) {
                l.chain.remove(l.chain.len() - 2);
            }
            self.merge(cx, below, last);
        }
    }
    /// The owner of the version below the newest, if the store does not have that version.
    fn unlogged_below(&self, line: LineAddr) -> Option<(Key, Option<(Level, u32)>)> {
        let unmerged = planted!(
            "loc.nothing-merged",
            "versions that a successor of the window overwrote are not logged"
        );
        if unmerged {
            return None;
        }
        let chain = self.tables.versions(line);
        let below = chain.len().checked_sub(2).map(|i| &chain[i])?;
        let key = below.last.filter(|_| below.captured.is_none())?;
        Some((key, below.frozen))
    }
    /// One block of `x` need not be written: its successor `y` has it.
    pub(super) fn merge(&mut self, cx: &mut dyn Cx, x: Key, y: Key) {
        cx.count(stats::MERGED, 1);
        let pairs = &mut self.tables.txs.tx(x).pairs;
        match pairs.iter_mut().find(|p| p.0 == y) {
            Some(pair) => pair.1 += 1,
            None => {
                pairs.push((y, 1));
                self.pairs += 1;
            }
        }
    }
}
