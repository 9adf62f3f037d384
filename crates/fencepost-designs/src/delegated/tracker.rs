//! All persist buffers together: what they hold, how accesses enter them and how they drain.

mod sound;

use super::buffer::{Entry, Kind, PersistBuffer};
use super::deps::Seq;
use super::filter::{AccessSets, Probe};
use super::merge::Merge;
use super::params::{DelegatedParams, Fault};
use super::summary::Summary;

use super::port::PortId;
use fencepost_kernel::{HwThread, LineAddr, LineData, LineTable, Ps, planted};
use fencepost_machine::seam::Epoch;

/// Where a store's bytes went.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Into a new entry.
    Appended(Seq),
    /// Into the newest entry.
    Coalesced,
}

/// What is remembered of a line besides the buffers.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct LineNote {
    /// Cores that read the line while another port knew it, so that a silent upgrade must look again: a bit each.
    pub(super) watchers: u64,
    /// An invalidating request cleared the Youngest bit of an entry, and the line's new owner has not stored yet.
    pub(super) handed: bool,
}

/// The persist buffers of all cores.
#[derive(Clone, Debug)]
pub struct Tracker {
    /// One per core.
    pub ports: Vec<PersistBuffer>,
    /// How many entries of each core have drained.
    pub drained: Vec<u64>,
    /// Epoch pointers and what they need, for merging epochs.
    pub merge: Option<Merge>,
    /// Dependences received so far.
    pub received: u64,
    pub(super) forward: bool,
    pub(super) fault: Fault,
    pub(super) notes: LineTable<LineNote>,
    /// How many lines each core watches, and how many are handed over: often none.
    pub(super) watched: Vec<u32>,
    pub(super) handed: u32,
    pub(super) scratch: Vec<(PortId, Seq, bool)>,
    pub(super) summary: Summary,
    /// Cores whose oldest entry may drain as far as dependences go, and cores whose oldest entry waits: a bit each.
    free: u64,
    waiting: u64,
    /// Cores whose oldest entry is a FENCE: a bit each.
    fences: u64,
    /// Since when each core's oldest entry is in its buffer; meaningless while it has none.
    since: Vec<Ps>,
}

/// Planted fault.
fn waits_for_whole_epochs() -> bool {
    planted!(
        "delegated.waits-for-whole-epochs",
        "dependences are those of one persist or FENCE, never of its whole epoch"
    )
}

impl Tracker {
    /// Empty buffers for `cores`.
    pub fn new(params: &DelegatedParams, ports: usize, merge: bool) -> Tracker {
        let forgetful = params.fault == Fault::FilterMissesAnAddress;
        let sets = AccessSets::new(params.filter_bytes, params.filter_hashes, forgetful);
        Tracker {
            ports: vec![PersistBuffer::new(params.fences, &sets); ports],
            drained: vec![0; ports],
            merge: merge.then(|| Merge::new(ports, usize::from(params.fences))),
            received: 0,
            forward: params.forward,
            fault: params.fault,
            notes: LineTable::default(),
            watched: vec![0; ports],
            handed: 0,
            scratch: Vec::new(),
            summary: Summary::new(ports, usize::from(params.filter_bytes) * 8),
            free: 0,
            waiting: 0,
            fences: 0,
            since: vec![Ps::ZERO; ports],
        }
    }

    // ---- accesses

