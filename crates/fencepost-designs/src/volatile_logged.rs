//! `volatile-logged`: the same body as the designs that persist, without any flush, persist barrier or commit.
//!
//! # Idea
//! Programs run their data structure, their locks and their log, and no instruction that makes anything persistent: what is
//! left of a slowdown over this design is the cost of ordering and flushing alone.
//!
//! # Paper
//! One reading of the baseline of the delegated-ordering paper (MICRO 2016): it adds "minimal fence instructions required for
//! correctness under each model" to one benchmark. The other reading is `volatile`.
//!
//! # Where order is kept
//! Nowhere. Locks have the barriers that synchronisation needs on relaxed cores, as on `volatile`.
//!
//! # Durable at
//! Whenever an evicted line happens to reach the memory's point of durability.
//!
//! # Contract
//! `none`: any subset of lines may have survived, log entries among them.
//!
//! # Hardware cost
//! None: zero bits.
//!
//! # Deviations
//! None known.

use crate::info::{DesignInfo, Environment};
use crate::volatile;
use fencepost_kernel::{Dialect, Logging};

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "volatile-logged",
    summary: "the log's instructions and no flush, fence or commit: a baseline with the same body",
    source: include_str!("volatile_logged.rs"),
    dialect,
    ..volatile::INFO
};

fn dialect(environment: Environment) -> Dialect {
    Dialect {
        name: "volatile-logged",
        logging: Logging::Software,
        ..(volatile::INFO.dialect)(environment)
    }
}
