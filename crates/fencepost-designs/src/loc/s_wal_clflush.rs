//! `s-wal-clflush`: the software write-ahead log of `s-wal` with flushes that invalidate.
//!
//! # Idea
//! As `s-wal`, but a flushed line leaves the caches: the next transaction fetches its log and its data from memory again.
//!
//! # Paper
//! The other reading of `s-wal`'s flush: section I names `clflush` ("software needs to explicitly include the relatively costly cache
//! flush (e.g., *clflush*) and memory fence (e.g., *mfence*) instructions"), which invalidates.
//!
//! # Where order is kept
//! As `s-wal`. `clflush` is synchronous besides, as the instruction of 2014 was.
//!
//! # Durable at
//! As `s-wal`.
//!
//! # Contract
//! As `s-wal`.
//!
//! # Hardware cost
//! As `s-wal`.
//!
//! # Deviations
//! As `s-wal`, but for the flush.

use super::s_wal;
use crate::info::{DesignInfo, Environment};
use fencepost_kernel::{Dialect, Flush};

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "s-wal-clflush",
    summary: "the software write-ahead log with flushes that invalidate",
    source: include_str!("s_wal_clflush.rs"),
    dialect,
    ..s_wal::INFO
};

fn dialect(environment: Environment) -> Dialect {
    Dialect {
        name: "s-wal-clflush",
        flush: Some(Flush::Clflush),
        ..(s_wal::INFO.dialect)(environment)
    }
}
