//! Floor 1: what a persist-ordering design promises, whether a recorded execution kept the promise, and what a
//! power failure may leave behind under it.
//!
//! A *contract* turns an execution ([`fencepost_kernel::Trace`]) into a [`CrashSpace`]: a persist-order graph over
//! the execution's stores ([`PersistGraph`]) plus, for every moment at which the power may fail, the stores that
//! have executed and the stores that must already be durable. A crash state is a downward-closed set of executed
//! stores that contains the must-set. One explorer serves every contract.
//!
//! This crate depends on the kernel only. It must not see the machine: a checker that shares code with what it
//! checks shares its mistakes.

pub mod conform;
pub mod contracts;
pub mod explore;
pub mod graph;
pub mod recorded;

pub use conform::{ConformReport, Demands, Refusal, conform};
pub use contracts::{Contract, ContractKind, ContractParams, LineOrder};
pub use graph::{
    Axiom, CrashSpace, Cut, FailurePoint, Grain, GraphBuilder, GraphError, LocationId, Must, NodeId, PersistGraph,
    Version, Write,
};
