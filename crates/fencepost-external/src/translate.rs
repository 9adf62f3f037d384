//! A recorded program in the instructions of another design.
//!
//! Each thread's flushes, fences, acknowledgements, commits and transactions become those of the design's dialect; stores and loads
//! stay as they are, in the order in which they were recorded. What a design's contract makes of that is the verdict on it.

use crate::marks::Marks;
use fencepost_contract::recorded::RecordedLog;
use fencepost_kernel::{
    Addr, Dialect, Fence, Flush, Honours, HwThread, LineAddr, Logging, QueueId, TraceEvent, TraceKind, TxId,
};
use std::collections::BTreeSet;

/// The log in the instructions of a dialect. Its stores keep their numbers; what had become durable on the recorded machine is
/// left out. Where a design does not honour non-temporal stores they are stores.
pub(crate) fn translate(log: &RecordedLog, dialect: Dialect, honours: Honours) -> RecordedLog {
    let marks = Marks::of(log);
    let mut new = log.clone();
    new.trace.stores.iter_mut().for_each(|s| s.nt &= honours.nt_stores);
    new.trace.events.clear();
    new.trace.dependences.clear();
    new.event_lines.clear();
    new.records.clear();
    new.named.clear();
    let mut translation = Translation {
        dialect,
        marks,
        open: vec![None; log.trace.threads as usize],
        next: 0,
        dirty: BTreeSet::new(),
        unfenced: vec![false; log.trace.threads as usize],
        on_its_way: vec![false; log.trace.threads as usize],
        handed_on: handed_on(log),
        stored_by: log.trace.stores.iter().map(|s| s.thread.index()).collect(),
    };
    let (mut places, mut kinds) = (vec![0u32; log.trace.events.len()], Vec::new());
    let mut dependences = log.trace.dependences.iter().peekable();
    for (i, event) in log.trace.events.iter().enumerate() {
        translation.event(event, &mut kinds);
        if let (Some(thread), Some(store)) = (event.thread, stored(event.kind)) {
            let (at, nt) = (new.trace.stores[store].addr, new.trace.stores[store].nt);
            translation.dirty.insert(at.line());
            translation.unfenced[thread.index()] |= at.is_persistent();
            translation.on_its_way[thread.index()] |= at.is_persistent() && nt;
            new.trace.stores[store].tx = translation.open[thread.index()];
        }
        // An access stays one event, so that what depends on it finds it; fences may come before it.
        let access = kinds.iter().position(|k| *k == event.kind).unwrap_or(0);
        places[i] = new.trace.next_event() + access as u32;
        for (n, kind) in kinds.drain(..).enumerate() {
            new.trace.events.push(TraceEvent { kind, ..*event });
            new.event_lines.push(log.event_lines[i]);
            while let Some(d) = dependences.next_if(|d| n == access && d.event as usize == i) {
                new.trace.depends_on(places[d.on as usize]);
            }
        }
        while dependences.next_if(|d| d.event as usize <= i).is_some() {}
    }
    translation.ends(&mut new);
    for work in &mut new.work {
        work.event = places.get(work.event).map_or(new.trace.events.len(), |p| *p as usize);
    }
    new
}
/// Whether `clflush` stays what it is: where a flush and an `sfence` make durable, it does so alone. Elsewhere it becomes the design's flush and
/// the fences that order.
pub(crate) fn has_clflush(dialect: Dialect) -> bool {
    dialect.flush.is_some() && dialect.order == [Fence::Sfence]
}
fn stored(kind: TraceKind) -> Option<usize> {
    match kind {
        TraceKind::Store(s) | TraceKind::Rmw { store: Some(s), .. } => Some(s.index()),
        _ => None,
    }
}

