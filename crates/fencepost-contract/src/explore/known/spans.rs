//! Spans of memory that an audit relies on without loading them, as words among words.

use super::fingerprint::Fingerprint;
use super::{Known, Slot, Undo};
use fencepost_kernel::{Addr, Span};
use std::cell::Cell;
use std::ops::Range;

impl Known {
    /// The number of a span, of all that the execution wrote in it.
    pub fn slot_of_span(&mut self, span: Span) -> u32 {
        let lines = self.order.lines_of(span);
        let next = self.slots.len() as u32;
        let slot = *self.slot_of_lines.entry(lines.clone()).or_insert(next);
        if slot == next {
            self.slots.push(Slot {
                at: span.at,
                lines: Some(lines),
                initial: 0,
                parts: Vec::new(),
                own: None,
                print: Cell::new(None),
            });
        }
        slot
    }
    /// Places of the lines that may hold something else at the failure point after `executed` nodes than at this one.
    pub fn changing(&self, executed: u32) -> Vec<u32> {
        let nodes = self.open.iter().copied().chain(self.executed..executed);
        let places = nodes.flat_map(|n| self.order.places(n));
        let mut lines: Vec<u32> = places.map(|p| self.order.line_of(p.part)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
    /// These lines have changed.
    pub fn count_changes(&mut self, lines: &[u32]) {
        lines.iter().for_each(|line| self.changes.count(*line as usize));
    }
    /// Words that recovery has written; may hold repetitions.
    pub fn own_words(&self) -> impl Iterator<Item = Addr> + '_ {
        self.own_slots().map(|slot| self.slots[slot as usize].at)
    }
    fn own_slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.trail.iter().filter_map(|undo| match undo {
            Undo::Own { slot, .. } => Some(*slot),
            Undo::Node(_) => None,
        })
    }
    /// Fingerprint of how lines look. What an audit relies on is settled at its failure point: it looks different at a later one only if
    /// a line has changed from one failure point to another, or if recovery has written there.
    pub(super) fn print_of_lines(&self, number: u32, lines: &Range<usize>) -> u128 {
        let mut h = Fingerprint::default();
        h.add(5, u64::from(number));
        h.add(6, self.changes.between(lines.start, lines.end));
        let (own, all) = (self.own_writes > 0, self.order.lines());
        for slot in self.own_slots().filter(|_| own) {
            let line = self.slots[slot as usize].at.line();
            if all[lines.clone()].binary_search(&line).is_ok() {
                h.add(7, u64::from(slot));
                h.add(8, self.own(slot).unwrap_or_default());
            }
        }
        h.add(9, u64::from(number));
        h.value()
    }
}
