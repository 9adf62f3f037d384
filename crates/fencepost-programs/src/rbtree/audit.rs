//! The audit: one in-order walk by parent links, one node a step, checking every invariant and every key.

use super::tree::{BLACK, COLOUR, KEY, LEFT, PARENT, RED, RIGHT, VALUE};
use crate::nodes::Nodes;
use crate::ordered_keys::{Ascent, KeyModel, Step, get, wrong};
use fencepost_kernel::{At, Mem, Violation};

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
        }
    }
    pub(super) fn step<M: Mem<Dep = ()>>(mut self, p: &Nodes, model: &KeyModel, m: &mut M) -> Step<RbAudit> {
        model.sound()?;
        let Some(node) = self.node else {
            return self.enter_root(p, model, m);
        };
        match self.from {
            From::Above => {
                let left = get(m, node, LEFT);
                self.enter(p, m, node, left, From::Left)?;
            }
            From::Left => {
                let (key, value) = (get(m, node, KEY), get(m, node, VALUE));
                self.keys.pair(model, node, key, value)?;
                let right = get(m, node, RIGHT);
                self.enter(p, m, node, right, From::Right)?;
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
            ..RbAudit::start(self.keys)
        }))
    }
    fn enter_root<M: Mem<Dep = ()>>(mut self, p: &Nodes, model: &KeyModel, m: &mut M) -> Step<RbAudit> {
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
        m: &mut M,
        node: u64,
        child: u64,
        past: From,
    ) -> Result<(), Violation> {
        if child == 0 {
            if *self.height.get_or_insert(self.blacks) != self.blacks {
                return Err(wrong(node, "paths of the tree differ in black nodes"));
            }
            self.from = past;
            return Ok(());
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
        self.blacks += u32::from(colour == BLACK);
        (self.node, self.from) = (Some(child), From::Above);
        Ok(())
    }
}
