//! The controller's write queue behind the BROI entries, and the Sch-SETs that fill it (paper: IV-D, steps ii and iii).

use super::entry::BroiEntry;
use fencepost_kernel::LineAddr;
use fencepost_machine::seam::WriteId;
use std::collections::BTreeMap;

/// How much of the controller's write queue is in use.
#[derive(Clone, Debug, Default)]
pub(super) struct ControllerQueue {
    /// Requests that were put out and are not stored.
    pub used: u32,
    /// Requests ever put out.
    places: u64,
    /// Requests that have arrived and not gone to the medium, oldest first, with their lines.
    queued: Vec<(WriteId, LineAddr)>,
}
impl ControllerQueue {
    /// A request arrives.
    pub(super) fn arrived(&mut self, id: WriteId, line: LineAddr) {
        self.queued.push((id, line));
    }
    /// Its data goes to the medium.
    pub(super) fn issued(&mut self, id: WriteId) {
        self.queued.retain(|q| q.0 != id);
    }
    /// Whether an older write of its line has yet to go: the controller sends the two in order, and a request that waits for another one
    /// in the queue could keep that one out of it for ever.
    pub(super) fn waits_for_its_line(&self, id: WriteId) -> bool {
        let line = self.queued.iter().find(|q| q.0 == id).map(|q| q.1);
        self.queued.iter().take_while(|q| q.0 != id).any(|q| Some(q.1) == line)
    }
    /// Takes an entry; its place in the order of all.
    pub(super) fn take(&mut self) -> u64 {
        self.used += 1;
        self.places += 1;
        self.places
    }
    /// The medium has stored a request.
    pub(super) fn left(&mut self) {
        self.used = self.used.saturating_sub(1);
    }
}

/// One Sch-SET of at most `free` requests: of every bank the candidate of the best class and priority, of equals the oldest. `of` says class
/// (the smallest first) and priority of an entry's first set, or that nothing of it may go; what `waits` is left where it is.
pub(super) fn hand_over(
    entries: &[BroiEntry],
    free: usize,
    of: impl Fn(usize) -> Option<(u8, i64)>,
    waits: impl Fn(WriteId) -> bool,
) -> Vec<(usize, WriteId)> {
    let mut banks: BTreeMap<u16, ((u8, i64, WriteId), usize)> = BTreeMap::new();
    for (entry, requests) in entries.iter().enumerate() {
        let mut candidates = requests.candidates().filter(|u| !waits(u.id)).peekable();
        if candidates.peek().is_none() {
            continue;
        }
        let Some((class, priority)) = of(entry) else { continue };
        for unit in candidates {
            let rank = (class, -priority, unit.id);
            let best = banks.entry(unit.bank).or_insert((rank, entry));
            if rank < best.0 {
                *best = (rank, entry);
            }
        }
    }
    let mut set: Vec<_> = banks.into_values().collect();
    set.sort_unstable();
    set.truncate(free);
    set.into_iter().map(|((_, _, id), entry)| (entry, id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broi::params::{BroiFault, LeavesSet};
    use fencepost_kernel::Ps;
    use fencepost_machine::seam::Epoch;

    /// Entries with requests (id, bank, set).
    fn entries(of: &[&[(u64, u16, u64)]]) -> Vec<BroiEntry> {
        let one = |requests: &&[(u64, u16, u64)]| {
            let mut entry = BroiEntry::new(BroiFault::None, LeavesSet::Scheduled);
            for (id, bank, set) in *requests {
                entry.arrived(Ps::ZERO, WriteId(*id), *bank, Epoch(*set));
            }
            entry
        };
        of.iter().map(one).collect()
    }
    fn ids(set: Vec<(usize, WriteId)>) -> Vec<u64> {
        set.into_iter().map(|s| s.1.0).collect()
    }

    #[test]
    fn a_set_has_one_request_of_each_bank_and_of_first_sets_only() {
        let e = entries(&[&[(1, 0, 0), (2, 3, 1)], &[(3, 0, 0), (4, 5, 0)], &[(5, 5, 0)]]);
        let of = |entry| Some((1, [10, 20, 30][entry]));
        assert_eq!(
            ids(hand_over(&e, 8, of, |_| false)),
            [5, 3],
            "of bank 5 the third entry's, of bank 0 the second's"
        );
        assert_eq!(
            ids(hand_over(&e, 1, of, |_| false)),
            [5],
            "the most important one of a queue with one entry left"
        );
        let of = |entry| (entry != 2).then_some((1, 0));
        assert_eq!(
            ids(hand_over(&e, 8, of, |_| false)),
            [1, 4],
            "the older of equals; nothing of an entry that may not"
        );
        let of = |entry| Some((u8::from(entry != 0), [0, 20, 30][entry]));
        assert_eq!(
            ids(hand_over(&e, 8, of, |_| false)),
            [1, 5],
            "a class goes before any priority"
        );
    }
    #[test]
    fn what_waits_for_its_line_is_not_put_out() {
        let mut queue = ControllerQueue::default();
        let (a, b) = (LineAddr(1), LineAddr(2));
        [(5, a), (6, b), (7, a)]
            .into_iter()
            .for_each(|(id, line)| queue.arrived(WriteId(id), line));
        // Two entries: the second one's request is of the line of the first one's, which stands behind another.
        let e = entries(&[&[(5, 0, 0)], &[(7, 1, 0)], &[(6, 2, 0)]]);
        let put_out =
            |queue: &ControllerQueue| ids(hand_over(&e, 8, |_| Some((0, 0)), |id| queue.waits_for_its_line(id)));
        assert_eq!(put_out(&queue), [5, 6]);
        queue.issued(WriteId(5));
        assert!(put_out(&queue).contains(&7));
    }
}
