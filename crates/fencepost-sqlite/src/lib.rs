//! SQLite, the library itself, on a database that lies wherever the caller keeps it.
//!
//! A [`Database`] is a connection: page cache, parsed schema, prepared statements. It holds no data of its own. Whatever it reads and
//! writes goes through the [`Store`] of the caller, who hands it over for each call ([`Database::with`]), so that a program thread can
//! keep its connection while every access is a load or store of the thread's own memory.
//!
//! What makes a transaction's writes atomic is the caller's choice ([`Journal`]): the caller, or SQLite's own rollback journal or
//! write-ahead log, which then lie in the store too. Locks are the caller's: one connection at a time works on a database. What a
//! connection remembers from one transaction to the next is valid as long as the database's change counter is, which it reads first.
//!
//! SQLite's random numbers come from the store, too, so that equal calls write equal bytes.
//!
//! An access of the store may panic, or unwind because its thread is given up: the panic is carried past the code of SQLite and goes on
//! in the caller. After that the connection is of no use, and is dropped without being closed.

#![allow(unsafe_code, reason = "an interface of C")]

mod database;
mod error;
mod index;
mod random;
mod statement;
mod store;
mod vfs;

pub use database::{Database, Journal, Session};
pub use error::SqliteError;
pub use index::{WalIndex, WalIndexes};
pub use store::{File, PAGE_BYTES, Store};

/// The version of SQLite that is built in.
pub fn version() -> &'static str {
    libsqlite3_sys::SQLITE_VERSION.to_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
