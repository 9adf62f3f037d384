//! A recorded program in the instructions of another design.
//!
//! Each thread's flushes, fences, acknowledgements, commits and transactions become those of the design's dialect; stores and loads
//! stay as they are, in the order in which they were recorded. What a design's contract makes of that is the verdict on it.

use crate::marks::Marks;
use fencepost_contract::recorded::RecordedLog;
use fencepost_kernel::{Addr, Dialect, Fence, HwThread, LineAddr, Logging, QueueId, TraceEvent, TraceKind, TxId};
use std::collections::BTreeSet;

/// The log in the instructions of a dialect. Its stores keep their numbers; what had become durable on the recorded machine is
/// left out.
pub(crate) fn translate(log: &RecordedLog, dialect: Dialect) -> RecordedLog {
    let marks = Marks::of(log);
    let mut new = log.clone();
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
            let (at, nt) = (log.trace.stores[store].addr, log.trace.stores[store].nt);
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
    for work in &mut new.work {
        work.event = places.get(work.event).map_or(new.trace.events.len(), |p| *p as usize);
    }
    new
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
mod tests {
    use super::*;
    use crate::marks::warnings;
    use fencepost_contract::recorded::parse;
    use fencepost_kernel::Flush;

    fn dialect() -> Dialect {
        Dialect {
            name: "test",
            logging: Logging::Software,
            order: &[Fence::Dmb],
            log_to_data: &[Fence::Dmb],
            durable: &[Fence::Dsb],
            ..Dialect::PLAIN
        }
    }
    const LOG: &str = "fencepost-log 1
0 begin 0
0 store pm+0 1
0 clwb pm+0
0 sfence
0 end 0
0 ack 0
durable pm+0 : 0=1
";
    fn words(text: &str, dialect: Dialect) -> String {
        let text = translate(&parse(text).unwrap(), dialect).to_text();
        text.lines()
            .skip(1)
            .map(|l| l.trim_start_matches("0 "))
            .collect::<Vec<_>>()
            .join("; ")
    }
    /// What an access depends on stays with the access, whatever fences come before or behind it.
    #[test]
    fn dependences_stay_with_their_accesses() {
        let log = "fencepost-log 1
0 store pm+0 1
0 clwb pm+0
0 sfence
0 load pm+0
0 load pm+8 needs 1
0 store pm+64 1 needs 2
0 clwb pm+64
0 rmw 0x1000 1 needs 1 needs 2
0 store pm+128 1 needs 3
";
        for dialect in [
            dialect(),
            Dialect {
                unlock_release: &[Fence::Dmb, Fence::Dmb],
                lock_acquire: &[Fence::Dmb],
                ..dialect()
            },
        ] {
            let text = words(log, dialect);
            let needing: Vec<&str> = text.split("; ").filter(|w| w.contains("needs")).collect();
            assert_eq!(
                needing,
                [
                    "load pm+0x8 from initial needs 1",
                    "store pm+0x40 0x1 needs 2",
                    "rmw 0x1000 0x1 needs 1 needs 2",
                    "store pm+0x80 0x1 needs 3"
                ],
                "{text}"
            );
        }
    }
    #[test]
    fn flushes_fences_and_acknowledgements_are_the_designs() {
        assert_eq!(
            words(LOG, dialect()),
            "begin 0; store pm+0x0 0x1; dmb; end 0; dsb; ack 0"
        );
        let x86 = Dialect {
            flush: Some(Flush::Clflush),
            order: &[Fence::Mfence],
            durable: &[Fence::Mfence],
            order_is_durable: true,
            ..dialect()
        };
        let wanted = "begin 0; store pm+0x0 0x1; clflush pm+0x0; mfence; end 0; mfence; ack 0";
        assert_eq!(words(LOG, x86), wanted);
        let ranges = Dialect { ranges: true, ..x86 };
        assert_eq!(words(LOG, ranges).matches("mfence; commit-queue 0").count(), 2);
        let early = LOG.replace("0 sfence\n", "");
        assert_eq!(
            words(&early, x86),
            wanted.replace("mfence; ", ""),
            "a fence that is missing stays missing"
        );
        let bare = early.replace("0 clwb pm+0\n", "");
        assert_eq!(
            words(&bare, dialect()),
            "begin 0; store pm+0x0 0x1; end 0; ack 0",
            "so does one of a store that was not even flushed"
        );
        let own = LOG.replace("0 end 0\n", "0 commit-queue 3\n0 end 0\n");
        assert_eq!(
            words(&own, ranges).matches("commit-queue").count(),
            1,
            "the log's own commits and no others"
        );
    }
    /// Where threads meet x86 needs no fence, and a design of another memory model those of its locks.
    #[test]
    fn what_one_thread_hands_to_another_stays_in_order() {
        let locks = Dialect {
            lock_acquire: &[Fence::Dmb],
            unlock_release: &[Fence::Dmb],
            order: &[Fence::Dsb],
            ..dialect()
        };
        let text = "fencepost-log 1\n0 store pm+0 1\n0 rmw 0x40 1\n1 rmw 0x40 2\n1 store pm+64 1\n";
        let wanted = "store pm+0x0 0x1; dmb; rmw 0x40 0x1; dmb; 1 dmb; 1 rmw 0x40 0x2; 1 dmb; 1 store pm+0x40 0x1";
        assert_eq!(words(text, locks), wanted);
        assert_eq!(words(text, dialect()).matches("dmb").count(), 0);
        // A flag by plain accesses; what only its own thread reads is none.
        let text = "fencepost-log 1\n0 store 0x80 1\n0 store 0x40 1\n0 load 0x80\n1 load 0x40\n1 store pm+64 1\n";
        let wanted =
            "store 0x80 0x1; dmb; store 0x40 0x1; load 0x80 from 1; 1 load 0x40 from 2; 1 dmb; 1 store pm+0x40 0x1";
        assert_eq!(words(text, locks), wanted);
    }
    #[test]
    fn a_sync_makes_nothing_durable_where_nothing_can() {
        let text = "fencepost-log 1\n0 store pm+0 1\n0 sync pm+0 64\n0 ack 0\n";
        assert_eq!(words(text, Dialect::PLAIN), "store pm+0x0 0x1; ack 0");
        assert!(words(text, dialect()).contains("sync"));
    }
    /// `lock` orders flushes and stores past the caches on x86, and is no fence for persists elsewhere.
    #[test]
    fn an_atomic_that_is_a_fence_brings_the_designs_own() {
        let log = |before: &str| format!("fencepost-log 1\n0 {before}\n0 rmw 0x40 1\n0 rmw 0x40 2\n0 store pm+64 1\n");
        let wanted = "dmb; rmw 0x40 0x1; rmw 0x40 0x2; store pm+0x40 0x1";
        assert_eq!(words(&log("clwb pm+0"), dialect()), wanted);
        assert_eq!(words(&log("nt pm+0 1"), dialect()), format!("nt pm+0x0 0x1; {wanted}"));
        let plain = words(&log("store pm+0 1"), dialect());
        assert_eq!(plain.matches("dmb").count(), 0, "{plain}");
    }
    #[test]
    fn operations_become_transactions_and_are_told_where_they_cannot() {
        let hardware = Dialect {
            logging: Logging::Hardware,
            order: &[],
            durable: &[],
            ..dialect()
        };
        let wanted = "begin 0; tx-begin 0; store pm+0x0 0x1; tx-commit 0; end 0; tx-flush; ack 0";
        assert_eq!(words(LOG, hardware), wanted);
        let log = |text: &str| parse(text).unwrap();
        assert!(warnings(&log(LOG), hardware, "d").unwrap().is_empty());
        assert!(warnings(&log("fencepost-log 1\n0 store pm+0 1\n"), hardware, "d").is_err());
        let outside = LOG.replace("0 begin 0\n", "0 store pm+64 1\n0 begin 0\n");
        assert!(warnings(&log(&outside), hardware, "d").unwrap()[0].starts_with("1 stores"));
        let transactions = "fencepost-log 1\n0 tx-begin 0\n0 store pm+0 1\n0 tx-commit 0\n";
        assert!(warnings(&log(transactions), dialect(), "d").is_err());
        assert_eq!(
            words(transactions, hardware),
            "begin 0; tx-begin 0; store pm+0x0 0x1; tx-commit 0; end 0"
        );
    }
    #[test]
    fn a_sync_flushes_what_any_thread_stored_there() {
        let text = "fencepost-log 1\n1 store pm+0 1\n0 store pm+8192 1\n0 sync pm+0 4096\n0 sync pm+0 4096\n";
        let x86 = Dialect {
            flush: Some(Flush::Clwb),
            ..dialect()
        };
        let wanted =
            "1 store pm+0x0 0x1; store pm+0x2000 0x1; clwb pm+0x0; dsb; sync pm+0x0 4096; dsb; sync pm+0x0 4096";
        assert_eq!(words(text, x86), wanted);
    }
    #[test]
    fn a_fence_that_only_orders_is_told_where_nothing_is_acknowledged() {
        let bare = LOG.replace("0 ack 0\n", "");
        assert_eq!(warnings(&parse(&bare).unwrap(), dialect(), "d").unwrap().len(), 1);
        assert!(warnings(&parse(LOG).unwrap(), dialect(), "d").unwrap().is_empty());
    }
}
