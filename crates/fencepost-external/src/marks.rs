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

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_contract::recorded::parse;
    use fencepost_kernel::Fence;

    fn log(events: &str) -> RecordedLog {
        parse(&format!("fencepost-log 1\n{events}")).expect("a log")
    }
    const SOFTWARE: Dialect = Dialect {
        logging: Logging::Software,
        order: &[Fence::Dmb],
        durable: &[Fence::Dsb],
        ..Dialect::PLAIN
    };
    const HARDWARE: Dialect = Dialect {
        logging: Logging::Hardware,
        ..SOFTWARE
    };
    const STORE: &str = "0 store pm+0 1\n";
    const TRANSACTION: &str = "0 tx-begin 0\n0 store pm+0 1\n0 tx-commit 0\n";
    const OPERATION: &str = "0 begin 0\n0 store pm+0 1\n0 end 0\n";

    #[test]
    fn each_mark_is_known_by_its_events() {
        let marks = |events: &str| Marks::of(&log(events));
        let none = Marks::default();
        assert_eq!(marks(STORE), none);
        let operations = Marks {
            operations: true,
            ..none
        };
        assert_eq!(marks(OPERATION), operations);
        let acknowledges = Marks {
            acknowledges: true,
            ..none
        };
        assert_eq!([marks("0 ack 0\n"), marks("0 sync pm+0 64\n")], [acknowledges; 2]);
        let transactions = Marks {
            transactions: true,
            ..none
        };
        assert_eq!(marks(TRANSACTION), transactions);
        let queues = Marks { queues: true, ..none };
        assert_eq!(
            [marks("0 bind pm+0 64 queue 1\n"), marks("0 commit-queue 0\n")],
            [queues; 2]
        );
    }
    /// What is told of a log, by the first words of each.
    fn told(events: &str, dialect: Dialect) -> Option<Vec<String>> {
        let told = warnings(&log(events), dialect, "d").ok()?;
        let first = |w: &String| w.split(' ').take(3).collect::<Vec<_>>().join(" ");
        Some(told.iter().map(first).collect())
    }
    #[test]
    fn a_fence_that_only_orders_is_told_unless_something_is_acknowledged() {
        let orders = Some(vec!["a fence orders".to_owned()]);
        let none = Some(Vec::new());
        assert_eq!(told(STORE, SOFTWARE), orders);
        assert_eq!(told(&format!("{STORE}0 ack 0\n"), SOFTWARE), none);
        let durable = Dialect {
            order_is_durable: true,
            ..SOFTWARE
        };
        let same = Dialect {
            durable: SOFTWARE.order,
            ..SOFTWARE
        };
        assert_eq!([told(STORE, durable), told(STORE, same)], [none.clone(), none.clone()]);
        // Hardware makes transactions durable in their order.
        assert_eq!(
            [told(OPERATION, HARDWARE), told(TRANSACTION, HARDWARE)],
            [none.clone(), none]
        );
    }
    #[test]
    fn transactions_need_a_design_that_has_them_and_such_a_design_needs_marks() {
        assert_eq!(told(TRANSACTION, SOFTWARE), None);
        assert_eq!(told(STORE, HARDWARE), None);
        let both = format!("{OPERATION}{TRANSACTION}");
        assert_eq!(
            told(&both, HARDWARE),
            Some(Vec::new()),
            "its own transactions may lie anywhere"
        );
    }
    /// Each thread has operations of its own; what is volatile needs no order, and what only reads stores nothing.
    #[test]
    fn stores_outside_operations_are_counted() {
        let events = "0 store pm+0 1\n0 begin 0\n0 store pm+8 1\n1 store pm+16 1\n1 store 0x40 1\n1 rmw pm+24 1\n1 load pm+24\n\
                      0 rmw pm+32 1\n0 end 0\n0 store pm+40 1\n";
        assert_eq!(outside(&log(events)), 4);
        assert_eq!(outside(&log(OPERATION)), 0);
        assert_eq!(told(events, HARDWARE), Some(vec!["4 stores lie".to_owned()]));
    }
    #[test]
    fn a_design_of_ranges_commits_at_fences_where_the_log_knows_no_queues() {
        let ranges = Dialect {
            ranges: true,
            order_is_durable: true,
            ..SOFTWARE
        };
        assert_eq!(told(STORE, ranges), Some(vec!["the log binds".to_owned()]));
        assert_eq!(told("0 commit-queue 0\n", ranges), Some(Vec::new()));
        let none = Dialect {
            ranges: false,
            ..ranges
        };
        assert_eq!(told(STORE, none), Some(Vec::new()));
        assert!(!Marks::of(&log(STORE)).operations_are_transactions(ranges));
    }
}
