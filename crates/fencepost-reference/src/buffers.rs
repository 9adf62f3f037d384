//! Persist buffers whose entries wait for one another by name: whatever the program orders, the names must order, in any number of hops.
//!
//! A store that becomes durable in time by luck needs no dependence, and no persist log tells that one was missing. So the names
//! themselves are judged: when a line enters a buffer, everything that is before it by fences and reads (relaxed consistency, buffered strict
//! persistency) must have left its own buffer, or be named by the entry, by one before it in its buffer, or by what those wait for.

use crate::order::{Entries, Entry, Gone, Order};
use crate::run::{Breach, Run, must};
use crate::turns::Turns;
use fencepost_kernel::ledger::{LedgerEvent, LedgerKind};
use fencepost_kernel::{LineAddr, TraceKind};
use rustc_hash::FxHashMap;
use std::iter::Peekable;
use std::slice::Iter;

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

/// What the hardware knows.
#[derive(Default)]
struct Named {
    /// What the newest entry of each buffer is behind, by name.
    newest: Vec<Reach>,
    /// The same of every entry that has not left.
    entries: FxHashMap<Entry, Reach>,
    left: Reach,
    /// The line that went into a buffer last.
    newest_line: Option<Taken>,
    /// What has left, on its way to the medium.
    turns: Turns,
}

/// The entry that took a line last.
#[derive(Copy, Clone)]
struct Taken {
    /// Position in the trace.
    at: u32,
    entry: Entry,
    line: LineAddr,
    /// The event of the newest store that it is known to have taken.
    store: Option<usize>,
}

/// Judges every entry of every buffer.
pub(crate) fn judge(run: &Run<'_>) -> Result<(), Breach> {
    let uses = |e: &LedgerEvent| matches!(e.kind, LedgerKind::Buffered { .. });
    if !run.hardware.buffers_name_entries || !run.trace.ledger.iter().any(uses) {
        return Ok(());
    }
    let (mut named, mut orders) = (Named::default(), [Order::default(), Order::default()]);
    let mut ledger = run.trace.ledger.iter().peekable();
    for (i, event) in run.trace.events.iter().enumerate() {
        while let Some(entry) = ledger.next_if(|e| e.at as usize <= i) {
            named.entry(entry);
        }
        let Some(thread) = event.thread else { continue };
        match event.kind {
            TraceKind::Load { from, .. } => named.both(&mut orders, |o, gone| o.read(run, gone, i, thread, from)),
            TraceKind::Fence(kind) => orders.iter_mut().for_each(|o| o.fence(thread, kind)),
            _ => {}
        }
        let store = match event.kind {
            TraceKind::Rmw { from, store, .. } => {
                named.both(&mut orders, |o, gone| o.read(run, gone, i, thread, from));
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
        let [unsent, undone] = orders.each_mut().map(|o| o.before(run, i, thread));
        if let Some(entry) = entry {
            named.judge(i, entry, &unsent)?;
            named.turns.waits(entry, &undone);
        }
        let mut before = [unsent, undone].into_iter();
        named.both(&mut orders, |o, gone| {
            o.store(gone, thread, id, (before.next().unwrap_or_default(), entry));
        });
    }
    ledger.for_each(|entry| named.entry(entry));
    named.turns.judged()
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
        self.turns.entry(entry);
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
    fn of_store(&mut self, account: &mut Account<'_>, line: LineAddr, event: usize, remote: bool) -> Option<Entry> {
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
    fn take(&mut self, line: LineAddr, at: usize, event: usize) -> Option<Entry> {
        let newest = self.newest_line.as_mut()?;
        let own = newest.line == line && newest.at as usize == at && newest.store.is_none();
        own.then(|| {
            newest.store = Some(event);
            newest.entry
        })
    }
    /// The entry of the store at `event`, if it belongs to the same block from a network as the store before it.
    fn block(&mut self, line: LineAddr, event: usize) -> Option<Entry> {
        let newest = self.newest_line.as_mut()?;
        let same = newest.line == line && newest.store.is_some_and(|before| before + 1 == event);
        same.then(|| {
            newest.store = Some(event);
            newest.entry
        })
    }
    /// The order as far as entries have not left their buffers, and as far as they are not durable.
    fn both(&self, orders: &mut [Order; 2], mut act: impl FnMut(&mut Order, &Gone<'_>)) {
        act(&mut orders[0], &|e| self.has_left(e));
        act(&mut orders[1], &|e| self.turns.is_durable(e));
    }
    fn has_left(&self, (buffer, entry): Entry) -> bool {
        self.left.of(buffer) >= entry
    }
    /// Everything before an entry that was just taken has left, or is named.
    fn judge(&self, event: usize, (buffer, entry): Entry, before: &Entries) -> Result<(), Breach> {
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
