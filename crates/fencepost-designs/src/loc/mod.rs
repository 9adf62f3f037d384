//! Hardware transactions in the cache hierarchy. Six designs, one file each, say what they choose of one mechanism:
//!
//! | design | versions survive in | a transaction is committed by | a commit waits | window |
//! |---|---|---|---|---|
//! | [`s_wal`] | a log that software writes | a record | yes | 1 |
//! | [`h_wal`] | a log in memory | a record | yes | 1 |
//! | [`ec_wal`] | a log in memory | counting its blocks | no | 1 |
//! | [`loc_wal`] | a log in memory | counting its blocks | no | 16 |
//! | [`kiln`] | the last-level cache | a register | yes | 1 |
//! | [`loc_kiln`] | the last-level cache | a register | no | 16 |
//!
//! The first has the mechanism of `so`. The others share, from the bottom up:
//!
//! - what is known: [`txs`], the Tx State Table with LastCommittedTxID; [`lines`], the Tx Dirty Block Table and the versions of each line;
//!   `tables`, both with the window of committed transactions;
//! - where versions survive a power failure: `store` says what that must do; [`log`] is a log in memory, [`nv`] a non-volatile last level. Each says
//!   what it writes, when a transaction is durable, and what recovery reads;
//! - the `engine` over either: `commit` and `abort` of transactions, the `window` that is made durable, the way `home`; `hooks` is
//!   where the machine calls it;
//! - `family`: how a design's choice becomes a mechanism.

mod abort;
mod checkpoint;
mod commit;
pub mod config;
pub mod cost;
pub mod ec_wal;
mod engine;
mod family;
mod faults;
pub mod h_wal;
mod home;
mod hooks;
pub mod kiln;
pub mod lines;
pub mod loc_kiln;
pub mod loc_wal;
pub mod log;
pub mod nv;
pub mod s_wal;
pub mod s_wal_clflush;
mod sound;
mod stats;
mod store;
mod tables;
pub mod txs;
mod window;

pub use config::{Config, InPlace, LocFault};
