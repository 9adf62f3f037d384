//! The contracts by name.

use super::commit::RangeCommit;
use super::epochs::{Epochs, Family};
use super::px86::{Durability, Px86};
use super::strict::{Order, Strict};
use super::transactions::Transactions;
use super::{ContractParams, LineOrder, Rules, SpaceBuilder, store_of};
use crate::graph::{Axiom, CrashSpace};
use fencepost_kernel::{Image, Trace, TraceEvent};
use std::fmt;
use std::str::FromStr;

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
#[error("unknown contract `{word}`; known are {}", ContractKind::words())]
pub struct UnknownContract {
    /// The word given.
    pub word: String,
}

impl ContractKind {
    /// Every contract.
    pub const ALL: [ContractKind; 13] = [
        ContractKind::None,
        ContractKind::Px86,
        ContractKind::Px86Pcommit,
        ContractKind::Themis,
        ContractKind::Rcbsp,
        ContractKind::StrictTso,
        ContractKind::StrictSc,
        ContractKind::Epoch,
        ContractKind::Strand,
        ContractKind::Eadr,
        ContractKind::Loc,
        ContractKind::Kiln,
        ContractKind::Commit,
    ];
    /// The word by which it is chosen.
    pub const fn word(self) -> &'static str {
        match self {
            ContractKind::None => "none",
            ContractKind::Px86 => "px86",
            ContractKind::Px86Pcommit => "px86-pcommit",
            ContractKind::Themis => "themis",
            ContractKind::Rcbsp => "rcbsp",
            ContractKind::StrictTso => "strict-tso",
            ContractKind::StrictSc => "strict-sc",
            ContractKind::Epoch => "epoch",
            ContractKind::Strand => "strand",
            ContractKind::Eadr => "eadr",
            ContractKind::Loc => "loc",
            ContractKind::Kiln => "kiln",
            ContractKind::Commit => "commit",
        }
    }
    fn words() -> String {
        ContractKind::ALL.map(ContractKind::word).join(", ")
    }
    /// Whether same-line order holds unless asked otherwise: where lines are written back from caches.
    pub const fn default_line_order(self) -> LineOrder {
        match self {
            ContractKind::None
            | ContractKind::Px86
            | ContractKind::Px86Pcommit
            | ContractKind::Themis
            | ContractKind::Eadr
            | ContractKind::Commit => LineOrder::Fifo,
            _ => LineOrder::Unordered,
        }
    }
    /// Whether persists lag behind fences unless asked otherwise. Strands do: a barrier that waited would order the
    /// next strand too.
    pub const fn default_buffered(self) -> bool {
        matches!(self, ContractKind::Rcbsp | ContractKind::Strand)
    }
    /// Whether its nodes are hardware transactions.
    pub const fn is_transactional(self) -> bool {
        matches!(self, ContractKind::Loc | ContractKind::Kiln)
    }
    fn rules(self, buffered: bool) -> Box<dyn Rules> {
        match self {
            ContractKind::None => Box::new(Plain { must: false }),
            ContractKind::Eadr => Box::new(Plain { must: true }),
            ContractKind::Px86 => Box::new(Px86::new(Durability::Accepted, false)),
            ContractKind::Px86Pcommit => Box::new(Px86::new(Durability::Pcommit, false)),
            ContractKind::Themis => Box::new(Px86::new(Durability::Accepted, true)),
            ContractKind::Rcbsp => Box::new(Epochs::new(Family::Rcbsp, buffered)),
            ContractKind::Epoch => Box::new(Epochs::new(Family::Epoch, buffered)),
            ContractKind::Strand => Box::new(Epochs::new(Family::Strand, buffered)),
            ContractKind::StrictTso => Box::new(Strict::new(Order::Tso, buffered)),
            ContractKind::StrictSc => Box::new(Strict::new(Order::Sc, buffered)),
            ContractKind::Loc => Box::new(Transactions::new(false)),
            ContractKind::Kiln => Box::new(Transactions::new(true)),
            ContractKind::Commit => Box::new(RangeCommit::new()),
        }
    }
}
impl fmt::Display for ContractKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
impl FromStr for ContractKind {
    type Err = UnknownContract;
    fn from_str(word: &str) -> Result<ContractKind, UnknownContract> {
        let known = ContractKind::ALL.into_iter().find(|k| k.word() == word);
        known.ok_or_else(|| UnknownContract { word: word.to_owned() })
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
        let mut rules = self.kind.rules(self.buffered());
        SpaceBuilder::run(trace, initial, &self.params, self.line_order(), &mut *rules)
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
