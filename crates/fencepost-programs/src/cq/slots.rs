//! The slots of the queue as a circular buffer.

use crate::layout::{Layout, Rows};
use fencepost_kernel::{Addr, At, Mem, Span, Val};

/// Bytes of a slot; an entry has one word, its value.
const SLOT: u64 = 64;

/// The slots.
#[derive(Copy, Clone, Debug)]
pub(super) struct Ring {
    slots: Rows,
    /// How many entries were taken, as far as those who put may know.
    pub freed: Addr,
}

impl Ring {
    /// `count` slots, a power of two; the first `preload` positions are taken up.
    pub(super) fn new(layout: &mut Layout, count: u64) -> Ring {
        Ring {
            slots: Rows::new(layout, SLOT, count),
            freed: layout.dram(64),
        }
    }
    /// How many slots there are.
    pub(super) fn count(&self) -> u64 {
        self.slots.count()
    }
    pub(super) fn span(&self) -> Span {
        self.slots.span()
    }
    /// Where the entry at a position lies.
    #[inline(always)]
    pub(super) fn slot<D: Copy + Default>(&self, position: u64) -> At<D> {
        self.slots.at(position & (self.slots.count() - 1))
    }
    /// The same, by a position that was loaded.
    #[inline(always)]
    pub(super) fn slot_of<D: Copy + Default + Ord>(&self, position: Val<D>) -> At<D> {
        At {
            addr: self.slot::<D>(position.v).addr,
            dep: position.dep,
        }
    }
    /// Entries before the run: positions 1 to `preload`, each holding its position.
    pub(super) fn plant<M: Mem>(&self, m: &mut M, preload: u64) {
        for i in 1..=preload {
            m.store(self.slot(i), Val::lit(i));
        }
        m.store(At::new(self.freed), Val::lit(0));
    }
}