    /// A load performed.
    #[inline]
    pub fn load(&mut self, owner: PortId, line: LineAddr, active: Epoch) {
        self.record(owner, line, false, active);
    }
    /// A store to volatile memory performed.
    #[inline]
    pub fn volatile_store(&mut self, owner: PortId, line: LineAddr, active: Epoch) {
        self.catch_silent_upgrade(owner, line, active);
        self.record(owner, line, true, active);
    }
    /// A store to persistent memory performed; `data` is the whole line as of now. The buffer must have a free entry.
    pub fn persist(
        &mut self,
        hw_thread: Option<HwThread>,
        owner: PortId,
        line: LineAddr,
        data: &LineData,
        at: (Ps, Epoch),
    ) -> Stored {
        let (now, active) = at;
        self.catch_silent_upgrade(owner, line, active);
        self.record(owner, line, true, active);
        if self.handed > 0 && self.notes.get(line).handed {
            self.replace_handed(owner, line);
        }
        let port = &mut self.ports[owner.index()];
        let unordered = port.accum.clear_of(&self.drained) && port.accum.earliest <= active;
        let may_join = unordered || self.fault == Fault::CoalesceWithDependences;
        if let Some((held, by)) = port.joinable(line).filter(|_| may_join) {
            (*held, *by) = (*data, hw_thread);
            return Stored::Coalesced;
        }
        let seq = port.push_persist(line, *data, hw_thread, now);
        self.summary.set_persists(owner, line, true);
        self.look_at_new(owner);
        Stored::Appended(seq)
    }
    /// A FENCE enters a buffer, if one of its slots is free.
    pub fn fence(&mut self, owner: PortId, now: Ps) -> Option<Seq> {
        let seq = self.ports[owner.index()].push_fence(now);
        self.look_at_new(owner);
        seq
    }
    /// The new owner of a line stored: entries elsewhere no longer hold its newest bytes.
    fn replace_handed(&mut self, owner: PortId, line: LineAddr) {
        self.notes.entry(line).handed = false;
        self.handed -= 1;
        for o in PortId::all_in(self.summary.may_persist(line) & !(1 << owner.0)) {
            self.ports[o.index()].supersede(line);
        }
    }
    #[inline]
    fn catch_silent_upgrade(&mut self, owner: PortId, line: LineAddr, active: Epoch) {
        if self.unwatch(owner, line) {
            self.collect(owner, line.into(), true, active);
        }
    }
    #[inline]
    fn record(&mut self, owner: PortId, line: LineAddr, is_store: bool, active: Epoch) {
        let port = &self.ports[owner.index()];
        if !port.inherited.recording && port.newest_sets.is_none() && self.merge.is_none() {
            return;
        }
        self.record_in_sets(owner, line, is_store, active);
    }
    #[inline(never)] // several kinds of accesses come here
    fn record_in_sets(&mut self, owner: PortId, line: LineAddr, is_store: bool, active: Epoch) {
        let passes_on = self.ports[owner.index()].inherited.recording && self.passes_on(owner, active);
        let port = &mut self.ports[owner.index()];
        port.inherited.recording = passes_on;
        if port.seen.again(line, is_store) {
            return;
        }
        let inherited = passes_on.then_some(&mut port.inherited.sets);
        let newest = match (port.newest_sets.map(|s| &mut port.sets[s]), &mut self.merge) {
            (None, Some(merge)) => merge.newest(owner, active),
            (of_fence, _) => of_fence,
        };
        if inherited.is_none() && newest.is_none() {
            return;
        }
        let (probe, summary) = (Probe::from(line), &mut self.summary);
        for sets in inherited.into_iter().chain(newest) {
            sets.record_at(probe, is_store, |p| summary.add(owner, p));
        }
        if summary.is_old(owner) {
            self.look_through(owner);
        }
    }
    /// Looks through all sets of a core for its part of the summary.
    #[inline(never)] // seldom
    fn look_through(&mut self, owner: PortId) {
        let lingering = self.merge.iter().flat_map(|m| m.sets(owner));
        let all = self.ports[owner.index()].all_sets().chain(lingering);
        self.summary.look_through(owner, all);
    }

    // ---- draining

