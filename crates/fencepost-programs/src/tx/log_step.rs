//! The states between two steps of log recovery, and access to the words of a log.

use fencepost_kernel::{Addr, At, Mem, Val, Violation};

/// Where log recovery stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum LogStep {
    /// About to look at the log of this thread.
    Thread(u32),
    /// Undo array: whole records of transaction `seq` end at `end`; the newest has `previous` units.
    Scan {
        /// The log's owner.
        thread: u32,
        /// The unfinished transaction.
        seq: u32,
        /// Offset of the next record to examine.
        end: u64,
        /// Units of the record before `end`.
        previous: u64,
    },
    /// Undo array: restore the record of `units` units that ends at `end`, then the ones before it.
    Restore {
        /// The log's owner.
        thread: u32,
        /// The unfinished transaction.
        seq: u32,
        /// Offset of the end of the record.
        end: u64,
        /// Its length in units.
        units: u64,
    },
    /// Undo list: restore this node, then the ones it points to.
    Node {
        /// The log's owner.
        thread: u32,
        /// Address of the node.
        node: u64,
    },
    /// Redo: replay entry `index` of `count`.
    Replay {
        /// The log's owner.
        thread: u32,
        /// The committed transaction.
        seq: u32,
        /// Next entry.
        index: u64,
        /// Entries of the transaction.
        count: u64,
    },
    /// Backups made by hand: restore the one at offset `at`, then the `left - 1` behind it.
    Backup {
        /// The area's owner.
        thread: u32,
        /// Offset of the next backup.
        at: u64,
        /// Backups to restore.
        left: u64,
    },
}

/// What a step of log recovery leads to.
#[derive(Clone, Debug)]
pub enum LogFlow {
    /// Another step.
    Next(LogStep),
    /// Every log is recovered.
    Finished,
    /// The log contradicts itself.
    Broken(Violation),
}

/// Loads a word of a log.
pub(super) fn word<M: Mem>(m: &mut M, log: Addr, offset: u64) -> u64 {
    m.load(At::new(Addr(log.0 + offset))).v
}
pub(super) fn mark<M: Mem>(m: &mut M, log: Addr, offset: u64, v: u64) {
    m.store(At::new(Addr(log.0 + offset)), Val::lit(v));
}

/// The parts of `impl Program` that are the same wherever recovery is that of the logs alone: for programs with a runtime `rt` that name
/// no regions.
macro_rules! recovered_by_logs {
    () => {
        type Rebuild = $crate::tx::LogStep;

        fn ranges(&self, thread: u32) -> Vec<fencepost_kernel::Span> {
            self.rt.ranges(thread, self.resident())
        }
        fn rebuild_start(&self) -> $crate::tx::LogStep {
            self.rt.recover_start()
        }
        fn rebuild<M: fencepost_kernel::Mem<Dep = ()>>(
            &self,
            m: &mut M,
            state: $crate::tx::LogStep,
        ) -> fencepost_kernel::Flow<$crate::tx::LogStep> {
            self.rt.rebuild_without_regions(m, state)
        }
    };
}
pub(crate) use recovered_by_logs;
