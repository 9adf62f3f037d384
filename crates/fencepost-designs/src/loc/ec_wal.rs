//! `ec-wal`: eager commit alone, without speculation.
//!
//! # Idea
//! A commit record costs an ordered write. Eager commit leaves it out: every log block carries its transaction, the
//! last one also their number, so that recovery can tell by counting which transactions are whole. The commit completes
//! at once; the next transaction begins when the blocks are durable.
//!
//! # Paper
//! Lu et al., Loose-Ordering Consistency, ICCD 2014, sections III-A and V-C. `log_path` and `log_buffer` are ours.
//!
//! # Where order is kept
//! In the commit logic: one transaction at a time is being logged, its blocks in any order. In-place writes follow when
//! the line is evicted, or when the transaction table or the log run short.
//!
//! # Durable at
//! TxFlush: when it completes, every transaction that the thread committed is durable. TxCommit gives atomicity only.
//!
//! # Contract
//! `loc`: the state after the first k transactions in commit order, k at least the number reported durable.
//!
//! # Hardware cost
//! Tags of 9 bits (12 in the last level), a table of 48 bits for each of 128 transactions, 32 MB of log in memory.
//!
//! # Deviations
//! A block group is 8 x 64 B written as one atomic node (the paper's group of 64 B holds blocks of 8 B, while its tags
//! speak of 64 B blocks); `group_atomic = false` writes its lines one by one and must be convicted. The commit order is
//! one for all threads. A tag names a transaction by its position in commit order. Log writes carry a fixed path delay;
//! the caches' ports are not occupied by them. The log area doubles when running transactions fill it (section IV-B
//! says that it "can be dynamically expanded"; to how much is ours). Locks are taken before a transaction begins, not
//! within. At most 2^15 transactions may commit while one runs whose lines were evicted. Identical to `loc-wal` at
//! speculation degree 1.

use super::config::{Config, LogParams, TxParams};
use super::family::{Choice, TRANSACTIONS, build, dialect, storage};
use super::faults;
use super::log::{Committed, LogStore};
use crate::info::DesignInfo;
use fencepost_kernel::params::{ParamError, Params};

fencepost_kernel::params! {
    /// Parameters of eager commit alone.
    pub struct EcWalParams {;
        /// Transactions.
        tx: TxParams = TxParams::default(),
        /// The log.
        log: LogParams = LogParams::default(),
    }
}
impl Choice for EcWalParams {
    type Store = LogStore;
    const COMMIT_WAITS: bool = false;
    fn engine(&self) -> Config {
        Config::new(1, &self.tx)
    }
    fn store(&self, engine: &Config) -> Result<LogStore, ParamError> {
        LogStore::new(&self.log, Committed::ByCount, engine.tx.fault)
    }
}

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "ec-wal",
    summary: "eager commit: log blocks counted at recovery, no commit record",
    source: include_str!("ec_wal.rs"),
    dialect: |s| dialect::<EcWalParams>("ec-wal", s),
    params: EcWalParams::fields,
    variants: &[&[("in_place", "strict")], &[("in_place", "overlap")]],
    smallest: faults::SMALLEST_LOG,
    build: build::<EcWalParams>,
    cost: storage::<EcWalParams>,
    faults: &[
        faults::IN_PLACE_EARLY,
        faults::GROUP_NOT_ATOMIC,
        faults::LOG_EMPTIED_FIRST,
        faults::COMMITTED_EARLY,
    ],
    ..TRANSACTIONS
};
