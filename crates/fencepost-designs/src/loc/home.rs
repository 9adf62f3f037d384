//! Checkpointing: lines that the store has are written home, their transactions leave the table, the store is freed.
//!
//! A line goes home only when the version in the caches is committed, in the store, and not newer than LastCommittedTxID; a clean of
//! the caches does that. Where a transaction that is running or not durable has overwritten the line already, the committed bytes
//! are read back from the store.

use super::checkpoint::Window;
use super::engine::Engine;
use super::lines::{Moving, Version};
use super::stats;
use super::store::Store;
use super::tables::Phase;
use fencepost_kernel::decision;
use fencepost_kernel::{HwThread, LineAddr, LineData, Ps, WriteCause};
use fencepost_machine::seam::{CleanKind, Cx, Write};
use std::collections::BTreeSet;

/// Lines of a non-volatile cache that are written home together at the end of a run, after everything that is measured.
/// Ours: several for every bank, and few enough not to fill the machine's queues.
const SWEPT_TOGETHER: usize = 64;

impl<S: Store> Engine<S> {
    /// What in-place writes wait for, for a stuck machine.
    pub(super) fn explain_home(&self) -> String {
        let Some((lines, last)) = &self.checkpoint.pending else {
            return format!("{} windows to write home", self.checkpoint.windows.len());
        };
        let first = lines.first().and_then(|l| Some((l, self.tables.lines.get(l)?)));
        let first = first.map(|(at, l)| {
            let orders: Vec<_> = l.chain.iter().map(|v| (v.order, v.captured.is_some())).collect();
            format!(
                "; {at}: versions {orders:?}, on their way {:?}, {:?}",
                l.homing, l.moving
            )
        });
        format!(
            "{} lines of transactions up to {last} to write home{}",
            lines.len(),
            first.unwrap_or_default()
        )
    }
    fn checkpoint_needed(&self) -> bool {
        let half_full = self.tables.txs.in_use() * 2 >= self.tables.cfg.tx.tx_entries as usize;
        self.store.strict() || self.tables.draining || half_full || self.store.wants_checkpoint()
    }
    /// Writes the oldest window home, if it is time.
    pub(super) fn checkpoint_if_needed(&mut self, cx: &mut dyn Cx) {
        if self.tables.draining && !S::UNTIL_HOME {
            self.checkpoint_cache();
        }
        while self.checkpoint.pending.is_none() && self.checkpoint_needed() {
            let Some(window) = self.checkpoint.windows.front() else {
                break;
            };
            let last = window.last;
            let lines: BTreeSet<_> = window.lines.iter().copied().filter(|l| self.behind(*l, last)).collect();
            self.checkpoint.pending = Some((lines.clone(), last));
            for line in lines {
                self.start_home(cx, line);
            }
            self.window_home(cx);
        }
        if self.tables.draining {
            for line in std::mem::take(&mut self.checkpoint.stalled) {
                self.start_home(cx, line);
            }
        }
    }
    /// At the end of a run, what the non-volatile cache holds counts as windows without transactions.
    fn checkpoint_cache(&mut self) {
        if !self.checkpoint.windows.is_empty() || self.tables.phase != Phase::Open || !self.tables.window.is_empty() {
            return;
        }
        let last = self.tables.txs.last_committed;
        let mut lines: Vec<LineAddr> = self
            .tables
            .lines
            .keys()
            .copied()
            .filter(|l| self.behind(*l, last))
            .collect();
        lines.sort_unstable();
        let windows = lines.chunks(SWEPT_TOGETHER).map(|lines| Window {
            keys: Vec::new(),
            lines: lines.to_vec(),
            last,
        });
        self.checkpoint.windows.extend(windows);
    }
    /// Whether home lacks a version committed at or before `last`.
    fn behind(&self, line: LineAddr, last: u64) -> bool {
        self.tables
            .versions(line)
            .iter()
            .any(|v| v.order.is_some_and(|o| o <= last))
    }
    /// A home write of the line as it stands begins.
    pub(super) fn goes_home(&mut self, line: LineAddr) {
        let l = self.tables.lines.entry(line).or_default();
        l.homing.push_back(l.chain.last().and_then(|v| v.order));
    }
    fn start_home(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let last = self.tables.txs.last_committed;
        let Some(l) = self.tables.lines.get_mut(&line) else {
            return;
        };
        if !l.homing.is_empty() || l.moving != Moving::No {
            return;
        }
        let Some(index) = l.logged(last) else {
            self.checkpoint.stalled.insert(line);
            return;
        };
        if index + 1 == l.chain.len() {
            l.moving = Moving::Home;
            cx.clean(HwThread(0), line, CleanKind::KeepExclusive, line.0);
        } else {
            self.read_log(cx, line);
        }
    }
    fn read_log(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let last = self.tables.txs.last_committed;
        let Some(l) = self.tables.lines.get_mut(&line) else {
            return;
        };
        let at = l
            .logged(last)
            .and_then(|i| l.chain[i].captured.as_ref())
            .and_then(|c| c.at);
        let Some(at) = at else {
            self.checkpoint.stalled.insert(line);
            return;
        };
        l.moving = Moving::FromLog;
        cx.count(stats::LOG_READS, 1);
        cx.read(at, line.0);
    }
    /// The clean of a line has ended; `found`: its bytes are on their way home.
    pub(super) fn home_cleaned(&mut self, cx: &mut dyn Cx, line: LineAddr, found: bool) {
        self.tables.set_moving(line, Moving::No);
        cx.kick(None); // Stores to the line waited.
        if found {
            cx.count(stats::HOME, 1);
        } else if self.tables.lines.get(&line).is_some_and(|l| l.homing.is_empty()) {
            self.read_log(cx, line);
        }
    }
    /// A log block was read back.
    pub(super) fn log_read(&mut self, cx: &mut dyn Cx, line: LineAddr, data: &LineData) {
        self.tables.set_moving(line, Moving::No);
        let last = self.tables.txs.last_committed;
        let Some(l) = self.tables.lines.get_mut(&line) else {
            return;
        };
        let newest = l.logged(last).map(|i| &l.chain[i]);
        let same = |v: &&Version| v.captured.as_ref().is_some_and(|c| c.data.words == data.words);
        match newest.filter(same).and_then(|v| v.order) {
            Some(order) if l.homing.is_empty() => {
                l.moving = Moving::FromLog;
                self.checkpoint.queue.push_back((line, order, *data));
                self.pump_home(cx);
            }
            _ => self.start_home(cx, line),
        }
    }
    /// Hands lines read back from the log to the controller.
    pub(super) fn pump_home(&mut self, cx: &mut dyn Cx) {
        while let Some((line, order, data)) = self.checkpoint.queue.front().copied() {
            let l = self.tables.lines.get(&line);
            let still = l.is_some_and(|l| l.homing.is_empty() && l.chain.iter().any(|v| v.order == Some(order)));
            if still && cx.write(home_write(line, data)).is_err() {
                return;
            }
            self.checkpoint.queue.pop_front();
            self.tables.set_moving(line, Moving::No);
            if decision!("loc.checkpoint-still-newest", still) {
                cx.count(stats::HOME, 1);
                self.tables.lines.entry(line).or_default().homing.push_back(Some(order));
            } else {
                self.pending_again(cx, line);
            }
        }
    }
    /// A line is durable at home.
    pub(super) fn home_durable(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let Some(order) = self.tables.lines.get_mut(&line).and_then(|l| l.homing.pop_front()) else {
            return;
        };
        let l = self.tables.lines.entry(line).or_default();
        l.arrived = l.arrived.saturating_sub(1);
        let covered = |v: &&Version| v.order.is_some_and(|o| Some(o) <= order);
        let home = l.chain.iter().take_while(covered).count();
        for v in l.chain.drain(..home) {
            if let Some(taken) = &v.captured {
                self.store.discard(cx, taken);
            }
        }
        self.tables.forget_if_idle(line);
        self.pending_again(cx, line);
    }
    /// Versions of a line went away: the window being written may not wait for it any more, or for its next version.
    pub(super) fn pending_again(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let Some(last) = self
            .checkpoint
            .pending
            .as_ref()
            .filter(|p| p.0.contains(&line))
            .map(|p| p.1)
        else {
            return;
        };
        if self.behind(line, last) {
            return self.start_home(cx, line);
        }
        if let Some((lines, _)) = &mut self.checkpoint.pending {
            lines.remove(&line);
        }
        self.window_home(cx);
        self.checkpoint_if_needed(cx);
        self.in_place_done(cx);
    }
    /// The window being written is all home: its transactions are over.
    fn window_home(&mut self, cx: &mut dyn Cx) {
        if self.checkpoint.pending.as_ref().is_none_or(|p| !p.0.is_empty()) {
            return;
        }
        self.checkpoint.pending = None;
        self.checkpoint.stalled.clear();
        let window = self.checkpoint.windows.pop_front();
        window
            .into_iter()
            .flat_map(|w| w.keys)
            .for_each(|k| self.tables.txs.free(k));
        cx.kick(None);
        self.reclaim(cx);
    }
    /// The store frees what nobody needs any more.
    pub(super) fn reclaim(&mut self, cx: &mut dyn Cx) {
        self.store.reclaim(&self.tables, cx);
        self.pump(cx);
    }
    /// Strict in-place writes: the next window may log once everything is home and the log is truncated.
    pub(super) fn in_place_done(&mut self, cx: &mut dyn Cx) {
        if self.tables.phase == Phase::InPlace && self.checkpoint.idle() && self.store.truncated() {
            self.tables.phase = Phase::Open;
            cx.kick(None);
            self.maybe_close(cx);
        }
    }
}

fn home_write(line: LineAddr, data: LineData) -> Write {
    Write {
        line,
        data,
        queue: 0,
        epoch: None,
        cause: WriteCause::Home,
        hw_thread: None,
        delay: Ps::ZERO,
    }
}
