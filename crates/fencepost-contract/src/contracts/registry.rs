//! The contracts by name.

use super::commit::RangeCommit;
use super::epochs::{Epochs, Family};
use super::px86::{Durability, Px86};
use super::strict::{Order, Strict};
use super::transactions::Transactions;
use super::{ContractParams, LineOrder, Rules, SpaceBuilder, store_of};
use crate::graph::{Axiom, CrashSpace};
use fencepost_kernel::{Fence, Image, Trace, TraceEvent};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::time::Instant;

/// What a contract is, in one row.
///
/// A contract of one's own is a static of this type (`..ContractRow::BASE` for what does not differ) and [`ContractKind::of`] it; to
/// be chosen by its name from the command line, it is one line of the list in this file besides.
pub struct ContractRow {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Same-line order unless asked otherwise: it holds where lines are written back from caches.
    pub line_order: LineOrder,
    /// Whether persists lag behind fences unless asked otherwise. Strands do: a barrier that waited would order the next
    /// strand too.
    pub buffered: bool,
    /// Whether stores become durable by flushes.
    pub by_flush: bool,
    /// Whether its nodes are hardware transactions.
    pub transactional: bool,
    /// Fences after which everything flushed before is durable; none where software has no such thing.
    pub full_fence: &'static [Fence],
    /// The instructions that it speaks of: a log without them was written for another contract.
    pub speaks_of: Vocabulary,
    /// The memory consistency model of the executions that it judges.
    pub consistency: Consistency,
    /// Its rules, given whether persists lag behind fences.
    pub rules: fn(bool) -> Box<dyn Rules>,
}

/// The instructions by which a contract's promises are called in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Vocabulary {
    /// None: its promises hold for stores alone, and flushes and fences may be there or not.
    Nothing,
    /// Fences that complete flushes.
    Fences,
    /// `pcommit` behind fences.
    Pcommit,
    /// Barriers that order persists, without flushes.
    Barriers,
    /// Stores in an order that needs no instruction; a flush means nothing.
    Stores,
    /// Commits of write sub-queues.
    QueueCommits,
    /// Hardware transactions.
    Transactions,
}

/// The consistency model under a contract.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// That of the machine.
    Machine,
    /// Sequential consistency.
    Sequential,
    /// Total store order.
    TotalStoreOrder,
    /// As relaxed as ARMv7 is.
    Relaxed,
}

impl ContractRow {
    /// No promise: where a contract of one's own begins.
    pub const BASE: ContractRow = ContractRow {
        name: "none",
        summary: "no promise: any subset of the lines ever written",
        line_order: LineOrder::Unordered,
        buffered: false,
        by_flush: false,
        transactional: false,
        full_fence: &[],
        speaks_of: Vocabulary::Nothing,
        consistency: Consistency::Machine,
        rules: |_| Box::new(Plain { must: false }),
    };
}

