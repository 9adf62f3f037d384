//! What a transaction that makes a deliberate mistake remembers. None of this exists in a fixed build.

use super::region::Region;
use crate::choices::Variant;
use fencepost_kernel::Dialect;

/// What the running transaction will do wrong, and what it holds back to that end.
#[derive(Debug)]
pub(super) struct Slips<D> {
    /// Drop the next ordering barrier.
    pub order: bool,
    /// Drop the next flush of a data line.
    pub flush: bool,
    /// Flush the next line before its store.
    pub early_flush: bool,
    /// The commit mark was written before the data.
    pub committed_early: bool,
    /// The line that is never flushed.
    pub unflushed: Option<u64>,
    /// A region record held back.
    pub region: Option<Region<D>>,
    /// The thread's dialect, while the transaction runs under a mutilated one.
    pub dialect: Option<Dialect>,
    /// What has been announced, kept where debug assertions are on: grouped writes must have been.
    pub announced: Vec<(u64, u64)>,
}

impl<D> Slips<D> {
    #[inline(always)]
    pub(super) fn of(variant: Variant) -> Self {
        Slips {
            order: matches!(variant, Variant::MissingFence | Variant::MisplacedFence),
            flush: matches!(variant, Variant::MissingFlush | Variant::MisplacedFlush),
            early_flush: variant == Variant::MisplacedFlush,
            committed_early: false,
            unflushed: None,
            region: None,
            dialect: None,
            announced: Vec::new(),
        }
    }
}
