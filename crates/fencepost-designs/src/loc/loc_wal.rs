//! `loc-wal`: loose-ordering consistency, eager commit with speculative persistence.
//!
//! # Idea
//! Transactions of a window reach the log in any order, and only the newest version of a line is logged; transactions
//! are committed in order. A transaction whose blocks a successor overwrote is committed if the successor is: a
//! dependency pair says so.
//!
//! # Paper
//! Lu et al., Loose-Ordering Consistency, ICCD 2014, sections III and IV. `log_path` and `log_buffer` are ours.
//!
//! # Where order is kept
//! In the commit logic: a window of `speculation_degree` transactions closes when it is full, when TxFlush asks, or
//! when pairs, table or log run short; nothing begins until its blocks and pairs are durable. LastCommittedTxID passes
//! a transaction when its blocks, its pairs, its successors and all earlier transactions are durable. Only then may its
//! lines go home. A store over a committed version that is not logged leaves the old bytes in a frozen way; if no way
//! can keep them they are logged.
//!
//! # Durable at
//! TxFlush: when it completes, every transaction that the thread committed is durable. TxCommit gives atomicity only.
//!
//! # Contract
//! `loc`: the state after the first k transactions in commit order, k at least the number reported durable.
//!
//! # Hardware cost
//! Tags of 9 bits (12 in the last level), a table of 48 bits for each of 128 transactions, 32 KB for dependency pairs,
//! 32 MB of log in memory.
//!
//! # Deviations
//! A block group is 8 x 64 B written as one atomic node (the paper's group of 64 B holds blocks of 8 B, while its tags
//! speak of 64 B blocks); `group_atomic = false` writes its lines one by one and must be convicted. The commit order is
//! one for all threads. A tag names a transaction by its position in commit order. Log writes carry a fixed path delay;
//! the caches' ports are not occupied by them. The log area doubles when running transactions fill it (section IV-B
//! says that it "can be dynamically expanded"; to how much is ours). Locks are taken before a transaction begins, not
//! within. At most 2^15 transactions may commit while one runs whose lines were evicted. Recovery also cuts off a
//! transaction whose successor lies behind the first uncommitted one: read literally, section III-C would call it
//! committed although its block is discarded with the successor. Running transactions that store to one line share its
//! version, and a window waits for them. A transaction that is aborted takes running ones that began after it along;
//! successors of a committed one need no abort, because only running transactions abort. Older versions are kept in the
//! L1.

use super::config::{Config, DEGREE, LogParams, PAIR_BUFFER, TxParams, pairs};
use super::family::{Choice, REORDERS, TRANSACTIONS, build, dialect, storage};
use super::faults;
use super::log::{Committed, LogStore};
use crate::info::DesignInfo;
use fencepost_contract::ContractKind;
use fencepost_kernel::Bytes;
use fencepost_kernel::params::{ParamError, Params};

fencepost_kernel::params! {
    /// Parameters of loose-ordering consistency.
    pub struct LocWalParams {
        /// Transactions of a speculation window, which may reach the log in any order.
        speculation_degree: u32 = DEGREE,
        /// Volatile buffer for dependency pairs.
        pair_buffer: Bytes = PAIR_BUFFER;
        /// Transactions.
        tx: TxParams = TxParams::default(),
        /// The log.
        log: LogParams = LogParams::default(),
    }
}
impl Choice for LocWalParams {
    type Store = LogStore;
    const COMMIT_WAITS: bool = false;
    fn engine(&self) -> Config {
        Config {
            pairs: pairs(self.pair_buffer),
            ..Config::new(self.speculation_degree, &self.tx)
        }
    }
    fn store(&self, engine: &Config) -> Result<LogStore, ParamError> {
        LogStore::new(&self.log, Committed::ByCount, engine.tx.fault)
    }
}

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "loc-wal",
    summary: "loose ordering: eager commit and speculative persistence",
    idiom_of: &[ContractKind::Loc],
    source: include_str!("loc_wal.rs"),
    dialect: |s| dialect::<LocWalParams>("loc-wal", s),
    promise: REORDERS,
    params: LocWalParams::fields,
    variants: &[
        &[("speculation_degree", "1")],
        &[("speculation_degree", "4")],
        &[("in_place", "strict")],
        &[("in_place", "overlap")],
        &[("abort_every", "3")],
    ],
    smallest: &[("tx_entries", "1"), ("pair_buffer", "8B"), ("log_buffer", "1")],
    build: build::<LocWalParams>,
    cost: storage::<LocWalParams>,
    faults: &[
        faults::PAIR_FIRST,
        faults::IN_PLACE_EARLY,
        faults::NO_RESCUE,
        faults::GROUP_NOT_ATOMIC,
        faults::LOG_EMPTIED_FIRST,
        faults::COMMITTED_EARLY,
        faults::PAIR_ORDER,
        faults::WINDOW_SHORT,
    ],
    ..TRANSACTIONS
};
