//! What an execution did beside its persist order: what witnesses need to say why a store may be lost.

use super::extent::Extent;
use fencepost_kernel::{Addr, Fence, HwThread, Image, LineAddr, StoreId, Trace, TraceKind};
use std::fmt;

/// Why a store that has executed may not be durable.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum WhyLost {
    /// No flush of its line came after it.
    NeverFlushed,
    /// Its line was flushed, and no fence of the flushing thread came after that.
    NotFenced,
    /// A non-temporal store, and no fence of its thread came after it.
    NtNotFenced,
    /// Other bytes of the same store are durable.
    Torn,
    /// It belongs to a transaction that the contract does not yet call durable.
    InTransaction,
    /// The contract orders it before nothing that is durable.
    Unordered,
}
impl fmt::Display for WhyLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WhyLost::NeverFlushed => "never flushed",
            WhyLost::NotFenced => "flushed, not fenced",
            WhyLost::NtNotFenced => "non-temporal, not fenced",
            WhyLost::Torn => "torn: other bytes of it are durable",
            WhyLost::InTransaction => "its transaction is not durable yet",
            WhyLost::Unordered => "ordered before nothing that is durable",
        })
    }
}

/// The beginning or the end of an operation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Operation {
    event: u32,
    thread: HwThread,
    k: u32,
    begins: bool,
}

/// What an execution did, by position in its trace.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The memory that it used.
    pub extent: Extent,
    /// Whether the contract makes stores durable by flushes (the x86 family).
    pub by_flush: bool,
    threads: usize,
    /// Event of each store.
    performed: Vec<u32>,
    flushes: Vec<(u32, HwThread, LineAddr)>,
    fences: Vec<(u32, HwThread)>,
    operations: Vec<Operation>,
    /// Thread of each store.
    by: Vec<HwThread>,
    /// Loads of what another thread stored: event, thread, store.
    observed: Vec<(u32, HwThread, StoreId)>,
}

