//! `kiln`: a non-volatile last-level cache as the log.
//!
//! # Idea
//! The last-level cache keeps its contents through a power failure, so a transaction is durable when its lines have
//! reached it: no log in memory, and memory is written once, at eviction. Lines that are not committed stay in the
//! cache.
//!
//! # Paper
//! Zhao et al., Kiln, MICRO 2013, as described and compared against by Lu et al., ICCD 2014, sections II-C and V-B.
//! `nv_write` is ours.
//!
//! # Where order is kept
//! In the commit logic: the commit moves the transaction's lines from the private levels down, then advances a register
//! in the non-volatile cache, then completes. One transaction at a time.
//!
//! # Durable at
//! The commit: when TxCommit completes, the register is durable.
//!
//! # Contract
//! `kiln`: the state after the first k transactions in commit order, k the number of commits completed or one that is
//! completing.
//!
//! # Hardware cost
//! Tags of 9 bits (12 in the last level) and the transaction table; the non-volatile array itself is not counted.
//!
//! # Deviations
//! What the cache keeps is shown in a crash image at the start of the region reserved for logs: a line with the
//! register, then bytes and tag of every dirty transactional line. A line that the last level evicts before its
//! transaction commits is kept there too, and read back at memory's latency; the paper of Kiln keeps it by victim
//! choice. The commit order is one for all threads.

use super::config::{Config, NvParams, TxParams};
use super::family::{Choice, TRANSACTIONS, build, dialect, storage};
use super::nv::NvCache;
use crate::info::DesignInfo;
use fencepost_contract::ContractKind;
use fencepost_kernel::params::{ParamError, Params};

fencepost_kernel::params! {
    /// Parameters of the non-volatile last level.
    pub struct KilnParams {;
        /// Transactions.
        tx: TxParams = TxParams::default(),
        /// The last level.
        nv: NvParams = NvParams::default(),
    }
}
impl Choice for KilnParams {
    type Store = NvCache;
    const COMMIT_WAITS: bool = true;
    fn engine(&self) -> Config {
        Config::new(1, &self.tx)
    }
    fn store(&self, engine: &Config) -> Result<NvCache, ParamError> {
        Ok(NvCache::new(&self.nv, engine.tx.fault))
    }
}

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "kiln",
    summary: "non-volatile last level: a commit moves its lines there",
    source: include_str!("kiln.rs"),
    dialect: |s| dialect::<KilnParams>("kiln", s),
    contract: |_| ContractKind::Kiln,
    idiom_of: &[ContractKind::Kiln],
    params: KilnParams::fields,
    variants: &[&[("abort_every", "3")]],
    smallest: &[("tx_entries", "1")],
    build: build::<KilnParams>,
    cost: storage::<KilnParams>,
    ..TRANSACTIONS
};
