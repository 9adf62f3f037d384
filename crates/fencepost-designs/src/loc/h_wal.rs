//! `h-wal`: a hardware write-ahead log with a commit record.
//!
//! # Idea
//! Hardware logs the lines that a transaction wrote, from the one copy in the caches, and orders the four phases of
//! write-ahead logging itself: log blocks, commit record, in-place writes, truncation.
//!
//! # Paper
//! Lu et al., Loose-Ordering Consistency, ICCD 2014, section V-B: the hardware baseline, same order as the software
//! log. Figure 1 gives the phases. `log_path` and `log_buffer` are ours.
//!
//! # Where order is kept
//! In the commit logic: the record is written when every log block is durable; the commit completes when the record is;
//! lines go home after that; the log head passes them when they are home. Only then may the next transaction begin. A
//! transaction that commits meanwhile waits.
//!
//! # Durable at
//! The commit: when TxCommit completes, the record is durable.
//!
//! # Contract
//! `kiln`: the state after the first k transactions in commit order, k the number of commits completed or one that is completing.
//!
//! # Hardware cost
//! Tags of 9 bits (12 in the last level), a table of 48 bits for each of 128 transactions, 32 MB of log in memory.
//!
//! # Deviations
//! A block group is 8 x 64 B written as one atomic node (the paper's group of 64 B holds blocks of 8 B, while its tags
//! speak of 64 B blocks); `group_atomic = false` writes its lines one by one, which does no harm here, because the
//! record is written when every line of every group is durable. The commit order is one for all threads. A tag names a
//! transaction by its position in commit order. Log writes carry a fixed path delay; the caches' ports are not occupied
//! by them. The log area doubles when running transactions fill it (section IV-B says that it "can be dynamically
//! expanded"; to how much is ours). Locks are taken before a transaction begins, not within. At most 2^15 transactions
//! may commit while one runs whose lines were evicted.

use super::config::{Config, InPlace, LogParams, TxParams};
use super::family::{Choice, TRANSACTIONS, build, dialect, storage};
use super::faults;
use super::log::{Committed, LogStore};
use crate::info::DesignInfo;
use fencepost_contract::ContractKind;
use fencepost_kernel::params::{ParamError, Params};

fencepost_kernel::params! {
    /// Parameters of the hardware write-ahead log with a commit record.
    pub struct HWalParams {;
        /// Transactions.
        tx: TxParams = TxParams::default(),
        /// The log.
        log: LogParams = LogParams {
            in_place: InPlace::Strict,
            ..LogParams::default()
        },
    }
}
impl Choice for HWalParams {
    type Store = LogStore;
    const COMMIT_WAITS: bool = true;
    fn engine(&self) -> Config {
        Config::new(1, &self.tx)
    }
    fn store(&self, engine: &Config) -> Result<LogStore, ParamError> {
        LogStore::new(&self.log, Committed::ByRecord, engine.tx.fault)
    }
}

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "h-wal",
    summary: "hardware write-ahead log: log, commit record, in place, truncate",
    source: include_str!("h_wal.rs"),
    dialect: |s| dialect::<HWalParams>("h-wal", s),
    contract: |_| ContractKind::Kiln,
    params: HWalParams::fields,
    variants: &[
        &[("in_place", "lazy")],
        &[("in_place", "overlap")],
        &[("group_atomic", "false")],
    ],
    smallest: faults::SMALLEST_LOG,
    build: build::<HWalParams>,
    cost: storage::<HWalParams>,
    faults: &[
        faults::IN_PLACE_EARLY,
        faults::LOG_EMPTIED_FIRST,
        faults::COMMITTED_EARLY,
    ],
    ..TRANSACTIONS
};
