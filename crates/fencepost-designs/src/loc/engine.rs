//! The engine that all transactional designs share: its state, where it logs to, its phases, and what is left to log.
//!
//! What it does stands in files of its own: commits and aborts (`commit`), the end of a window (`close`, `into_llc`), in-place writes
//! (`home`); the hooks of the seam (`mechanism`) call them.

use super::checkpoint::Checkpoint;
use super::config::{Config, InPlace, LocFault};
use super::format::{Area, Record};
use super::lines::{Lines, Version};
use super::memlog::MemLog;
use super::nv::NvStore;
use super::recover::Pairs;
use super::txs::{Key, TxTable};
use fencepost_kernel::{HartId, LineAddr, Ps, Stream, TxId};
use fencepost_machine::seam::Cx;
use std::collections::{BTreeSet, VecDeque};

/// What the commit logic is doing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Transactions begin and commit.
    Open,
    /// The window is to close, but shares lines with transactions that still run; nothing begins.
    Gathering,
    /// The window's blocks and records go to the log.
    Logging,
    /// In-place writes and truncation, where they are strict.
    InPlace,
}

/// Where versions are kept through a power failure.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // a design has one
pub(super) enum Store {
    /// In memory; the area is known with the first call.
    Log(Option<MemLog>),
    /// In the last-level cache.
    Nv(NvStore),
}

/// A block of the closing window that has not been taken into the log.
#[derive(Copy, Clone, Debug)]
pub(super) struct Todo {
    pub key: Key,
    pub line: LineAddr,
    /// Carries the transaction's TxCnt.
    pub last: bool,
}

/// Timer of the non-volatile cache's write.
pub(super) const NV_WRITTEN: u64 = 1;

/// Hardware transactions: write-ahead log, eager commit, speculative persistence, non-volatile last level.
#[derive(Clone, Debug)]
pub struct Loc {
    pub(super) cfg: Config,
    pub(super) txs: TxTable,
    pub(super) lines: Lines,
    pub(super) store: Store,
    pub(super) phase: Phase,
    /// Committed transactions of the current window, in commit order.
    pub(super) window: Vec<Key>,
    pub(super) todo: VecDeque<Todo>,
    pub(super) records_out: bool,
    /// Records of the closing window that wait for a group, and groups of them that are not durable.
    pub(super) records: VecDeque<Vec<Record>>,
    pub(super) records_left: u32,
    /// Lines of the closing window on their way to the non-volatile cache.
    pub(super) to_llc: u32,
    /// Until when the non-volatile array writes the lines it was given, one after the other.
    pub(super) nv_busy: Ps,
    /// Versions shared by committed and running transactions.
    pub(super) shared: BTreeSet<LineAddr>,
    pub(super) pair_entries: u32,
    pub(super) flush_wanted: bool,
    pub(super) draining: bool,
    /// Position of the last commit of each hart, and of the commit it waits for.
    pub(super) last_commit: Vec<u64>,
    pub(super) committing: Vec<Option<u64>>,
    /// Commits completed, where commits wait.
    pub(super) released: u64,
    pub(super) checkpoint: Checkpoint,
    pub(super) aborts: Stream,
    pub(super) row_of_aborts: Vec<u32>,
}

impl Loc {
    /// The mechanism for `harts` threads.
    pub fn new(cfg: Config, harts: u8) -> Loc {
        let store = match cfg.non_volatile {
            true => Store::Nv(NvStore::default()),
            false => Store::Log(None),
        };
        let n = usize::from(harts);
        Loc {
            txs: TxTable::new(harts),
            lines: Lines::default(),
            store,
            phase: Phase::Open,
            window: Vec::new(),
            todo: VecDeque::new(),
            records_out: false,
            records: VecDeque::new(),
            records_left: 0,
            to_llc: 0,
            nv_busy: Ps::ZERO,
            shared: BTreeSet::new(),
            pair_entries: 0,
            flush_wanted: false,
            draining: false,
            last_commit: vec![0; n],
            committing: vec![None; n],
            released: 0,
            checkpoint: Checkpoint::default(),
            aborts: Stream::new(cfg.aborts.1, "transaction aborts"),
            row_of_aborts: vec![0; n],
            cfg,
        }
    }
    /// The memory log, if there is one.
    pub(super) fn log(&mut self, cx: &dyn Cx) -> Option<&mut MemLog> {
        let cfg = &self.cfg;
        match &mut self.store {
            Store::Nv(_) => None,
            Store::Log(log) => Some(log.get_or_insert_with(|| {
                let (base, len) = cx.log_area();
                MemLog::new(Area::new(base, len), cfg)
            })),
        }
    }
    /// The versions of a line, oldest first.
    pub(super) fn versions(&self, line: LineAddr) -> &[Version] {
        self.lines.get(&line).map_or(&[], |l| &l.chain)
    }
    pub(super) fn strict(&self) -> bool {
        self.cfg.in_place == InPlace::Strict
    }
    /// Which dependency pairs recovery counts.
    pub(super) fn pairs_that_count(&self) -> Pairs {
        match self.cfg.fault {
            LocFault::PairFirst => Pairs::All,
            _ => Pairs::OfCommitted,
        }
    }
    /// Number of the running transaction of a hart, checked against the machine's.
    pub(super) fn running(&self, hart: HartId, id: TxId) -> Option<Key> {
        let key = self.txs.active(hart)?;
        debug_assert_eq!(self.txs.get(key).map(|t| t.id), Some(id));
        Some(key)
    }
}
