//! Dependences on entries of other persist buffers.

use super::port::PortId;
use fencepost_machine::seam::Epoch;

/// Position of an entry in its core's stream of persists and FENCEs, from 1. Entries drain in this order.
///
/// The hardware's id is {core : slot}, see [`Seq::slot`]; at most as many entries are in flight as there are slots, and
/// a drained id is dropped everywhere, so both name the same entry.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);
impl Seq {
    /// The slot of the buffer that the entry occupies.
    pub fn slot(self, entries: usize) -> usize {
        ((self.0 - 1) % entries.max(1) as u64) as usize
    }
}

/// How far each core has drained: entry `s` of core `c` has drained when `s <= drained[c]`.
pub(super) type Drained = [u64];

/// At most one dependence per other core: the newest, since a core's entries drain in order. Ids that have drained
/// count as dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deps {
    newest: Vec<(PortId, Seq)>,
    /// Merging epochs only: the earliest epoch that a persist with these dependences may join.
    pub earliest: Epoch,
    /// Merging epochs only: the earliest epoch that may follow a FENCE with these dependences.
    pub after_fence: Epoch,
}
impl Deps {
    /// Merging epochs: raises the epochs.
    pub fn raise(&mut self, earliest: Epoch, after_fence: Epoch) {
        self.earliest = self.earliest.max(earliest);
        self.after_fence = self.after_fence.max(after_fence);
    }
    /// Adds a dependence; per core the newer replaces the older.
    pub fn add(&mut self, owner: PortId, seq: Seq) {
        match self.newest.iter_mut().find(|d| d.0 == owner) {
            Some(d) => d.1 = d.1.max(seq),
            None => self.newest.push((owner, seq)),
        }
    }
    /// The dependences that have not drained.
    pub fn open<'a>(&'a self, drained: &'a Drained) -> impl Iterator<Item = (PortId, Seq)> + 'a {
        self.newest.iter().copied().filter(|(c, s)| s.0 > drained[c.index()])
    }
    /// Whether every dependence has drained.
    pub fn clear_of(&self, drained: &Drained) -> bool {
        self.open(drained).next().is_none()
    }
    /// The newest entry of a core that they name, drained or not.
    #[inline]
    pub fn newest_of(&self, owner: PortId) -> Option<Seq> {
        self.newest.iter().find(|d| d.0 == owner).map(|d| d.1)
    }
    /// Forgets everything.
    pub fn reset(&mut self) {
        self.newest.clear();
        self.earliest = Epoch::default();
        self.after_fence = Epoch::default();
    }
    /// Moves the contents out and leaves nothing behind.
    pub fn take(&mut self) -> Deps {
        std::mem::take(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_id_of_a_core_replaces_the_older_and_drained_ids_are_dropped() {
        let mut d = Deps::default();
        d.add(PortId(1), Seq(5));
        d.add(PortId(1), Seq(3));
        d.add(PortId(2), Seq(1));
        assert_eq!(
            d.open(&[0, 0, 0]).collect::<Vec<_>>(),
            [(PortId(1), Seq(5)), (PortId(2), Seq(1))]
        );
        assert_eq!(d.open(&[0, 4, 1]).collect::<Vec<_>>(), [(PortId(1), Seq(5))]);
        assert!(d.clear_of(&[0, 5, 1]));
        assert!(!d.clear_of(&[9, 4, 9]));
    }

    #[test]
    fn slots_are_reused_in_a_ring() {
        let slots: Vec<_> = (1..=5).map(|s| Seq(s).slot(3)).collect();
        assert_eq!(slots, [0, 1, 2, 0, 1]);
        assert_eq!(Seq(7).slot(1), 0);
    }
}
