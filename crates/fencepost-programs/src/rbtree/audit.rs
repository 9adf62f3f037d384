//! The audit: one in-order walk by parent links, one node a step, checking every invariant and every key.

use super::tree::{BLACK, COLOUR, KEY, LEFT, PARENT, RED, RIGHT, VALUE};
use super::{RbModel, RbTree};
use crate::oracle::Cut;
use fencepost_kernel::{Addr, At, Mem, Violation};

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
    /// The node to look at; `None` before the root is read.
    node: Option<u64>,
    from: From,
    /// Black nodes from the root to here, inclusive.
    blacks: u32,
    /// Black nodes on every path to a null link, once one has been seen.
    height: Option<u32>,
    /// Next of the model's keys that has not been judged.
    next: usize,
    cut: Cut,
}

type Step = Result<Option<RbAudit>, Violation>;

fn wrong(at: u64, why: &str) -> Violation {
    Violation::at(Addr(at), why)
}
fn get<M: Mem<Dep = ()>>(m: &mut M, node: u64, field: u64) -> u64 {
    m.load(At::new(Addr(node)).field(field)).v
}

impl RbAudit {
    pub(super) fn start(cut: Cut) -> RbAudit {
        RbAudit {
            node: None,
            from: From::Above,
            blacks: 0,
            height: None,
            next: 0,
            cut,
        }
    }
    pub(super) fn step<M: Mem<Dep = ()>>(mut self, p: &RbTree, model: &RbModel, m: &mut M) -> Step {
        if let Some(fault) = model.history.fault() {
            return Err(Violation {
                why: fault.into(),
                at: None,
            });
        }
        let Some(node) = self.node else {
            return self.enter_root(p, model, m);
        };
        match self.from {
            From::Above => {
                let left = get(m, node, LEFT);
                self.enter(p, m, node, left, From::Left)?;
            }
            From::Left => {
                self.visit(model, m, node)?;
                let right = get(m, node, RIGHT);
                self.enter(p, m, node, right, From::Right)?;
            }
            From::Right => {
                let parent = get(m, node, PARENT);
                self.blacks -= u32::from(get(m, node, COLOUR) == BLACK);
                if parent == 0 {
                    return self.finish(model).map(|()| None);
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
    fn enter_root<M: Mem<Dep = ()>>(mut self, p: &RbTree, model: &RbModel, m: &mut M) -> Step {
        let root = m.load(At::new(p.root)).v;
        if root == 0 {
            return self.finish(model).map(|()| None);
        }
        if !p.is_node(root) || get(m, root, PARENT) != 0 || get(m, root, COLOUR) != BLACK {
            return Err(wrong(p.root.0, "the root is no black node without a parent"));
        }
        (self.node, self.blacks) = (Some(root), 1);
        Ok(Some(self))
    }
    /// Goes down to `child`, or past it if it is null (`past`: where the walk then comes from).
    fn enter<M: Mem<Dep = ()>>(
        &mut self,
        p: &RbTree,
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
        if !p.is_node(child) {
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
    /// In-order visit: keys ascend; the keys passed over are absent, this one has its value.
    fn visit<M: Mem<Dep = ()>>(&mut self, model: &RbModel, m: &mut M, node: u64) -> Result<(), Violation> {
        let (key, value) = (get(m, node, KEY), get(m, node, VALUE));
        while let Some(k) = model.keys.get(self.next) {
            if *k >= key {
                break;
            }
            self.absent(model, *k)?;
            self.next += 1;
        }
        if model.keys.get(self.next) != Some(&key) {
            return Err(wrong(
                node,
                "a key is out of order, twice in the tree or of no operation",
            ));
        }
        self.next += 1;
        // The oracle's 0 means absent.
        if value == 0 {
            return Err(wrong(node, "a node has no value"));
        }
        let why = "a node holds the value of no prefix of the operations";
        model
            .history
            .observe(&mut self.cut, key, value)
            .map_err(|_| wrong(node, why))
    }
    fn absent(&mut self, model: &RbModel, key: u64) -> Result<(), Violation> {
        let missing = |_| Violation {
            why: format!("key {key} is absent in no prefix of the operations"),
            at: None,
        };
        model.history.observe(&mut self.cut, key, 0).map_err(missing)
    }
    fn finish(&mut self, model: &RbModel) -> Result<(), Violation> {
        for key in &model.keys[self.next..] {
            self.absent(model, *key)?;
        }
        Ok(())
    }
}