/// Which contract.
#[derive(Copy, Clone)]
pub struct ContractKind(&'static ContractRow);

/// No contract has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown contract `{name}`; known are {}", ContractKind::names())]
pub struct UnknownContract {
    /// The name given.
    pub name: String,
}

use LineOrder::Fifo;

/// One contract, one row: the name in code, then what it is.
macro_rules! contracts {
    ($($(#[doc = $doc:literal])* $kind:ident: $row:expr;)*) => {
        #[allow(non_upper_case_globals)] // they read as the variants of an enum
        impl ContractKind {
            $($(#[doc = $doc])* pub const $kind: ContractKind = { static ROW: ContractRow = $row; ContractKind(&ROW) };)*
        }
        impl ContractKind {
            /// Every contract that has a name here.
            pub const ALL: [ContractKind; [$(stringify!($kind)),*].len()] = [$(ContractKind::$kind),*];
        }
    };
}

contracts! {
    /// No promise: any subset of the lines ever written.
    None: ContractRow { line_order: Fifo, full_fence: &[Fence::Sfence], ..ContractRow::BASE };
    /// x86 with the memory controller in the persistence domain: flush and fence.
    Px86: ContractRow {
        name: "px86",
        summary: "x86 with the controller in the persistence domain: flush and fence",
        rules: |_| Box::new(Px86::new(Durability::Accepted, false)),
        ..X86
    };
    /// x86 with a volatile memory controller: flush, fence, `pcommit`, fence.
    Px86Pcommit: ContractRow {
        name: "px86-pcommit",
        summary: "x86 with a volatile controller: flush, fence, pcommit, fence",
        full_fence: &[Fence::Sfence, Fence::Pcommit, Fence::Sfence],
        speaks_of: Vocabulary::Pcommit,
        rules: |_| Box::new(Px86::new(Durability::Pcommit, false)),
        ..X86
    };
    /// x86 plus: a non-temporal store before any later store of its thread.
    Themis: ContractRow {
        name: "themis",
        summary: "x86, and a non-temporal store before any later store of its thread",
        rules: |_| Box::new(Px86::new(Durability::Accepted, true)),
        ..X86
    };
    /// Relaxed consistency, buffered strict persistency (delegated ordering, BROI).
    Rcbsp: ContractRow {
        name: "rcbsp",
        summary: "relaxed consistency, buffered strict persistency",
        buffered: true,
        full_fence: &[Fence::Dsb],
        speaks_of: Vocabulary::Barriers,
        consistency: Consistency::Relaxed,
        rules: |lag| Box::new(Epochs::new(Family::Rcbsp, lag)),
        ..ContractRow::BASE
    };
    /// Strict persistency over total store order.
    StrictTso: ContractRow {
        name: "strict-tso",
        summary: "strict persistency over total store order",
        full_fence: &[Fence::Dsb],
        speaks_of: Vocabulary::Stores,
        consistency: Consistency::TotalStoreOrder,
        rules: |lag| Box::new(Strict::new(Order::Tso, lag)),
        ..ContractRow::BASE
    };
    /// Strict persistency over sequential consistency.
    StrictSc: ContractRow {
        name: "strict-sc",
        summary: "strict persistency over sequential consistency",
        full_fence: &[Fence::Dsb],
        speaks_of: Vocabulary::Stores,
        consistency: Consistency::Sequential,
        rules: |lag| Box::new(Strict::new(Order::Sc, lag)),
        ..ContractRow::BASE
    };
    /// Epoch persistency.
    Epoch: ContractRow {
        name: "epoch",
        summary: "epoch persistency",
        full_fence: &[Fence::PersistBarrier],
        speaks_of: Vocabulary::Barriers,
        consistency: Consistency::Sequential,
        rules: |lag| Box::new(Epochs::new(Family::Epoch, lag)),
        ..ContractRow::BASE
    };
    /// Strand persistency.
    Strand: ContractRow {
        name: "strand",
        summary: "strand persistency",
        buffered: true,
        full_fence: &[Fence::PersistBarrier, Fence::Dsb],
        speaks_of: Vocabulary::Barriers,
        consistency: Consistency::Sequential,
        rules: |lag| Box::new(Epochs::new(Family::Strand, lag)),
        ..ContractRow::BASE
    };
    /// Caches inside the persistence domain: every executed store is durable.
    Eadr: ContractRow {
        name: "eadr",
        summary: "caches in the persistence domain: every executed store is durable",
        line_order: Fifo,
        full_fence: &[Fence::Sfence],
        rules: |_| Box::new(Plain { must: true }),
        ..ContractRow::BASE
    };
    /// Loose-ordering consistency: transactions in commit order, durable at `tx_flush`.
    Loc: ContractRow {
        name: "loc",
        summary: "transactions in commit order, durable at an explicit flush",
        transactional: true,
        speaks_of: Vocabulary::Transactions,
        rules: |_| Box::new(Transactions::new(false)),
        ..ContractRow::BASE
    };
    /// Non-volatile last-level cache: transactions in commit order, durable at commit.
    Kiln: ContractRow {
        name: "kiln",
        summary: "transactions in commit order, durable at commit",
        transactional: true,
        speaks_of: Vocabulary::Transactions,
        rules: |_| Box::new(Transactions::new(true)),
        ..ContractRow::BASE
    };
    /// Per-task committing: bound ranges durable at their queue's commit.
    Commit: ContractRow {
        name: "commit",
        summary: "bound ranges durable at the commit of their queue",
        line_order: Fifo,
        speaks_of: Vocabulary::QueueCommits,
        rules: |_| Box::new(RangeCommit::new()),
        ..ContractRow::BASE
    };
}

/// What the contracts of x86 have in common.
const X86: ContractRow = ContractRow {
    line_order: Fifo,
    by_flush: true,
    full_fence: &[Fence::Sfence],
    speaks_of: Vocabulary::Fences,
    ..ContractRow::BASE
};

impl ContractKind {
    /// The contract of a row, of one's own.
    pub const fn of(row: &'static ContractRow) -> ContractKind {
        ContractKind(row)
    }
    /// What it is.
    pub const fn row(self) -> &'static ContractRow {
        self.0
    }
    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        self.0.name
    }
    fn names() -> String {
        ContractKind::ALL.map(ContractKind::name).join(", ")
    }
    /// Whether same-line order holds unless asked otherwise: where lines are written back from caches.
    pub fn default_line_order(self) -> LineOrder {
        self.0.line_order
    }
    /// Whether persists lag behind fences unless asked otherwise.
    pub fn default_buffered(self) -> bool {
        self.0.buffered
    }
    /// Whether its nodes are hardware transactions.
    pub fn is_transactional(self) -> bool {
        self.0.transactional
    }
    /// The fences after which everything flushed before is durable; empty where software has none of its own.
    pub fn full_fence(self) -> &'static [Fence] {
        self.0.full_fence
    }
}
/// Contracts are told apart by their names.
impl PartialEq for ContractKind {
    fn eq(&self, other: &ContractKind) -> bool {
        self.name() == other.name()
    }
}
impl Eq for ContractKind {}
impl Hash for ContractKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}
impl fmt::Debug for ContractKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
impl fmt::Display for ContractKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
impl FromStr for ContractKind {
    type Err = UnknownContract;
    fn from_str(name: &str) -> Result<ContractKind, UnknownContract> {
        let known = ContractKind::ALL.into_iter().find(|k| k.name() == name);
        known.ok_or_else(|| UnknownContract { name: name.to_owned() })
    }
}

/// A contract with its parameters.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Contract {
    /// Which.
    pub kind: ContractKind,
    /// Variations.
    pub params: ContractParams,
}
impl From<ContractKind> for Contract {
    fn from(kind: ContractKind) -> Contract {
        Contract {
            kind,
            params: ContractParams::default(),
        }
    }
}
impl Contract {
    /// Same-line order in force.
    pub fn line_order(&self) -> LineOrder {
        self.params.line_order.unwrap_or(self.kind.default_line_order())
    }
    /// Whether persists lag behind fences.
    pub fn buffered(&self) -> bool {
        self.params.buffered.unwrap_or(self.kind.default_buffered())
    }
    /// Every crash state that the contract allows of an execution that started from the durable memory `initial`.
    pub fn space(&self, trace: &Trace, initial: &Image) -> CrashSpace {
        let space = self.space_until(trace, initial, None);
        space.unwrap_or_else(|| unreachable!("without a deadline it is not given up"))
    }
    /// The same by a deadline on the host's clock; `None` if it passed first.
    pub fn space_until(&self, trace: &Trace, initial: &Image, until: Option<Instant>) -> Option<CrashSpace> {
        let row = self.kind.row();
        let mut rules = (row.rules)(self.buffered());
        let builder = SpaceBuilder::new(trace, initial, &self.params, self.line_order());
        let mut space = builder.build(&mut *rules, until)?;
        space.history.by_flush = row.by_flush;
        Some(space)
    }
}

/// No order beyond word and line; with `must`, every executed store is durable at once.
struct Plain {
    must: bool,
}
impl Rules for Plain {
    fn event(&mut self, event: &TraceEvent, space: &mut SpaceBuilder<'_>) {
        let Some(id) = store_of(event.kind) else { return };
        if space.trace.store(id).addr.is_persistent() {
            let node = space.store(id, &[]);
            if self.must {
                space.must(node, Axiom::ExecutedIsDurable);
            }
        }
    }
}
