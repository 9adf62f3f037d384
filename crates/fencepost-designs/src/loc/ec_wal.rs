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

use super::LOC;
use super::config::EcWalParams;
use crate::info::{DesignInfo, Honours, Promise};
use fencepost_kernel::params::Params;

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "ec-wal",
    summary: "eager commit: log blocks counted at recovery, no commit record",
    source: include_str!("ec_wal.rs"),
    paper: LOC,
    dialect: |s| super::hardware("ec-wal", s, false),
    contract: |_| "loc",
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: false,
        honours: Honours::TRANSACTIONS,
    },
    sound: |_| true,
    params: EcWalParams::fields,
    variants: &[&[("in_place", "strict")]],
    smallest: super::faults::SMALLEST_LOG,
    build: super::build::<EcWalParams>,
    cost: super::storage::<EcWalParams>,
    faults: &[super::faults::IN_PLACE_EARLY, super::faults::GROUP_NOT_ATOMIC],
    log: None,
};
