//! What `sqlite` is given, and what it consists of.

use super::files::Files;
use crate::choices::Coupling;
use crate::layout::{Footprint, Locks};
use crate::tx::Runtime;
use fencepost_kernel::{Addr, params};
use fencepost_sqlite::WalIndexes;

params! {
    /// Parameters of `sqlite`.
    pub struct SqliteParams {
        /// Rows in the table before the run; keys are drawn from twice as many.
        #[range(1..=1 << 20)]
        rows: u64 = 10_000,
        /// Bytes of a value.
        #[range(8..=1000)]
        value: u32 = 100,
        /// Requests of one transaction.
        #[range(1..=64)]
        batch: u32 = 1,
        /// Of a hundred requests, those that store the next key in order.
        #[range(0..=100)]
        fill: u32 = 30,
        /// Of a hundred, those that store a key drawn at random.
        #[range(0..=100)]
        random: u32 = 30,
        /// Of a hundred, those that overwrite a row. The rest read.
        #[range(0..=100)]
        overwrite: u32 = 30,
        /// Scheme `sqlite-wal`: pages in the log from which on a commit copies them to the database (SQLite's default).
        #[range(1..=1 << 20)]
        checkpoint: u32 = 1000,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

/// The program.
#[derive(Clone, Debug)]
pub struct Sqlite {
    pub(super) rt: Runtime,
    pub(super) seed: u64,
    pub(super) threads: u32,
    pub(super) params: SqliteParams,
    pub(super) files: Files,
    /// Where threads find the number of the write-ahead log's index, and what is known by these numbers.
    pub(super) index: Option<Addr>,
    pub(super) indexes: WalIndexes,
    pub(super) locks: Locks,
    pub(super) footprint: Footprint,
}
