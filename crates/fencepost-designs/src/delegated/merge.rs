//! Merging epochs: one epoch pointer per core instead of one boundary for all.

use super::filter::{AccessSets, Probe};
use super::port::PortId;
use fencepost_kernel::decision;
use fencepost_machine::seam::Epoch;
use std::collections::VecDeque;

/// Epoch pointers, and the read and write sets of FENCEs that have drained into an epoch that is not active yet.
///
/// When every drained FENCE closes the open epoch for all cores, a drained FENCE has done its work. With pointers it has
/// not: a core whose pointer is behind could still join an earlier epoch after reading what came after the FENCE. So
/// the sets outlive the FENCE until its epoch is active, and a conflict raises the requester to that epoch.
#[derive(Clone, Debug)]
pub struct Merge {
    pointer: Vec<Epoch>,
    last_persist: Vec<Option<Epoch>>,
    lingering: Vec<VecDeque<(Epoch, AccessSets)>>,
    slots: usize,
}

impl Merge {
    /// Pointers at epoch 0; each core keeps up to `slots` pairs of sets of drained FENCEs.
    pub fn new(ports: usize, slots: usize) -> Merge {
        Merge {
            pointer: vec![Epoch(0); ports],
            last_persist: vec![None; ports],
            lingering: vec![VecDeque::new(); ports],
            slots: slots.max(1),
        }
    }
    /// The epoch that a persist joins whose dependences allow `earliest`.
    pub fn persist_epoch(&self, owner: PortId, earliest: Epoch, active: Epoch) -> Epoch {
        self.pointer[owner.index()].max(earliest).max(active)
    }
    /// The persist has joined `epoch`; later entries of the core may not fall behind its `earliest`.
    pub fn persisted(&mut self, owner: PortId, earliest: Epoch, epoch: Epoch) {
        let pointer = &mut self.pointer[owner.index()];
        *pointer = (*pointer).max(earliest);
        self.last_persist[owner.index()] = Some(epoch);
    }
    /// A FENCE with these raised epochs has drained; its sets linger. Returns the core's new pointer.
    pub fn fence(&mut self, owner: PortId, raised: (Epoch, Epoch), active: Epoch, sets: &AccessSets) -> Epoch {
        let own = self.last_persist[owner.index()].map_or(Epoch(0), |e| Epoch(e.0 + 1));
        let (earliest, after_fence) = raised;
        let others = Epoch(active.0 + 1);
        let pointer = self.pointer[owner.index()]
            .max(earliest)
            .max(after_fence)
            .max(own)
            .max(others);
        self.pointer[owner.index()] = pointer;
        let list = &mut self.lingering[owner.index()];
        list.retain(|(e, _)| *e > active);
        list.push_back((pointer, sets.clone()));
        while decision!("delegated.lingering-sets-full", list.len() > self.slots) {
            // Full: the two oldest become one, with the later epoch.
            if let (Some((_, oldest)), Some((_, next))) = (list.pop_front(), list.front_mut()) {
                next.absorb(&oldest);
            }
        }
        pointer
    }
    /// The latest epoch after `known` whose FENCE's sets conflict with a request; epochs up to the active one conflict
    /// with nothing any more.
    pub fn conflict(&self, at: PortId, line: Probe, invalidates: bool, known: Epoch) -> Option<Epoch> {
        let list = self.lingering[at.index()].iter().rev();
        let mut live = list.take_while(|(e, _)| *e > known);
        live.find(|(_, s)| s.conflicts(line, invalidates)).map(|(e, _)| *e)
    }
    /// The sets of the newest FENCE of a core in which it drained, if they are still kept: they record what the core accesses.
    pub fn newest(&mut self, owner: PortId, active: Epoch) -> Option<&mut AccessSets> {
        let (epoch, sets) = self.lingering[owner.index()].back_mut()?;
        if decision!("delegated.newest-fence-active", *epoch <= active) {
            return None;
        }
        Some(sets)
    }
    /// All sets of a core that are kept.
    pub fn sets(&self, owner: PortId) -> impl Iterator<Item = &AccessSets> {
        self.lingering[owner.index()].iter().map(|(_, sets)| sets)
    }
    /// A core's pointer, for tests and explanations.
    pub fn pointer(&self, owner: PortId) -> Epoch {
        self.pointer[owner.index()]
    }
}
