//! The window of committed transactions: when it closes, what the store makes durable of it, and LastCommittedTxID.

use super::checkpoint::Window;
use super::engine::Engine;
use super::stats;
use super::store::Store;
use super::tables::Phase;
use fencepost_kernel::LineAddr;
use fencepost_machine::seam::Cx;

impl<S: Store> Engine<S> {
    /// Whether the window's transactions should be made durable now.
    fn close_wanted(&self) -> bool {
        let (tables, cfg) = (&self.tables, &self.tables.cfg);
        let full = tables.window.len() >= cfg.degree as usize || self.pairs >= cfg.pairs || tables.full();
        full || self.flush_wanted || tables.draining || self.store.wants_close(tables)
    }
    /// Closes the window if it is full, or wanted durable, and shares no line with a running transaction.
    pub(super) fn maybe_close(&mut self, cx: &mut dyn Cx) {
        if self.tables.phase == Phase::Open && !self.tables.window.is_empty() && self.close_wanted() {
            self.tables.phase = Phase::Gathering;
        }
        if self.tables.phase == Phase::Gathering && self.shared.is_empty() {
            self.tables.phase = Phase::Logging;
            self.flush_wanted = false;
            self.store.close(&mut self.tables, cx);
            self.pump(cx);
        }
    }

    /// Goes on: the store hands over what it can, the register follows, a full store grows if it must.
    pub(super) fn pump(&mut self, cx: &mut dyn Cx) {
        self.hand_over(cx);
        self.advance(cx);
        if self.checkpoint.idle() && self.store.grow(&self.tables, cx) {
            self.pump(cx);
        }
    }
    /// The store hands over what it can; a full one is emptied by writing windows home.
    pub(super) fn hand_over(&mut self, cx: &mut dyn Cx) {
        if self.store.hand_over(&mut self.tables, cx) {
            self.checkpoint_if_needed(cx);
        }
    }
    /// LastCommittedTxID follows what is durable of the window.
    pub(super) fn advance(&mut self, cx: &mut dyn Cx) {
        if self.tables.phase != Phase::Logging {
            return;
        }
        let done = self.store.progress(&self.tables);
        let (txs, window) = (&mut self.tables.txs, &self.tables.window);
        let order = done.committed.checked_sub(1).and_then(|i| txs.order(window[i]));
        if order.is_some_and(|o| o > txs.last_committed) {
            txs.last_committed = order.unwrap_or_default();
            cx.kick(None);
        }
        if done.complete {
            self.window_complete(cx);
        }
    }

    /// The window is durable: transactions may begin again, and its lines may go home.
    fn window_complete(&mut self, cx: &mut dyn Cx) {
        cx.count(stats::WINDOWS, 1);
        self.pairs = 0;
        let keys = std::mem::take(&mut self.tables.window);
        let mut lines: Vec<LineAddr> = Vec::new();
        for key in &keys {
            lines.extend(&self.tables.txs.tx(*key).lines);
        }
        lines.sort_unstable();
        lines.dedup();
        for line in &lines {
            self.prune(cx, *line);
        }
        self.tables.phase = if self.store.strict() {
            Phase::InPlace
        } else {
            Phase::Open
        };
        if S::UNTIL_HOME {
            let (lines, last) = (lines.clone(), self.tables.txs.last_committed);
            self.checkpoint.windows.push_back(Window { keys, lines, last });
        } else {
            keys.into_iter().for_each(|k| self.tables.txs.free(k));
        }
        self.checkpoint_if_needed(cx);
        self.in_place_done(cx);
        lines.into_iter().for_each(|line| self.pending_again(cx, line));
        cx.kick(None);
        self.maybe_close(cx);
    }
    /// Forgets the versions of a line below the newest that is committed and durable.
    fn prune(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let last = self.tables.txs.last_committed;
        let Some(l) = self.tables.lines.get_mut(&line) else {
            return;
        };
        let Some(newest) = l.logged(last) else { return };
        for v in l.chain.drain(..newest) {
            if let Some((level, meta)) = v.frozen {
                cx.drop_version(level, line, meta);
            }
            if let Some(taken) = &v.captured {
                self.store.discard(cx, taken);
            }
        }
    }
}
