//! Stores of the transactions, each with its row.

use super::tables::ROW;
use fencepost_kernel::{At, Val, Width};

/// A store that a transaction makes, and the row that it changes.
pub(super) struct Change<D> {
    pub row: At<D>,
    pub row_bytes: u64,
    pub offset: u64,
    pub v: Val<D>,
    pub width: Width,
}
impl<D: Copy + Default> Change<D> {
    #[inline(always)]
    pub(super) fn at(&self) -> At<D> {
        self.row.field(self.offset)
    }
}

/// A store of a field of 2 bytes.
#[inline(always)]
pub(super) fn small<D: Copy + Default + Ord>(row: At<D>, row_bytes: u64, offset: u64, v: u64) -> Change<D> {
    Change {
        row,
        row_bytes,
        offset,
        v: Val::lit(v),
        width: Width::B2,
    }
}
/// A store of a word of a row of one line.
#[inline(always)]
pub(super) fn word<D: Copy + Default + Ord>(row: At<D>, offset: u64, v: u64) -> Change<D> {
    Change {
        row,
        row_bytes: ROW,
        offset,
        v: Val::lit(v),
        width: Width::B8,
    }
}
