//! The red-black tree itself: search, insertion, deletion (Cormen et al.), with null links as black leaves.

use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{Addr, At, Mem, Val};

pub(super) const KEY: u64 = 0;
pub(super) const VALUE: u64 = 8;
pub(super) const LEFT: u64 = 16;
pub(super) const RIGHT: u64 = 24;
pub(super) const PARENT: u64 = 32;
pub(super) const COLOUR: u64 = 40;
pub(super) const NODE: u64 = 64;
pub(super) const BLACK: u64 = 0;
pub(super) const RED: u64 = 1;

/// A tree inside a transaction. Nodes are values (addresses with their provenance); 0 is null.
pub(super) struct Tree<'t, 'a, 'm, M: Mem> {
    pub tx: &'t mut Tx<'a, 'm, M>,
    /// Where the root pointer lies.
    pub root: Addr,
    /// The node allocated and filled in this transaction: nothing of it needs a log, its line is remembered.
    pub fresh: Option<u64>,
}

impl<M: Mem> Tree<'_, '_, '_, M> {
    #[inline(always)]
    pub(super) fn get(&mut self, node: Val<M::Dep>, field: u64) -> Val<M::Dep> {
        self.tx.read(node.ptr().field(field))
    }
    #[inline(always)]
    pub(super) fn set(&mut self, node: Val<M::Dep>, field: u64, v: Val<M::Dep>) {
        let at = node.ptr().field(field);
        if self.fresh == Some(node.v) {
            self.tx.fresh_again(at, v);
        } else {
            self.tx.protect_once(node.ptr(), NODE);
            self.tx.write(at, v);
        }
    }
    #[inline(always)]
    pub(super) fn root(&mut self) -> Val<M::Dep> {
        self.tx.read(At::new(self.root))
    }
    #[inline(always)]
    fn set_root(&mut self, v: Val<M::Dep>) {
        self.tx.protect_once(At::new(self.root), 8);
        self.tx.write(At::new(self.root), v);
    }
    #[inline(always)]
    fn is_red(&mut self, node: Val<M::Dep>) -> bool {
        node.v != 0 && self.get(node, COLOUR).v == RED
    }
    #[inline(always)]
    fn paint(&mut self, node: Val<M::Dep>, colour: u64) {
        self.set(node, COLOUR, Val::lit(colour));
    }
    /// The node with `key` (null if absent) and the last node on the way to it (null at the root).
    #[inline(always)]
    pub(super) fn search(&mut self, key: u64) -> (Val<M::Dep>, Val<M::Dep>) {
        let (mut node, mut parent) = (self.root(), Val::lit(0));
        while node.v != 0 {
            let at = self.get(node, KEY).v;
            self.tx.compute(sites::TREE_STEP);
            if at == key {
                break;
            }
            parent = node;
            node = self.get(node, if key < at { LEFT } else { RIGHT });
        }
        (node, parent)
    }
    /// Makes `new` the child of `parent` where `old` was (the root if `parent` is null).
    fn replace_child(&mut self, parent: Val<M::Dep>, old: Val<M::Dep>, new: Val<M::Dep>) {
        if parent.v == 0 {
            self.set_root(new);
        } else {
            let side = if self.get(parent, LEFT).v == old.v { LEFT } else { RIGHT };
            self.set(parent, side, new);
        }
    }
    /// Rotates `x` down on side `side` (`LEFT`: to the left); its child on the other side takes its place.
    fn rotate(&mut self, x: Val<M::Dep>, side: u64) {
        let other = LEFT + RIGHT - side;
        let y = self.get(x, other);
        let (inner, parent) = (self.get(y, side), self.get(x, PARENT));
        self.tx.compute(sites::REBALANCE);
        // Stores to one node stand together: its line is then remembered once.
        self.set(x, other, inner);
        self.set(x, PARENT, y);
        self.set(y, PARENT, parent);
        self.set(y, side, x);
        if inner.v != 0 {
            self.set(inner, PARENT, x);
        }
        self.replace_child(parent, x, y);
    }
    /// Links the fresh node below `parent` and, unless `forget_balance`, restores the invariants.
    pub(super) fn link(&mut self, node: Val<M::Dep>, key: u64, parent: Val<M::Dep>, forget_balance: bool) {
        if parent.v == 0 {
            self.set_root(node);
        } else {
            let side = if key < self.get(parent, KEY).v { LEFT } else { RIGHT };
            self.set(parent, side, node);
        }
        if !forget_balance {
            self.balance_insertion(node);
        }
    }
    fn balance_insertion(&mut self, mut node: Val<M::Dep>) {
        loop {
            self.tx.compute(sites::REBALANCE);
            let mut parent = self.get(node, PARENT);
            if !self.is_red(parent) {
                break;
            }
            // A red node is never the root, so the grandparent exists.
            let grand = self.get(parent, PARENT);
            let side = if self.get(grand, LEFT).v == parent.v {
                LEFT
            } else {
                RIGHT
            };
            let other = LEFT + RIGHT - side;
            let uncle = self.get(grand, other);
            if self.is_red(uncle) {
                self.paint(parent, BLACK);
                self.paint(uncle, BLACK);
                self.paint(grand, RED);
                node = grand;
                continue;
            }
            if self.get(parent, other).v == node.v {
                self.rotate(parent, side);
                parent = node;
            }
            self.paint(parent, BLACK);
            self.paint(grand, RED);
            self.rotate(grand, other);
            break;
        }
        let root = self.root();
        if self.is_red(root) {
            self.paint(root, BLACK);
        }
    }
    /// Unlinks `node` and restores the invariants.
    pub(super) fn unlink(&mut self, node: Val<M::Dep>) {
        let (left, right, parent) = (self.get(node, LEFT), self.get(node, RIGHT), self.get(node, PARENT));
        // `gap`: the subtree that takes the place of the node that physically leaves; `above`: its parent afterwards.
        let (gap, above, lost_black);
        if left.v == 0 || right.v == 0 {
            gap = if left.v == 0 { right } else { left };
            above = parent;
            lost_black = !self.is_red(node);
            self.replace_child(parent, node, gap);
            if gap.v != 0 {
                self.set(gap, PARENT, parent);
            }
        } else {
            let mut next = right;
            loop {
                self.tx.compute(sites::TREE_STEP);
                let l = self.get(next, LEFT);
                if l.v == 0 {
                    break;
                }
                next = l;
            }
            lost_black = !self.is_red(next);
            gap = self.get(next, RIGHT);
            if next.v == right.v {
                above = next;
            } else {
                above = self.get(next, PARENT);
                self.set(above, LEFT, gap);
                if gap.v != 0 {
                    self.set(gap, PARENT, above);
                }
                self.set(next, RIGHT, right);
                self.set(right, PARENT, next);
            }
            self.replace_child(parent, node, next);
            self.set(next, PARENT, parent);
            self.set(next, LEFT, left);
            self.set(left, PARENT, next);
            let colour = self.get(node, COLOUR);
            self.set(next, COLOUR, colour);
        }
        if lost_black {
            self.balance_deletion(gap, above);
        }
    }
    /// `node` (perhaps null, child of `parent`) carries one black too few.
    fn balance_deletion(&mut self, mut node: Val<M::Dep>, mut parent: Val<M::Dep>) {
        while parent.v != 0 && !self.is_red(node) {
            self.tx.compute(sites::REBALANCE);
            let side = if self.get(parent, LEFT).v == node.v {
                LEFT
            } else {
                RIGHT
            };
            let other = LEFT + RIGHT - side;
            let mut sibling = self.get(parent, other);
            if self.is_red(sibling) {
                self.paint(sibling, BLACK);
                self.paint(parent, RED);
                self.rotate(parent, side);
                sibling = self.get(parent, other);
            }
            let (near, far) = (self.get(sibling, side), self.get(sibling, other));
            let (near_red, far_red) = (self.is_red(near), self.is_red(far));
            if !near_red && !far_red {
                self.paint(sibling, RED);
                node = parent;
                parent = self.get(node, PARENT);
                continue;
            }
            let mut outer = far;
            if !far_red {
                self.paint(near, BLACK);
                self.paint(sibling, RED);
                self.rotate(sibling, other);
                outer = sibling;
                sibling = near;
            }
            let colour = self.get(parent, COLOUR);
            self.set(sibling, COLOUR, colour);
            self.paint(parent, BLACK);
            self.paint(outer, BLACK);
            self.rotate(parent, side);
            return;
        }
        if self.is_red(node) {
            self.paint(node, BLACK);
        }
    }
}
