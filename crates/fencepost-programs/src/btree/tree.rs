//! Search and insertion inside a transaction. Full nodes are split on the way down, so that an insertion never turns back.

use super::shape::{COUNT, LEAF, Shape};
use crate::sites;
use crate::small::Small;
use crate::tx::Tx;
use fencepost_kernel::{At, Mem, Val};

/// A tree inside a transaction.
pub(super) struct Tree<'t, 'a, 'm, M: Mem> {
    pub tx: &'t mut Tx<'a, 'm, M>,
    pub shape: Shape,
    /// Nodes allocated in this transaction: nothing of them needs a log.
    fresh: Small<u64, 4>,
}

/// A key and its value.
pub(super) type Pair<D> = (Val<D>, Val<D>);

impl<'t, 'a, 'm, M: Mem> Tree<'t, 'a, 'm, M> {
    pub(super) fn new(tx: &'t mut Tx<'a, 'm, M>, shape: Shape) -> Self {
        let fresh = Small::new(0);
        Tree { tx, shape, fresh }
    }
    #[inline(always)]
    pub(super) fn get(&mut self, node: At<M::Dep>, offset: u64) -> Val<M::Dep> {
        self.tx.read(node.field(offset))
    }
    /// Stores a word of a node; a node that is not new is logged whole at its first change.
    #[inline(always)]
    pub(super) fn set(&mut self, node: At<M::Dep>, offset: u64, v: Val<M::Dep>) {
        if self.fresh.as_slice().contains(&node.addr.0) {
            self.tx.fresh(node.field(offset), v);
        } else {
            self.tx.protect_once(node, self.shape.bytes());
            self.tx.write(node.field(offset), v);
        }
    }
    pub(super) fn set_root(&mut self, node: At<M::Dep>) {
        let root = At::new(self.shape.nodes.root);
        self.tx.protect_once(root, 8);
        self.tx.write(root, node.pointer());
    }
    #[inline(always)]
    pub(super) fn root(&mut self) -> At<M::Dep> {
        self.tx.read(At::new(self.shape.nodes.root)).ptr()
    }
    #[inline(always)]
    pub(super) fn count(&mut self, node: At<M::Dep>) -> (u64, bool) {
        let word = self.get(node, COUNT).v;
        (word & (LEAF - 1), word & LEAF != 0)
    }
    pub(super) fn set_count(&mut self, node: At<M::Dep>, count: u64, leaf: bool) {
        self.set(node, COUNT, Val::lit(count | if leaf { LEAF } else { 0 }));
    }
    #[inline(always)]
    pub(super) fn child(&mut self, node: At<M::Dep>, i: u64) -> At<M::Dep> {
        let at = self.shape.child(i);
        self.get(node, at).ptr()
    }
    pub(super) fn set_child(&mut self, node: At<M::Dep>, i: u64, child: At<M::Dep>) {
        self.set(node, self.shape.child(i), child.pointer());
    }
    pub(super) fn pair(&mut self, node: At<M::Dep>, i: u64) -> Pair<M::Dep> {
        let key = self.get(node, self.shape.key(i));
        (key, self.get(node, self.shape.value(i)))
    }
    pub(super) fn set_pair(&mut self, node: At<M::Dep>, i: u64, pair: Pair<M::Dep>) {
        self.set(node, self.shape.key(i), pair.0);
        self.set(node, self.shape.value(i), pair.1);
        self.tx.compute(sites::PAIR_MOVE);
    }
    /// Index of the first of `count` keys that is not below `key`, and whether it is that key.
    #[inline(always)]
    pub(super) fn find(&mut self, node: At<M::Dep>, count: u64, key: u64) -> (u64, bool) {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low.midpoint(high);
            let at = self.get(node, self.shape.key(middle)).v;
            self.tx.compute(sites::NODE_PROBE);
            if at == key {
                return (middle, true);
            }
            if at < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low, false)
    }
    /// The value of `key`, if it is there.
    #[inline(always)]
    pub(super) fn search(&mut self, key: u64) -> Option<u64> {
        let mut node = self.root();
        loop {
            let (count, leaf) = self.count(node);
            let (i, hit) = self.find(node, count, key);
            if hit {
                return Some(self.get(node, self.shape.value(i)).v);
            }
            if leaf {
                return None;
            }
            node = self.child(node, i);
        }
    }
    /// Inserts a pair whose key is absent; returns where its value lies. `append` is the mistake of logic: the pair goes to the
    /// end of its leaf.
    pub(super) fn insert(&mut self, key: u64, value: u64, append: bool) -> At<M::Dep> {
        let mut node = self.root();
        if self.count(node).0 == self.shape.pairs {
            node = self.grow(node);
        }
        loop {
            let (count, leaf) = self.count(node);
            let (i, _) = self.find(node, count, key);
            if leaf {
                let i = if append { count } else { i };
                self.open_gap(node, i, count);
                self.set_pair(node, i, (Val::lit(key), Val::lit(value)));
                self.set_count(node, count + 1, true);
                return node.field(self.shape.value(i));
            }
            let child = self.child(node, i);
            if self.count(child).0 < self.shape.pairs {
                node = child;
                continue;
            }
            self.split(node, count, i, child);
            let right = self.get(node, self.shape.key(i)).v < key;
            node = self.child(node, i + u64::from(right));
        }
    }
    /// Moves the pairs from `i` on up by one.
    pub(super) fn open_gap(&mut self, node: At<M::Dep>, i: u64, count: u64) {
        for from in (i..count).rev() {
            let pair = self.pair(node, from);
            self.set_pair(node, from + 1, pair);
        }
    }
    /// Puts a new root above a full one and splits that; returns the new root.
    fn grow(&mut self, old: At<M::Dep>) -> At<M::Dep> {
        let root = self.tx.alloc();
        self.fresh.push(root.addr.0);
        self.set_child(root, 0, old);
        self.split(root, 0, 0, old);
        self.set_root(root);
        root
    }
    /// Splits the full child at `i` of a node that is not full: the upper half becomes a new node, the middle pair goes up.
    fn split(&mut self, parent: At<M::Dep>, count: u64, i: u64, child: At<M::Dep>) {
        let (right, half) = (self.tx.alloc(), self.shape.pairs / 2);
        self.fresh.push(right.addr.0);
        let (full, leaf) = self.count(child);
        for from in half + 1..full {
            let pair = self.pair(child, from);
            self.set_pair(right, from - half - 1, pair);
        }
        if !leaf {
            for from in half + 1..=full {
                let moved = self.child(child, from);
                self.set_child(right, from - half - 1, moved);
            }
        }
        self.set_count(right, full - half - 1, leaf);
        self.open_gap(parent, i, count);
        for from in (i + 1..=count).rev() {
            let moved = self.child(parent, from);
            self.set_child(parent, from + 1, moved);
        }
        let middle = self.pair(child, half);
        self.set_pair(parent, i, middle);
        self.set_child(parent, i + 1, right);
        self.set_count(parent, count + 1, false);
        self.set_count(child, half, leaf);
    }
}
