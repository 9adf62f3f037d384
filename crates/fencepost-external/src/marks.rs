//! What a log says of itself, and what a translation to a design cannot keep of it.

use fencepost_contract::recorded::RecordedLog;
use fencepost_kernel::{Dialect, HwThread, Logging, TraceKind};
use fencepost_run::BadInput;

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
