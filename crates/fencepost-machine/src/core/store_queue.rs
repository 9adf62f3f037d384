//! The store queue: stores, non-temporal stores, flushes and unlocks between dispatch and performing.

use super::ring::{Ring, Slot};
use crate::frontend::{Op, OpKind};
use crate::seam::Cause;
use fencepost_kernel::planted;
use fencepost_kernel::{Addr, Flush, LineAddr, Ps, TxId};
use std::ops::Range;

/// How far a queued store has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreState {
    /// Not committed.
    Speculative,
    /// Committed; may perform from then on.
    Committed(Ps),
    /// Waits for its line.
    Fetching,
    /// Refused by the design.
    Refused(Cause),
}

/// One queued store, in a line of the host's cache of its own.
#[derive(Copy, Clone, Debug)]
#[repr(align(64))]
pub(crate) struct QueuedStore {
    /// The operation.
    pub op: Op,
    /// Its number within the thread.
    pub id: u32,
    /// Hardware transaction it belongs to.
    pub tx: Option<TxId>,
    /// How far it has come.
    pub state: StoreState,
}
const _: () = assert!(size_of::<QueuedStore>() == 64);
impl QueuedStore {
    /// The line it goes to.
    pub(crate) fn line(&self) -> LineAddr {
        self.op.addr.line()
    }
}

impl Slot for QueuedStore {
    const EMPTY: QueuedStore = QueuedStore {
        op: Op::NOTHING,
        id: 0,
        tx: None,
        state: StoreState::Speculative,
    };
}

