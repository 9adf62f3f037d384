//! Repairs and oracle of the queue.

use super::*;
use crate::oracle::Builder;
use crate::tx::Region;
use fencepost_kernel::Violation;

impl Cq {
    /// iDO: re-executes the interrupted region.
    pub(super) fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, region: &Region<()>) -> Result<(), Violation> {
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
    pub(super) fn find_tail<M: Mem<Dep = ()>>(&self, m: &mut M, node: u64, expect: Option<u64>) -> Flow<CqRebuild> {
        if !self.is_node(node) {
            return Flow::Done(Err(Violation::at(
                Addr(node),
                "the list leads to something that is no node",
            )));
        }
        let at = At::new(Addr(node));
        let position = m.load(at.field(POSITION)).v;
        if expect.is_some_and(|e| e != position) {
            return Flow::Done(Err(Violation::at(Addr(node), "a linked node is not whole")));
        }
        match m.load(at.field(NEXT)).v {
            0 => {
                m.store(At::new(self.tail), Val::lit(node));
                Flow::Done(Ok(()))
            }
            next => Flow::Next(CqRebuild::FindTail {
                node: next,
                position: Some(position + 1),
            }),
        }
    }
    /// The run's history: inserts and deletes by their place in the queue.
    pub(super) fn digest(&self, ops: &[OpRecord]) -> CqModel {
        let threads = ops.iter().map(|o| o.thread + 1).max().unwrap_or(0);
        let mut b = Builder::new(threads, ops);
        let preload = u64::from(self.params.preload);
        b.initial(HEAD_REGISTER, 0);
        b.initial(TAIL_REGISTER, preload);
        let by_position = |kind: u8| {
            let mut v: Vec<&OpRecord> = ops.iter().filter(|o| o.outcome.kind == kind).collect();
            v.sort_by_key(|o| o.outcome.words[1]);
            v
        };
        let (inserted, deleted) = (by_position(INSERTED), by_position(DELETED));
        let mut values: Vec<u64> = (0..=preload).collect();
        for o in &inserted {
            b.write(TAIL_REGISTER, (o.thread, o.k), o.outcome.words[1]);
            values.push(o.outcome.words[0]);
        }
        for o in &deleted {
            let position = o.outcome.words[1];
            b.write(HEAD_REGISTER, (o.thread, o.k), position);
            if let Some(i) = position.checked_sub(preload + 1).and_then(|i| inserted.get(i as usize)) {
                b.depends((i.thread, i.k), (o.thread, o.k));
            }
        }
        let mut history = b.build();
        if inserted.iter().zip(preload + 1..).any(|(o, p)| o.outcome.words[1] != p) {
            history.set_fault("two inserts took the same place in the queue");
        }
        let in_order =
            |(o, p): (&&OpRecord, u64)| o.outcome.words[1] == p && values.get(p as usize) == Some(&o.outcome.words[0]);
        if !deleted.iter().zip(1..).all(in_order) {
            history.set_fault("deletes did not return the queue's elements once each, in order");
        }
        CqModel { history, values }
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
                let node = m.load(At::new(self.head)).v;
                if !self.is_node(node) {
                    return wrong(self.head.0, "the head pointer names no node");
                }
                let position = m.load(At::new(Addr(node)).field(POSITION)).v;
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
                let expect = model.values.get(position as usize).copied();
                let found = [VALUE, ECHO, POSITION].map(|f| m.load(at.field(f)).v);
                if expect.is_none_or(|v| found != [v, v, position]) {
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
        }
    }
}
