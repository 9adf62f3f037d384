//! `loc-kiln`: loose ordering on a non-volatile last-level cache.
//!
//! # Idea
//! Both: only the private levels are flushed, into a last level that keeps its contents, and transactions of a window
//! do so together, in any order, with only the newest version of each line.
//!
//! # Paper
//! Lu et al., Loose-Ordering Consistency, ICCD 2014, section V-B. `nv_write` is ours.
//!
//! # Where order is kept
//! In the commit logic: a window closes when it is full or TxFlush asks; its newest versions move into the last level;
//! then a register there passes the whole window in one write, so that no pair need be kept.
//!
//! # Durable at
//! TxFlush: when it completes, every transaction that the thread committed is durable. TxCommit gives atomicity only.
//!
//! # Contract
//! `loc`: the state after the first k transactions in commit order, k at least the number reported durable.
//!
//! # Hardware cost
//! Tags of 9 bits (12 in the last level) and the transaction table; the non-volatile array itself is not counted.
//!
//! # Deviations
//! As `kiln`: the cache's content is shown at the start of the region reserved for logs; lines evicted before their
//! transaction commits are kept there.

use super::config::{Config, DEGREE, NvParams, TxParams};
use super::family::{Choice, REORDERS, TRANSACTIONS, build, dialect, storage};
use super::faults;
use super::nv::NvCache;
use crate::info::DesignInfo;
use fencepost_kernel::params::{ParamError, Params};

fencepost_kernel::params! {
    /// Parameters of loose ordering on a non-volatile last level.
    pub struct LocKilnParams {
        /// Transactions of a speculation window.
        speculation_degree: u32 = DEGREE;
        /// Transactions.
        tx: TxParams = TxParams::default(),
        /// The last level.
        nv: NvParams = NvParams::default(),
    }
}
impl Choice for LocKilnParams {
    type Store = NvCache;
    const COMMIT_WAITS: bool = false;
    fn engine(&self) -> Config {
        Config::new(self.speculation_degree, &self.tx)
    }
    fn store(&self, engine: &Config) -> Result<NvCache, ParamError> {
        Ok(NvCache::new(&self.nv, engine.tx.fault))
    }
}

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "loc-kiln",
    summary: "loose ordering with the log in a non-volatile last level",
    source: include_str!("loc_kiln.rs"),
    dialect: |s| dialect::<LocKilnParams>("loc-kiln", s),
    promise: REORDERS,
    params: LocKilnParams::fields,
    variants: &[&[("speculation_degree", "1")], &[("abort_every", "3")]],
    smallest: &[("tx_entries", "1")],
    build: build::<LocKilnParams>,
    cost: storage::<LocKilnParams>,
    faults: &[faults::NO_RESCUE, faults::LOG_EMPTIED_FIRST],
    ..TRANSACTIONS
};
