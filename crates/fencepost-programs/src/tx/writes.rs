//! A transaction's buffered writes.

use super::keyed::Keyed;
use fencepost_kernel::{Addr, At, Val, Width};

/// One buffered store.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Buffered<D> {
    pub at: At<D>,
    pub value: Val<D>,
    pub width: Width,
}

/// Buffered stores, newest value per address, in order of first write.
///
/// A location is always accessed with one width (true of every program here), so addresses identify locations.
#[derive(Debug)]
pub(crate) struct WriteSet<D> {
    items: Keyed<Buffered<D>, 16>,
}

impl<D: Copy + Default + Ord> WriteSet<D> {
    pub fn new() -> Self {
        WriteSet { items: Keyed::new() }
    }
    #[inline]
    pub fn get(&self, addr: Addr) -> Option<Val<D>> {
        self.items.find(addr.0).map(|i| self.items.at(i).1.value)
    }
    pub fn put(&mut self, at: At<D>, value: Val<D>, width: Width) {
        self.items.set(at.addr.0, Buffered { at, value, width });
    }
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// The store at a position, in order of first write.
    pub fn at(&self, position: usize) -> Buffered<D> {
        self.items.at(position).1
    }
    pub fn clear(&mut self) {
        self.items.clear();
    }
}
