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
/// A recovery that empties the log too early: a second power failure shows it.
pub(crate) const LOG_EMPTIED_FIRST: PlantedFault = PlantedFault::recovery(
    "loc.log-emptied-first",
    "recovery empties a log when its home writes are durable",
    &[("fault", "log-emptied-first")],
);
/// A recovery that says too early how far it is.
pub(crate) const COMMITTED_EARLY: PlantedFault = PlantedFault::recovery(
    "loc.committed-early",
    "recovery advances what is committed after its home writes",
    &[("fault", "committed-early")],
);
/// Pairs read in the wrong order: chains of them are not followed.
pub(crate) const PAIR_ORDER: PlantedFault = PlantedFault::recovery(
    "loc.pair-order",
    "recovery reads pairs from the tail to the head",
    &[("fault", "pair-order")],
);
/// A recovery that stops within a window.
pub(crate) const WINDOW_SHORT: PlantedFault = PlantedFault::recovery(
    "loc.window-short",
    "recovery reads whole windows",
    &[("fault", "window-short")],
);
