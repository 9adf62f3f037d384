//! What is known about the crash state while recovery runs: a cut, recovery's own writes, and an undo trail.

mod fingerprint;
mod spans;

use super::changes::Changes;
use super::order::{Order, Part};
use crate::graph::NodeId;
use fencepost_kernel::Addr;
use fencepost_kernel::planted;
use fingerprint::Fingerprint;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

/// Whether a node is durable in the crash states under consideration.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Both are still possible.
    Free,
    /// Durable in all of them.
    In,
    /// Lost in all of them.
    Out,
}

/// A word that recovery has touched, or a span that an audit relies on.
#[derive(Debug)]
struct Slot {
    at: Addr,
    /// Places of its lines, for a span.
    lines: Option<Range<usize>>,
    initial: u64,
    parts: Vec<Part>,
    /// Recovery's own write, with the length of the trail when it was made.
    own: Option<(u64, usize)>,
    /// Fingerprint of how the word looks; `None` since that has changed.
    print: Cell<Option<u128>>,
}

enum Undo {
    Node(u32),
    Own { slot: u32, old: Option<(u64, usize)> },
}

/// A set of crash states in the middle of a recovery, with cheap backtracking.
///
/// Invariants: *in* is closed under predecessors and *out* under successors, so that every free node can still go
/// either way; of every location the versions `..low` are in and those from `high` on are out.
pub struct Known {
    order: Rc<Order>,
    status: Vec<Status>,
    low: Vec<u32>,
    high: Vec<u32>,
    slots: Vec<Slot>,
    slot_of: FxHashMap<Addr, u32>,
    slot_of_lines: FxHashMap<Range<usize>, u32>,
    /// How often each line has changed since the first failure point at which that was of interest.
    changes: Changes,
    /// Per location, the word that it is part of, once that was touched.
    slot_of_part: Vec<Option<u32>>,
    trail: Vec<Undo>,
    own_writes: u32,
    executed: u32,
    /// Happened nodes that the failure point leaves open, in effect order.
    open: Vec<u32>,
    included: u32,
    excluded: u32,
    work: Vec<u32>,
}

