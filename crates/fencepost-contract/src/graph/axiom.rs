//! The reasons for which one store may not become durable before another.

use std::fmt;

/// The rule behind an edge of a persist-order graph, or behind a must-set. A refusal names it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axiom {
    /// Stores to one word become durable in coherence order (strong persist atomicity).
    SameWord,
    /// Stores to one cache line become durable in coherence order: a line is written back whole.
    SameLine,
    /// Store, flush of its line, fence: durable before anything the thread stores later (x86 family).
    FlushFence,
    /// Non-temporal store, fence: durable before anything the thread stores later (x86 family).
    NtFence,
    /// Store, flush, fence, `pcommit`, fence (`px86-pcommit`): accepted writes of every thread are durable.
    Pcommit,
    /// A non-temporal store before a later store of its thread, with no fence (Themis).
    NtBeforeStore,
    /// Everything before a fence, and what it had observed, before everything after it (RCBSP).
    FenceCumulativity,
    /// Everything before a fence before a store that depends on a read of what followed the fence (RCBSP).
    Dependence,
    /// Program order of stores (strict persistency).
    ProgramOrder,
    /// A store before what follows a read of it in another thread.
    ReadsFrom,
    /// A read of an old value, and what precedes it, before the store that overwrote the value.
    FromRead,
    /// Accesses on two sides of a persist barrier (epoch and strand persistency).
    PersistBarrier,
    /// Hardware transactions become durable in commit order.
    CommitOrder,
    /// A transaction becomes durable whole or not at all.
    Atomicity,
    /// A completed drain (`dsb`, `tx_flush`): everything before it is durable.
    Drain,
    /// A completed commit of a write sub-queue: every write to its ranges is durable.
    RangeCommit,
    /// The system said that a range is durable (`msync`, `fsync`).
    Sync,
    /// Caches are inside the persistence domain: every executed store is durable.
    ExecutedIsDurable,
}

impl Axiom {
    /// Short name, for tables and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Axiom::SameWord => "coherence order",
            Axiom::SameLine => "same-line order",
            Axiom::FlushFence => "flush before fence",
            Axiom::NtFence => "nt-store before fence",
            Axiom::Pcommit => "pcommit",
            Axiom::NtBeforeStore => "nt before store (Themis)",
            Axiom::FenceCumulativity => "fence cumulativity",
            Axiom::Dependence => "fence cumulativity through a dependence",
            Axiom::ProgramOrder => "program order",
            Axiom::ReadsFrom => "reads-from",
            Axiom::FromRead => "from-read",
            Axiom::PersistBarrier => "persist barrier",
            Axiom::CommitOrder => "commit order",
            Axiom::Atomicity => "transaction atomicity",
            Axiom::Drain => "drain",
            Axiom::RangeCommit => "range commit",
            Axiom::Sync => "sync",
            Axiom::ExecutedIsDurable => "executed is durable",
        }
    }
}
impl fmt::Display for Axiom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
