//! Persist buffers whose entries wait for one another by name: whatever the program orders, the names must order, in any number of hops.
//!
//! A store that becomes durable in time by luck needs no dependence, and no persist log tells that one was missing. So the names
//! themselves are judged: when a line enters a buffer, everything that is before it by fences and reads (relaxed consistency, buffered strict
//! persistency) must have left its own buffer, or be named by the entry, by one before it in its buffer, or by what those wait for.

use crate::run::{Breach, Run, must};
use fencepost_kernel::ledger::{LedgerEvent, LedgerKind};
use fencepost_kernel::{Fence, HwThread, LineAddr, StoreId, TraceKind};
use rustc_hash::FxHashMap;
use std::iter::Peekable;
use std::slice::Iter;

/// Entries beyond which a list is looked through for those that have left.
const MANY: usize = 256;

/// How far into each buffer something reaches: an entry, and all before it.
#[derive(Clone, Debug, Default)]
struct Reach(Vec<u64>);
impl Reach {
    fn of(&self, buffer: u8) -> u64 {
        self.0.get(usize::from(buffer)).copied().unwrap_or(0)
    }
    fn raise(&mut self, buffer: u8, entry: u64) {
        let at = usize::from(buffer);
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] = self.0[at].max(entry);
    }
    fn join(&mut self, other: &Reach) {
        for (buffer, entry) in (0..).zip(&other.0) {
            self.raise(buffer, *entry);
        }
    }
}

/// Entries that are before something, of which each stands for itself alone.
type Entries = Vec<(u8, u64)>;

/// What the hardware knows.
#[derive(Default)]
struct Named {
    /// What the newest entry of each buffer is behind, by name.
    newest: Vec<Reach>,
    /// The same of every entry that has not left.
    entries: FxHashMap<(u8, u64), Reach>,
    left: Reach,
    /// The line that went into a buffer last.
    newest_line: Option<Taken>,
}

/// The entry that took a line last.
#[derive(Copy, Clone)]
struct Taken {
    /// Position in the trace.
    at: u32,
    entry: (u8, u64),
    line: LineAddr,
    /// The event of the newest store that it is known to have taken.
    store: Option<usize>,
}

/// What the program orders.
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

/// Judges every entry of every buffer.
pub(crate) fn judge(run: &Run<'_>) -> Result<(), Breach> {
    let uses = |e: &LedgerEvent| matches!(e.kind, LedgerKind::Buffered { .. });
    if !run.hardware.buffers_name_entries || !run.trace.ledger.iter().any(uses) {
        return Ok(());
    }
    let (mut named, mut order) = (Named::default(), Order::default());
    let mut ledger = run.trace.ledger.iter().peekable();
    for (i, event) in run.trace.events.iter().enumerate() {
        while let Some(entry) = ledger.next_if(|e| e.at as usize <= i) {
            named.entry(entry);
        }
        let Some(thread) = event.thread else { continue };
        match event.kind {
            TraceKind::Load { from, .. } => order.read(run, &named, i, thread, from),
            TraceKind::Fence(kind) => order.fence(thread, kind),
            _ => {}
        }
        let store = match event.kind {
            TraceKind::Rmw { from, store, .. } => {
                order.read(run, &named, i, thread, from);
                store
            }
            TraceKind::Store(id) => Some(id),
            _ => None,
        };
        let Some(id) = store else { continue };
        let line = run.trace.store(id).addr.line();
        let remote = thread.index() >= run.hardware.threads as usize;
        let entry = match line.is_persistent() {
            true => named.of_store(&mut ledger, line, i, remote),
            false => None,
        };
        let before = order.before(run, i, thread);
        if let Some(entry) = entry {
            named.judge(i, entry, &before)?;
        }
        order.store(&named, thread, id, (before, entry));
    }
    Ok(())
}

type Account<'a> = Peekable<Iter<'a, LedgerEvent>>;

/// The line that goes into a buffer next, if that is no later than at `at`.
fn next_line(account: &Account<'_>, at: usize) -> Option<LineAddr> {
    let mut soon = account.clone().take_while(|e| e.at as usize <= at);
    soon.find_map(|e| match e.kind {
        LedgerKind::Buffered { line, .. } => line,
        _ => None,
    })
}

