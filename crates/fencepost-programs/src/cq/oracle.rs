//! Repairs and oracle of the queue.

use super::*;
use crate::oracle::Builder;
use crate::tx::Region;
use fencepost_kernel::Violation;

impl Cq {
    /// iDO: re-executes the interrupted region.
    pub(super) fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, region: &Region<()>) -> Result<(), Violation> {
        if self.ring.is_some() {
            return self.resume_ring(m, region);
        }
        let (node, last) = (region.inputs[0], region.inputs[1]);
        match region.id {
            REGION_LINK if self.is_node(node.v) && self.is_node(last.v) => {
                m.store(last.ptr().field(NEXT), node);
                m.store(At::new(self.tail), node);
                Ok(())
            }
            REGION_UNLINK if self.is_node(node.v) => {
                m.store(At::new(self.head), node);
                Ok(())
            }
            _ => Err(Violation {
                why: "a region record names no node of the queue".into(),
                at: None,
            }),
        }
    }
    /// One step of the search for the last node.
    pub(super) fn find_tail<M: Mem<Dep = ()>>(&self, m: &mut M, node: u64, passed: u64) -> Flow<CqRebuild> {
        let broken = |why: &str| Flow::Done(Err(Violation::at(Addr(node), why)));
        if !self.is_node(node) {
            return broken("the list leads to something that is no node");
        }
        if passed > self.preload.count() + self.rt.pool().blocks() {
            return broken("the list does not end");
        }
        match m.load(At::new(Addr(node)).field(NEXT)).v {
            0 => {
                m.store(At::new(self.tail), Val::lit(node));
                Flow::Done(Ok(()))
            }
            next => Flow::Next(CqRebuild::FindTail {
                node: next,
                passed: passed + 1,
            }),
        }
    }
    /// The run's history. Inserts, and deletes, have the queue's order in the order in which they had their lock.
    pub(super) fn digest(&self, ops: &[OpRecord]) -> CqModel {
        let mut b = Builder::new(ops);
        let preload = u64::from(self.params.preload);
        b.initial(HEAD_REGISTER, 0);
        b.initial(TAIL_REGISTER, preload);
        let of_kind = |kind: u8| ops.iter().filter(move |o| o.outcome.kind == kind);
        let mut values: Vec<u64> = (0..=preload).collect();
        let inserted: Vec<&OpRecord> = of_kind(INSERTED).collect();
        for (o, position) in inserted.iter().zip(preload + 1..) {
            b.write(TAIL_REGISTER, (o.thread, o.k), position);
            values.push(o.outcome.words[0]);
        }
        let mut in_order = true;
        for (o, position) in of_kind(DELETED).zip(1..) {
            b.write(HEAD_REGISTER, (o.thread, o.k), position);
            if let Some(i) = position.checked_sub(preload + 1).and_then(|i| inserted.get(i as usize)) {
                b.depends((i.thread, i.k), (o.thread, o.k));
            }
            in_order &= values.get(position as usize) == Some(&o.outcome.words[0]);
        }
        let history = b.build_if(
            in_order,
            "deletes did not return the queue's elements once each, in order",
        );
        let positions = values.iter().copied().zip(0..).collect();
        CqModel {
            history,
            values,
            positions,
        }
    }
    /// One step of the audit: the head, then one node after the other.
    pub(super) fn audit_step<M: Mem<Dep = ()>>(&self, model: &CqModel, m: &mut M, state: CqAudit) -> Flow<CqAudit> {
        let wrong = |at: u64, why: &str| Flow::Done(Err(Violation::at(Addr(at), why)));
        match state {
            CqAudit::Head(mut cut) => {
                if let Some(fault) = model.history.fault() {
                    return Flow::Done(Err(Violation {
                        why: fault.into(),
                        at: None,
                    }));
                }
                if self.ring.is_some() {
                    return self.audit_counts(model, m, cut);
                }
                let node = m.load(At::new(self.head)).v;
                if !self.is_node(node) {
                    return wrong(self.head.0, "the head pointer names no node");
                }
                let value = m.load(At::new(Addr(node)).field(VALUE)).v;
                let Some(position) = model.positions.get(&value).copied() else {
                    return wrong(node, "the first node holds the value of no operation");
                };
                if model.history.observe(&mut cut, HEAD_REGISTER, position).is_err() {
                    return wrong(
                        self.head.0,
                        "the head of the queue is at the position of no prefix of the operations",
                    );
                }
                Flow::Next(CqAudit::Node { node, position, cut })
            }
            CqAudit::Node {
                node,
                position,
                mut cut,
            } => {
                if !self.is_node(node) {
                    return wrong(node, "the list leads to something that is no node");
                }
                let at = At::new(Addr(node));
                if model.values.get(position as usize) != Some(&m.load(at.field(VALUE)).v) {
                    return wrong(node, "a linked node is not whole or holds another operation's value");
                }
                let next = m.load(at.field(NEXT)).v;
                if next != 0 {
                    return Flow::Next(CqAudit::Node {
                        node: next,
                        position: position + 1,
                        cut,
                    });
                }
                if m.load(At::new(self.tail)).v != node {
                    return wrong(self.tail.0, "the tail pointer is ahead of the list");
                }
                match model.history.observe(&mut cut, TAIL_REGISTER, position) {
                    Ok(()) => Flow::Done(Ok(())),
                    Err(_) => wrong(node, "the queue ends where no prefix of the operations ends it"),
                }
            }
            CqAudit::Slot { position, last } => self.audit_slot(model, m, (position, last)),
        }
    }
}
