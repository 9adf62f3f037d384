//! A recorded program in the instructions of another design.
//!
//! Each thread's flushes, fences, acknowledgements, commits and transactions become those of the design's dialect; stores and loads
//! stay as they are, in the order in which they were recorded. What a design's contract makes of that is the verdict on it.

use fencepost_contract::recorded::RecordedLog;
use fencepost_kernel::{Addr, Dialect, Fence, HwThread, LineAddr, Logging, QueueId, TraceEvent, TraceKind, TxId};
use fencepost_run::BadInput;
use std::collections::BTreeSet;

/// What a log says of itself, as far as it matters to a translation.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Operations begin and end.
    pub(crate) operations: bool,
    /// Something is acknowledged as durable, or made so by the system.
    pub(crate) acknowledges: bool,
    /// Hardware transactions.
    pub(crate) transactions: bool,
    /// Ranges are bound, or queues committed.
    pub(crate) queues: bool,
}

impl Marks {
    pub(crate) fn of(log: &RecordedLog) -> Marks {
        let mut marks = Marks::default();
        for event in &log.trace.events {
            match event.kind {
                TraceKind::OpBegin(_) => marks.operations = true,
                TraceKind::Ack(_) | TraceKind::Sync { .. } => marks.acknowledges = true,
                TraceKind::TxBegin(_) => marks.transactions = true,
                TraceKind::Bind { .. } | TraceKind::CommitQueue(_) => marks.queues = true,
                _ => {}
            }
        }
        marks
    }
    /// What begins and ends a hardware transaction: the log's own, else its operations.
    pub(crate) fn operations_are_transactions(self, dialect: Dialect) -> bool {
        dialect.logging == Logging::Hardware && !self.transactions
    }
    /// Whether every fence commits the default queue, as the log itself knows of no queues.
    pub(crate) fn commits_at_fences(self, dialect: Dialect) -> bool {
        dialect.ranges && !self.queues
    }
}

/// What a translation to this dialect cannot keep of what the program relies on.
///
/// # Errors
/// It would be another program.
pub(crate) fn warnings(log: &RecordedLog, dialect: Dialect, design: &str) -> Result<Vec<String>, BadInput> {
    let marks = Marks::of(log);
    let mut warnings = Vec::new();
    if marks.transactions && dialect.logging != Logging::Hardware {
        let found = format!("the log's transactions are atomic, and `{design}` has none: software there keeps a log");
        let hint =
            "record the program with a log of its own, or choose a design with transactions: `fencepost list designs`";
        return Err(BadInput::new(found).hint(hint));
    }
    if dialect.logging == Logging::Hardware && !marks.transactions {
        if !marks.operations {
            let found = format!("`{design}` keeps transactions, and the log marks neither transactions nor operations");
            return Err(BadInput::new(found).hint("mark them with `begin N` and `end N`; each becomes a transaction"));
        }
        let outside = outside(log);
        if outside > 0 {
            warnings.push(format!(
                "{outside} stores lie outside operations: `{design}` keeps no order among them, whatever is flushed and fenced"
            ));
        }
    }
    let waits = dialect.order_is_durable || dialect.order == dialect.durable;
    if !waits && dialect.logging != Logging::Hardware && !marks.acknowledges {
        warnings.push(format!(
            "a fence orders on `{design}`, and waits for nothing: what the program takes for durable after it is not promised, \
             as the log acknowledges nothing (`ack N`)"
        ));
    }
    if marks.commits_at_fences(dialect) {
        warnings.push(format!(
            "the log binds and commits no queues: on `{design}` each fence commits the default queue"
        ));
    }
    Ok(warnings)
}
/// Stores to persistent memory outside of operations.
fn outside(log: &RecordedLog) -> usize {
    let mut inside = vec![false; log.trace.threads as usize];
    let mut count = 0;
    for event in &log.trace.events {
        let Some(thread) = event.thread.map(HwThread::index) else {
            continue;
        };
        match event.kind {
            TraceKind::OpBegin(_) => inside[thread] = true,
            TraceKind::OpEnd(_) => inside[thread] = false,
            TraceKind::Store(s) | TraceKind::Rmw { store: Some(s), .. } => {
                count += usize::from(!inside[thread] && log.trace.store(s).addr.is_persistent());
            }
            _ => {}
        }
    }
    count
}

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
    };
    let (mut places, mut kinds) = (vec![0u32; log.trace.events.len()], Vec::new());
    let mut dependences = log.trace.dependences.iter().peekable();
    for (i, event) in log.trace.events.iter().enumerate() {
        translation.event(event, &mut kinds);
        if let (Some(thread), Some(store)) = (event.thread, stored(event.kind)) {
            let at = log.trace.stores[store].addr;
            translation.dirty.insert(at.line());
            // An atomic is a fence for what came before it, and stores after that.
            translation.unfenced[thread.index()] |= at.is_persistent();
            new.trace.stores[store].tx = translation.open[thread.index()];
        }
        places[i] = new.trace.next_event();
        for kind in kinds.drain(..) {
            new.trace.events.push(TraceEvent { kind, ..*event });
            new.event_lines.push(log.event_lines[i]);
            // Accesses stay one event, so that what depends on them finds them.
            while let Some(d) = dependences.next_if(|d| d.event as usize == i) {
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
}

impl Translation {
    fn event(&mut self, event: &TraceEvent, to: &mut Vec<TraceKind>) {
        let Some(thread) = event.thread.map(HwThread::index) else {
            return;
        };
        let hardware = self.dialect.logging == Logging::Hardware;
        match event.kind {
            TraceKind::Flush { line, .. } => {
                self.unfenced[thread] = true;
                to.extend(self.dialect.flush.map(|kind| TraceKind::Flush { line, kind }));
            }
            // Durability by a command to the controller is the business of the dialect's own fences.
            TraceKind::Fence(fence) if !fence.properties().orders_persists => {}
            TraceKind::Fence(_) => {
                self.unfenced[thread] = false;
                self.fences(self.dialect.order, to);
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
                    self.unfenced[thread] = false;
                    self.fences(self.dialect.durable, to);
                }
                if hardware {
                    to.push(TraceKind::TxFlush);
                }
                to.push(event.kind);
            }
            TraceKind::Accepted { .. } | TraceKind::Durable { .. } => {}
            kind => to.push(kind),
        }
    }
    /// What the system does in a sync: it flushes what anybody stored to the range.
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
        let own = LOG.replace("0 end 0\n", "0 commit-queue 3\n0 end 0\n");
        assert_eq!(
            words(&own, ranges).matches("commit-queue").count(),
            1,
            "the log's own commits and no others"
        );
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
    fn a_sync_flushes_what_anybody_stored_there() {
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