impl Named {
    fn entry(&mut self, entry: &LedgerEvent) {
        match entry.kind {
            LedgerKind::Buffered { buffer, entry: n, line } => {
                let at = usize::from(buffer);
                if self.newest.len() <= at {
                    self.newest.resize_with(at + 1, Reach::default);
                }
                self.newest[at].raise(buffer, n);
                self.entries.insert((buffer, n), self.newest[at].clone());
                if let Some(line) = line {
                    self.newest_line = Some(Taken {
                        at: entry.at,
                        entry: (buffer, n),
                        line,
                        store: None,
                    });
                }
            }
            LedgerKind::WaitsFor { buffer, other, entry } => {
                let behind = self.entries.get(&(other, entry)).cloned().unwrap_or_default();
                let Some(newest) = self.newest.get_mut(usize::from(buffer)) else {
                    return;
                };
                newest.raise(other, entry);
                newest.join(&behind);
                let (n, reach) = (newest.of(buffer), newest.clone());
                self.entries.insert((buffer, n), reach);
            }
            LedgerKind::Left { buffer, entry } => {
                self.left.raise(buffer, entry);
                self.entries.remove(&(buffer, entry));
            }
            _ => {}
        }
    }
    /// The entry that took the store at `event`: noted when it performs, just before it is recorded or just after.
    fn of_store(&mut self, account: &mut Account<'_>, line: LineAddr, event: usize, remote: bool) -> Option<(u8, u64)> {
        let before = self.take(line, event, event);
        if remote {
            return before.or_else(|| self.block(line, event));
        }
        if before.is_some() || next_line(account, event + 1) != Some(line) {
            return before;
        }
        let is_line = |e: &LedgerEvent| matches!(e.kind, LedgerKind::Buffered { line: Some(_), .. });
        for e in account.by_ref() {
            self.entry(e);
            if is_line(e) {
                break;
            }
        }
        while let Some(e) = account.next_if(|e| matches!(e.kind, LedgerKind::WaitsFor { .. })) {
            self.entry(e);
        }
        self.take(line, event + 1, event)
    }
    /// The entry of the store at `event`, if the newest line is its own and was noted at `at`.
    fn take(&mut self, line: LineAddr, at: usize, event: usize) -> Option<(u8, u64)> {
        let newest = self.newest_line.as_mut()?;
        let own = newest.line == line && newest.at as usize == at && newest.store.is_none();
        own.then(|| {
            newest.store = Some(event);
            newest.entry
        })
    }
    /// The entry of the store at `event`, if it belongs to the same block from a network as the store before it.
    fn block(&mut self, line: LineAddr, event: usize) -> Option<(u8, u64)> {
        let newest = self.newest_line.as_mut()?;
        let same = newest.line == line && newest.store.is_some_and(|before| before + 1 == event);
        same.then(|| {
            newest.store = Some(event);
            newest.entry
        })
    }
    fn has_left(&self, (buffer, entry): (u8, u64)) -> bool {
        self.left.of(buffer) >= entry
    }
    /// Everything before an entry that was just taken has left, or is named.
    fn judge(&self, event: usize, (buffer, entry): (u8, u64), before: &Entries) -> Result<(), Breach> {
        let reach = self.newest.get(usize::from(buffer)).cloned().unwrap_or_default();
        let lost = before.iter().find(|b| !self.has_left(**b) && reach.of(b.0) < b.1);
        must(
            lost.is_none(),
            "what is before an entry has left or is named",
            Some(event),
            || {
                let (other, missed) = lost.copied().unwrap_or_default();
                format!(
                    "entry {entry} of buffer {buffer} waits for no name that entry {missed} of buffer {other} is before"
                )
            },
        )
    }
}

/// The order of the program's stores.
#[derive(Default)]
struct Order {
    threads: Vec<Thread>,
    /// What is before each store by fences and dependences, while some of it has not left; and its own entry.
    stores: FxHashMap<StoreId, (Entries, Option<(u8, u64)>)>,
}

impl Order {
    fn thread(&mut self, thread: HwThread) -> &mut Thread {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Thread::default);
        }
        &mut self.threads[thread.index()]
    }
    /// A read hands on what is before the store that it reads: to everything behind the next fence, and to what depends on it.
    fn read(&mut self, run: &Run<'_>, named: &Named, event: usize, thread: HwThread, from: Option<StoreId>) {
        let mut handed_on = self.needed(run, event, thread);
        let external = from.filter(|s| run.trace.store(*s).thread != thread);
        if let Some((before, own)) = external.and_then(|s| self.stores.get(&s)).cloned() {
            handed_on.extend(&before);
            let observed = &mut self.thread(thread).observed;
            observed.extend(before.into_iter().chain(own));
            if observed.len() > MANY {
                observed.retain(|e| !named.has_left(*e));
                observed.sort_unstable();
                observed.dedup();
            }
        }
        handed_on.retain(|e| !named.has_left(*e));
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
    fn before(&mut self, run: &Run<'_>, event: usize, thread: HwThread) -> Entries {
        let mut before = self.needed(run, event, thread);
        let t = self.thread(thread);
        before.extend(t.reads.get(&(event as u32)).into_iter().flatten());
        before.extend(&t.closed);
        before
    }
    /// A full fence: own stores and what was read are before what follows; a store fence: own stores.
    fn fence(&mut self, thread: HwThread, kind: Fence) {
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
    fn store(&mut self, named: &Named, thread: HwThread, id: StoreId, (before, entry): (Entries, Option<(u8, u64)>)) {
        let t = self.thread(thread);
        for all in [&mut t.closed, &mut t.stores, &mut t.observed] {
            all.retain(|e| !named.has_left(*e));
        }
        t.stores.extend(entry);
        let mut before = before;
        before.retain(|e| !named.has_left(*e));
        if !before.is_empty() || entry.is_some() {
            self.stores.insert(id, (before, entry));
        }
    }
}
