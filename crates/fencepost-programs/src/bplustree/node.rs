//! Node layout and the tree's operations inside a transaction.
//!
//! A node is 4 KiB: a count word (with the leaf flag) and a link word to the next leaf on its first line; keys of 8 bytes from the
//! second; then, in a leaf, values of 4 bytes, in an inner node, child pointers of 8. An inner node with `n` keys has
//! `n + 1` children; the child at `i` holds keys below key `i` and not below key `i - 1`.

use crate::nodes::Nodes;
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{Addr, At, Mem, Val, Width};

pub(super) const COUNT: u64 = 0;
pub(super) const NEXT: u64 = 8;
pub(super) const KEYS: u64 = 64;
pub(super) const NODE: u64 = 4096;
/// Most pairs a 4 KiB node can hold as an inner node: header, keys, one more child than keys.
pub(super) const MOST_PAIRS: u64 = (NODE - KEYS - 8) / 16;
/// Flag in the count word of a leaf.
pub(super) const LEAF: u64 = 1 << 32;

/// Offset of key `i`.
pub(super) const fn key_at(i: u64) -> u64 {
    KEYS + i * 8
}
/// Offset of the values of a leaf, or the children of an inner node, of a node of `pairs` keys.
pub(super) const fn slots(pairs: u64) -> u64 {
    KEYS + pairs * 8
}
/// Offset of value `i` of a leaf.
pub(super) const fn value_at(pairs: u64, i: u64) -> u64 {
    slots(pairs) + i * 4
}
/// Offset of child `i` of an inner node.
pub(super) const fn child_at(pairs: u64, i: u64) -> u64 {
    slots(pairs) + i * 8
}

/// The nodes of one tree.
#[derive(Copy, Clone, Debug)]
pub(super) struct Shape {
    /// Pairs per node.
    pub pairs: u64,
    /// Which they are.
    pub nodes: Nodes,
}

/// What a node's slots hold.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Slot {
    Value,
    Child,
}

/// A tree inside a transaction.
pub(super) struct Tree<'t, 'a, 'm, M: Mem> {
    pub tx: &'t mut Tx<'a, 'm, M>,
    /// Where the root pointer lies.
    pub root: Addr,
    /// Pairs per node.
    pub pairs: u64,
}

/// Where a key is, or belongs, in a leaf.
pub(super) struct Place<D> {
    pub leaf: At<D>,
    /// Index of the first key not below the one looked for.
    pub index: u64,
    /// Value found there, if the key is there.
    pub found: Option<u64>,
}

