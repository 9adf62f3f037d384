//! How operations went through their core, kept where somebody draws a pipeline.

use crate::frontend::OpKind;
use fencepost_kernel::{Addr, HwThread, Ps, StoreId};
use rustc_hash::FxHashMap;
use std::panic::Location;

/// How an operation went through its core.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its number within the thread; the pieces of a long compute site share one.
    pub id: u32,
    /// What.
    pub kind: OpKind,
    /// The address that it accesses, or 0.
    pub addr: Addr,
    /// What it stores; of a compute site how many instructions.
    pub value: u64,
    /// The line of the program.
    pub source: &'static Location<'static>,
    /// When it entered the reorder buffer.
    pub dispatched: Ps,
    /// When it went to the L1 or, as the oldest, began to act; none for what has nothing to wait for.
    pub issued: Option<Ps>,
    /// When its result was there.
    pub completed: Ps,
    /// When it committed.
    pub committed: Ps,
    /// When it left the store queue, if it was there.
    pub left: Option<Ps>,
    /// The store that it performed.
    pub store: Option<StoreId>,
    /// The store that it read.
    pub read: Option<StoreId>,
}

/// Passages of a run are kept up to so many: pictures are for looking at single operations.
const MOST: usize = 200_000;

/// What becomes known of an operation apart from its commit.
#[derive(Copy, Clone, Default)]
struct Known {
    issued: Option<Ps>,
    left: Option<Ps>,
    store: Option<StoreId>,
    read: Option<StoreId>,
}

/// The operations of a run.
#[derive(Default)]
pub(crate) struct Passages {
    threads: Vec<Vec<Passage>>,
    known: FxHashMap<(HwThread, u32), Known>,
    count: usize,
}

impl Passages {
    /// Keeps those of so many hardware threads.
    pub(crate) fn keep(&mut self, threads: usize) {
        self.threads = vec![Vec::new(); threads];
    }
    fn of(&mut self, thread: HwThread, id: u32) -> Option<&mut Known> {
        let kept = !self.threads.is_empty() && self.count < MOST;
        kept.then(|| self.known.entry((thread, id)).or_default())
    }
    /// An operation went to the L1 or began to act, for the first time or again.
    pub(crate) fn issued(&mut self, thread: HwThread, id: u32, at: Ps) {
        if let Some(k) = self.of(thread, id) {
            k.issued.get_or_insert(at);
        }
    }
    /// It left the store queue.
    pub(crate) fn left(&mut self, thread: HwThread, id: u32, at: Ps) {
        if let Some(k) = self.of(thread, id) {
            k.left = Some(at);
        }
    }
    /// It performed a store.
    pub(crate) fn stored(&mut self, thread: HwThread, id: u32, store: StoreId) {
        if let Some(k) = self.of(thread, id) {
            k.store = Some(store);
        }
    }
    /// It read a store.
    pub(crate) fn read(&mut self, thread: HwThread, id: u32, store: StoreId) {
        if let Some(k) = self.of(thread, id) {
            k.read = Some(store);
        }
    }
    /// It committed.
    pub(crate) fn committed(&mut self, thread: HwThread, passage: Passage) {
        if self.count < MOST
            && let Some(list) = self.threads.get_mut(thread.index())
        {
            self.count += 1;
            list.push(passage);
        }
    }
    /// Per hardware thread, in program order; empty unless they were kept.
    pub(crate) fn take(&mut self) -> Vec<Vec<Passage>> {
        let mut threads = std::mem::take(&mut self.threads);
        for (thread, list) in (0..).map(HwThread).zip(&mut threads) {
            for p in list {
                let k = self.known.get(&(thread, p.id)).copied().unwrap_or_default();
                (p.issued, p.left, p.store, p.read) = (k.issued, k.left, k.store, k.read);
            }
        }
        threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known of an operation before it commits is told with it; a run without pictures keeps nothing.
    #[test]
    fn an_operation_is_told_with_what_became_known_of_it() {
        let store = |index| StoreId::from_index(index).expect("few stores");
        let passage = |id| Passage {
            id,
            kind: OpKind::Store,
            addr: Addr::pm(64),
            value: 7,
            source: Location::caller(),
            dispatched: Ps(1),
            issued: None,
            completed: Ps(4),
            committed: Ps(5),
            left: None,
            store: None,
            read: None,
        };
        for kept in [true, false] {
            let mut passages = Passages::default();
            if kept {
                passages.keep(2);
            }
            let thread = HwThread(1);
            passages.issued(thread, 3, Ps(2));
            passages.issued(thread, 3, Ps(3));
            passages.stored(thread, 3, store(9));
            passages.read(thread, 4, store(8));
            for id in [3, 4] {
                passages.committed(thread, passage(id));
            }
            passages.left(thread, 3, Ps(6));
            let told = Passage {
                issued: Some(Ps(2)),
                left: Some(Ps(6)),
                store: Some(store(9)),
                ..passage(3)
            };
            let second = Passage {
                read: Some(store(8)),
                ..passage(4)
            };
            let same = |a: &Passage, b: &Passage| {
                let known = |p: &Passage| (p.id, p.issued, p.left, p.store, p.read, p.committed);
                known(a) == known(b)
            };
            match &passages.take()[..] {
                [none, list] if kept => {
                    assert!(none.is_empty() && list.len() == 2 && same(&list[0], &told) && same(&list[1], &second));
                }
                all => assert!(!kept && all.is_empty()),
            }
        }
    }
}
