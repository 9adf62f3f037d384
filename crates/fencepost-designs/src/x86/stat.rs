//! Counters of the x86 family, and the index of each.

use fencepost_machine::seam::StatInfo;

/// Flush instructions.
pub const FLUSHES: usize = 0;
/// Flushes that found nothing dirty.
pub const NOTHING_DIRTY: usize = 1;
/// Entries allocated.
pub const NT_ENTRIES: usize = 2;
/// Stores combined into an entry.
pub const NT_COALESCED: usize = 3;
/// Changes from the non-temporal to the temporal path without a fence.
pub const UNFENCED: usize = 4;
/// Pointer resets.
pub const WRAPS: usize = 5;
/// Dirty lines that left.
pub const WRITEBACKS: usize = 6;
/// Those that were held back first.
pub const WRITEBACKS_DELAYED: usize = 7;
/// Transfers to other cores that were held back first.
pub const TRANSFERS_DELAYED: usize = 8;

const fn info(name: &'static str, unit: &'static str, doc: &'static str) -> StatInfo {
    StatInfo { name, unit, doc }
}
/// Counters of every design of the family; the last four stay zero where nothing is held back.
pub static STATS: [StatInfo; 9] = [
    info("flushes", "instructions", "Line flushes issued to the caches."),
    info(
        "flushes_nothing_dirty",
        "instructions",
        "Flushes that found no dirty copy anywhere.",
    ),
    info("nt_entries", "entries", "Entries allocated in write-combining buffers."),
    info(
        "nt_coalesced",
        "stores",
        "Non-temporal stores combined into an entry that had not been sent.",
    ),
    info(
        "unfenced_switches",
        "stores",
        "Temporal stores to persistent memory that follow a non-temporal one with no fence in between: each is a place \
         where the baseline needs an sfence.",
    ),
    info(
        "wcb_wraps",
        "resets",
        "Forced drains of a write-combining buffer because its pointers ran out.",
    ),
    info(
        "writebacks",
        "lines",
        "Dirty persistent lines that left the cache where order is enforced.",
    ),
    info(
        "writebacks_delayed",
        "lines",
        "Those that waited for older non-temporal stores first.",
    ),
    info(
        "transfers_delayed",
        "lines",
        "Requests of other cores that waited for a line for the same reason.",
    ),
];
