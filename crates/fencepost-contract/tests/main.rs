//! Every test of the contracts, of conformance and of the explorer, in one binary.

#[path = "main/conformance.rs"]
mod conformance;
#[path = "main/cross_check.rs"]
mod cross_check;
#[path = "main/execution_recorder.rs"]
mod execution_recorder;
#[path = "main/explore_behaviour.rs"]
mod explore_behaviour;
#[path = "main/explore_bounded.rs"]
mod explore_bounded;
#[path = "main/explore_common/mod.rs"]
mod explore_common;
#[path = "main/explore_exact.rs"]
mod explore_exact;
#[path = "main/explore_programs.rs"]
mod explore_programs;
#[path = "main/graphs.rs"]
mod graphs;
#[path = "main/guide.rs"]
mod guide;
#[path = "main/judged_by_value.rs"]
mod judged_by_value;
#[path = "main/observer.rs"]
mod observer;
#[path = "main/prefixes.rs"]
mod prefixes;
#[path = "main/recorded.rs"]
mod recorded;
#[path = "main/recovery_fails.rs"]
mod recovery_fails;
#[path = "main/refusals.rs"]
mod refusals;
#[path = "main/shapes.rs"]
mod shapes;
#[path = "main/shapes_others.rs"]
mod shapes_others;
#[path = "main/support/mod.rs"]
mod support;
#[path = "main/syncs.rs"]
mod syncs;
#[path = "main/transactions.rs"]
mod transactions;
#[path = "main/tso_brute.rs"]
mod tso_brute;
