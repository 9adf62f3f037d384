//! `pmfs`: a small persistent-memory file system, after PMFS (Dulloor et al., EuroSys 2014), on which WHISPER's `nfs`, `exim` and
//! `mysql` run. It is mounted by nothing and driven by calls; an operation is a call.
//!
//! **In persistent memory**: a *journal*, a circle of undo entries of 64 bytes with 48 bytes of metadata each; an *inode table*, 128
//! bytes an inode, of which what changes lies in the first 48; *directory blocks* of fixed entries, searched from the first on;
//! *block lists*, a tree of 4 KiB nodes as high as the file needs. **In volatile memory**: the index of names (the kernel's cache of
//! directory entries), free blocks and inodes, the programs' buffers.
//!
//! **A call that changes metadata** is a transaction: old metadata into the journal; *order*; new metadata in place, data past the
//! caches; *order*; commit entry; *order*. New blocks and nodes are reached by nothing before, and are not logged. **A write within
//! a file's last block** needs no journal: data; *order*; the size, one word; *order*. **A write in place** is data; *order*, and not
//! atomic, as published.
//!
//! Where nothing logs, or hardware does, the same stores are made without journal. Recovery goes back through the journal
//! ([`FsRebuild`]); the oracle is of names, sizes and every word of data ([`FsModel`]).
//!
//! **Otherwise than published**: an entry's address has a check of 24 bits beside it, because memory here may keep any words of a
//! line, where PMFS relies on their order; the head moves when room is needed, not by a thread of its own; one level of directories,
//! whose blocks are there from the beginning; entries of 32 bytes; no `mmap`, no truncation, no extended attributes; times name the call that set them.

mod audit;
mod blocks;
mod calls;
mod data;
mod directory;
mod exim;
mod fs;
mod inode;
mod journal;
mod mix;
mod mkfs;
mod mysql;
mod nfs;
mod oracle;
mod program;
mod recovery;
mod serve;
mod shape;
#[cfg(test)]
mod tests;

pub use calls::Call;
pub use exim::{Exim, EximParams, Mail};
pub use mix::{Mix, Pmfs, PmfsParams};
pub use mysql::{Database, Mysql, MysqlParams};
pub use nfs::{FileServer, Nfs, NfsParams};
pub use oracle::FsModel;
pub use program::{OnPmfs, Workload};
pub use recovery::FsRebuild;
pub use shape::Shape;
