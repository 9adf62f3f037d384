//! What must hold of the order in which the operations of one thread perform, looked at in checked runs.
//!
//! The trace lists events in the order in which they took effect, and a contract takes that order for granted. Whether it is
//! one that the core may choose is a question of its own: stores to one word perform in program order, under TSO all stores
//! do, nothing passes a fence that orders it, a release follows everything before it, nothing after an acquire precedes it, and a
//! load reads what the youngest older store of its thread to its word left, or something newer.

use fencepost_kernel::{Addr, Flush, HwThread, LineAddr};
use rustc_hash::FxHashMap;
use std::fmt;

/// Operations of a thread that performed in an order that no program order allows: a defect of the core.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Disorder {
    /// The thread.
    pub thread: HwThread,
    /// The number of the operation that came too late.
    pub late: u32,
    /// The rule that it breaks.
    pub rule: &'static str,
}
impl fmt::Display for Disorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disorder { thread, late, rule } = self;
        write!(
            f,
            "memory operation {late} of thread {} breaks program order: {rule}",
            thread.0
        )
    }
}

/// The newest operation of each kind that a thread has performed, by number; 0 for none.
#[derive(Clone, Default)]
struct Newest {
    store: u32,
    load: u32,
    /// Of those that wait for stores.
    fence: u32,
    any_fence: u32,
    release: u32,
    words: FxHashMap<Addr, u32>,
    /// Per word: the store of the thread whose value, or a newer one, some loads read, and the youngest of them.
    reads: FxHashMap<Addr, Vec<(u32, u32)>>,
    flushes: FxHashMap<LineAddr, u32>,
}

impl Newest {
    /// Load `id` read what the thread's store `from` left in a word, or something newer.
    fn read(&mut self, word: Addr, from: u32, id: u32) {
        let reads = self.reads.entry(word).or_default();
        match reads.last_mut().filter(|r| r.0 == from) {
            Some(last) => last.1 = last.1.max(id),
            None => reads.push((from, id)),
        }
    }
    /// Whether a load younger than store `id`, which performs, read something older.
    fn overlooked(&mut self, word: Addr, id: u32) -> bool {
        let Some(reads) = self.reads.get_mut(&word) else {
            return false;
        };
        reads.retain(|r| r.1 > id);
        reads.iter().any(|r| r.0 < id)
    }
}