    /// The next entry of a buffer to be sent.
    pub fn next(&self, owner: PortId) -> Option<&Entry> {
        let port = &self.ports[owner.index()];
        port.entries.get(port.sent)
    }
    /// The next entry of a buffer was sent and stays until [`Tracker::drop_head`].
    pub fn sent(&mut self, owner: PortId) {
        self.ports[owner.index()].sent += 1;
        self.look_at_head(owner);
    }
    /// Whether the newest entry of a buffer depends on one that has not drained.
    pub fn newest_depends(&self, owner: PortId) -> bool {
        let newest = self.ports[owner.index()].entries.back();
        newest.is_some_and(|e| !e.deps.clear_of(&self.drained))
    }
    /// Buffers whose next entry may drain as far as dependences go, a bit each.
    pub fn free_heads(&self) -> u64 {
        self.free
    }
    /// Buffers whose next entry is a FENCE, a bit each.
    pub fn fence_heads(&self) -> u64 {
        self.fences
    }
    /// Buffers whose next entry waits for dependences, a bit each.
    pub fn waiting_heads(&self) -> u64 {
        self.waiting
    }
    /// Since when the next entry of a buffer is there; only of one that has such an entry.
    #[inline]
    pub fn since(&self, owner: PortId) -> Ps {
        self.since[owner.index()]
    }
    /// A buffer has a new entry: where it is not the next one, that has not changed.
    #[inline]
    fn look_at_new(&mut self, owner: PortId) {
        let port = &self.ports[owner.index()];
        if port.sent + 1 >= port.entries.len() || waits_for_whole_epochs() {
            self.look_at_head(owner);
        }
    }
    /// A buffer has another next entry, or the entry's dependences drained.
    fn look_at_head(&mut self, owner: PortId) {
        let bit = 1 << owner.0;
        self.free &= !bit;
        self.waiting &= !bit;
        self.fences &= !bit;
        let port = &self.ports[owner.index()];
        let Some(head) = port.entries.get(port.sent) else {
            return;
        };
        self.since[owner.index()] = head.since;
        let is_fence = matches!(head.kind, Kind::Fence { .. });
        let ignore = self.fault == Fault::DrainIgnoresDependences;
        let whole_epochs = waits_for_whole_epochs();
        let entries = self.ports[owner.index()].entries.iter();
        let mut epoch = entries.take_while(|e| matches!(e.kind, Kind::Persist { .. }));
        let all = !whole_epochs || epoch.all(|e| e.deps.clear_of(&self.drained));
        let free = ignore || all && head.deps.clear_of(&self.drained);
        self.fences |= bit * u64::from(is_fence);
        match free {
            true => self.free |= bit,
            false => self.waiting |= bit,
        }
    }
    /// The oldest entry of a core has drained: every port drops its id. With merging epochs, what depended on it learns
    /// the epoch (`earliest`, and where a FENCE of the dependent leads, `after_fence`).
    pub fn drop_head(&mut self, owner: PortId, raise: Option<(Epoch, Epoch)>) -> Option<Kind> {
        let entry = self.ports[owner.index()].pop()?;
        self.drained[owner.index()] = entry.seq.0;
        if let Kind::Persist { line, .. } = entry.kind {
            let any = self.ports[owner.index()].may_hold(line);
            self.summary.set_persists(owner, line, any);
        }
        self.look_at_head(owner);
        for waiting in PortId::all_in(self.waiting) {
            self.look_at_head(waiting);
        }
        if let Some((earliest, after_fence)) = raise {
            for port in self.ports.iter_mut().filter(|p| p.names >> owner.0 & 1 == 1) {
                port.tell(owner, entry.seq, (earliest, after_fence));
            }
        }
        Some(entry.kind)
    }
    /// Whether any buffer holds bytes of a line.
    pub fn holds(&self, line: LineAddr) -> bool {
        PortId::all_in(self.summary.may_persist(line)).any(|c| self.ports[c.index()].holds(line))
    }
    /// Whether all buffers are empty.
    pub fn is_empty(&self) -> bool {
        self.ports.iter().all(|p| p.entries.is_empty())
    }
}
