//! A transaction's buffered writes (redo), with a filter that answers most look-ups by one bit test.

use crate::small::Small;
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
    items: Small<Buffered<D>, 16>,
    filter: u64,
}

fn bit(addr: Addr) -> u64 {
    1 << (addr.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

impl<D: Copy + Default + Ord> WriteSet<D> {
    pub fn new() -> Self {
        let filler = Buffered {
            at: At::new(Addr(0)),
            value: Val::lit(0),
            width: Width::B8,
        };
        WriteSet {
            items: Small::new(filler),
            filter: 0,
        }
    }
    #[inline]
    pub fn get(&self, addr: Addr) -> Option<Val<D>> {
        if self.filter & bit(addr) == 0 {
            return None;
        }
        self.items
            .as_slice()
            .iter()
            .rev()
            .find(|b| b.at.addr == addr)
            .map(|b| b.value)
    }
    pub fn put(&mut self, at: At<D>, value: Val<D>, width: Width) {
        if self.filter & bit(at.addr) != 0
            && let Some(b) = self.items.as_mut_slice().iter_mut().find(|b| b.at.addr == at.addr)
        {
            b.value = value;
            return;
        }
        self.filter |= bit(at.addr);
        self.items.push(Buffered { at, value, width });
    }
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    pub fn take(&mut self) -> Small<Buffered<D>, 16> {
        self.filter = 0;
        std::mem::replace(&mut self.items, WriteSet::new().items)
    }
}
