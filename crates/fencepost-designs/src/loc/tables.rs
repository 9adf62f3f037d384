//! What is known of transactions and lines, for the engine and its store: the Tx State Table, the versions of every line, and the
//! window of committed transactions.

use super::config::Config;
use super::lines::{Captured, Line, Lines, Moving, Version};
use super::txs::{Key, TxTable};
use fencepost_kernel::{HwThread, LineAddr, LineData, TxId};
use fencepost_machine::seam::Cx;

/// What the commit logic is doing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Transactions begin and commit.
    Open,
    /// The window is to close, but shares lines with transactions that still run; nothing begins.
    Gathering,
    /// The store makes the window durable.
    Logging,
    /// In-place writes and truncation, where they are strict.
    InPlace,
}

/// Lines whose memory is kept.
const SPARE: usize = 256;

/// The tables.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// What the design chooses.
    pub cfg: Config,
    /// The Tx State Table.
    pub txs: TxTable,
    /// The versions of every line.
    pub lines: Lines,
    /// Lines about which there is nothing to know any more: the next ones take their memory.
    pub spare: Vec<Line>,
    /// What the commit logic is doing.
    pub phase: Phase,
    /// Committed transactions of the current window, in commit order.
    pub window: Vec<Key>,
    /// The run is ending: everything goes home.
    pub draining: bool,
}

impl Tables {
    /// Empty tables for `hw_threads` hardware threads.
    pub(super) fn new(cfg: Config, hw_threads: u8) -> Tables {
        Tables {
            cfg,
            txs: TxTable::new(hw_threads),
            lines: Lines::default(),
            spare: Vec::new(),
            phase: Phase::Open,
            window: Vec::new(),
            draining: false,
        }
    }

    // ---- transactions

    /// The running transaction of a hardware thread, checked against the machine's number of it.
    pub(super) fn running(&self, hw_thread: HwThread, id: TxId) -> Option<Key> {
        let key = self.txs.active(hw_thread)?;
        debug_assert_eq!(self.txs.get(key).map(|t| t.id), Some(id));
        Some(key)
    }
    /// Whether the table has no entry left.
    pub(super) fn full(&self) -> bool {
        self.txs.in_use() >= self.cfg.tx.tx_entries as usize
    }
    /// Blocks that the window's transactions wrote.
    pub(super) fn window_blocks(&self) -> usize {
        let window = self.window.iter().filter_map(|k| self.txs.get(*k));
        window.map(|t| t.lines.len()).sum()
    }
    /// Whether every block of the window that the store took is durable.
    pub(super) fn window_durable(&self) -> bool {
        let durable = |k: &Key| self.txs.get(*k).is_some_and(|t| t.durable == t.blocks);
        self.window.iter().all(durable)
    }

    // ---- versions

    /// The versions of a line, oldest first.
    pub(super) fn versions(&self, line: LineAddr) -> &[Version] {
        self.lines.get(&line).map_or(&[], |l| &l.chain)
    }
    /// The newest version of a line that a transaction wrote.
    ///
    /// # Panics
    /// If the line has none.
    pub(super) fn newest(&mut self, line: LineAddr) -> &mut Version {
        let chain = self.lines.get_mut(&line).map(|l| &mut l.chain);
        chain
            .and_then(|c| c.last_mut())
            .expect("a transaction's line has its version")
    }
    /// Whether a running transaction stored to the version.
    pub(super) fn has_active_owner(&self, v: &Version) -> bool {
        v.owners.iter().any(|k| self.txs.is_active(*k))
    }
    /// Whom a version's block is charged to: a running owner if there is one, else the last to commit.
    pub(super) fn owner_of(&self, v: &Version) -> Key {
        let active = v.owners.iter().copied().find(|k| self.txs.is_active(*k));
        active.or(v.last).expect("a version has an owner")
    }
    /// Index of the version of `line` that is `key`'s to make durable, if the store has not taken it.
    pub(super) fn unlogged(&self, key: Key, line: LineAddr) -> Option<usize> {
        let untaken = |v: &Version| v.last == Some(key) && v.captured.is_none();
        self.versions(line).iter().rposition(untaken)
    }
    /// Whether the newest bytes of a line may be written home: nothing newer than the last committed transaction.
    pub(super) fn may_go_home(&self, line: LineAddr) -> bool {
        let last = self.versions(line).last();
        last.is_none_or(|v| v.captured.is_some() && v.order.is_some_and(|o| o <= self.txs.last_committed))
    }
    /// The bytes of a committed version that the store has not taken.
    pub(super) fn bytes(&self, cx: &dyn Cx, line: LineAddr, index: usize) -> LineData {
        let frozen = self.versions(line)[index].frozen;
        let kept = frozen.and_then(|(level, meta)| cx.version(level, line, meta));
        kept.unwrap_or_else(|| cx.coherent(line))
    }
    /// The store has taken a version, as a block of the transaction `taken.by`.
    pub(super) fn captured(&mut self, line: LineAddr, index: usize, taken: Captured) {
        self.txs.tx(taken.by).blocks += 1;
        if let Some(l) = self.lines.get_mut(&line) {
            l.chain[index].captured = Some(taken);
        }
    }
    /// The way that a version had of its own, if it had one, is free.
    pub(super) fn unfreeze(&mut self, cx: &mut dyn Cx, line: LineAddr, index: usize) {
        let frozen = self.lines.get_mut(&line).and_then(|l| l.chain[index].frozen.take());
        if let Some((level, meta)) = frozen {
            cx.drop_version(level, line, meta);
        }
    }
    /// Sets why a line is being moved.
    pub(super) fn set_moving(&mut self, line: LineAddr, moving: Moving) {
        if let Some(l) = self.lines.get_mut(&line) {
            l.moving = moving;
        }
    }
    /// Forgets a line about which there is nothing to know.
    pub(super) fn forget_if_idle(&mut self, line: LineAddr) {
        if self.lines.get(&line).is_some_and(|l| l.idle())
            && let Some(idle) = self.lines.remove(&line)
            && self.spare.len() < SPARE
        {
            let (chain, homing) = (idle.chain, idle.homing);
            self.spare.push(Line {
                chain,
                homing,
                ..Line::default()
            });
        }
    }
}