/// Stores of one thread, oldest first. Positions are those of a [`Ring`].
#[derive(Clone, Debug)]
pub(crate) struct StoreQueue {
    entries: Ring<QueuedStore>,
    /// Position of the oldest entry that has not committed: stores commit in order.
    committed: usize,
    /// Fences among the entries.
    fences: u32,
    /// How many entries write words with the same low address bits: most loads find here that no store forwards to them.
    words: [u32; WORDS],
    /// How many go to lines with the same low address bits: most stores find here that none before them goes to theirs.
    lines: [u32; 64],
}
impl Default for StoreQueue {
    fn default() -> StoreQueue {
        StoreQueue {
            entries: Ring::new(16),
            committed: 0,
            fences: 0,
            words: [0; WORDS],
            lines: [0; 64],
        }
    }
}
/// Counts of stores by word: many more than a store queue has entries, so that most of those that are not zero belong to the word asked for.
const WORDS: usize = 256;
/// The low address bits of a word.
fn low(addr: Addr) -> usize {
    (addr.0 / 8) as usize % WORDS
}
/// The low address bits of a line.
fn low_line(line: LineAddr) -> usize {
    (line.0 % 64) as usize
}
impl StoreQueue {
    /// What is wrong with the counts of what is queued, if anything is.
    pub(crate) fn unsound(&self) -> Option<&'static str> {
        let (mut words, mut lines, mut fences) = ([0; WORDS], [0; 64], 0);
        for s in self.entries.iter() {
            words[low(s.op.addr)] += 1;
            lines[low_line(s.line())] += 1;
            fences += u32::from(s.is_fence());
        }
        let early = self.committed().any(|s| s.state == StoreState::Speculative);
        match () {
            () if words != self.words => Some("counts of stores by word"),
            () if lines != self.lines => Some("counts of stores by line"),
            () if fences != self.fences => Some("count of fences"),
            () if early => Some("count of committed stores"),
            () => None,
        }
    }
    /// Number of stores queued.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether every store has performed.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// Adds the youngest store.
    #[inline]
    pub(crate) fn push(&mut self, op: &Op, id: u32, tx: Option<TxId>) {
        self.words[low(op.addr)] += 1;
        self.lines[low_line(op.addr.line())] += 1;
        self.fences += u32::from(op.kind.is_queued_fence());
        let entry = self.entries.add();
        *entry = QueuedStore {
            op: *op,
            id,
            tx,
            state: StoreState::Speculative,
        };
    }
    /// The oldest store that has not committed does so; it may perform from `at` on.
    #[inline]
    pub(crate) fn commit_next(&mut self, at: Ps) {
        let s = &mut self.entries[self.committed];
        // One that has passed a load may be under way already.
        if s.state == StoreState::Speculative {
            s.state = StoreState::Committed(at);
        }
        self.committed += 1;
    }
    /// The oldest store that has not committed.
    pub(crate) fn next_to_commit(&self) -> Option<&QueuedStore> {
        self.entries.get(self.committed)
    }
    /// Position of the oldest store.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        self.entries.first()
    }
    /// Every position, oldest first.
    pub(crate) fn positions(&self) -> Range<usize> {
        self.entries.first()..self.entries.end()
    }
    /// The store at a position.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&QueuedStore> {
        self.entries.get(at)
    }
    /// The store of operation `id`, and its position.
    pub(crate) fn by_id(&mut self, id: u32) -> Option<(usize, &mut QueuedStore)> {
        // Numbers ascend; they may wrap round. The oldest store is the likeliest to be asked for.
        let older = |s: &QueuedStore| (s.id.wrapping_sub(id) as i32) < 0;
        let (mut at, mut end) = (self.entries.first(), self.entries.end());
        let mut middle = at;
        while at < end {
            match older(&self.entries[middle]) {
                true => at = middle + 1,
                false => end = middle,
            }
            middle = at + (end - at) / 2;
        }
        self.entries.get(at).filter(|s| s.id == id)?;
        Some((at, &mut self.entries[at]))
    }
    /// Changes the state of the store at a position.
    #[inline]
    pub(crate) fn set_state(&mut self, at: usize, state: StoreState) {
        self.entries[at].state = state;
    }
    /// Removes the store at a position, which has performed: older ones move up into its place. Returns what it was,
    /// and its number.
    #[inline]
    pub(crate) fn remove(&mut self, at: usize) -> (OpKind, u32) {
        let s = &self.entries[at];
        let (addr, kind, id) = (s.op.addr, s.op.kind, s.id);
        self.words[low(addr)] -= 1;
        self.lines[low_line(addr.line())] -= 1;
        self.fences -= u32::from(kind.is_queued_fence());
        // Older ones move up, one of them perhaps that has not committed.
        self.committed += usize::from(at >= self.committed);
        self.entries.take_out(at);
        (kind, id)
    }
    /// Whether an older store goes to the same line as the one at `at`.
    #[inline]
    pub(crate) fn older_on_line(&self, at: usize) -> bool {
        let line = self.entries[at].line();
        // One is the store itself.
        self.lines[low_line(line)] > 1 && (self.first()..at).any(|i| self.entries[i].line() == line)
    }
    /// Those that have committed, oldest first.
    #[inline]
    fn committed(&self) -> impl Iterator<Item = &QueuedStore> {
        (self.first()..self.committed).map(|at| &self.entries[at])
    }
    /// The youngest store older than operation `id` that writes the word of `addr`: a load takes its value from there.
    #[inline]
    pub(crate) fn forwarder(&self, addr: Addr, id: u32) -> Option<&QueuedStore> {
        if self.words[low(addr)] == 0 {
            return None;
        }
        let older = |s: &&QueuedStore| (s.id.wrapping_sub(id) as i32) < 0;
        let here = |s: &&QueuedStore| s.op.addr.word() == addr.word() && s.is_store();
        let mut writers = self.entries.iter().take_while(older).filter(here);
        let oldest = planted!(
            "core.forwards-older-store",
            "a load takes its value from the youngest older store of its word"
        );
        match oldest {
            true => writers.next(),
            false => writers.last(),
        }
    }
    /// When the oldest store that may perform was committed.
    #[inline]
    pub(crate) fn next_committed(&self) -> Option<Ps> {
        self.committed().find_map(|s| match s.state {
            StoreState::Committed(t) => Some(t),
            _ => None,
        })
    }
    /// Whether a fence waits here.
    #[inline]
    pub(crate) fn has_fence(&self) -> bool {
        self.fences > 0
    }
    /// What nothing passes, committed, that waits here.
    pub(crate) fn committed_barriers(&self) -> u32 {
        self.committed().filter(|s| s.is_barrier()).count() as u32
    }
    /// Whether a fence older than operation `id` waits here.
    pub(crate) fn fence_before(&self, id: u32) -> bool {
        let older = |s: &&QueuedStore| (s.id.wrapping_sub(id) as i32) < 0;
        self.fences > 0 && self.entries.iter().take_while(older).any(QueuedStore::is_fence)
    }
    /// Whether a full fence older than operation `id` waits here.
    #[inline]
    pub(crate) fn full_fence_before(&self, id: u32) -> bool {
        let older = |s: &&QueuedStore| (s.id.wrapping_sub(id) as i32) < 0;
        let mut entries = self.entries.iter().take_while(older);
        self.fences > 0 && entries.any(|s| s.op.kind.is_queued_full_fence())
    }
    /// Whether a store older than operation `id` has not performed.
    #[inline]
    pub(crate) fn any_older(&self, id: u32) -> bool {
        self.get(self.first())
            .is_some_and(|s| (s.id.wrapping_sub(id) as i32) < 0)
    }
}
impl QueuedStore {
    /// Whether it is a fence: it leaves as the oldest entry, and no younger one acts before.
    pub(crate) fn is_fence(&self) -> bool {
        self.op.kind.is_queued_fence()
    }
    /// Whether it passes nothing here and nothing passes it: a fence, or a `clflush`, which is ordered with every store of its thread (Intel
    /// SDM 3A, 8.2.2) on machines, too, whose stores are not ordered among each other.
    pub(crate) fn is_barrier(&self) -> bool {
        self.is_fence() || self.op.kind == OpKind::Flush(Flush::Clflush)
    }
    fn is_store(&self) -> bool {
        matches!(
            self.op.kind,
            OpKind::Store | OpKind::NtStore | OpKind::Unlock | OpKind::StoreRelease
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Fence;

    /// Two stores with a fence between them; the first has committed.
    fn used() -> StoreQueue {
        let mut q = StoreQueue::default();
        let kinds = [OpKind::Store, OpKind::QueuedFence(Fence::Sfence), OpKind::Store];
        for (id, kind) in (1..).zip(kinds) {
            let addr = Addr::pm(u64::from(id) * 64);
            let op = Op {
                kind,
                addr,
                ..Op::NOTHING
            };
            q.push(&op, id, None);
        }
        q.commit_next(Ps(1));
        q
    }

    #[test]
    fn counts_that_contradict_what_is_queued_are_named() {
        assert_eq!(used().unsound(), None);
        let wrong = |breaks: fn(&mut StoreQueue)| {
            let mut q = used();
            breaks(&mut q);
            q.unsound()
        };
        assert_eq!(wrong(|q| q.words[63] += 1), Some("counts of stores by word"));
        assert_eq!(wrong(|q| q.lines = [0; 64]), Some("counts of stores by line"));
        assert_eq!(wrong(|q| q.fences = 0), Some("count of fences"));
        assert_eq!(wrong(|q| q.committed += 1), Some("count of committed stores"));
    }
}
