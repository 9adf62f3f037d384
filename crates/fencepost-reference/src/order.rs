//! What the program orders among entries of persist buffers: by fences, by reads, and by what depends on them.

use crate::run::Run;
use fencepost_kernel::{Fence, HwThread, StoreId};
use rustc_hash::FxHashMap;

/// Entries beyond which a list is looked through for those that have left.
const MANY: usize = 256;

/// An entry: its buffer and its number there.
pub(crate) type Entry = (u8, u64);
/// Entries that are before something, of which each stands for itself alone.
pub(crate) type Entries = Vec<Entry>;

/// Tells which entries nobody has to wait for any more.
pub(crate) type Gone<'g> = dyn Fn(Entry) -> bool + 'g;

/// What the program orders of a thread.
#[derive(Clone, Default)]
struct Thread {
    /// Before everything that the thread stores from now on.
    closed: Entries,
    /// Own stores since the last fence, and what was read.
    stores: Entries,
    observed: Entries,
    /// By event: what each read since the last full fence hands on to what depends on it.
    reads: FxHashMap<u32, Entries>,
}

/// The order of the program's stores.
#[derive(Default)]
pub(crate) struct Order {
    threads: Vec<Thread>,
    /// What is before each store by fences and dependences, while some of it has not left; and its own entry.
    stores: FxHashMap<StoreId, (Entries, Option<Entry>)>,
}

impl Order {
    fn thread(&mut self, thread: HwThread) -> &mut Thread {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Thread::default);
        }
        &mut self.threads[thread.index()]
    }
    /// A read hands on what is before the store that it reads: to everything behind the next fence, and to what depends on it.
    pub(crate) fn read(
        &mut self,
        run: &Run<'_>,
        gone: &Gone<'_>,
        event: usize,
        thread: HwThread,
        from: Option<StoreId>,
    ) {
        let mut handed_on = self.needed(run, event, thread);
        let external = from.filter(|s| run.trace.store(*s).thread != thread);
        if let Some((before, own)) = external.and_then(|s| self.stores.get(&s)).cloned() {
            handed_on.extend(&before);
            let observed = &mut self.thread(thread).observed;
            observed.extend(before.into_iter().chain(own));
            if observed.len() > MANY {
                observed.retain(|e| !gone(*e));
                observed.sort_unstable();
                observed.dedup();
            }
        }
        handed_on.retain(|e| !gone(*e));
        if !handed_on.is_empty() {
            self.thread(thread).reads.insert(event as u32, handed_on);
        }
    }
    /// What the reads that an event depends on hand on.
    fn needed(&mut self, run: &Run<'_>, event: usize, thread: HwThread) -> Entries {
        let all = &run.trace.dependences;
        let from = all.partition_point(|d| (d.event as usize) < event);
        let of_event = all[from..].iter().take_while(|d| d.event as usize == event);
        let reads = &self.thread(thread).reads;
        of_event.filter_map(|d| reads.get(&d.on)).flatten().copied().collect()
    }
    /// What is before the store of an event. What an atomic stores comes of what it reads.
    pub(crate) fn before(&mut self, run: &Run<'_>, event: usize, thread: HwThread) -> Entries {
        let mut before = self.needed(run, event, thread);
        let t = self.thread(thread);
        before.extend(t.reads.get(&(event as u32)).into_iter().flatten());
        before.extend(&t.closed);
        before
    }
    /// A full fence: own stores and what was read are before what follows; a store fence: own stores.
    pub(crate) fn fence(&mut self, thread: HwThread, kind: Fence) {
        let t = self.thread(thread);
        let stores = std::mem::take(&mut t.stores);
        t.closed.extend(stores);
        if kind != Fence::DmbSt {
            let observed = std::mem::take(&mut t.observed);
            t.closed.extend(observed);
            t.reads.clear();
        }
        t.closed.sort_unstable();
        t.closed.dedup();
    }
    pub(crate) fn store(
        &mut self,
        gone: &Gone<'_>,
        thread: HwThread,
        id: StoreId,
        (before, entry): (Entries, Option<Entry>),
    ) {
        let t = self.thread(thread);
        for all in [&mut t.closed, &mut t.stores, &mut t.observed] {
            all.retain(|e| !gone(*e));
        }
        t.stores.extend(entry);
        let mut before = before;
        before.retain(|e| !gone(*e));
        if !before.is_empty() || entry.is_some() {
            self.stores.insert(id, (before, entry));
        }
    }
}
