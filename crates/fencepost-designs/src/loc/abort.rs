//! Aborts: the versions below become current again, and running transactions that began later are aborted too.

use super::config::LocFault;
use super::engine::Engine;
use super::stats;
use super::store::Store;
use super::txs::Key;
use fencepost_kernel::decision;
use fencepost_kernel::{HwThread, LineAddr, TxId};
use fencepost_machine::seam::{Cx, Gate};

/// Injected aborts of one hardware thread in a row, at most: programs make progress whatever the seed.
const ABORTS_IN_A_ROW: u32 = 3;

impl<S: Store> Engine<S> {
    /// A hardware thread's TxAbort.
    pub(super) fn abort_asked(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, id: TxId) -> Gate {
        if let Some(key) = self.tables.running(hw_thread, id) {
            self.abort(cx, key);
        }
        Gate::Go
    }
    /// Whether a transaction that would commit is aborted instead: with an earlier one, or on purpose.
    pub(super) fn aborts_now(&mut self, key: Key) -> bool {
        let one_in = self.tables.cfg.tx.abort_every;
        let tx = self.tables.txs.tx(key);
        let hw_thread = tx.hw_thread;
        if decision!("loc.abort-of-doomed", tx.doomed) {
            return true;
        }
        let first = !std::mem::replace(&mut tx.judged, true);
        let may = first && one_in > 0 && self.aborts_in_a_row[hw_thread.index()] < ABORTS_IN_A_ROW;
        may && self.aborts.chance(1, u64::from(one_in))
    }

    /// Rolls a transaction back, and dooms those that began after it.
    pub(super) fn abort(&mut self, cx: &mut dyn Cx, key: Key) {
        let tx = self.tables.txs.tx(key);
        let (hw_thread, id, lines, doomed) = (tx.hw_thread, tx.id, std::mem::take(&mut tx.lines), tx.doomed);
        cx.count(stats::ABORTS, 1);
        cx.count(stats::DOOMED, u64::from(doomed));
        cx.roll_back(hw_thread, id);
        if !doomed {
            // Those after a doomed one were doomed with it; what began since saw nothing of the first abort.
            self.tables.txs.doom_after(key);
        }
        for line in lines {
            let newest = self.tables.newest(line);
            newest.owners.retain(|k| *k != key);
            if decision!("loc.abort-frees-version", newest.owners.is_empty()) {
                self.unwrite(cx, line);
            } else {
                let taken = newest.captured.is_some();
                self.settle(cx, line);
                if decision!("loc.aborted-line-taken", taken) {
                    self.recapture(cx, line);
                }
            }
        }
        self.tables.txs.free(key);
        self.store.forget(cx, key);
        self.maybe_close(cx);
        cx.kick(None);
    }
    /// The newest version is gone; the predecessor's becomes current again (memory has been restored already).
    fn unwrite(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let chain = &mut self.tables.lines.get_mut(&line).expect("the line has versions").chain;
        let gone = chain.pop().expect("the aborted version");
        let index = chain.len().wrapping_sub(1);
        let frozen = chain.last_mut().and_then(|below| below.frozen.take());
        self.discard(cx, &gone);
        let Some((level, meta)) = frozen else { return };
        let data = cx.version(level, line, meta);
        cx.drop_version(level, line, meta);
        let chain = &mut self.tables.lines.get_mut(&line).expect("still there").chain;
        if self.tables.cfg.tx.fault == LocFault::NoRescue {
            let lost = chain.pop().and_then(|v| v.last);
            lost.into_iter().for_each(|x| self.merge(cx, x, x));
            return;
        }
        cx.count(stats::RESCUED, 1);
        let by = chain[index].last.expect("a frozen version is committed");
        if let (true, Some(data)) = (gone.captured.is_some(), data) {
            // The aborted bytes had left the caches, so the predecessor's are nowhere but here.
            self.capture(cx, line, index, by, data);
            self.pump(cx);
        }
    }
}
