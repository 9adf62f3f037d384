//! Hardware transactions in the cache hierarchy: write-ahead logs in software and hardware, eager commit, speculative
//! persistence, and a non-volatile last level. Six designs (one file each) share one mechanism.
//!
//! How the parts follow the paper: [`txs`] is the Tx State Table with LastCommittedTxID, [`lines`] the Tx Dirty Block
//! Table and the versions of lines, `commit`, `close` and `into_llc` the commit logic, [`memlog`] and [`mod@format`] the memory log
//! area, `home` the checkpointing phase, [`recover`] and [`nv`] what the hardware does after a power failure.

mod checkpoint;
mod close;
mod commit;
pub mod config;
pub mod cost;
pub mod ec_wal;
mod engine;
mod faults;
pub mod format;
pub mod h_wal;
mod home;
mod into_llc;
pub mod kiln;
pub mod lines;
pub mod loc_kiln;
pub mod loc_wal;
mod mechanism;
pub mod memlog;
pub mod nv;
pub mod recover;
pub mod s_wal;
mod stats;
pub mod txs;

pub use config::{Config, InPlace, LocFault};
pub use engine::Loc;

use crate::info::{CostItem, Environment, MachineShape, Paper, ParamValues, configure};
use fencepost_kernel::params::{ParamError, Params};
use fencepost_kernel::{Dialect, LogPath, Logging};
use fencepost_machine::seam::Design;

/// The paper of loose ordering.
pub const LOC: Paper = Paper {
    short: "loc",
    title: "Loose-Ordering Consistency for Persistent Memory",
    venue: "ICCD 2014",
    bibtex: "@inproceedings{lu2014loc,\n  title = {Loose-Ordering Consistency for Persistent Memory},\n  author = {Lu, \
             Youyou and Shu, Jiwu and Sun, Long and Mutlu, Onur},\n  booktitle = {ICCD},\n  pages = {216--223},\n  year = \
             {2014}\n}",
};

/// The dialect of hardware transactions: plain stores between `tx_begin` and `tx_commit`, `tx_flush` for durability.
pub(crate) fn hardware(name: &'static str, environment: Environment, commit_is_durable: bool) -> Dialect {
    let locks = crate::volatile::lock_fences(environment);
    Dialect {
        name,
        logging: Logging::Hardware,
        flush: None,
        order: &[],
        log_path: LogPath::Temporal,
        log_to_data: &[],
        durable: &[],
        lock_acquire: locks,
        unlock_release: locks,
        order_is_durable: commit_is_durable,
        ranges: false,
    }
}
/// Bytes of the log area of the paper's machine.
pub(crate) const LOG_BYTES: u64 = 32 << 20;

/// The engine's configuration from a design's own parameters.
fn config<P: Params + Into<Config>>(values: ParamValues<'_>) -> Result<Config, ParamError> {
    configure::<P>(values)?.into().checked()
}
/// Builds a design of the family.
pub(crate) fn build<P: Params + Into<Config>>(
    values: ParamValues<'_>,
    shape: MachineShape,
) -> Result<Box<dyn Design>, ParamError> {
    Ok(Box::new(Loc::new(config::<P>(values)?, shape.harts)))
}
/// The storage that a design of the family adds.
pub(crate) fn storage<P: Params + Into<Config>>(
    values: ParamValues<'_>,
    shape: MachineShape,
) -> Result<Vec<CostItem>, ParamError> {
    Ok(cost::storage(&config::<P>(values)?, shape, LOG_BYTES))
}
