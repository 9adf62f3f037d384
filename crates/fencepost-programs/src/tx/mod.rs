//! The transaction runtime: one interface, every way of making an update crash-consistent.
//!
//! A program brackets its stores with [`Runtime::begin`] and [`Tx::commit`], reads and writes through the transaction,
//! and says where the parts of an update begin ([`Tx::step`], [`Tx::region`], [`Tx::protect`]). What that costs follows
//! from the dialect and the scheme:
//!
//! | mode | when | barriers per transaction | flushes (where the dialect has any) |
//! |---|---|---|---|
//! | plain | `Logging::None` | 0 | 0 |
//! | hardware | `Logging::Hardware` | 0 (`tx_begin`, `tx_commit`) | 0 |
//! | undo array, grouped | software | `g` log-to-data, 1 data-to-commit, 1 after commit | log lines, data lines, 1 commit line |
//! | undo array, per store | software | one log-to-data a store, then 2 as above | the same |
//! | undo list | software | as the array, and one node-to-splice barrier before each log-to-data | log lines, 1 splice a barrier, data, commit |
//! | redo | software | entries, commit record, data, truncation: 4 | log lines, commit, data lines, 1 truncation |
//! | redo, by block | software | the same 4 | each block's copy once and a line for four, commit, data lines, 1 truncation |
//! | ido | software | `r` regions: each 1 record-to-stores and 1 stores-to-next; 1 after commit | 2–3 lines a record, data, commit |
//! | raw | software | one a [`Tx::step`] | data lines |
//!
//! SQLite's own journals are raw: each of its syncs is a [`Tx::step`].
//!
//! `g` is the number of groups: each first write after new records seals the group. A program that protects its whole
//! write-set first has `g = 1`: a swap takes three barriers under synchronous ordering (records; data; commit), the last of which
//! also makes the operation durable. Log records on the non-temporal path need no flush.
//!
//! **Three orderings, never confused.** Records before the data they protect is [`fencepost_kernel::Pm::log_to_data`] (what Themis makes
//! free); data before commit record, node before splice and commit before the next transaction is [`fencepost_kernel::Pm::order`];
//! durability at the end is implied by the last `order` where the dialect says so, or bought by `--ack every`.
//!
//! **Why recovery is right.** *Undo*: every record is durable before any data it protects (log-to-data), so walking
//! records until the first that is not whole meets every record whose data can have changed; restoring newest first
//! gives each location its oldest value. All data is durable before the commit record and the commit record before
//! the next transaction's records can overwrite the slots; the records of a transaction are dead the moment its
//! sequence number is committed, by one 8-byte store. *Redo*: the commit record is durable after every entry and before any
//! in-place store; truncation is durable after all of those and before the locks are released, so a replay never
//! overwrites a later owner's data. *iDO*: the stores of a region are durable before the next region's record, and a
//! region never overwrites its own inputs, so re-executing the one named by the newest whole record is idempotent.
//! Two record slots alternate, so a torn record leaves the previous region's, whose re-execution is idempotent too.
//! *List*: a node is durable before it is spliced in, and the chain is cut by one store.
//!
//! **Backups by hand.** A raw program that changes several words at once copies the rows first ([`Tx::back_up`]): rows; flag; stores in
//! place; flag cleared: four barriers, as public versions of OLTP benchmarks do it.
//!
//! **What is logged.** Coupled (per-store) undo logging has an entry prior to every store of a transaction, those to blocks that it
//! allocated included, as a compiler that instruments stores gives it (themis II-A, V-A). Grouped undo, redo and iDO log what
//! the program announces, and leave new blocks out.
//!
//! **Two flavours of undo.** `undo-array`, `undo-list`: *inline*, an entry of address, old value and (array) sequence number and check,
//! written where the store stands; the lines to flush are kept in a private array in which a line does not follow itself.
//! `library-array`, `library-list`: a call for each store; an entry of type, thread, size, address, old value, sequence number and
//! check; one entry an address, checks of capacity, lines to flush kept as a set.
//!
//! **What is compiled.** A back end that names its build ([`fencepost_kernel::Mem::FIXED`]) gets code without any of the other modes, without the
//! deliberate mistakes and without outcomes: those instructions are what is counted and run natively. Everywhere else the mode is
//! chosen when a transaction begins.
//!
//! Papers: synchronous ordering (dpo II-B), coupled undo logging, array and list (themis V-A), iDO (themis II-F),
//! software write-ahead log with strict phases (loc VI).

mod backup;
mod begin;
mod block_log;
mod blocks;
mod ido;
mod log_step;
mod mistakes;
mod primitives;
mod record;
mod recover;
mod redo;
mod region;
mod runtime;
mod slips;
mod transaction;
mod undo;

pub(crate) use log_step::recovered_by_logs;
pub use log_step::{LogFlow, LogStep};
pub use region::{MAX_INPUTS, Region};
pub use runtime::Runtime;
pub(crate) use runtime::{APPLIED, COMMIT, NO_LINE, RECORDS, TX_PER_OP};
pub use transaction::Tx;
