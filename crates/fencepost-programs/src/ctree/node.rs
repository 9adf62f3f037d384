//! How an inner node of the crit-bit tree lies in its block.

use fencepost_kernel::At;

/// The bit that tells the keys of its two entries apart.
pub(super) const DIFF: u64 = 0;
/// Bytes of an entry: key, reference of two words.
pub(super) const ENTRY: u64 = 24;
pub(super) const KEY: u64 = 0;
pub(super) const TAG: u64 = 8;
pub(super) const REF: u64 = 16;

/// The entry of a node on one side.
#[inline(always)]
pub(super) fn entry<D: Copy + Default>(node: At<D>, side: u64) -> At<D> {
    node.field(8 + side * ENTRY)
}
