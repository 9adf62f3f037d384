//! What the sending side knows of its BROI entry: which units and barrier index registers are free, and what is durable.

use fencepost_machine::seam::{Epoch, WriteId};
use std::collections::VecDeque;

/// The entries of one persist buffer that were sent to its BROI entry and not freed.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    /// Sent entries of the buffer, oldest first: a persist's write, or a FENCE.
    sent: VecDeque<Option<WriteId>>,
    /// Writes that occupy a unit, and the number of their set.
    units: Vec<(WriteId, u64)>,
    /// How many units each set occupies, the first set first; a barrier lies between neighbours. Never empty.
    sets: VecDeque<u32>,
    /// Number of the first set.
    first: u64,
    /// Whether a request was sent since the newest barrier.
    used: bool,
}

impl Default for Outgoing {
    fn default() -> Self {
        Outgoing {
            sent: VecDeque::with_capacity(8),
            units: Vec::with_capacity(8),
            sets: VecDeque::from([0]),
            first: 0,
            used: false,
        }
    }
}

impl Outgoing {
    /// Entries that were sent and not freed.
    pub(super) fn entries(&self) -> usize {
        self.sent.len()
    }
    /// What is wrong with the counts, if anything is.
    pub(super) fn unsound(&self) -> Option<&'static str> {
        let of_set = |set: u64| self.units.iter().filter(|u| u.1 == set).count();
        let counted = (self.first..)
            .zip(&self.sets)
            .all(|(set, n)| of_set(set) == *n as usize);
        let all: u32 = self.sets.iter().sum();
        match () {
            () if !counted || all as usize != self.units.len() => Some("how many units its sets occupy"),
            () if self.sets.len() > 1 && self.sets[0] == 0 => Some("a barrier with nothing in front of it"),
            () => None,
        }
    }
    /// Units in use.
    pub(super) fn units(&self) -> usize {
        self.units.len()
    }
    /// Whether a barrier can be sent: into one of `registers`, or without one where nothing lies in front of it.
    pub(super) fn takes_barrier(&self, registers: u8) -> bool {
        !self.used || self.units.is_empty() || self.sets.len() <= usize::from(registers)
    }
    /// The set that the next persist belongs to.
    pub(super) fn set(&self) -> Epoch {
        Epoch(self.first + self.sets.len() as u64 - 1)
    }
    /// A persist was sent.
    pub(super) fn persist(&mut self, id: WriteId) {
        let set = self.set().0;
        self.sent.push_back(Some(id));
        self.units.push((id, set));
        if let Some(newest) = self.sets.back_mut() {
            *newest += 1;
        }
        self.used = true;
    }
    /// A FENCE was sent; adjacent ones make one barrier.
    pub(super) fn fence(&mut self) {
        self.sent.push_back(None);
        if std::mem::take(&mut self.used) {
            match self.units.is_empty() {
                true => self.first += 1,
                false => self.sets.push_back(0),
            }
        }
    }
    /// Whether a write occupies a unit here.
    pub(super) fn holds(&self, id: WriteId) -> bool {
        self.units.iter().any(|u| u.0 == id)
    }
    /// A write is complete: its unit is free, and a barrier in front of which nothing is left gives its register back.
    pub(super) fn complete(&mut self, id: WriteId) {
        let Some(at) = self.units.iter().position(|u| u.0 == id) else {
            return;
        };
        let set = self.units.swap_remove(at).1 - self.first;
        self.sets[set as usize] -= 1;
        while self.sets.len() > 1 && self.sets[0] == 0 {
            self.sets.pop_front();
            self.first += 1;
        }
    }
    /// The oldest sent entry may be freed: every write of it is complete. Returns whether it is a FENCE.
    pub(super) fn freed(&mut self, released_when_sent: bool) -> Option<bool> {
        let oldest = *self.sent.front()?;
        if oldest.is_some_and(|id| self.holds(id)) && !released_when_sent {
            return None;
        }
        self.sent.pop_front();
        Some(oldest.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(o: &mut Outgoing, ids: &[u64]) -> Vec<u64> {
        let one = |id: &u64| {
            let set = o.set().0;
            o.persist(WriteId(*id));
            set
        };
        ids.iter().map(one).collect()
    }

    #[test]
    fn barriers_number_the_sets_and_adjacent_ones_are_one() {
        let mut o = Outgoing::default();
        o.fence();
        assert_eq!(
            send(&mut o, &[1, 2]),
            [0, 0],
            "nothing lies in front of the first barrier"
        );
        o.fence();
        o.fence();
        assert_eq!(send(&mut o, &[3]), [1]);
        assert!(o.takes_barrier(2), "the second register is free");
        o.fence();
        assert_eq!(send(&mut o, &[4]), [2]);
        assert!(!o.takes_barrier(2));
        o.complete(WriteId(2));
        assert!(!o.takes_barrier(2), "half of the first set");
        o.complete(WriteId(1));
        assert!(o.takes_barrier(2));
        assert_eq!(o.units(), 2);
    }

    #[test]
    fn a_barrier_behind_nothing_needs_no_register() {
        let mut o = Outgoing::default();
        send(&mut o, &[1]);
        o.complete(WriteId(1));
        assert!(o.takes_barrier(0));
        o.fence();
        assert_eq!(send(&mut o, &[2]), [1], "but another set begins");
        assert!(!o.takes_barrier(0) && o.takes_barrier(1));
    }

    #[test]
    fn entries_are_freed_in_order() {
        let mut o = Outgoing::default();
        send(&mut o, &[1, 2]);
        o.fence();
        send(&mut o, &[3]);
        o.complete(WriteId(2));
        assert_eq!(o.freed(false), None, "the older one is not durable");
        o.complete(WriteId(1));
        let mut freed = Vec::new();
        while let Some(fence) = o.freed(false) {
            freed.push(fence);
        }
        assert_eq!(freed, [false, false, true]);
        assert_eq!(o.freed(true), Some(false), "the planted fault does not wait");
    }
    #[test]
    fn sets_that_count_other_units_than_there_are_are_named() {
        let mut o = Outgoing::default();
        send(&mut o, &[1, 2]);
        o.fence();
        send(&mut o, &[3]);
        assert_eq!((o.unsound(), o.entries()), (None, 4));
        let mut more = o.clone();
        more.sets[1] += 1;
        assert_eq!(more.unsound(), Some("how many units its sets occupy"));
        o.complete(WriteId(1));
        o.complete(WriteId(2));
        assert_eq!(o.unsound(), None);
        o.sets.push_front(0);
        o.first -= 1;
        assert_eq!(o.unsound(), Some("a barrier with nothing in front of it"));
    }
}
