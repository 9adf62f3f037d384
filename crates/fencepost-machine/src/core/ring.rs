//! A ring whose entries keep their positions: the reorder buffer and the store queue.

use std::ops::{Index, IndexMut};

/// What a ring can hold.
pub(crate) trait Slot: Copy {
    /// Fills unused space.
    const EMPTY: Self;
}

/// Entries in order of age.
///
/// Positions count the entries that ever entered: an entry keeps its own for as long as nothing younger is taken out. The ring grows
/// when it is full: how many entries fit is the core's business.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// A power of two.
    slots: Vec<T>,
    /// Positions of the oldest entry, and behind the youngest.
    first: usize,
    end: usize,
}

impl<T: Slot> Ring<T> {
    /// An empty ring with space for so many entries, a power of two.
    pub(crate) fn new(space: usize) -> Ring<T> {
        assert!(space.is_power_of_two());
        Ring {
            slots: vec![T::EMPTY; space],
            first: 0,
            end: 0,
        }
    }
    /// Position of the oldest entry.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        self.first
    }
    /// Position that the next entry will have.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        self.end
    }
    /// Number of entries.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.end - self.first
    }
    /// Whether there is no entry.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.end
    }
    /// Where an entry lies in `slots`.
    #[inline]
    fn slot(&self, at: usize) -> usize {
        at & (self.slots.len() - 1)
    }
    /// The entry at a position, if it is there.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        (self.first <= at && at < self.end).then(|| &self.slots[self.slot(at)])
    }
    /// The position whose lower half this is, and the entry there, if there is one.
    #[inline]
    pub(crate) fn find(&self, low: u32) -> Option<(usize, &T)> {
        let at = self.first + low.wrapping_sub(self.first as u32) as usize;
        (at < self.end).then(|| (at, &self.slots[self.slot(at)]))
    }
    /// The youngest entry.
    pub(crate) fn back(&self) -> Option<&T> {
        self.end.checked_sub(1).and_then(|at| self.get(at))
    }
    /// Every entry, oldest first.
    #[inline]
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (self.first..self.end).map(|at| &self[at])
    }
    /// Adds the youngest entry, to be filled: what it holds is left over from an older one.
    #[inline]
    pub(crate) fn add(&mut self) -> &mut T {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.end);
        self.end += 1;
        &mut self.slots[slot]
    }
    /// Drops the oldest entry, which must exist.
    #[inline]
    pub(crate) fn drop_oldest(&mut self) {
        debug_assert!(!self.is_empty());
        self.first += 1;
    }
    /// Drops the entries before a position.
    #[inline]
    pub(crate) fn drop_before(&mut self, at: usize) {
        debug_assert!(self.first <= at && at <= self.end);
        self.first = at;
    }
    /// Takes an entry out, which must exist. Older ones move up into its place.
    #[inline]
    pub(crate) fn take_out(&mut self, at: usize) {
        for older in (self.first..at).rev() {
            self[older + 1] = self[older];
        }
        self.drop_oldest();
    }
    #[cold]
    fn grow(&mut self) {
        let mut larger = vec![T::EMPTY; self.slots.len() * 2];
        for at in self.first..self.end {
            larger[at & (self.slots.len() * 2 - 1)] = self[at];
        }
        self.slots = larger;
    }
}

impl<T: Slot> Index<usize> for Ring<T> {
    type Output = T;
    #[inline]
    fn index(&self, at: usize) -> &T {
        debug_assert!(self.first <= at && at < self.end);
        &self.slots[self.slot(at)]
    }
}
impl<T: Slot> IndexMut<usize> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        debug_assert!(self.first <= at && at < self.end);
        let slot = self.slot(at);
        &mut self.slots[slot]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    impl Slot for u32 {
        const EMPTY: u32 = 0;
    }

    #[test]
    fn a_ring_is_a_queue_whose_entries_keep_their_positions() {
        let mut rng = fencepost_kernel::rng::Stream::new(5, "ring");
        let (mut ring, mut queue, mut next) = (Ring::new(64), VecDeque::new(), 0);
        for round in 0..20_000u64 {
            // Grows for a while, then shrinks.
            if rng.chance(if round < 9000 { 7 } else { 4 }, 10) {
                assert_eq!(ring.end(), next as usize);
                *ring.add() = next;
                queue.push_back(next);
                next += 1;
            } else if queue.pop_front().is_some() {
                ring.drop_oldest();
            }
            assert_eq!((ring.len(), ring.is_empty()), (queue.len(), queue.is_empty()));
            assert_eq!(ring.back(), queue.back());
            let at = rng.below(queue.len() as u64 + 2) as usize;
            assert_eq!(ring.get(ring.first() + at), queue.get(at));
            assert!(ring.first().checked_sub(1).is_none_or(|gone| ring.get(gone).is_none()));
            if let Some(entry) = queue.get(at) {
                assert_eq!(ring[*entry as usize], *entry);
                assert_eq!(ring.find(*entry), Some((*entry as usize, entry)));
            }
            assert_eq!(ring.find(next), None);
        }
        assert!(next > 10_000 && ring.slots.len() > 64, "it must have grown");
        assert!(ring.iter().eq(queue.iter()));
    }

    #[test]
    fn what_is_older_than_an_entry_taken_out_moves_up() {
        let mut rng = fencepost_kernel::rng::Stream::new(6, "ring");
        let (mut ring, mut queue) = (Ring::new(4), VecDeque::new());
        for next in 0..5000u32 {
            *ring.add() = next;
            queue.push_back(next);
            while queue.len() > 9 || rng.chance(1, 3) && !queue.is_empty() {
                let at = rng.below(queue.len() as u64) as usize;
                ring.take_out(ring.first() + at);
                queue.remove(at);
                assert!(ring.iter().eq(queue.iter()));
            }
            assert_eq!(ring.end(), next as usize + 1, "younger ones stay");
        }
    }
}
