//! The reorder buffer: a ring of entries, oldest first.

use super::entry::Entry;
use std::ops::{Index, IndexMut};

/// Entries in flight. Committed ones stay at the front until their space is needed.
///
/// Positions count from the oldest entry. The ring grows when it is full: how many entries fit is the core's business.
pub struct Window {
    slots: Vec<Entry>,
    head: usize,
    len: usize,
}

impl Window {
    /// An empty window.
    pub fn new() -> Window {
        Window {
            slots: vec![Entry::EMPTY; 64],
            head: 0,
            len: 0,
        }
    }
    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Where an entry lies in `slots`, whose length is a power of two.
    #[inline]
    fn slot(&self, at: usize) -> usize {
        (self.head + at) & (self.slots.len() - 1)
    }
    /// The entry at a position.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&Entry> {
        (at < self.len).then(|| &self.slots[self.slot(at)])
    }
    /// The youngest entry.
    pub fn back(&self) -> Option<&Entry> {
        self.len.checked_sub(1).and_then(|at| self.get(at))
    }
    /// Adds the youngest entry.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.len);
        self.slots[slot] = entry;
        self.len += 1;
    }
    /// Drops the oldest entry, which must exist.
    #[inline]
    pub fn drop_oldest(&mut self) {
        debug_assert!(self.len > 0);
        self.head = self.slot(1);
        self.len -= 1;
    }
    #[cold]
    fn grow(&mut self) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        self.slots.resize(self.slots.len() * 2, Entry::EMPTY);
    }
}

impl Index<usize> for Window {
    type Output = Entry;
    #[inline]
    fn index(&self, at: usize) -> &Entry {
        debug_assert!(at < self.len);
        &self.slots[self.slot(at)]
    }
}
impl IndexMut<usize> for Window {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Entry {
        debug_assert!(at < self.len);
        let slot = self.slot(at);
        &mut self.slots[slot]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn a_window_is_a_queue_with_positions() {
        let mut rng = fencepost_kernel::rng::Stream::new(5, "window");
        let (mut w, mut q, mut next) = (Window::new(), VecDeque::new(), 1);
        for round in 0..20_000u64 {
            // Grows for a while, then shrinks.
            if rng.chance(if round < 9000 { 7 } else { 4 }, 10) {
                let id = next;
                next += 1;
                w.push(Entry { id, ..Entry::EMPTY });
                q.push_back(id);
            } else if q.pop_front().is_some() {
                w.drop_oldest();
            }
            assert_eq!((w.len(), w.is_empty()), (q.len(), q.is_empty()));
            assert_eq!(w.back().map(|e| e.id), q.back().copied());
            let at = rng.below(q.len() as u64 + 2) as usize;
            assert_eq!(w.get(at).map(|e| e.id), q.get(at).copied());
        }
        assert!(next > 10_000 && w.slots.len() > 64, "it must have grown");
    }
}
