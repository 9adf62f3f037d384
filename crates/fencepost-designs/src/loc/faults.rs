//! Faults that can be planted in the transactional designs, and their smallest sizes.

use crate::info::{PlantedFault, Values};

/// One transaction in the table, one block in the log buffer.
pub(crate) const SMALLEST_LOG: Values = &[("tx_entries", "1"), ("log_buffer", "1")];

/// Pairs that count too early.
pub(crate) const PAIR_FIRST: PlantedFault = PlantedFault::recovery(
    "loc.pair-first",
    "a dependency pair counts only when the successor is committed",
    &[("fault", "pair-first")],
);
/// Lines that go home too early.
pub(crate) const IN_PLACE_EARLY: PlantedFault = PlantedFault::order(
    "loc.in-place-early",
    "a transaction's lines go home after all its log writes are durable",
    &[("fault", "in-place-early")],
);
/// An abort that loses other transactions' versions.
pub(crate) const NO_RESCUE: PlantedFault = PlantedFault::recovery(
    "loc.no-rescue",
    "an abort keeps the predecessors' versions that it overwrote",
    &[("fault", "no-rescue"), ("abort_every", "3")],
);
/// A log that counts blocks without whole groups.
pub(crate) const GROUP_NOT_ATOMIC: PlantedFault = PlantedFault::recovery(
    "loc.group-not-atomic",
    "a block group is one atomic write where transactions are committed by count",
    &[("group_atomic", "false")],
);
