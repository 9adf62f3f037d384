//! The audit: one in-order walk by parent links, one node a step, checking every invariant and every key. A subtree that is as set-up
//! left it is one step.

use super::planted::{lowest_red, planted_below};
use super::tree::{BLACK, COLOUR, KEY, LEFT, PARENT, RED, RIGHT, VALUE};
use crate::changed::Changed;
use crate::nodes::Nodes;
use crate::ordered_keys::{Ascent, KeyModel, Step, get, wrong};
use fencepost_kernel::{At, Mem, Violation};
use std::ops::Range;

/// Where the walk comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum From {
    Above,
    Left,
    Right,
}

/// State between two steps of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RbAudit {
    /// The tree that is walked.
    tree: u64,
    /// The node to look at; `None` before the root is read.
    node: Option<u64>,
    from: From,
    /// Black nodes from the root to here, inclusive.
    blacks: u32,
    /// Black nodes on every path to a null link, once one has been seen.
    height: Option<u32>,
    keys: Ascent,
    /// What may differ from what set-up left; asked at the first step.
    changed: Option<Changed>,
}

impl RbAudit {
    pub(super) fn start(keys: Ascent) -> RbAudit {
        RbAudit {
            tree: 0,
            node: None,
            from: From::Above,
            blacks: 0,
            height: None,
            keys,
            changed: None,
        }
    }
    pub(super) fn step<M: Mem<Dep = ()>>(mut self, p: &Nodes, model: &KeyModel, m: &mut M) -> Step<RbAudit> {
        let Some(node) = self.node else {
            return self.enter_root(p, model, m);
        };
        match self.from {
            From::Above => {
                let left = get(m, node, LEFT);
                self.enter(p, model, m, node, (left, From::Left))?;
            }
            From::Left => {
                let (key, value) = (get(m, node, KEY), get(m, node, VALUE));
                self.keys.pair(model, node, key, value)?;
                let right = get(m, node, RIGHT);
                self.enter(p, model, m, node, (right, From::Right))?;
            }
            From::Right => {
                let parent = get(m, node, PARENT);
                self.blacks -= u32::from(get(m, node, COLOUR) == BLACK);
                if parent == 0 {
                    return self.next_tree(p, model);
                }
                self.from = if get(m, parent, LEFT) == node {
                    From::Left
                } else {
                    From::Right
                };
                self.node = Some(parent);
            }
        }
        Ok(Some(self))
    }
    /// A tree is walked: the next one, or the end.
    fn next_tree(mut self, p: &Nodes, model: &KeyModel) -> Step<RbAudit> {
        if self.tree + 1 == p.trees.count {
            return self.keys.finish(model).map(|()| None);
        }
        Ok(Some(RbAudit {
            tree: self.tree + 1,
            changed: self.changed,
            ..RbAudit::start(self.keys)
        }))
    }
    fn enter_root<M: Mem<Dep = ()>>(mut self, p: &Nodes, model: &KeyModel, m: &mut M) -> Step<RbAudit> {
        let changed = self.changed.take();
        self.changed = Some(changed.unwrap_or_else(|| Changed::of(m, p.planted.span())));
        let at = p.tree(self.tree).root;
        let root = m.load(At::new(at)).v;
        if root == 0 {
            return self.next_tree(p, model);
        }
        if !p.owns(root) || get(m, root, PARENT) != 0 || get(m, root, COLOUR) != BLACK {
            return Err(wrong(at.0, "the root is no black node without a parent"));
        }
        (self.node, self.blacks) = (Some(root), 1);
        Ok(Some(self))
    }
    /// Goes down to `child`, or past it if it is null (`past`: where the walk then comes from).
    fn enter<M: Mem<Dep = ()>>(
        &mut self,
        p: &Nodes,
        model: &KeyModel,
        m: &mut M,
        node: u64,
        (child, past): (u64, From),
    ) -> Result<(), Violation> {
        if child == 0 {
            self.from = past;
            return self.reach_null(node, self.blacks);
        }
        if !p.owns(child) {
            return Err(wrong(child, "a link leads to something that is no node"));
        }
        // A child names its parent, so no walk ever meets a node twice: links cannot form a cycle.
        if get(m, child, PARENT) != node {
            return Err(wrong(child, "a node does not name its parent"));
        }
        let colour = get(m, child, COLOUR);
        if colour != BLACK && colour != RED {
            return Err(wrong(child, "a node has no colour"));
        }
        if colour == RED && get(m, node, COLOUR) == RED {
            return Err(wrong(child, "a red node has a red child"));
        }
        let blacks = self.blacks + u32::from(colour == BLACK);
        if let Some((keys, below)) = self.untouched(p, model, child) {
            self.from = past;
            self.reach_null(child, blacks + below)?;
            return self.keys.pass_over(model, child, keys);
        }
        self.blacks = blacks;
        (self.node, self.from) = (Some(child), From::Above);
        Ok(())
    }
    /// A path to a null link below `node` has so many black nodes: all paths have as many.
    fn reach_null(&mut self, node: u64, blacks: u32) -> Result<(), Violation> {
        match *self.height.get_or_insert(blacks) == blacks {
            true => Ok(()),
            false => Err(wrong(node, "paths of the tree differ in black nodes")),
        }
    }
    /// The planted keys below a node, itself included, and the black nodes on every path below it, if set-up's tree still hangs there.
    fn untouched(&self, p: &Nodes, model: &KeyModel, node: u64) -> Option<(Range<usize>, u32)> {
        let first = |above: u64| model.planted.partition_point(|pair| p.trees.of(pair.0) < above);
        let tree = first(self.tree)..first(self.tree + 1);
        let number = p.planted.number(node)? as usize;
        let (keys, depth) = tree.contains(&number).then(|| planted_below(number, tree.clone()))?;
        let below = lowest_red(tree.len()).saturating_sub(depth + 1);
        let nodes = p.planted.part(keys.start as u64..keys.end as u64);
        self.changed.as_ref()?.none_in(nodes).then_some((keys, below))
    }
}