impl<M: Mem> Tree<'_, '_, '_, M> {
    fn count(&mut self, node: At<M::Dep>) -> (u64, bool) {
        let word = self.tx.read(node.field(COUNT)).v;
        (word & (LEAF - 1), word & LEAF != 0)
    }
    fn set_count(&mut self, node: At<M::Dep>, count: u64, leaf: bool) {
        self.tx
            .write(node.field(COUNT), Val::lit(count | if leaf { LEAF } else { 0 }));
    }
    /// Index of the first of `count` keys that is not below `key` (`after`: that is above it).
    fn find(&mut self, node: At<M::Dep>, count: u64, key: u64, after: bool) -> u64 {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low.midpoint(high);
            let at = self.tx.read(node.field(key_at(middle))).v;
            self.tx.compute(sites::NODE_PROBE);
            if at < key || (after && at == key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
    /// Walks down to the leaf of `key`; with `split`, splits every full node on the way, so that the leaf has a free slot.
    fn descend(&mut self, key: u64, split: bool) -> At<M::Dep> {
        let mut node = self.tx.read(At::new(self.root)).ptr();
        if split && self.count(node).0 == self.pairs {
            node = self.grow(node);
        }
        loop {
            let (count, leaf) = self.count(node);
            if leaf {
                return node;
            }
            let mut index = self.find(node, count, key, true);
            let mut child = self.tx.read(node.field(child_at(self.pairs, index))).ptr();
            if split && self.count(child).0 == self.pairs {
                let separator = self.split_child(node, count, index, child);
                index += u64::from(key >= separator);
                child = self.tx.read(node.field(child_at(self.pairs, index))).ptr();
            }
            node = child;
        }
    }
    /// Finds `key` without changing anything.
    pub(super) fn search(&mut self, key: u64) -> Place<M::Dep> {
        let leaf = self.descend(key, false);
        let (count, _) = self.count(leaf);
        let index = self.find(leaf, count, key, false);
        let there = index < count && self.tx.read(leaf.field(key_at(index))).v == key;
        let found = there.then(|| self.tx.read_n(leaf.field(value_at(self.pairs, index)), Width::B4).v);
        Place { leaf, index, found }
    }
    /// Inserts a pair; returns the address of its value. `append` is the semantic mistake: the pair goes to the end.
    pub(super) fn insert(&mut self, key: u64, value: u64, append: bool) -> At<M::Dep> {
        let leaf = self.descend(key, true);
        let (count, _) = self.count(leaf);
        let index = if append {
            count
        } else {
            self.find(leaf, count, key, false)
        };
        self.shift_up(leaf, index, count, Slot::Value);
        self.tx.write(leaf.field(key_at(index)), Val::lit(key));
        let at = leaf.field(value_at(self.pairs, index));
        self.tx.write_n(at, Val::lit(value), Width::B4);
        self.set_count(leaf, count + 1, true);
        at
    }
    /// Removes the pair at `index` of `leaf`. Leaves may become empty; they stay in the tree.
    pub(super) fn remove(&mut self, leaf: At<M::Dep>, index: u64) {
        let (count, _) = self.count(leaf);
        self.announce(leaf, index, count, Slot::Value);
        for i in index..count - 1 {
            self.move_pair(leaf, i + 1, i, Slot::Value, true);
        }
        self.set_count(leaf, count - 1, true);
    }
    /// Logs the part of a node that a shift from `index` will change, and its count, as whole objects.
    fn announce(&mut self, node: At<M::Dep>, index: u64, end: u64, slot: Slot) {
        self.tx.protect(node.field(COUNT), 8);
        self.tx.protect(node.field(key_at(index)), (end - index).max(1) * 8);
        let (from, to) = match slot {
            Slot::Value => (
                value_at(self.pairs, index) & !7,
                value_at(self.pairs, end).next_multiple_of(8),
            ),
            Slot::Child => (child_at(self.pairs, index), child_at(self.pairs, end + 1)),
        };
        self.tx.protect(node.field(from), (to - from).max(8));
    }
    /// Frees the place at `index`: keys and slots from there move up by one (a child's slot is right of its key).
    fn shift_up(&mut self, node: At<M::Dep>, index: u64, count: u64, slot: Slot) {
        self.announce(node, index, count + 1, slot);
        for i in (index..count).rev() {
            self.move_pair(node, i, i + 1, slot, true);
        }
    }
    /// Copies key `from` with its slot (the value, or the child right of the key) to `to`, in this node.
    fn move_pair(&mut self, node: At<M::Dep>, from: u64, to: u64, slot: Slot, with_key: bool) {
        self.copy_pair((node, from), (node, to), slot, with_key, false);
        self.tx.compute(sites::PAIR_MOVE);
    }
    fn copy_pair(&mut self, from: (At<M::Dep>, u64), to: (At<M::Dep>, u64), slot: Slot, with_key: bool, fresh: bool) {
        let (width, of) = match slot {
            Slot::Value => (Width::B4, value_at(self.pairs, from.1)),
            Slot::Child => (Width::B8, child_at(self.pairs, from.1 + 1)),
        };
        let goal = match slot {
            Slot::Value => value_at(self.pairs, to.1),
            Slot::Child => child_at(self.pairs, to.1 + 1),
        };
        let value = self.tx.read_n(from.0.field(of), width);
        self.put(to.0.field(goal), value, width, fresh);
        if with_key {
            let key = self.tx.read(from.0.field(key_at(from.1)));
            self.put(to.0.field(key_at(to.1)), key, Width::B8, fresh);
        }
    }
    fn put(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width, fresh: bool) {
        if fresh {
            self.tx.fresh_n(at, v, width);
        } else {
            self.tx.write_n(at, v, width);
        }
    }
    /// Puts a new root above a full one and splits the old; returns the new root.
    fn grow(&mut self, old: At<M::Dep>) -> At<M::Dep> {
        let root = self.tx.alloc();
        self.tx.fresh(root.field(COUNT), Val::lit(0));
        self.tx.fresh(root.field(NEXT), Val::lit(0));
        self.tx.fresh(root.field(child_at(self.pairs, 0)), old.pointer());
        self.split_child(root, 0, 0, old);
        self.tx.update(At::new(self.root), root.pointer());
        root
    }
    /// Splits `child`, the full child at `index` of `parent` (which is not full); returns the key that now separates the halves.
    fn split_child(&mut self, parent: At<M::Dep>, count: u64, index: u64, child: At<M::Dep>) -> u64 {
        let (full, leaf) = self.count(child);
        let (right, half) = (self.tx.alloc(), full / 2);
        let pointer = right.pointer();
        let separator = self.tx.read(child.field(key_at(half)));
        // A leaf keeps the separator as the right half's first key; an inner node hands it up.
        let first = if leaf { half } else { half + 1 };
        let slot = if leaf { Slot::Value } else { Slot::Child };
        for i in first..full {
            self.copy_pair((child, i), (right, i - first), slot, true, true);
            self.tx.compute(sites::PAIR_MOVE);
        }
        if leaf {
            let next = self.tx.read(child.field(NEXT));
            self.tx.fresh(right.field(NEXT), next);
            self.tx.protect(child.field(NEXT), 8);
            self.tx.write(child.field(NEXT), pointer);
        } else {
            let lowest = self.tx.read(child.field(child_at(self.pairs, half + 1)));
            self.tx.fresh(right.field(child_at(self.pairs, 0)), lowest);
            self.tx.fresh(right.field(NEXT), Val::lit(0));
        }
        let flag = if leaf { LEAF } else { 0 };
        self.tx.fresh(right.field(COUNT), Val::lit((full - first) | flag));
        self.tx.protect(child.field(COUNT), 8);
        self.set_count(child, half, leaf);
        self.shift_up(parent, index, count, Slot::Child);
        self.tx.write(parent.field(key_at(index)), separator);
        self.tx.write(parent.field(child_at(self.pairs, index + 1)), pointer);
        self.set_count(parent, count + 1, false);
        separator.v
    }
}
