//! Contracts: what a design promises about the order in which stores become durable.
//!
//! Each contract is a set of [`Rules`] that watches an execution event by event and adds nodes, edges and must-sets
//! to a [`SpaceBuilder`]. A new contract is one more implementation; the explorer and the conformance test take it
//! as it is: [`SpaceBuilder::run`] makes its crash space, [`crate::conform::conform_to_space`] judges runs by it.
//!
//! Rules see events in the order in which they took effect. Three things they rely on beyond the description of
//! [`Trace`](fencepost_kernel::Trace): a store to a line comes before a flush of that line that is later in its thread;
//! non-temporal stores appear in program order with the other stores of their thread (what leaves for the
//! write-combining buffer, not when it arrives); and a fence appears when it completes.

mod build;
mod commit;
mod dependences;
mod epochs;
mod params;
mod px86;
mod registry;
mod strict;
mod transactions;

pub use build::{Rules, SpaceBuilder};
pub use params::{ContractParams, LineOrder};
pub(crate) use params::{entry, store_of};
pub use registry::{Consistency, Contract, ContractKind, ContractRow, UnknownContract, Vocabulary};
