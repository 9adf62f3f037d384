//! Floor 1: persistent programs, the transaction runtime they are written on, their recovery and their oracles.
//!
//! A program is written once against [`Tx`](tx::Tx) and runs under every dialect: software undo, redo and iDO logging,
//! hand-ordered persists, hardware transactions, or nothing at all. Recovery and audit are chains of small steps.
//! [`registry`] turns a program's word into the program.

pub mod bplustree;
pub mod commitstore;
pub mod cq;
mod dict;
pub mod hash;
pub mod layout;
pub mod oracle;
pub mod pool;
pub mod rbtree;
pub mod registry;
pub mod settings;
pub mod sites;
mod small;
pub mod sps;
pub mod tx;
pub mod words;

pub use registry::{About, Visit, footprint, programs, with_program};
pub use settings::{Described, ProgramError, Settings};
pub use words::{Coupling, Scheme, Variant};
