//! What a user chooses a run by: logging scheme, coupling of log and data, and the deliberate mistakes.

mod scheme;

pub(crate) use scheme::schemes_for;
pub use scheme::{Coupling, LogForm, Needs, Scheme, SchemeRow};

use fencepost_kernel::param_enum;

param_enum! {
    /// The correct program, or one deliberate mistake. Every variant differs from `correct` in the named way only.
    pub enum Variant {
        /// No mistake.
        Correct = "correct",
        /// The first data line an operation dirties is never flushed.
        MissingFlush = "missing-flush",
        /// The first ordering barrier of a transaction is missing.
        MissingFence = "missing-fence",
        /// The barrier between log records and the data they protect is missing.
        MissingLogFence = "missing-log-fence",
        /// Barriers lack their `pcommit`: flushed lines are accepted by the controller but not durable.
        MissingPcommit = "missing-pcommit",
        /// Barriers lack the commit of bound ranges: flushed lines are accepted by the controller but not durable.
        MissingCommit = "missing-commit",
        /// Bound ranges are committed when a transaction begins instead of after the stores that the commits should cover.
        MisplacedCommit = "misplaced-commit",
        /// The first data line is flushed before it is stored to instead of after.
        MisplacedFlush = "misplaced-flush",
        /// The first ordering barrier stands before the stores it should follow.
        MisplacedFence = "misplaced-fence",
        /// Stores in the wrong program order: commit record or link first, contents last.
        WrongStoreOrder = "wrong-store-order",
        /// One update split into two transactions.
        NonAtomicUpdate = "non-atomic-update",
        /// Recovery ends a redo log before it has replayed it: power that fails again meanwhile leaves half a transaction.
        RecoveryEndsLogFirst = "recovery-ends-log-first",
        /// A mistake in the data structure's own logic, visible without any crash.
        SemanticMistake = "semantic-mistake",
        /// The old tail's next link is stored but its line is never flushed, while the tail pointer is (queue).
        UnflushedLink = "unflushed-link",
        /// The unlinking store is followed by a barrier but its line is never flushed (hash table).
        UnflushedUnlink = "unflushed-unlink",
        /// The token that validates a record is made durable before the record (commit store).
        TokenFirst = "token-first",
        /// Backups made by hand: rows, the flag that validates them and the stores in place share one group of flushes (TPC-C).
        SharedFence = "shared-fence",
        /// Backups made by hand: the flag that validates them is only ever cleared (TPC-C).
        FlagNeverSet = "flag-never-set",
        /// SQLite is told never to sync (`synchronous=OFF`).
        MissingSync = "missing-sync",
        /// A file's new size is durable before the bytes that it covers (file systems).
        SizeFirst = "size-first",
    }
}

impl Variant {
    /// The mistakes the transaction runtime itself can make; they apply to every program that it serves.
    pub const RUNTIME: &'static [Variant] = &[
        Variant::MissingFlush,
        Variant::MissingFence,
        Variant::MissingLogFence,
        Variant::MissingPcommit,
        Variant::MissingCommit,
        Variant::MisplacedCommit,
        Variant::MisplacedFlush,
        Variant::MisplacedFence,
        Variant::WrongStoreOrder,
        Variant::RecoveryEndsLogFirst,
    ];
    /// Whether the mistake can be made under `scheme`: redo and raw have no barrier between log and data, and a token that
    /// is written inside a logged transaction validates nothing until commit. SQLite orders its journals by syncs alone, and
    /// their checksums stand in for some of them: what it can be made to do wrong is to leave them out.
    pub fn applies(self, scheme: Scheme) -> bool {
        use Variant::{Correct, MissingSync, NonAtomicUpdate, SemanticMistake};
        if scheme.of_library() || self == MissingSync {
            let any = matches!(self, Correct | NonAtomicUpdate | SemanticMistake);
            return scheme.of_library() && (any || self == MissingSync);
        }
        match self {
            Variant::MissingLogFence => matches!(scheme.form(), LogForm::Undo(..) | LogForm::Regions),
            Variant::RecoveryEndsLogFirst => matches!(scheme.form(), LogForm::Redo | LogForm::RedoBlock),
            Variant::TokenFirst | Variant::SharedFence | Variant::FlagNeverSet => scheme.form() == LogForm::ByHand,
            _ => true,
        }
    }
    /// Whether only a second power failure shows it, while recovery runs.
    pub fn needs_second_failure(self) -> bool {
        self == Variant::RecoveryEndsLogFirst
    }
    /// Whether it stays wrong when every store persists in program order: then no design may clear it. The others are
    /// wrong only where the instruction they lack or misplace carries the order.
    pub fn wrong_everywhere(self) -> bool {
        use Variant::{FlagNeverSet, NonAtomicUpdate, SemanticMistake, SizeFirst, TokenFirst, WrongStoreOrder};
        matches!(
            self,
            WrongStoreOrder | NonAtomicUpdate | SemanticMistake | TokenFirst | FlagNeverSet | SizeFirst
        )
    }
    /// One sentence for listings.
    pub fn about(self) -> &'static str {
        match self {
            Variant::Correct => "no mistake",
            Variant::MissingFlush => "the first data line of an operation is never flushed",
            Variant::MissingFence => "the first ordering barrier of a transaction is missing",
            Variant::MissingLogFence => "nothing orders log records before the data they protect",
            Variant::MissingPcommit => "barriers lack their pcommit",
            Variant::MissingCommit => "barriers lack the commit of bound ranges",
            Variant::MisplacedCommit => "bound ranges are committed before the stores instead of after",
            Variant::MisplacedFlush => "the first data line is flushed before it is written",
            Variant::MisplacedFence => "the first ordering barrier precedes the stores it should follow",
            Variant::WrongStoreOrder => "commit record or link is stored before the contents",
            Variant::NonAtomicUpdate => "one update is split into two transactions",
            Variant::RecoveryEndsLogFirst => "recovery ends a redo log before it has replayed it",
            Variant::SemanticMistake => "the data structure's own logic is wrong",
            Variant::UnflushedLink => "the old tail's link is never flushed",
            Variant::UnflushedUnlink => "the unlinking store is never flushed",
            Variant::TokenFirst => "the token is durable before its key and value",
            Variant::SharedFence => "backups, the flag that validates them and the stores in place share one fence",
            Variant::FlagNeverSet => "the flag that validates backups is only ever cleared",
            Variant::MissingSync => "SQLite never syncs its journal and its pages",
            Variant::SizeFirst => "a file's size is durable before its new bytes",
        }
    }
}
