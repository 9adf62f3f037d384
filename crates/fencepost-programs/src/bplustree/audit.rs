//! The audit: a depth-first walk, one node a step, checking bounds, order, depth, leaf chain and every pair.

use super::node::{COUNT, LEAF, NEXT, Shape, child_at, key_at, value_at};
use crate::ordered_keys::{Ascent, KeyModel, Step, get, wrong};
use fencepost_kernel::{Addr, At, Mem, Violation, Width};

/// A node on the path from the root, and the next of its children.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
struct Frame {
    node: u64,
    child: u64,
    /// Keys below this node are at least `low` and below `high` (`None`: unbounded).
    low: u64,
    high: Option<u64>,
}

/// State between two steps of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BPlusAudit {
    /// The tree that is walked.
    tree: u64,
    /// Path from the root; empty before the root is read.
    path: Vec<Frame>,
    started: bool,
    /// Depth of the leaves, once one has been seen.
    depth: Option<usize>,
    /// The leaf that must come next, once one has been seen.
    leaf: Option<u64>,
    keys: Ascent,
}

impl BPlusAudit {
    pub(super) fn start(keys: Ascent) -> BPlusAudit {
        BPlusAudit {
            tree: 0,
            path: Vec::new(),
            started: false,
            depth: None,
            leaf: None,
            keys,
        }
    }
    pub(super) fn step<M: Mem<Dep = ()>>(mut self, p: &Shape, model: &KeyModel, m: &mut M) -> Step<BPlusAudit> {
        model.sound()?;
        let target = if self.started {
            match self.descend(p, m) {
                Some(frame) => frame,
                None => return self.next_tree(p, model),
            }
        } else {
            self.started = true;
            let root = m.load(At::new(p.nodes.tree(self.tree).root)).v;
            Frame {
                node: root,
                child: 0,
                low: 0,
                high: None,
            }
        };
        self.enter(p, model, m, target)?;
        Ok(Some(self))
    }
    /// The next child to look at, leaving nodes that have none left.
    fn descend<M: Mem<Dep = ()>>(&mut self, p: &Shape, m: &mut M) -> Option<Frame> {
        loop {
            let top = self.path.last_mut()?;
            let count = get(m, top.node, COUNT) & (LEAF - 1);
            if top.child > count {
                self.path.pop();
                continue;
            }
            let i = top.child;
            top.child += 1;
            let low = if i == 0 {
                top.low
            } else {
                get(m, top.node, key_at(i - 1))
            };
            let high = if i == count {
                top.high
            } else {
                Some(get(m, top.node, key_at(i)))
            };
            return Some(Frame {
                node: get(m, top.node, child_at(p.pairs, i)),
                child: 0,
                low,
                high,
            });
        }
    }
    fn enter<M: Mem<Dep = ()>>(&mut self, p: &Shape, model: &KeyModel, m: &mut M, f: Frame) -> Result<(), Violation> {
        if !p.nodes.owns(f.node) {
            return Err(wrong(f.node, "a child pointer leads to something that is no node"));
        }
        let word = get(m, f.node, COUNT);
        let (count, leaf) = (word & (LEAF - 1), word & LEAF != 0);
        if count > p.pairs || word > (LEAF | p.pairs) {
            return Err(wrong(f.node, "a node counts more pairs than it can hold"));
        }
        // Bounds nest strictly, so the walk cannot return to a node above: pointers cannot form a cycle without breaking this.
        if self.path.iter().any(|above| above.node == f.node) {
            return Err(wrong(f.node, "a node is below itself"));
        }
        let mut low = f.low;
        for i in 0..count {
            let key = get(m, f.node, key_at(i));
            let ascends = if i == 0 { key >= low } else { key > low };
            if !ascends || f.high.is_some_and(|h| key >= h) {
                return Err(wrong(f.node, "keys of a node are out of order or out of its bounds"));
            }
            low = key;
        }
        if !leaf {
            self.path.push(f);
            return Ok(());
        }
        self.leaf(p, model, m, f.node, count)
    }
    fn leaf<M: Mem<Dep = ()>>(
        &mut self,
        p: &Shape,
        model: &KeyModel,
        m: &mut M,
        node: u64,
        count: u64,
    ) -> Result<(), Violation> {
        if *self.depth.get_or_insert(self.path.len()) != self.path.len() {
            return Err(wrong(node, "leaves are at different depths"));
        }
        if self.leaf.is_some_and(|expected| expected != node) {
            return Err(wrong(node, "the chain of leaves is not the order of the leaves"));
        }
        self.leaf = Some(get(m, node, NEXT));
        for i in 0..count {
            let key = get(m, node, key_at(i));
            let value = m.load_n(At::new(Addr(node)).field(value_at(p.pairs, i)), Width::B4).v;
            self.keys.pair(model, node, key, value)?;
        }
        Ok(())
    }
    /// A tree is walked: the next one, or the end.
    fn next_tree(mut self, p: &Shape, model: &KeyModel) -> Step<BPlusAudit> {
        self.chain_ends()?;
        if self.tree + 1 == p.nodes.trees.count {
            return self.keys.finish(model).map(|()| None);
        }
        Ok(Some(BPlusAudit {
            tree: self.tree + 1,
            ..BPlusAudit::start(self.keys)
        }))
    }
    fn chain_ends(&self) -> Result<(), Violation> {
        if let Some(node) = self.leaf
            && node != 0
        {
            return Err(wrong(node, "the chain of leaves goes on beyond the last leaf"));
        }
        Ok(())
    }
}