impl History {
    /// What `trace` did, from the memory `initial`.
    pub fn of(trace: &Trace, initial: &Image) -> History {
        let mut history = History {
            threads: trace.threads as usize,
            performed: vec![u32::MAX; trace.stores.len()],
            by: trace.stores.iter().map(|s| s.thread).collect(),
            ..History::default()
        };
        let stored = trace.stores.iter().map(|s| s.addr);
        let loaded = trace.events.iter().filter_map(|e| match e.kind {
            TraceKind::Load { addr, .. } | TraceKind::Rmw { addr, .. } => Some(addr),
            _ => None,
        });
        history.extent = Extent::of(initial, stored.chain(loaded));
        for (event, e) in (0u32..).zip(&trace.events) {
            let Some(thread) = e.thread else { continue };
            let operation = |k, begins| Operation {
                event,
                thread,
                k,
                begins,
            };
            if let TraceKind::Load { from: Some(s), .. } | TraceKind::Rmw { from: Some(s), .. } = e.kind
                && trace.store(s).thread != thread
            {
                history.observed.push((event, thread, s));
            }
            match e.kind {
                TraceKind::Store(s) => history.performed[s.index()] = event,
                TraceKind::Rmw { store, .. } => {
                    history.fences.push((event, thread));
                    store.into_iter().for_each(|s| history.performed[s.index()] = event);
                }
                TraceKind::Flush { line, .. } => history.flushes.push((event, thread, line)),
                TraceKind::Fence(Fence::NewStrand) => {}
                TraceKind::Fence(_) | TraceKind::Sync { .. } => history.fences.push((event, thread)),
                TraceKind::OpBegin(k) => history.operations.push(operation(k, true)),
                TraceKind::OpEnd(k) => history.operations.push(operation(k, false)),
                _ => {}
            }
        }
        history
    }
    /// Why `store` of `thread` to `at` may be lost when power fails before `event`.
    pub fn why_lost(&self, store: Option<StoreId>, info: (HwThread, Addr, bool, bool), event: usize) -> WhyLost {
        let (thread, at, nt, in_transaction) = info;
        let performed = store.and_then(|s| self.performed.get(s.index())).copied().unwrap_or(0);
        let fenced = |since: u32, by: HwThread| {
            let first = self.fences.partition_point(|f| f.0 <= since);
            let until = self.fences[first..].iter().take_while(|f| (f.0 as usize) < event);
            until.into_iter().any(|f| f.1 == by)
        };
        if in_transaction {
            return WhyLost::InTransaction;
        }
        if !self.by_flush {
            return WhyLost::Unordered;
        }
        if nt {
            return if fenced(performed, thread) {
                WhyLost::Unordered
            } else {
                WhyLost::NtNotFenced
            };
        }
        let first = self.flushes.partition_point(|f| f.0 <= performed);
        let flushes = self.flushes[first..].iter().take_while(|f| (f.0 as usize) < event);
        let mut flushes = flushes.filter(|f| f.2 == at.line()).peekable();
        if flushes.peek().is_none() {
            WhyLost::NeverFlushed
        } else if flushes.any(|f| fenced(f.0, f.1)) {
            WhyLost::Unordered
        } else {
            WhyLost::NotFenced
        }
    }
    /// The thread of a store of the execution.
    pub fn thread_of(&self, store: StoreId) -> Option<HwThread> {
        self.by.get(store.index()).copied()
    }
    /// Whether `later` was stored after `earlier` had been: by the same thread, or by one that had seen it, or what came after it.
    pub fn saw(&self, earlier: StoreId, later: StoreId) -> bool {
        let of = |s: StoreId| Some((*self.performed.get(s.index())?, self.thread_of(s)?));
        let (Some((begin, by)), Some((end, reader))) = (of(earlier), of(later)) else {
            return false;
        };
        let mut since = vec![u32::MAX; self.threads.max(by.index().max(reader.index()) + 1)];
        since[by.index()] = begin;
        for (event, thread, store) in self.observed.iter().take_while(|o| o.0 < end) {
            let Some((stored, writer)) = of(*store) else { continue };
            if since.get(writer.index()).is_some_and(|s| stored >= *s) {
                since[thread.index()] = since[thread.index()].min(*event);
            }
        }
        since[reader.index()] < end
    }
    /// The operation in which `store` was made.
    pub fn operation_of(&self, store: StoreId, thread: HwThread) -> Option<u32> {
        let performed = *self.performed.get(store.index())?;
        let before = self.operations.partition_point(|o| o.event < performed);
        let last = self.operations[..before].iter().rev().find(|o| o.thread == thread)?;
        last.begins.then_some(last.k)
    }
    /// The last operation that each thread had completed before `event`.
    pub fn completed(&self, event: usize) -> Vec<Option<u32>> {
        let mut last = vec![None; self.threads];
        let before = self.operations.iter().take_while(|o| (o.event as usize) < event);
        for o in before.filter(|o| !o.begins) {
            last[o.thread.index()] = Some(o.k);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread makes the next store of the trace, to the first line of persistent memory.
    fn stores(trace: &mut Trace, thread: u8) -> StoreId {
        let store = StoreId::from_index(trace.stores.len()).unwrap();
        trace.stores.push(fencepost_kernel::StoreInfo {
            thread: HwThread(thread),
            addr: Addr::pm(0),
            value: 1,
            nt: false,
            tx: None,
            source: std::panic::Location::caller().into(),
        });
        trace.push(HwThread(thread), TraceKind::Store(store));
        store
    }
    fn two_threads() -> Trace {
        Trace {
            threads: 2,
            ..Trace::default()
        }
    }

    /// A store belongs to the operation that its own thread has begun and not ended.
    #[test]
    fn stores_are_of_the_operations_that_run() {
        let mut trace = two_threads();
        let begins = |trace: &mut Trace, thread, k| trace.push(HwThread(thread), TraceKind::OpBegin(k));
        stores(&mut trace, 0);
        begins(&mut trace, 0, 4);
        begins(&mut trace, 1, 7);
        stores(&mut trace, 0);
        stores(&mut trace, 1);
        trace.push(HwThread(0), TraceKind::OpEnd(4));
        stores(&mut trace, 0);
        let history = History::of(&trace, &Image::default());
        let of = |s: usize| {
            let store = StoreId::from_index(s).unwrap();
            history.operation_of(store, history.thread_of(store).unwrap())
        };
        assert_eq!([0, 1, 2, 3].map(of), [None, Some(4), Some(7), None]);
        let events = trace.events.len();
        assert_eq!(
            (history.completed(events - 2), history.completed(events)),
            (vec![None, None], vec![Some(4), None])
        );
    }

    /// Only what comes after a store makes it durable: a flush of its line, then a fence of the thread that flushed, both before the failure.
    #[test]
    fn a_store_is_lost_for_want_of_what_should_have_followed_it() {
        let fence = |trace: &mut Trace, thread| trace.push(HwThread(thread), TraceKind::Fence(Fence::Sfence));
        let flush = |trace: &mut Trace, thread| {
            let (line, kind) = (Addr::pm(0).line(), fencepost_kernel::Flush::Clwb);
            trace.push(HwThread(thread), TraceKind::Flush { line, kind });
        };
        let mut trace = two_threads();
        flush(&mut trace, 0);
        fence(&mut trace, 0);
        let store = stores(&mut trace, 0);
        let mut ends = vec![trace.events.len()];
        flush(&mut trace, 0);
        ends.push(trace.events.len());
        for thread in [1, 0] {
            fence(&mut trace, thread);
            ends.push(trace.events.len());
        }
        let mut history = History::of(&trace, &Image::default());
        history.by_flush = true;
        let why = |nt, end: &usize| history.why_lost(Some(store), (HwThread(0), Addr::pm(0), nt, false), *end);
        let of = |nt| ends.iter().map(|end| why(nt, end)).collect::<Vec<_>>();
        use WhyLost::{NeverFlushed, NotFenced, NtNotFenced, Unordered};
        assert_eq!(of(false), [NeverFlushed, NotFenced, NotFenced, Unordered]);
        assert_eq!(of(true), [NtNotFenced, NtNotFenced, NtNotFenced, Unordered]);
    }

    /// A thread has seen a store that it read, and what was stored before that by whoever had seen it; nothing else.
    #[test]
    fn what_a_thread_saw_is_what_it_read_and_what_lies_behind() {
        let mut trace = two_threads();
        let reads = |trace: &mut Trace, thread, from| {
            let (addr, from) = (Addr::pm(0), Some(from));
            trace.push(HwThread(thread), TraceKind::Load { addr, from });
        };
        let first = stores(&mut trace, 0);
        let unaware = stores(&mut trace, 1);
        let second = stores(&mut trace, 0);
        reads(&mut trace, 1, second);
        let aware = stores(&mut trace, 1);
        let third = stores(&mut trace, 0);
        let history = History::of(&trace, &Image::default());
        let seen = |pairs: &[(StoreId, StoreId)]| pairs.iter().map(|(e, l)| history.saw(*e, *l)).collect::<Vec<_>>();
        assert_eq!(
            seen(&[(first, unaware), (third, aware), (unaware, third), (aware, first)]),
            [false; 4]
        );
        assert_eq!(
            seen(&[(first, second), (first, aware), (second, aware), (unaware, aware)]),
            [true; 4]
        );
    }
}
