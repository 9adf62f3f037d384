//! Removal inside a transaction. A node that is about to be entered is given a pair more than the fewest, from a sibling or by a
//! merge, so that a removal never turns back.

use super::tree::{Pair, Tree};
use fencepost_kernel::{At, Mem};

impl<M: Mem> Tree<'_, '_, '_, M> {
    /// Removes a key that is in the tree.
    pub(super) fn remove(&mut self, key: u64) {
        let mut node = self.root();
        loop {
            let (count, leaf) = self.count(node);
            let (i, hit) = self.find(node, count, key);
            if leaf {
                return self.close_gap(node, i, count, true);
            }
            if !hit {
                node = self.fill(node, count, i);
                continue;
            }
            let (left, right) = (self.child(node, i), self.child(node, i + 1));
            let fewest = self.shape.fewest();
            if self.count(left).0 > fewest {
                let before = self.take_last(left);
                return self.set_pair(node, i, before);
            }
            if self.count(right).0 > fewest {
                let after = self.take_first(right);
                return self.set_pair(node, i, after);
            }
            node = self.merge(node, count, i);
        }
    }
    /// Moves the pairs behind `i` down by one and counts one less.
    fn close_gap(&mut self, node: At<M::Dep>, i: u64, count: u64, leaf: bool) {
        for from in i + 1..count {
            let pair = self.pair(node, from);
            self.set_pair(node, from - 1, pair);
        }
        self.set_count(node, count - 1, leaf);
    }
    fn take_last(&mut self, mut node: At<M::Dep>) -> Pair<M::Dep> {
        loop {
            let (count, leaf) = self.count(node);
            if leaf {
                let last = self.pair(node, count - 1);
                self.set_count(node, count - 1, true);
                return last;
            }
            node = self.fill(node, count, count);
        }
    }
    fn take_first(&mut self, mut node: At<M::Dep>) -> Pair<M::Dep> {
        loop {
            let (count, leaf) = self.count(node);
            if leaf {
                let first = self.pair(node, 0);
                self.close_gap(node, 0, count, true);
                return first;
            }
            node = self.fill(node, count, 0);
        }
    }
    /// The child at `i`, after it was given a pair if it had only the fewest.
    fn fill(&mut self, node: At<M::Dep>, count: u64, i: u64) -> At<M::Dep> {
        let (child, fewest) = (self.child(node, i), self.shape.fewest());
        if self.count(child).0 > fewest {
            return child;
        }
        if i > 0 {
            let left = self.child(node, i - 1);
            if self.count(left).0 > fewest {
                self.borrow_from_left(node, i, left, child);
                return child;
            }
        }
        if i < count {
            let right = self.child(node, i + 1);
            if self.count(right).0 > fewest {
                self.borrow_from_right(node, i, child, right);
                return child;
            }
        }
        self.merge(node, count, if i < count { i } else { i - 1 })
    }
    /// The pair above goes down to the front of the child, the left sibling's last takes its place.
    fn borrow_from_left(&mut self, node: At<M::Dep>, i: u64, left: At<M::Dep>, child: At<M::Dep>) {
        let ((given, leaf), (count, _)) = (self.count(left), self.count(child));
        self.open_gap(child, 0, count);
        let above = self.pair(node, i - 1);
        self.set_pair(child, 0, above);
        if !leaf {
            for from in (0..=count).rev() {
                let moved = self.child(child, from);
                self.set_child(child, from + 1, moved);
            }
            let moved = self.child(left, given);
            self.set_child(child, 0, moved);
        }
        let last = self.pair(left, given - 1);
        self.set_pair(node, i - 1, last);
        self.set_count(left, given - 1, leaf);
        self.set_count(child, count + 1, leaf);
    }
    /// The pair above goes down to the end of the child, the right sibling's first takes its place.
    fn borrow_from_right(&mut self, node: At<M::Dep>, i: u64, child: At<M::Dep>, right: At<M::Dep>) {
        let ((given, leaf), (count, _)) = (self.count(right), self.count(child));
        let above = self.pair(node, i);
        self.set_pair(child, count, above);
        let first = self.pair(right, 0);
        self.set_pair(node, i, first);
        if !leaf {
            let moved = self.child(right, 0);
            self.set_child(child, count + 1, moved);
            for from in 1..=given {
                let moved = self.child(right, from);
                self.set_child(right, from - 1, moved);
            }
        }
        self.close_gap(right, 0, given, leaf);
        self.set_count(child, count + 1, leaf);
    }
    /// Joins the children at `i` and `i + 1` with the pair between them; returns the joined node. A root without pairs goes.
    fn merge(&mut self, node: At<M::Dep>, count: u64, i: u64) -> At<M::Dep> {
        let (left, right) = (self.child(node, i), self.child(node, i + 1));
        let ((low, leaf), (high, _)) = (self.count(left), self.count(right));
        let above = self.pair(node, i);
        self.set_pair(left, low, above);
        for from in 0..high {
            let pair = self.pair(right, from);
            self.set_pair(left, low + 1 + from, pair);
        }
        if !leaf {
            for from in 0..=high {
                let moved = self.child(right, from);
                self.set_child(left, low + 1 + from, moved);
            }
        }
        self.set_count(left, low + 1 + high, leaf);
        self.tx.free(right);
        if count == 1 && self.root().addr == node.addr {
            self.set_root(left);
            self.tx.free(node);
            return left;
        }
        for from in i + 2..=count {
            let moved = self.child(node, from);
            self.set_child(node, from - 1, moved);
        }
        self.close_gap(node, i, count, false);
        left
    }
}