/// Of each store, whether it is to volatile memory and another thread reads it.
fn handed_on(log: &RecordedLog) -> Vec<bool> {
    let mut handed_on = vec![false; log.trace.stores.len()];
    for event in &log.trace.events {
        if let TraceKind::Load { from: Some(s), .. } | TraceKind::Rmw { from: Some(s), .. } = event.kind {
            let store = log.trace.store(s);
            handed_on[s.index()] |= event.thread != Some(store.thread) && !store.addr.is_persistent();
        }
    }
    handed_on
}

struct Translation {
    dialect: Dialect,
    marks: Marks,
    /// The transaction that each thread is in.
    open: Vec<Option<TxId>>,
    next: u32,
    /// Lines stored to since they were synced.
    dirty: BTreeSet<LineAddr>,
    /// Of each thread, whether it has stored to persistent memory or flushed since its newest fence.
    unfenced: Vec<bool>,
    /// Of each thread, whether it has flushed or stored past the caches since then.
    on_its_way: Vec<bool>,
    /// Of each store, whether it is to volatile memory and another thread reads it.
    handed_on: Vec<bool>,
    /// Of each store, its thread.
    stored_by: Vec<usize>,
}

impl Translation {
    fn event(&mut self, event: &TraceEvent, to: &mut Vec<TraceKind>) {
        let Some(thread) = event.thread.map(HwThread::index) else {
            return;
        };
        let hardware = self.dialect.logging == Logging::Hardware;
        match event.kind {
            // Ordered by itself: what it covers is durable before anything that follows.
            TraceKind::Flush {
                kind: Flush::Clflush,
                line,
            } => {
                if has_clflush(self.dialect) {
                    to.push(event.kind);
                    return;
                }
                (self.unfenced[thread], self.on_its_way[thread]) = (false, false);
                to.extend(self.dialect.flush.map(|kind| TraceKind::Flush { line, kind }));
                self.fences(self.dialect.order, to);
            }
            TraceKind::Flush { line, .. } => {
                (self.unfenced[thread], self.on_its_way[thread]) = (true, true);
                to.extend(self.dialect.flush.map(|kind| TraceKind::Flush { line, kind }));
            }
            // Durability by a command to the controller is the business of the dialect's own fences.
            TraceKind::Fence(fence) if !fence.properties().orders_persists => {}
            TraceKind::Fence(_) => {
                (self.unfenced[thread], self.on_its_way[thread]) = (false, false);
                self.fences(self.dialect.order, to);
            }
            // On x86 an atomic is a fence, for what is on its way to memory, too. Elsewhere it is not, and has those of a lock.
            TraceKind::Rmw { .. } => {
                self.unfenced[thread] = false;
                if std::mem::take(&mut self.on_its_way[thread]) {
                    self.fences(self.dialect.order, to);
                }
                self.hands_on(to);
                to.push(event.kind);
                self.takes_over(to);
            }
            // A flag in volatile memory that another thread reads, and whatever one reads that another has stored: x86 keeps these
            // in order by itself.
            TraceKind::Store(s) if self.handed_on[s.index()] => {
                self.hands_on(to);
                to.push(event.kind);
            }
            TraceKind::Load { from: Some(s), .. } if self.stored_by[s.index()] != thread => {
                to.push(event.kind);
                self.takes_over(to);
            }
            TraceKind::CommitQueue(_) if !self.dialect.ranges => self.fences(self.dialect.order, to),
            TraceKind::Bind { .. } | TraceKind::Release { .. } if !self.dialect.ranges => {}
            TraceKind::TxBegin(id) => {
                self.commits_open(thread, to);
                self.open[thread] = Some(id);
                // Hardware starts a thread again where an operation begins.
                to.extend((!self.marks.operations).then_some(TraceKind::OpBegin(id.0)));
                to.push(event.kind);
            }
            TraceKind::TxCommit(id) | TraceKind::TxAbort(id) => {
                self.open[thread] = None;
                to.push(event.kind);
                to.extend((!self.marks.operations).then_some(TraceKind::OpEnd(id.0)));
            }
            TraceKind::OpBegin(_) if self.marks.operations_are_transactions(self.dialect) => {
                self.commits_open(thread, to);
                let id = TxId(self.next);
                self.next += 1;
                self.open[thread] = Some(id);
                to.extend([event.kind, TraceKind::TxBegin(id)]);
            }
            TraceKind::OpEnd(_) if self.marks.operations_are_transactions(self.dialect) => {
                to.extend(self.open[thread].take().map(TraceKind::TxCommit));
                to.push(event.kind);
            }
            TraceKind::Ack(_) | TraceKind::Sync { .. } => {
                if let TraceKind::Sync { base, len } = event.kind {
                    self.write_back(base, len, to);
                }
                // The fence before an acknowledgement is what makes durable. Without one the program has acknowledged too early, and
                // does so on every design.
                let waits = matches!(event.kind, TraceKind::Sync { .. }) || !self.unfenced[thread];
                if waits {
                    (self.unfenced[thread], self.on_its_way[thread]) = (false, false);
                    self.fences(self.dialect.durable, to);
                }
                if hardware {
                    to.push(TraceKind::TxFlush);
                }
                // Where nothing makes durable the system cannot, either.
                let can = hardware || !self.dialect.durable.is_empty();
                to.extend((can || matches!(event.kind, TraceKind::Ack(_))).then_some(event.kind));
            }
            TraceKind::Accepted { .. } | TraceKind::Durable { .. } => {}
            kind => to.push(kind),
        }
    }
    /// A thread has one transaction at a time: one that does not end ends where the next begins.
    fn commits_open(&mut self, thread: usize, to: &mut Vec<TraceKind>) {
        if let Some(id) = self.open[thread].take() {
            to.push(TraceKind::TxCommit(id));
            to.extend((!self.marks.operations).then_some(TraceKind::OpEnd(id.0)));
        }
    }
    /// A transaction that the log does not end ends with its thread, as the last operation of a recording does: others may wait for it.
    fn ends(&mut self, new: &mut RecordedLog) {
        for thread in 0..self.open.len() {
            let last = |e: &&TraceEvent| e.thread.is_some_and(|t| t.index() == thread);
            let Some(event) = new.trace.events.iter().rfind(last).copied() else {
                continue;
            };
            let mut kinds = Vec::new();
            self.commits_open(thread, &mut kinds);
            for kind in kinds {
                new.trace.events.push(TraceEvent { kind, ..event });
                new.event_lines.extend(new.event_lines.last().copied());
            }
        }
    }
    /// What the system does in a sync: it flushes what any thread stored to the range.
    fn write_back(&mut self, base: Addr, len: u64, to: &mut Vec<TraceKind>) {
        if len == 0 {
            return;
        }
        let (first, last) = (base.line(), Addr(base.0.saturating_add(len - 1)).line());
        let lines: Vec<LineAddr> = self.dirty.range(first..=last).copied().collect();
        for line in lines {
            self.dirty.remove(&line);
            to.extend(self.dialect.flush.map(|kind| TraceKind::Flush { line, kind }));
        }
    }
    /// What a thread has done is before what others do that see the next store.
    fn hands_on(&self, to: &mut Vec<TraceKind>) {
        to.extend(self.dialect.unlock_release.iter().map(|f| TraceKind::Fence(*f)));
    }
    /// What a thread does from here on is after what it has seen.
    fn takes_over(&self, to: &mut Vec<TraceKind>) {
        to.extend(self.dialect.lock_acquire.iter().map(|f| TraceKind::Fence(*f)));
    }
    fn fences(&self, fences: &[Fence], to: &mut Vec<TraceKind>) {
        to.extend(fences.iter().map(|f| TraceKind::Fence(*f)));
        if self.marks.commits_at_fences(self.dialect) {
            to.push(TraceKind::CommitQueue(QueueId::DEFAULT));
        }
    }
}

#[cfg(test)]
mod tests;
