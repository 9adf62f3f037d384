//! A simulated run: the machine put together, what it left behind as a result, failures as results show them, and what is kept on disk.

pub mod functional;
#[cfg(test)]
mod functional_tests;
pub mod host_memory;
mod initial;
pub mod kept;
pub mod outcome;
pub mod persist_stats;
pub mod replay_key;
pub(crate) mod replication;
mod resident;
pub mod result;
mod shelf;
pub mod simulate;
pub mod sizes;
#[cfg(test)]
mod traced_tests;
pub mod witness;
