//! The controller's write queue behind the BROI entries, and the Sch-SETs that fill it (paper: IV-D, steps ii and iii).

use super::entry::BroiEntry;
use fencepost_kernel::LineAddr;
use fencepost_machine::seam::WriteId;

/// A request that has arrived and not gone to the medium.
#[derive(Copy, Clone, Debug)]
struct Queued {
    id: WriteId,
    line: LineAddr,
    /// Whether an older one is of its line.
    behind: bool,
}

/// How much of the controller's write queue is in use.
#[derive(Clone, Debug, Default)]
pub(super) struct ControllerQueue {
    /// Requests that were put out and are not stored.
    pub used: u32,
    /// Requests ever put out.
    places: u64,
    /// Oldest first.
    queued: Vec<Queued>,
    /// How many of them are behind others: seldom any.
    behind: u32,
}
impl ControllerQueue {
    /// A request arrives.
    pub(super) fn arrived(&mut self, id: WriteId, line: LineAddr) {
        let behind = self.queued.iter().any(|q| q.line == line);
        self.behind += u32::from(behind);
        self.queued.push(Queued { id, line, behind });
    }
    /// Its data goes to the medium.
    pub(super) fn issued(&mut self, id: WriteId) {
        let Some(at) = self.queued.iter().position(|q| q.id == id) else {
            return;
        };
        let gone = self.queued.remove(at);
        self.behind -= u32::from(gone.behind);
        if self.behind > 0
            && let Some(first) = self.queued.iter_mut().find(|q| q.line == gone.line)
        {
            self.behind -= u32::from(std::mem::take(&mut first.behind));
        }
    }
    /// Whether an older write of its line has yet to go: the controller sends the two in order, and a request that waits for another one
    /// in the queue could keep that one out of it for ever.
    #[inline]
    pub(super) fn waits_for_its_line(&self, id: WriteId) -> bool {
        self.behind > 0 && self.queued.iter().any(|q| q.id == id && q.behind)
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

/// A request of a Sch-SET.
#[derive(Copy, Clone, Debug)]
pub(super) struct Put {
    /// What goes first: class, priority with its sign turned, and age.
    rank: (u8, i64, WriteId),
    /// Its bank.
    pub bank: u16,
    /// The BROI entry.
    pub entry: usize,
}
impl Put {
    /// The request.
    pub(super) fn id(&self) -> WriteId {
        self.rank.2
    }
}

/// One Sch-SET of at most `free` requests of the entries in `open` (a bit each): of every bank the candidate of the best class and
/// priority, of equals the oldest. `of` says class (the smallest first) and priority of an entry's first set, or that nothing of it may
/// go; what `waits` is left where it is.
pub(super) fn hand_over(
    set: &mut Vec<Put>,
    entries: &[BroiEntry],
    (mut open, free): (u64, usize),
    of: impl Fn(usize) -> Option<(u8, i64)>,
    waits: impl Fn(WriteId) -> bool,
) {
    set.clear();
    while open != 0 {
        let entry = open.trailing_zeros() as usize;
        open &= open - 1;
        let mut candidates = entries[entry].candidates().filter(|u| !waits(u.id)).peekable();
        if candidates.peek().is_none() {
            continue;
        }
        let Some((class, priority)) = of(entry) else { continue };
        for unit in candidates {
            let (rank, bank) = ((class, -priority, unit.id), unit.bank);
            let put = Put { rank, bank, entry };
            match set.iter_mut().find(|p| p.bank == bank) {
                Some(best) if rank < best.rank => *best = put,
                Some(_) => {}
                None => set.push(put),
            }
        }
    }
    if set.len() > 1 {
        set.sort_unstable_by_key(|p| p.rank);
        set.truncate(free);
    }
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
    /// A Sch-SET of all entries.
    fn put_out(
        entries: &[BroiEntry],
        free: usize,
        of: impl Fn(usize) -> Option<(u8, i64)>,
        waits: impl Fn(WriteId) -> bool,
    ) -> Vec<u64> {
        let mut set = Vec::new();
        hand_over(&mut set, entries, ((1 << entries.len()) - 1, free), of, waits);
        set.iter().map(|put| put.id().0).collect()
    }

    #[test]
    fn a_set_has_one_request_of_each_bank_and_of_first_sets_only() {
        let e = entries(&[&[(1, 0, 0), (2, 3, 1)], &[(3, 0, 0), (4, 5, 0)], &[(5, 5, 0)]]);
        let of = |entry| Some((1, [10, 20, 30][entry]));
        assert_eq!(
            put_out(&e, 8, of, |_| false),
            [5, 3],
            "of bank 5 the third entry's, of bank 0 the second's"
        );
        assert_eq!(
            put_out(&e, 1, of, |_| false),
            [5],
            "the most important one of a queue with one entry left"
        );
        let of = |entry| (entry != 2).then_some((1, 0));
        assert_eq!(
            put_out(&e, 8, of, |_| false),
            [1, 4],
            "the older of equals; nothing of an entry that may not"
        );
        let of = |entry| Some((u8::from(entry != 0), [0, 20, 30][entry]));
        assert_eq!(
            put_out(&e, 8, of, |_| false),
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
        let goes = |queue: &ControllerQueue| put_out(&e, 8, |_| Some((0, 0)), |id| queue.waits_for_its_line(id));
        assert_eq!(goes(&queue), [5, 6]);
        queue.issued(WriteId(5));
        assert!(goes(&queue).contains(&7));
    }
}
