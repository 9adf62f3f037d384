//! The audit: one walk in the order of the keys, a node a step, checking bounds, counts, depth and every pair.

use super::shape::{COUNT, LEAF, Shape};
use crate::ordered_keys::{Ascent, KeyModel, Step, get, wrong};
use fencepost_kernel::{At, Mem, Violation};

/// A node on the path from the root, and the next of its children.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
struct Frame {
    node: u64,
    child: u64,
    /// Keys below this node are above `low` and below `high` (`None`: unbounded).
    low: u64,
    high: Option<u64>,
}

/// State between two steps of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BTreeAudit {
    /// The tree that is walked.
    tree: u64,
    path: Vec<Frame>,
    started: bool,
    /// Depth of the leaves, once one has been seen.
    depth: Option<usize>,
    keys: Ascent,
}

impl BTreeAudit {
    pub(super) fn start(keys: Ascent) -> BTreeAudit {
        BTreeAudit {
            tree: 0,
            path: Vec::new(),
            started: false,
            depth: None,
            keys,
        }
    }
    /// One node; `None` at the end.
    pub(super) fn step<M: Mem<Dep = ()>>(mut self, shape: &Shape, model: &KeyModel, m: &mut M) -> Step<BTreeAudit> {
        let target = if self.started {
            self.descend(shape, model, m)?
        } else {
            self.started = true;
            let node = m.load(At::new(shape.nodes.tree(self.tree).root)).v;
            Some(Frame {
                node,
                child: 0,
                low: 0,
                high: None,
            })
        };
        let Some(target) = target else {
            if self.tree + 1 == shape.nodes.trees.count {
                return self.keys.finish(model).map(|()| None);
            }
            return Ok(Some(BTreeAudit {
                tree: self.tree + 1,
                ..BTreeAudit::start(self.keys)
            }));
        };
        self.enter(shape, model, m, target)?;
        Ok(Some(self))
    }
    /// The next child to look at, after the pair before it; nodes that have none left are left.
    fn descend<M: Mem<Dep = ()>>(
        &mut self,
        shape: &Shape,
        model: &KeyModel,
        m: &mut M,
    ) -> Result<Option<Frame>, Violation> {
        while let Some(top) = self.path.last_mut() {
            let (node, i, mut low) = (top.node, top.child, top.low);
            let count = get(m, node, COUNT) & (LEAF - 1);
            if i > count {
                self.path.pop();
                continue;
            }
            top.child += 1;
            let high = if i == count {
                top.high
            } else {
                Some(get(m, node, shape.key(i)))
            };
            if i > 0 {
                low = get(m, node, shape.key(i - 1));
                let value = get(m, node, shape.value(i - 1));
                self.keys.pair(model, node, low, value)?;
            }
            let node = get(m, node, shape.child(i));
            return Ok(Some(Frame {
                node,
                child: 0,
                low,
                high,
            }));
        }
        Ok(None)
    }
    fn enter<M: Mem<Dep = ()>>(
        &mut self,
        shape: &Shape,
        model: &KeyModel,
        m: &mut M,
        f: Frame,
    ) -> Result<(), Violation> {
        if !shape.nodes.owns(f.node) {
            return Err(wrong(f.node, "a link leads to something that is no node"));
        }
        let word = get(m, f.node, COUNT);
        let (count, leaf) = (word & (LEAF - 1), word & LEAF != 0);
        if word > (LEAF | shape.pairs) || count > shape.pairs {
            return Err(wrong(f.node, "a node counts more pairs than it can hold"));
        }
        let least = match (self.path.is_empty(), leaf) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => shape.fewest(),
        };
        if count < least {
            return Err(wrong(f.node, "a node has too few pairs"));
        }
        // Keys of inner nodes ascend strictly between bounds that nest, so no walk meets a node twice: links form no cycle.
        let mut low = f.low;
        for i in 0..count {
            let key = get(m, f.node, shape.key(i));
            if key <= low || f.high.is_some_and(|h| key >= h) {
                return Err(wrong(f.node, "keys of a node are out of order or out of its bounds"));
            }
            low = key;
        }
        if !leaf {
            self.path.push(f);
            return Ok(());
        }
        if *self.depth.get_or_insert(self.path.len()) != self.path.len() {
            return Err(wrong(f.node, "leaves are at different depths"));
        }
        for i in 0..count {
            let (key, value) = (get(m, f.node, shape.key(i)), get(m, f.node, shape.value(i)));
            self.keys.pair(model, f.node, key, value)?;
        }
        Ok(())
    }
}
