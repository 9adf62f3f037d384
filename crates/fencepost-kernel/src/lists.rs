//! Private volatile lists of one thread's transaction runtime, kept from one transaction to the next so that none allocates.

use crate::keyed::Keyed;
use crate::mem::{At, Val};
use crate::ops::Width;

/// A store held back.
#[derive(Copy, Clone, Debug)]
pub struct Buffered<D> {
    /// Where.
    pub at: At<D>,
    /// What.
    pub value: Val<D>,
    /// How wide.
    pub width: Width,
}

/// The lists. Empty between transactions.
#[derive(Debug)]
pub struct Lists<D> {
    /// Numbers of the lines to flush, in order of first store; a line may stand in it more than once.
    pub lines: Vec<u64>,
    /// The same as a set (library flavour).
    pub line_set: Keyed<(), 16>,
    /// Addresses of objects that have an undo record, with their lengths.
    pub logged: Keyed<u64, 16>,
    /// Redo: stores not yet applied.
    pub writes: Keyed<Buffered<D>, 16>,
    /// Stores that a deliberate mistake holds back.
    pub late: Keyed<Buffered<D>, 16>,
    /// Blocks to return once the transaction has committed.
    pub freed: Vec<At<D>>,
}

impl<D> Default for Lists<D> {
    fn default() -> Self {
        Lists {
            lines: Vec::new(),
            line_set: Keyed::default(),
            logged: Keyed::default(),
            writes: Keyed::default(),
            late: Keyed::default(),
            freed: Vec::new(),
        }
    }
}
