//! The engine: transactions over a [`Store`] in which their lines survive.
//!
//! A transaction begins when the window is open and the table has an entry. Its stores make new versions of lines. A commit gives it the
//! next position in commit order and puts it in the window ([`commit`](super::commit)); an abort makes the versions below current
//! again ([`abort`](super::abort)). A full window is closed and made durable by the store, after which LastCommittedTxID has passed its
//! transactions ([`window`](super::window)). Only then may their lines go [`home`](super::home).

use super::checkpoint::Checkpoint;
use super::config::Config;
use super::lines::{Captured, Moving, Version};
use super::stats;
use super::store::Store;
use super::tables::Tables;
use super::txs::Key;
use fencepost_kernel::{LineAddr, LineData, Stream};
use fencepost_machine::seam::{Cx, Exit, Level};
use std::collections::BTreeSet;

/// Hardware transactions: write-ahead log, eager commit, speculative persistence, non-volatile last level.
#[derive(Clone, Debug)]
pub(super) struct Engine<S> {
    pub(super) tables: Tables,
    pub(super) store: S,
    /// Versions shared by committed and running transactions.
    pub(super) shared: BTreeSet<LineAddr>,
    /// Lines of the transaction that commits, while they are gone through.
    pub(super) joining: Vec<LineAddr>,
    /// Dependency pairs of the window.
    pub(super) pairs: u32,
    pub(super) flush_wanted: bool,
    /// Position of the last commit of each hardware thread, and of the commit it waits for.
    pub(super) last_commit: Vec<u64>,
    pub(super) committing: Vec<Option<u64>>,
    /// Commits completed, where commits wait.
    pub(super) released: u64,
    /// Windows on their way home.
    pub(super) checkpoint: Checkpoint,
    /// Injected aborts, and how many each hardware thread has had in a row.
    pub(super) aborts: Stream,
    pub(super) aborts_in_a_row: Vec<u32>,
}

impl<S: Store> Engine<S> {
    /// The mechanism for `hw_threads` hardware threads.
    pub(super) fn new(cfg: Config, store: S, hw_threads: u8) -> Engine<S> {
        let n = usize::from(hw_threads);
        Engine {
            store,
            shared: BTreeSet::new(),
            joining: Vec::new(),
            pairs: 0,
            flush_wanted: false,
            last_commit: vec![0; n],
            committing: vec![None; n],
            released: 0,
            checkpoint: Checkpoint::default(),
            aborts: Stream::new(cfg.tx.abort_seed, "transaction aborts"),
            aborts_in_a_row: vec![0; n],
            tables: Tables::new(cfg, hw_threads),
        }
    }

    /// A store of a running transaction performed: it makes a version, or shares that of another running transaction.
    pub(super) fn stored(&mut self, cx: &mut dyn Cx, key: Key, line: LineAddr) {
        let Tables { txs, lines, spare, .. } = &mut self.tables;
        let chain = &mut lines
            .entry(line)
            .or_insert_with(|| spare.pop().unwrap_or_default())
            .chain;
        let shared = match chain.last_mut() {
            Some(v) if v.owners.contains(&key) => {
                // Written again: what the store has of it is old.
                return self.uncapture(cx, line);
            }
            Some(v) if v.owners.iter().any(|k| txs.is_active(*k)) => Some(v),
            _ => None,
        };
        match shared {
            Some(v) => {
                v.owners.push(key);
                if v.last.is_some() {
                    self.shared.insert(line);
                }
                self.uncapture(cx, line);
            }
            None => chain.push(Version {
                owners: vec![key],
                ..Version::default()
            }),
        }
        self.tables.txs.tx(key).lines.push(line);
    }

    /// A version's bytes go into the store, as a block of `by`.
    pub(super) fn capture(&mut self, cx: &mut dyn Cx, line: LineAddr, index: usize, by: Key, data: LineData) {
        let at = self.store.take(&self.tables, cx, line, by, &data);
        self.tables.captured(line, index, Captured { by, at, data });
    }
    /// The newest version is not as it was taken any more.
    pub(super) fn uncapture(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        let Some(gone) = self.tables.newest(line).captured.take() else {
            return;
        };
        if self.store.take_back(cx, line, &gone)
            && let Some(tx) = self.tables.txs.get_mut(gone.by)
        {
            tx.blocks -= 1;
        }
    }
    /// The newest version is taken again, as it is now.
    pub(super) fn recapture(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        self.uncapture(cx, line);
        let versions = self.tables.versions(line);
        let index = versions.len() - 1;
        let (by, data) = (self.tables.owner_of(&versions[index]), cx.coherent(line));
        self.capture(cx, line, index, by, data);
        self.pump(cx);
    }
    /// What the store has of a version is not needed any more.
    pub(super) fn discard(&mut self, cx: &mut dyn Cx, v: &Version) {
        if let Some(taken) = &v.captured {
            self.store.discard(cx, taken);
        }
    }

    /// No way can keep an older version: the store takes it.
    pub(super) fn version_overflows(
        &mut self,
        cx: &mut dyn Cx,
        line: LineAddr,
        level: Level,
        meta: u32,
        data: &LineData,
    ) {
        let frozen = |v: &Version| v.frozen == Some((level, meta));
        let Some(index) = self.tables.versions(line).iter().position(frozen) else {
            return;
        };
        cx.count(stats::OVERFLOWS, 1);
        let v = &mut self.tables.lines.get_mut(&line).expect("just found").chain[index];
        v.frozen = None;
        let by = v.last.expect("a frozen version is committed");
        self.capture(cx, line, index, by, *data);
        self.pump(cx);
    }
    /// A dirty line leaves the last level: home if it may, into the store otherwise.
    pub(super) fn leaves_last_level(&mut self, cx: &mut dyn Cx, line: LineAddr, data: &LineData) -> Exit {
        if self.tables.may_go_home(line) {
            self.goes_home(line);
            return Exit::Down;
        }
        let versions = self.tables.versions(line);
        let (index, v) = (versions.len() - 1, &versions[versions.len() - 1]);
        if v.captured.is_none() {
            cx.count(stats::EVICTED, 1);
            let by = self.tables.owner_of(v);
            self.capture(cx, line, index, by, *data);
            self.pump(cx);
        }
        Exit::Drop
    }
    /// A clean of the caches, by which the line was to go home or into the store, has ended.
    pub(super) fn clean_ended(&mut self, cx: &mut dyn Cx, line: LineAddr, found: bool) {
        match self.tables.lines.get(&line).map(|l| l.moving) {
            Some(Moving::ToLlc) => {
                self.tables.set_moving(line, Moving::No);
                self.store.moved(&mut self.tables, cx, line);
            }
            Some(Moving::Home) => self.home_cleaned(cx, line, found),
            _ => {}
        }
    }
}
