//! Idempotent regions: what the record of one holds.

use fencepost_kernel::Val;

/// Inputs a region may have: what fits a slot beside head and check.
pub const MAX_INPUTS: usize = 22;
/// Bytes of one of the two alternating record slots.
pub(super) const SLOT: u64 = 192;

/// The record of an idempotent region: which one, and the values live into it.
#[derive(Copy, Clone, Debug)]
pub struct Region<D> {
    /// The program's number for the region, from 1 ("address of its first instruction").
    pub id: u8,
    /// How many inputs.
    pub len: usize,
    /// The values live into it.
    pub inputs: [Val<D>; MAX_INPUTS],
    /// Position of the region within its transaction, from 0.
    pub position: u64,
}

/// Head word of a region record.
pub(super) fn head(seq: u32, position: u64, id: u8, len: usize) -> u64 {
    (u64::from(seq) << 32) | (position << 16) | (u64::from(id) << 8) | len as u64
}
