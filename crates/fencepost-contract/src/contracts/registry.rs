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
use std::str::FromStr;
use std::time::Instant;

/// Which contract.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContractKind {
    /// No promise: any subset of the lines ever written.
    None,
    /// x86 with the memory controller in the persistence domain: flush and fence.
    Px86,
    /// x86 with a volatile memory controller: flush, fence, `pcommit`, fence.
    Px86Pcommit,
    /// x86 plus: a non-temporal store before any later store of its thread.
    Themis,
    /// Relaxed consistency, buffered strict persistency (delegated ordering, BROI).
    Rcbsp,
    /// Strict persistency over total store order.
    StrictTso,
    /// Strict persistency over sequential consistency.
    StrictSc,
    /// Epoch persistency.
    Epoch,
    /// Strand persistency.
    Strand,
    /// Caches inside the persistence domain: every executed store is durable.
    Eadr,
    /// Loose-ordering consistency: transactions in commit order, durable at `tx_flush`.
    Loc,
    /// Non-volatile last-level cache: transactions in commit order, durable at commit.
    Kiln,
    /// Per-task committing: bound ranges durable at their queue's commit.
    Commit,
}

/// No contract has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown contract `{name}`; known are {}", ContractKind::names())]
pub struct UnknownContract {
    /// The name given.
    pub name: String,
}

/// What is fixed about a contract.
struct Row {
    kind: ContractKind,
    name: &'static str,
    /// Same-line order unless asked otherwise: it holds where lines are written back from caches.
    line_order: LineOrder,
    /// Whether persists lag behind fences unless asked otherwise. Strands do: a barrier that waited would order the next
    /// strand too.
    buffered: bool,
    /// Whether stores become durable by flushes.
    by_flush: bool,
    /// Whether its nodes are hardware transactions.
    transactional: bool,
    /// Fences after which everything flushed before is durable; none where software has no such thing.
    full_fence: &'static [Fence],
    /// Given whether persists lag behind fences.
    rules: fn(bool) -> Box<dyn Rules>,
}

use LineOrder::{Fifo, Unordered};

/// A row without flushes, transactions or fences.
const fn row(kind: ContractKind, name: &'static str, line_order: LineOrder, rules: fn(bool) -> Box<dyn Rules>) -> Row {
    Row {
        kind,
        name,
        line_order,
        buffered: false,
        by_flush: false,
        transactional: false,
        full_fence: &[],
        rules,
    }
}

/// Every contract, in the order of [`ContractKind`].
#[rustfmt::skip]
static ROWS: [Row; 13] = {
    use ContractKind as K;
    use Fence::{Dsb, Pcommit, PersistBarrier, Sfence};
    [
        Row { full_fence: &[Sfence], ..row(K::None, "none", Fifo, |_| Box::new(Plain { must: false })) },
        Row { full_fence: &[Sfence], by_flush: true,
              ..row(K::Px86, "px86", Fifo, |_| Box::new(Px86::new(Durability::Accepted, false))) },
        Row { full_fence: &[Sfence, Pcommit, Sfence], by_flush: true,
              ..row(K::Px86Pcommit, "px86-pcommit", Fifo, |_| Box::new(Px86::new(Durability::Pcommit, false))) },
        Row { full_fence: &[Sfence], by_flush: true,
              ..row(K::Themis, "themis", Fifo, |_| Box::new(Px86::new(Durability::Accepted, true))) },
        Row { full_fence: &[Dsb], buffered: true,
              ..row(K::Rcbsp, "rcbsp", Unordered, |lag| Box::new(Epochs::new(Family::Rcbsp, lag))) },
        Row { full_fence: &[Dsb], ..row(K::StrictTso, "strict-tso", Unordered, |lag| Box::new(Strict::new(Order::Tso, lag))) },
        Row { full_fence: &[Dsb], ..row(K::StrictSc, "strict-sc", Unordered, |lag| Box::new(Strict::new(Order::Sc, lag))) },
        Row { full_fence: &[PersistBarrier],
              ..row(K::Epoch, "epoch", Unordered, |lag| Box::new(Epochs::new(Family::Epoch, lag))) },
        Row { full_fence: &[PersistBarrier, Dsb], buffered: true,
              ..row(K::Strand, "strand", Unordered, |lag| Box::new(Epochs::new(Family::Strand, lag))) },
        Row { full_fence: &[Sfence], ..row(K::Eadr, "eadr", Fifo, |_| Box::new(Plain { must: true })) },
        Row { transactional: true, ..row(K::Loc, "loc", Unordered, |_| Box::new(Transactions::new(false))) },
        Row { transactional: true, ..row(K::Kiln, "kiln", Unordered, |_| Box::new(Transactions::new(true))) },
        row(K::Commit, "commit", Fifo, |_| Box::new(RangeCommit::new())),
    ]
};

impl ContractKind {
    /// Every contract.
    pub const ALL: [ContractKind; 13] = {
        let mut all = [ContractKind::None; 13];
        let mut i = 0;
        while i < all.len() {
            all[i] = ROWS[i].kind;
            i += 1;
        }
        all
    };
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
    /// The name by which it is chosen.
    pub fn name(self) -> &'static str {
        self.row().name
    }
    fn names() -> String {
        ContractKind::ALL.map(ContractKind::name).join(", ")
    }
    /// Whether same-line order holds unless asked otherwise: where lines are written back from caches.
    pub fn default_line_order(self) -> LineOrder {
        self.row().line_order
    }
    /// Whether persists lag behind fences unless asked otherwise.
    pub fn default_buffered(self) -> bool {
        self.row().buffered
    }
    /// Whether its nodes are hardware transactions.
    pub fn is_transactional(self) -> bool {
        self.row().transactional
    }
    /// The fences after which everything flushed before is durable; empty where software has none of its own.
    pub fn full_fence(self) -> &'static [Fence] {
        self.row().full_fence
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
