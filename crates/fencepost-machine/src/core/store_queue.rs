//! The store queue: stores, non-temporal stores, flushes and unlocks between dispatch and performing.

use crate::frontend::Op;
use crate::seam::Cause;
use fencepost_kernel::planted;
use fencepost_kernel::{Addr, LineAddr, Ps, TxId};
use std::collections::VecDeque;

/// How far a queued store has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum StoreState {
    /// Not committed.
    Speculative,
    /// Committed; may perform from then on.
    Committed(Ps),
    /// Waits for its line.
    Fetching,
    /// Refused by the design.
    Refused(Cause),
}

/// One queued store.
#[derive(Copy, Clone, Debug)]
pub struct QueuedStore {
    /// The operation.
    pub op: Op,
    /// Its number within the thread.
    pub id: u32,
    /// Hardware transaction it belongs to.
    pub tx: Option<TxId>,
    /// How far it has come.
    pub state: StoreState,
}
impl QueuedStore {
    /// The line it goes to.
    pub fn line(&self) -> LineAddr {
        self.op.addr.line()
    }
}

/// Stores of one thread, oldest first.
#[derive(Clone, Debug)]
pub struct StoreQueue {
    entries: VecDeque<QueuedStore>,
    /// How many entries, from the oldest, have committed: stores commit in order.
    committed: usize,
    /// Fences among the entries.
    fences: u32,
    /// How many entries write words with the same low address bits: most loads find here that no store forwards to them.
    words: [u32; 64],
    /// How many go to lines with the same low address bits: most stores find here that none before them goes to theirs.
    lines: [u32; 64],
}
impl Default for StoreQueue {
    fn default() -> StoreQueue {
        StoreQueue {
            entries: VecDeque::new(),
            committed: 0,
            fences: 0,
            words: [0; 64],
            lines: [0; 64],
        }
    }
}
/// The low address bits of a word.
fn low(addr: Addr) -> usize {
    (addr.0 / 8 % 64) as usize
}
/// The low address bits of a line.
fn low_line(line: LineAddr) -> usize {
    (line.0 % 64) as usize
}
impl StoreQueue {
    /// Number of stores queued.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether every store has performed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// Adds the youngest store.
    pub fn push(&mut self, store: QueuedStore) {
        self.words[low(store.op.addr)] += 1;
        self.lines[low_line(store.line())] += 1;
        self.fences += u32::from(store.is_fence());
        self.entries.push_back(store);
    }
    /// The oldest store that has not committed does so; it may perform from `at` on.
    pub fn commit_next(&mut self, at: Ps) {
        if let Some(s) = self.entries.get_mut(self.committed) {
            debug_assert_eq!(s.state, StoreState::Speculative);
            s.state = StoreState::Committed(at);
            self.committed += 1;
        }
    }
    /// The store at a position, oldest first.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&QueuedStore> {
        self.entries.get(i)
    }
    /// The store of operation `id`.
    pub fn by_id(&mut self, id: u32) -> Option<(usize, &mut QueuedStore)> {
        // Numbers ascend; they may wrap round.
        let older = |s: &QueuedStore| (s.id.wrapping_sub(id) as i32) < 0;
        let at = self.entries.partition_point(older);
        let s = self.entries.get_mut(at).filter(|s| s.id == id)?;
        Some((at, s))
    }
    /// Changes the state of the store at a position.
    pub fn set_state(&mut self, i: usize, state: StoreState) {
        self.entries[i].state = state;
    }
    /// Removes a performed store.
    pub fn remove(&mut self, i: usize) {
        let gone = match i {
            0 => self.entries.pop_front(),
            _ => self.entries.remove(i),
        };
        if let Some(s) = gone {
            self.words[low(s.op.addr)] -= 1;
            self.lines[low_line(s.line())] -= 1;
            self.fences -= u32::from(s.is_fence());
            self.committed -= 1;
        }
    }
    /// Whether an older store goes to the same line as the one at `i`.
    pub fn older_on_line(&self, i: usize) -> bool {
        let line = self.entries[i].line();
        // One is the store itself.
        self.lines[low_line(line)] > 1 && self.entries.iter().take(i).any(|s| s.line() == line)
    }
    /// The youngest store older than operation `id` that writes the word of `addr`: a load takes its value from there.
    #[inline]
    pub fn forwarder(&self, addr: Addr, id: u32) -> Option<&QueuedStore> {
        if self.words[low(addr)] == 0 {
            return None;
        }
        let older = |s: &&QueuedStore| (s.id.wrapping_sub(id) as i32) < 0;
        let here = |s: &&QueuedStore| s.op.addr.word() == addr.word() && s.is_store();
        let mut writers = self.entries.iter().take_while(older).filter(here);
        match planted!(
            "core.forwards-older-store",
            "a load takes its value from the youngest older store of its word"
        ) {
            true => writers.next(),
            false => writers.last(),
        }
    }
    /// When the oldest store that may perform was committed.
    pub fn next_committed(&self) -> Option<Ps> {
        self.entries.iter().find_map(|s| match s.state {
            StoreState::Committed(t) => Some(t),
            _ => None,
        })
    }
    /// Whether a fence waits here.
    #[inline]
    pub fn has_fence(&self) -> bool {
        self.fences > 0
    }
    /// Committed fences that wait here.
    pub fn committed_fences(&self) -> u32 {
        let committed = self.entries.iter().take(self.committed);
        committed.filter(|s| s.is_fence()).count() as u32
    }
    /// Whether a full fence older than operation `id` waits here.
    #[inline]
    pub fn full_fence_before(&self, id: u32) -> bool {
        let older = |s: &&QueuedStore| (s.id.wrapping_sub(id) as i32) < 0;
        let mut entries = self.entries.iter().take_while(older);
        self.fences > 0 && entries.any(|s| s.op.kind.is_queued_full_fence())
    }
    /// Whether a store older than operation `id` has not performed.
    pub fn any_older(&self, id: u32) -> bool {
        self.entries.front().is_some_and(|s| (s.id.wrapping_sub(id) as i32) < 0)
    }
}
impl QueuedStore {
    /// Whether it is a fence: it leaves as the oldest entry, and no younger one acts before.
    pub fn is_fence(&self) -> bool {
        matches!(self.op.kind, crate::frontend::OpKind::QueuedFence(_))
    }
    fn is_store(&self) -> bool {
        use crate::frontend::OpKind;
        matches!(
            self.op.kind,
            OpKind::Store | OpKind::NtStore | OpKind::Unlock | OpKind::StoreRelease
        )
    }
}
