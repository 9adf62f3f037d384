//! Why a run does not conform, told with the rule, the stores and the lines of the program.

use crate::graph::Axiom;
use fencepost_kernel::{Addr, HwThread, LineAddr, Place, StoreId, Trace};
use std::fmt;

/// A store, as messages name it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct StoreAt {
    /// Its id in the trace.
    pub store: StoreId,
    /// Who stored.
    pub thread: HwThread,
    /// The word.
    pub addr: Addr,
    /// The value.
    pub value: u64,
    /// The line of the program, and the library's own.
    pub source: Place,
}
impl StoreAt {
    /// The store `id` of `trace`.
    pub fn of(trace: &Trace, store: StoreId) -> StoreAt {
        let info = trace.store(store);
        StoreAt {
            store,
            thread: info.thread,
            addr: info.addr,
            value: info.value,
            source: info.source,
        }
    }
}
impl fmt::Display for StoreAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, thread, addr, value) = (self.store.index() + 1, self.thread.0, self.addr, self.value);
        write!(f, "store {n} (thread {thread}, {addr} = {value:#x}, {})", self.source)
    }
}

/// One step of the chain from a missing store to the one that needs it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The rule that orders this step before the next.
    pub axiom: Axiom,
    /// The store reached; `None` for a point in a thread ("everything before this fence").
    pub to: Option<StoreAt>,
}

/// Why a run does not conform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A store became durable before one that had to be durable first.
    #[error("{}", order_message(.missing, .chain, *.event))]
    Order {
        /// The store that had to come first and was not durable.
        missing: StoreAt,
        /// From it to the store that became durable too early (the last entry).
        chain: Vec<Link>,
        /// Position of the durable event in the trace.
        event: usize,
    },
    /// A store that the contract calls durable was not.
    #[error("{axiom}: {missing} had to be durable at event {event}, and was not")]
    Must {
        /// The store.
        missing: StoreAt,
        /// The rule.
        axiom: Axiom,
        /// Position of the event that completed the promise.
        event: usize,
    },
    /// A word went back to an older value.
    #[error("coherence order: event {event} puts {} back over {newer}", older.map_or("the initial value".into(), |s| s.to_string()))]
    Reversed {
        /// The store whose value came back; `None` for the initial value.
        older: Option<StoreAt>,
        /// The younger store that was durable already.
        newer: StoreAt,
        /// Position of the durable event.
        event: usize,
    },
    /// A line carried a value that its store did not write.
    #[error("event {event}: {found:#x} became durable as the value of {store}")]
    Value {
        /// The store named by the log.
        store: StoreAt,
        /// The value in the log.
        found: u64,
        /// Position of the durable event.
        event: usize,
    },
    /// A store became durable before it performed.
    #[error("event {event}: {store} became durable before it performed")]
    Future {
        /// The store.
        store: StoreAt,
        /// Position of the durable event.
        event: usize,
    },
    /// A line carried a store to another place.
    #[error("event {event}: {line} carries {store}, which belongs elsewhere")]
    Misplaced {
        /// The store.
        store: StoreAt,
        /// The line written.
        line: LineAddr,
        /// Position of the durable event.
        event: usize,
    },
    /// A transaction's store reached its home before the transaction had committed.
    #[error("{axiom}: event {event} writes {store} in place, but its transaction was not yet {state}")]
    InPlace {
        /// The store.
        store: StoreAt,
        /// The rule.
        axiom: Axiom,
        /// What the transaction had to be.
        state: &'static str,
        /// Position of the durable event.
        event: usize,
    },
    /// The run claims to have drained, but a store never became durable.
    #[error("{count} stores were never durable, first {first}")]
    Lost {
        /// The oldest of them.
        first: StoreAt,
        /// How many.
        count: u64,
    },
    /// A durable event names a record, or a record names a store, that does not exist.
    #[error("event {event}: the durable event names {what}, which does not exist")]
    Unknown {
        /// What is missing.
        what: String,
        /// Position of the durable event.
        event: usize,
    },
}

impl Refusal {
    /// The rule that was broken, where it is a persist-order or must rule.
    pub fn axiom(&self) -> Option<Axiom> {
        match self {
            Refusal::Order { chain, .. } => chain.first().map(|l| l.axiom),
            Refusal::Must { axiom, .. } | Refusal::InPlace { axiom, .. } => Some(*axiom),
            Refusal::Reversed { .. } => Some(Axiom::SameWord),
            _ => None,
        }
    }
}

fn order_message(missing: &StoreAt, chain: &[Link], event: usize) -> String {
    let axioms = chain.iter().map(|l| l.axiom.name());
    let mut rules: Vec<&str> = Vec::new();
    axioms.for_each(|a| {
        if !rules.contains(&a) {
            rules.push(a);
        }
    });
    let mut text = format!(
        "{}: durable order at event {event} makes a cycle:\n  {missing}",
        rules.join(", ")
    );
    for link in chain {
        let to = link.to.map_or("a barrier of its thread".into(), |s| s.to_string());
        text.push_str(&format!("\n    --[{}]--> {to}", link.axiom));
    }
    text.push_str("\n    --[durable earlier]--> the first");
    text
}
