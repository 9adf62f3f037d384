//! Whether the write queues are in a state that they may be in: lists of one line linked both ways, and counts of what is there.

use super::super::controller::Controller;
use super::super::request::Epoch;
use super::{Slot, State, Writes};
use std::collections::BTreeMap;

impl Writes {
    /// What is wrong with the queues, if anything is.
    pub(in crate::memory) fn unsound(&self) -> Option<String> {
        let mut live = vec![true; self.entries.len()];
        self.free.iter().for_each(|s| live[*s as usize] = false);
        let all = || (0..self.entries.len()).filter(|s| live[*s]);
        let unlinked = all().find(|s| !self.is_linked(*s as Slot, &live));
        if let Some(s) = unlinked {
            let e = &self.entries[s];
            return Some(format!(
                "write {} of {} is not listed with the writes of its line",
                e.id.0, e.write.line
            ));
        }
        for (number, q) in (0..).zip(&self.queues) {
            let own = || all().map(|s| &self.entries[s]).filter(|e| e.write.queue == number);
            let used = own().filter(|e| e.holds_slot).count();
            if used != usize::from(q.used) {
                return Some(format!("queue {number} counts {} entries and has {used}", q.used));
            }
            let arrived = own().filter(|e| e.state != State::Transit).count();
            let total = own().filter(|e| e.state != State::Parked).count();
            if (arrived, total) != (q.arrived as usize, q.total as usize) {
                return Some(format!(
                    "queue {number} counts {} writes, {} of them arrived, and has {total} and {arrived}",
                    q.total, q.arrived
                ));
            }
            let mut epochs: BTreeMap<Option<Epoch>, (u32, u32)> = BTreeMap::new();
            for e in own().filter(|e| e.in_epoch) {
                let n = epochs.entry(e.write.epoch).or_default();
                *n = (n.0 + 1, n.1 + u32::from(e.state != State::Issued));
            }
            let wrong = q.counts().find(|(e, counted)| epochs.get(&Some(*e)) != Some(counted));
            if let Some((epoch, (pending, unissued))) = wrong {
                return Some(format!(
                    "epoch {} of queue {number} counts {pending} writes, {unissued} of them not issued, and has others",
                    epoch.0
                ));
            }
        }
        None
    }
    /// Whether an entry is in the list of its line.
    fn is_linked(&self, slot: Slot, live: &[bool]) -> bool {
        let e = &self.entries[slot as usize];
        let neighbour = |s: Slot| (live[s as usize]).then(|| &self.entries[s as usize]);
        let of_line = |s: Slot| neighbour(s).filter(|n| n.write.line == e.write.line);
        let below = e
            .older
            .is_none_or(|o| of_line(o).is_some_and(|n| n.newer == Some(slot)));
        let above = match e.newer {
            Some(n) => of_line(n).is_some_and(|n| n.older == Some(slot)),
            None => self.newest.get(e.write.line) == Some(slot),
        };
        below && above
    }
}

impl Controller {
    /// What is wrong with its write queues or with what the design's scheduler keeps, if anything is.
    pub(crate) fn unsound(&self) -> Option<String> {
        let scheduler = || self.scheduler.as_ref().and_then(|s| s.unsound());
        self.writes.unsound().or_else(scheduler)
    }
}