impl Known {
    /// Nothing has executed.
    pub fn new(order: Rc<Order>) -> Known {
        Known {
            status: vec![Status::Out; order.nodes() as usize],
            low: vec![0; order.locations()],
            high: vec![0; order.locations()],
            slots: Vec::new(),
            slot_of: FxHashMap::default(),
            slot_of_lines: FxHashMap::default(),
            changes: Changes::new(order.lines().len()),
            slot_of_part: vec![None; order.locations()],
            trail: Vec::new(),
            own_writes: 0,
            executed: 0,
            open: Vec::new(),
            included: 0,
            excluded: 0,
            work: Vec::new(),
            order,
        }
    }
    pub fn order(&self) -> &Rc<Order> {
        &self.order
    }
    /// Moves on to a later failure point: nodes below `executed` have happened, those in `must` are durable.
    pub fn advance(&mut self, executed: u32, must: impl Iterator<Item = NodeId>) {
        self.undo_to(0);
        let order = self.order.clone();
        for n in self.executed..executed {
            self.status[n as usize] = Status::Free;
            for p in order.places(n) {
                self.high[p.part as usize] = p.version + 1;
                self.moved(p.part);
            }
        }
        self.open.extend(self.executed..executed);
        self.executed = self.executed.max(executed);
        let included = !planted!(
            "explorer.must-forgotten",
            "what a fence made durable is durable in every crash state"
        );
        if included {
            must.for_each(|n| self.include(n.0));
        }
        let Known { open, status, .. } = self;
        open.retain(|n| {
            // A barrier with nothing undecided before it orders nothing any more.
            let settled = |p: &u32| status[*p as usize] == Status::In;
            if order.is_barrier(*n) && order.before(*n).iter().all(settled) {
                status[*n as usize] = Status::In;
            }
            status[*n as usize] == Status::Free
        });
        self.trail.clear();
        (self.included, self.excluded) = (0, 0);
    }
    /// Nodes (barriers too) that the failure point leaves open, in effect order, whatever was narrowed since.
    pub fn open(&self) -> &[u32] {
        &self.open
    }
    pub fn status(&self, node: NodeId) -> Status {
        self.status[node.index()]
    }
    /// Writing nodes that the failure point leaves open, in effect order.
    pub fn open_stores(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.open
            .iter()
            .filter(|n| !self.order.is_barrier(**n))
            .map(|n| NodeId(*n))
    }
    /// How many writing nodes have been decided since the failure point was set up: (durable, lost).
    pub fn decided(&self) -> (u32, u32) {
        (self.included, self.excluded)
    }
    /// Position to come back to.
    pub fn mark(&self) -> usize {
        self.trail.len()
    }
    /// Number of recovery's own writes on the trail.
    pub fn own_writes(&self) -> u32 {
        self.own_writes
    }
    /// Forgets everything learnt and written since `mark`.
    pub fn undo_to(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Undo::Node(n)) => self.free_again(n),
                Some(Undo::Own { slot, old }) => {
                    self.slots[slot as usize].own = old;
                    self.slots[slot as usize].print.set(None);
                    self.own_writes -= 1;
                }
                None => return,
            }
        }
    }
    fn free_again(&mut self, n: u32) {
        let was = std::mem::replace(&mut self.status[n as usize], Status::Free);
        let places = self.order.places(n);
        let weight = u32::from(!places.is_empty());
        // A closure flips the versions of a location without gaps, so the extreme of what is undone is the old bound.
        if was == Status::In {
            self.included -= weight;
            for p in places {
                let low = &mut self.low[p.part as usize];
                *low = (*low).min(p.version);
                self.moved(p.part);
            }
        } else {
            self.excluded -= weight;
            for p in places {
                let high = &mut self.high[p.part as usize];
                *high = (*high).max(p.version + 1);
                self.moved(p.part);
            }
        }
    }
    /// Narrows to the states in which `node` is durable, with its predecessors.
    pub fn include(&mut self, node: u32) {
        let order = Rc::clone(&self.order);
        self.work.push(node);
        while let Some(n) = self.work.pop() {
            match self.status[n as usize] {
                Status::In => continue,
                Status::Out => unreachable!("a lost store precedes a durable one"),
                Status::Free => {}
            }
            self.status[n as usize] = Status::In;
            self.trail.push(Undo::Node(n));
            let places = order.places(n);
            self.included += u32::from(!places.is_empty());
            for p in places {
                let low = &mut self.low[p.part as usize];
                *low = (*low).max(p.version + 1);
                self.moved(p.part);
            }
            let open = planted!(
                "explorer.include-not-closed",
                "what a durable store waits for is durable"
            );
            self.work.extend(
                order
                    .before(n)
                    .iter()
                    .filter(|p| self.status[**p as usize] != Status::In && !open),
            );
        }
    }
    /// Narrows to the states in which `node` is lost, with its successors.
    pub fn exclude(&mut self, node: u32) {
        let order = Rc::clone(&self.order);
        self.work.push(node);
        while let Some(n) = self.work.pop() {
            match self.status[n as usize] {
                Status::Out => continue,
                Status::In => unreachable!("a durable store follows a lost one"),
                Status::Free => {}
            }
            self.status[n as usize] = Status::Out;
            self.trail.push(Undo::Node(n));
            let places = order.places(n);
            self.excluded += u32::from(!places.is_empty());
            for p in places {
                let high = &mut self.high[p.part as usize];
                *high = (*high).min(p.version);
                self.moved(p.part);
            }
            let open = planted!("explorer.exclude-not-closed", "what waits for a lost store is lost");
            self.work.extend(
                order
                    .after(n)
                    .iter()
                    .filter(|s| self.status[**s as usize] != Status::Out && !open),
            );
        }
    }
    /// Narrows to the one state in which exactly those open nodes are durable for which `durable` holds. False if
    /// that is no closed set.
    pub fn settle(&mut self, durable: impl Fn(NodeId) -> bool) -> bool {
        for i in 0..self.open.len() {
            let n = NodeId(self.open[i]);
            match (self.status(n), self.order.is_barrier(n.0), durable(n)) {
                (Status::Free, false, true) => self.include(n.0),
                (Status::Free, false, false) => self.exclude(n.0),
                (Status::Out, false, true) => return false,
                _ => {}
            }
        }
        true
    }
    /// One crash state of those under consideration: the one with the fewest durable nodes, or the one with the most,
    /// whichever decides fewer; and the nodes that are decided.
    pub fn closest(&self) -> (Vec<bool>, Vec<bool>) {
        let fewest = self.included <= self.excluded;
        let is_durable = |s: &Status| *s == Status::In || (*s == Status::Free && !fewest);
        let durable = self.status.iter().map(is_durable).collect();
        let decided = self.status.iter().map(|s| *s != Status::Free).collect();
        (durable, decided)
    }
    /// The number of the aligned word at `at`.
    pub fn slot(&mut self, at: Addr) -> u32 {
        if let Some(slot) = self.slot_of.get(&at) {
            return *slot;
        }
        let slot = self.slots.len() as u32;
        let parts = self.order.parts_of(at).to_vec();
        for part in &parts {
            self.slot_of_part[part.id as usize] = Some(slot);
        }
        self.slots.push(Slot {
            at,
            lines: None,
            initial: self.order.initial(at),
            parts,
            own: None,
            print: Cell::new(None),
        });
        self.slot_of.insert(at, slot);
        slot
    }
    /// Number of words touched so far.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }
    /// The value recovery wrote to the word, if it did.
    pub fn own(&self, slot: u32) -> Option<u64> {
        self.slots[slot as usize].own.map(|own| own.0)
    }
    /// Whether recovery wrote the word at or after `mark`.
    pub fn wrote_since(&self, slot: u32, mark: usize) -> bool {
        self.slots[slot as usize].own.is_some_and(|own| own.1 >= mark)
    }
    /// Recovery writes a word.
    pub fn write(&mut self, slot: u32, value: u64) {
        let at = self.trail.len();
        let old = self.slots[slot as usize].own.replace((value, at));
        self.slots[slot as usize].print.set(None);
        self.trail.push(Undo::Own { slot, old });
        self.own_writes += 1;
    }
    /// The word as it was before the execution, and its parts that the execution wrote.
    pub fn parts(&self, slot: u32) -> (u64, &[Part]) {
        (self.slots[slot as usize].initial, &self.slots[slot as usize].parts)
    }
    /// How many versions of a location are durable for sure, and how many can be.
    pub fn bounds(&self, part: u32) -> (u32, u32) {
        (self.low[part as usize], self.high[part as usize])
    }
    /// Narrows to the states in which exactly `versions` versions of the location are durable.
    pub fn narrow(&mut self, part: u32, versions: u32) {
        let (low, high) = self.bounds(part);
        let node = |order: &Order, v: u32| order.versions(part)[v as usize].0;
        if versions > low {
            self.include(node(&self.order, versions - 1));
        }
        if versions < high {
            self.exclude(node(&self.order, versions));
        }
    }
    /// Value (already shifted into the word) of a location after `versions` of its versions.
    pub fn value(&self, part: Part, initial: u64, versions: u32) -> u64 {
        match versions.checked_sub(1) {
            None => initial & part.mask,
            Some(v) => self.order.versions(part.id)[v as usize].1 << part.shift,
        }
    }
    /// Fingerprint of how the words look from here: of each the value where it is known, the possible versions
    /// where it is not. Two sets of crash states with equal views of the words a recovery still reads behave alike:
    /// both are closed, so the bounds alone say which combinations of versions are left.
    pub fn view(&self, words: &[u32]) -> u128 {
        // A sum, of which only what has changed is worked out again: recoveries read thousands of words and differ in few.
        words.iter().map(|s| self.print(*s)).fold(0, u128::wrapping_add)
    }
    /// Fingerprint of how one word looks.
    fn print(&self, number: u32) -> u128 {
        let slot = &self.slots[number as usize];
        if let Some(print) = slot.print.get() {
            return print;
        }
        if let Some(lines) = &slot.lines {
            return self.print_of_lines(number, lines);
        }
        let mut h = Fingerprint::default();
        h.add(3, u64::from(number));
        match slot.own {
            Some((value, _)) => h.add(0, value),
            None => self.look(slot, &mut h),
        }
        h.add(4, u64::from(number));
        slot.print.set(Some(h.value()));
        h.value()
    }
    /// How a word looks that recovery has not written.
    fn look(&self, slot: &Slot, h: &mut Fingerprint) {
        let (mut known, mut open) = (slot.initial, false);
        for part in &slot.parts {
            let (low, high) = self.bounds(part.id);
            if low == high {
                known = known & !part.mask | self.value(*part, slot.initial, low);
            } else {
                known &= !part.mask;
                open = true;
            }
        }
        h.add(u64::from(open), known);
        for part in slot.parts.iter().filter(|_| open) {
            let (low, high) = self.bounds(part.id);
            let bounds = if low == high {
                0
            } else {
                u64::from(high) << 32 | u64::from(low)
            };
            h.add(2, bounds);
        }
    }
    /// The bounds of a location have changed: its word looks different.
    fn moved(&self, part: u32) {
        if let Some(slot) = self.slot_of_part[part as usize] {
            self.slots[slot as usize].print.set(None);
        }
    }
}
