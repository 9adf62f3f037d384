//! The ways through a thread, as a machine runs them.

use fencepost_litmus::Program;
use fencepost_litmus::op::{Alu, Barrier, Op};
use fencepost_litmus::path::{Event, Path};
use std::collections::BTreeMap;

/// What stands at one place of a thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A fence.
    Fence(Barrier),
    /// An access or a flush, by its number.
    Event(usize),
    /// An atomic: its read, and its write if it has one.
    Atomic(usize, Option<usize>),
}

/// One way through a thread.
pub(super) struct Way {
    /// In program order.
    pub items: Vec<Item>,
    /// By number.
    pub events: Vec<Event>,
    /// What registers hold at the end.
    pub registers: Vec<u64>,
}

impl Way {
    /// The way along a path.
    pub(super) fn new(path: &Path) -> Way {
        let mut items = Vec::new();
        let mut fences = path.fences.iter().peekable();
        let mut n = 0;
        loop {
            while let Some((_, barrier)) = fences.next_if(|(at, _)| usize::from(*at) <= n) {
                items.push(Item::Fence(*barrier));
            }
            let Some(event) = path.events.get(n) else { break };
            let write = path.events.get(n + 1).filter(|w| w.rmw == Some(n as u8));
            if event.atomic && event.is_read() {
                items.push(Item::Atomic(n, write.map(|_| n + 1)));
                n += 1 + usize::from(write.is_some());
            } else {
                items.push(Item::Event(n));
                n += 1;
            }
        }
        Way {
            items,
            events: path.events.clone(),
            registers: path.registers.clone(),
        }
    }
    /// Whether the item at a place is the same as another way's there, whatever was read.
    pub(super) fn agrees(&self, other: &Way, at: usize) -> bool {
        let same = |a: usize, b: usize| {
            let (a, b) = (&self.events[a], &other.events[b]);
            (a.kind, a.addr, a.op) == (b.kind, b.addr, b.op)
        };
        match (self.items.get(at), other.items.get(at)) {
            (Some(Item::Fence(a)), Some(Item::Fence(b))) => a == b,
            (Some(Item::Event(a)), Some(Item::Event(b))) => same(*a, *b),
            (Some(Item::Atomic(a, _)), Some(Item::Atomic(b, _))) => same(*a, *b),
            (None, None) => true,
            _ => false,
        }
    }
}

/// What a test asks for that the machine does not have.
pub(super) fn unsupported(program: &Program<'_>) -> Option<&'static str> {
    let mut widths = BTreeMap::new();
    for (thread, paths) in program.test.threads.iter().zip(&program.paths) {
        for event in paths.iter().flat_map(|p| &p.events) {
            if event.exclusive {
                return Some("the machine has no exclusive accesses");
            }
            let access = event.is_read() || event.is_write();
            if access && *widths.entry(event.addr).or_insert(event.width.0) != event.width.0 {
                return Some("the machine runs no accesses of several sizes to a location");
            }
            let op = thread.code.get(usize::from(event.op));
            if event.atomic
                && let Some(Op::Rmw { alu, .. }) = op
                && !matches!(alu, Alu::Move | Alu::Add | Alu::Sub)
            {
                return Some("the machine's atomics add, exchange, or compare and exchange");
            }
        }
    }
    None
}
