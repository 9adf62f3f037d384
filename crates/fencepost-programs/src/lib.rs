//! Persistent programs, the transaction runtime they are written on, their recovery and their oracles.
//!
//! A program is written once against [`Tx`](tx::Tx) and runs under every dialect: software undo, redo and iDO logging,
//! hand-ordered persists, hardware transactions, or nothing at all. Recovery and audit are chains of small steps.
//! [`registry`] turns a program's name into the program.
//!
//! Barriers and flushes of one operation (grouped undo as under synchronous ordering; hand-ordered as under any x86
//! dialect). The schemes in general: [`tx`]. Figures given as numbers are tests.
//!
//! | operation | undo array: barriers, flushes | raw: barriers, flushes |
//! |---|---|---|
//! | `sps`, one swap of 64 B entries | 3, 6 | none |
//! | `sps`, one swap of 8 B entries | 3, 4 | none |
//! | `cq` insert | 3, 5 | 2, 3 |
//! | `cq` delete | 3, 3 | 1, 1 |
//! | `hash` insert | 3, 5 | 2, 3 |
//! | `hash` remove | 3, 3 | 1, 1 |
//! | `commitstore` | 3, 6 | 2, 3 |
//! | `ll` insert | 3, 4 | 2, 2 |
//! | `ll` remove | 3, 3 | 1, 1 |
//! | `ctree` | 3, 6 | none |
//! | `hashmap`, where it does not grow | 3, 7 | none |
//! | `pc`, two words of one line | 3, 3 | 4, 7 |
//! | `tatp` update-location | 3, 3 | 4, 7 |
//! | `tpcc` new-order | 3, rows + log lines + 1 | 4 |
//! | `rbtree` | 2 + nodes changed; lines changed + log lines + 1 | none |
//! | `bplustree` | 2 + groups of announced shifts | none |
//!
//! Requirements on back ends: an operation returns `Err(Rollback)` from [`Program::op`](fencepost_kernel::Program::op) only
//! after releasing its locks; rolled-back memory includes DRAM (allocator state, the queue's published tail).

pub mod bplustree;
pub mod btree;
mod chains;
mod changed;
pub mod choices;
pub mod clients;
pub mod commitstore;
pub mod cq;
pub mod ctree;
mod dict;
pub mod dictionary;
mod draw;
pub mod echo;
pub mod front;
pub mod hash;
pub mod hashmap;
pub mod index;
pub mod layout;
mod linked;
pub mod ll;
pub mod memcached;
mod nodes;
pub mod nstore;
mod objects;
pub mod oracle;
mod ordered_keys;
pub mod page;
pub mod pc;
pub mod pmfs;
pub mod pool;
pub mod random;
pub mod rbtree;
pub mod redis;
pub mod registers;
pub mod registry;
pub mod sdg;
pub mod settings;
pub mod sites;
pub mod small;
pub mod sps;
pub mod sqlite;
pub mod ssca2;
pub mod tatp;
pub mod tpcc;
pub mod tx;
pub mod vacation;

pub use choices::{Coupling, LogForm, Needs, Scheme, SchemeRow, Variant};
pub use front::Front;
pub use registry::{About, Visit, WHISPER, clients_beside, footprint, programs, with_program};
pub use settings::{Described, ProgramError, Settings};