/// Watches the order in which operations perform.
#[derive(Default)]
pub(crate) struct ProgramOrder {
    threads: Vec<Newest>,
    found: Option<Disorder>,
}
impl ProgramOrder {
    /// The first disorder.
    pub(crate) fn found(&self) -> Option<Disorder> {
        self.found
    }
    fn of(&mut self, thread: HwThread) -> &mut Newest {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Newest::default);
        }
        &mut self.threads[thread.index()]
    }
    fn must(&mut self, holds: bool, thread: HwThread, late: u32, rule: &'static str) {
        if !holds {
            self.found.get_or_insert(Disorder { thread, late, rule });
        }
    }
    /// Store `id` performs; `in_order`: stores of a thread may not pass each other.
    #[cold]
    pub(crate) fn store(&mut self, thread: HwThread, id: u32, addr: Addr, in_order: bool) {
        let n = self.of(thread);
        let word = n.words.insert(addr.word(), id).unwrap_or(0);
        let flush = n.flushes.get(&addr.line()).copied().unwrap_or(0);
        let (store, fence, release) = (n.store, n.fence, n.release);
        n.store = store.max(id);
        let in_time = !n.overlooked(addr.word(), id);
        self.must(in_time, thread, id, "a younger load of its word did not see a store");
        self.must(
            id > word,
            thread,
            id,
            "a store performs after a younger one to its word",
        );
        self.must(id > fence, thread, id, "a store performs after a younger fence");
        self.must(id > release, thread, id, "a store performs after a younger release");
        self.must(
            id > flush,
            thread,
            id,
            "a store performs after a younger flush of its line",
        );
        self.must(
            !in_order || id > store,
            thread,
            id,
            "a store performs after a younger store",
        );
    }
    /// Load `id` of a word performs in the cache.
    #[cold]
    pub(crate) fn load(&mut self, thread: HwThread, id: u32, addr: Addr) {
        let n = self.of(thread);
        n.load = n.load.max(id);
        let from = n.words.get(&addr.word()).copied().unwrap_or(0);
        n.read(addr.word(), from, id);
    }
    /// Load `id` of a word takes its value from the queued store `from` of its thread.
    #[cold]
    pub(crate) fn forwarded(&mut self, thread: HwThread, id: u32, addr: Addr, from: u32) {
        self.of(thread).read(addr.word(), from, id);
    }
    /// Atomic `id` performs on a word; `in_order`: not before every older store has performed.
    #[cold]
    pub(crate) fn atomic(&mut self, thread: HwThread, id: u32, addr: Addr, in_order: bool) {
        self.fence(thread, id, in_order, false);
        self.of(thread).words.insert(addr.word(), id);
    }
    /// Acquire `id` takes effect.
    #[cold]
    pub(crate) fn acquire(&mut self, thread: HwThread, id: u32) {
        let load = self.of(thread).load;
        self.must(load < id, thread, id, "an acquire takes effect after a younger load");
    }
    /// Flush `id` takes effect. A `clflush` is ordered with stores as a fence is.
    #[cold]
    pub(crate) fn flush(&mut self, thread: HwThread, id: u32, line: LineAddr, kind: Flush) {
        let n = self.of(thread);
        n.flushes.insert(line, id);
        let (fence, store) = (n.fence, n.store);
        self.must(id > fence, thread, id, "a flush takes effect after a younger fence");
        if kind == Flush::Clflush {
            self.must(store < id, thread, id, "a `clflush` takes effect after a younger store");
            let n = self.of(thread);
            n.fence = n.fence.max(id);
        }
    }
    /// Fence or atomic `id` takes effect; `stores`: not before every older store has performed; `loads`: not after a younger load.
    #[cold]
    pub(crate) fn fence(&mut self, thread: HwThread, id: u32, stores: bool, loads: bool) {
        let n = self.of(thread);
        let (store, load, fence) = (n.store, n.load, n.any_fence);
        n.any_fence = fence.max(id);
        if stores {
            n.fence = n.fence.max(id);
        }
        self.must(fence < id, thread, id, "a fence takes effect after a younger fence");
        self.must(store < id, thread, id, "a fence takes effect after a younger store");
        self.must(
            !loads || load < id,
            thread,
            id,
            "a full fence takes effect after a younger load",
        );
    }
    /// Release `id` performs.
    #[cold]
    pub(crate) fn release(&mut self, thread: HwThread, id: u32) {
        let n = self.of(thread);
        n.release = n.release.max(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(steps: impl FnOnce(&mut ProgramOrder, HwThread)) -> Option<u32> {
        let mut order = ProgramOrder::default();
        steps(&mut order, HwThread(1));
        order.found().map(|d| d.late)
    }

    #[test]
    fn what_a_relaxed_core_may_do_is_no_disorder() {
        let relaxed = after(|o, t| {
            o.store(t, 2, Addr(8), false);
            o.store(t, 1, Addr(72), false);
            o.load(t, 9, Addr(16));
            o.fence(t, 5, true, false);
            o.store(t, 7, Addr(8), false);
            o.store(t, 6, Addr(72), false);
            o.release(t, 8);
        });
        assert_eq!(relaxed, None);
    }
    #[test]
    fn a_clflush_and_no_other_flush_is_ordered_with_stores_to_every_line() {
        let flushed = |kind, store: u32, first: bool| {
            after(|o, t| {
                let flush = |o: &mut ProgramOrder| o.flush(t, 3, Addr(256).line(), kind);
                if first {
                    flush(o);
                }
                o.store(t, store, Addr(64), false);
                if !first {
                    flush(o);
                }
            })
        };
        for (kind, [late, early]) in [
            (Flush::Clflush, [Some(2), Some(3)]),
            (Flush::ClflushOpt, [None, None]),
            (Flush::Clwb, [None, None]),
        ] {
            assert_eq!([flushed(kind, 2, true), flushed(kind, 4, false)], [late, early]);
            assert_eq!([flushed(kind, 4, true), flushed(kind, 2, false)], [None, None]);
        }
    }
    #[test]
    fn each_rule_is_noticed() {
        let late = |order: fn(&mut ProgramOrder, HwThread)| after(order);
        let store = |o: &mut ProgramOrder, t, id| o.store(t, id, Addr(u64::from(id) * 64), false);
        assert_eq!(
            late(|o, t| [2, 1].into_iter().for_each(|i| o.store(t, i, Addr(8), false))),
            Some(1)
        );
        let tso = |o: &mut ProgramOrder, t| {
            [2, 1]
                .into_iter()
                .for_each(|i| o.store(t, i, Addr(u64::from(i) * 8), true));
        };
        assert_eq!(after(tso), Some(1));
        assert_eq!(
            after(|o, t| {
                o.fence(t, 3, true, false);
                store(o, t, 2);
            }),
            Some(2)
        );
        assert_eq!(
            after(|o, t| {
                store(o, t, 4);
                o.fence(t, 3, true, false);
            }),
            Some(3)
        );
        // An atomic is a store to its word, and where it waits for older stores a fence.
        let atomic = |waits, word| {
            after(|o, t| {
                o.atomic(t, 3, Addr(8), waits);
                o.store(t, 2, Addr(word), false);
            })
        };
        assert_eq!(
            [atomic(true, 64), atomic(false, 8), atomic(false, 64)],
            [Some(2), Some(2), None]
        );
        assert_eq!(
            after(|o, t| {
                o.load(t, 4, Addr(8));
                o.fence(t, 3, true, true);
            }),
            Some(3)
        );
        assert_eq!(
            after(|o, t| {
                o.fence(t, 3, false, false);
                o.fence(t, 2, true, false);
            }),
            Some(2)
        );
        let sees = |from, store| {
            after(|o, t| {
                o.forwarded(t, 6, Addr(8), from);
                o.load(t, 7, Addr(72));
                o.store(t, store, Addr(8), false);
            })
        };
        assert_eq!([sees(3, 4), sees(3, 3), sees(3, 8)], [Some(4), None, None]);
        assert_eq!(
            after(|o, t| {
                o.load(t, 4, Addr(8));
                o.store(t, 3, Addr(8), false);
            }),
            Some(3)
        );
        assert_eq!(
            after(|o, t| {
                o.load(t, 4, Addr(8));
                o.acquire(t, 3);
            }),
            Some(3)
        );
        assert_eq!(
            after(|o, t| {
                o.release(t, 3);
                store(o, t, 2);
            }),
            Some(2)
        );
        assert_eq!(
            after(|o, t| {
                o.flush(t, 3, Addr(128).line(), Flush::Clwb);
                store(o, t, 2);
            }),
            Some(2)
        );
    }
}
