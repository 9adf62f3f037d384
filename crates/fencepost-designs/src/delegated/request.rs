//! What a bus request learns from the buffers: dependences, epochs, and whether one of them holds the line.

use super::buffer::Newness;
use super::deps::Seq;
use super::filter::{Probe, Seen};
use super::merge::Merge;
use super::params::Fault;
use super::port::PortId;
use super::tracker::Tracker;
use fencepost_kernel::decision;
use fencepost_kernel::{LineAddr, planted};
use fencepost_machine::seam::Epoch;

impl Tracker {
    /// Cores other than `by` that may know something of a line.
    #[inline]
    fn others(&self, by: PortId, probe: Probe) -> impl Iterator<Item = PortId> + use<> {
        let sets = &self.ports[by.index()].inherited.sets;
        let others = self.summary.may_know(probe, sets) & !(1 << by.0);
        debug_assert_eq!(self.all_that_know(by, probe) & !others, 0);
        PortId::all_in(others)
    }
    /// Cores other than `by` that know something of a line, found by looking everywhere.
    fn all_that_know(&self, by: PortId, probe: Probe) -> u64 {
        let knows = |c: &PortId| {
            let lingering = self.merge.iter().flat_map(|m| m.sets(*c));
            let mut sets = self.ports[c.index()].all_sets().chain(lingering);
            self.ports[c.index()].holds(probe.line()) || sets.any(|s| s.conflicts(probe, true))
        };
        let others = (0..self.ports.len() as u8).map(PortId).filter(|c| *c != by);
        others.filter(knows).fold(0, |m, c| m | 1 << c.0)
    }
    /// Whether a core still passes on dependences it received.
    pub(super) fn passes_on(&self, owner: PortId, active: Epoch) -> bool {
        let deps = &self.ports[owner.index()].inherited.deps;
        deps.earliest > active || !deps.clear_of(&self.drained)
    }

    /// A bus request of core `by` is granted: collects dependences from every other port, whether or not its cache
    /// holds the line. Returns whether some buffer holds the newest bytes. `active` is the oldest epoch not durable.
    pub fn request(&mut self, by: PortId, line: LineAddr, invalidates: bool, active: Epoch) -> bool {
        let probe = Probe::from(line);
        let supplied = self.collect(by, probe, invalidates, active);
        self.unwatch(by, line);
        if decision!(
            "delegated.read-known-elsewhere",
            !invalidates && self.known_elsewhere(by, probe, active)
        ) {
            self.watch(by, line);
        }
        supplied
    }
    pub(super) fn collect(&mut self, by: PortId, probe: Probe, invalidates: bool, active: Epoch) -> bool {
        let (mut supplied, line) = (false, probe.line());
        let mut found = std::mem::take(&mut self.scratch);
        for o in self.others(by, probe) {
            supplied |= self.ask_buffer(o, by, probe, invalidates, &mut found);
            if decision!(
                "delegated.asked-for-inherited",
                self.forward && self.passes_on(o, active)
            ) {
                self.ask_inherited(o, by, probe, invalidates, &mut found);
            }
            let conflict = |m: &Merge| m.conflict(o, probe, invalidates, active.max(self.known_epoch(by, line)));
            if let Some(epoch) = self.merge.as_ref().and_then(conflict) {
                self.ports[by.index()].accum.raise(epoch, past(epoch, line));
                self.inherit_epoch(by, epoch, active);
            }
        }
        forget(&mut found, invalidates);
        for (owner, seq, is_fence) in found.drain(..) {
            self.received += 1;
            self.ports[by.index()].names |= 1 << owner.0;
            self.ports[by.index()].accum.add(owner, seq);
            if decision!("delegated.fence-named", is_fence && self.forward) {
                self.start_inheriting(by, active);
                self.ports[by.index()].inherited.deps.add(owner, seq);
            }
        }
        self.scratch = found;
        supplied
    }
    /// The epoch up to which a conflict on the line tells a core nothing that it does not carry already.
    fn known_epoch(&self, by: PortId, line: LineAddr) -> Epoch {
        let port = &self.ports[by.index()];
        let (accum, inherited) = (&port.accum, &port.inherited);
        let ordered = accum
            .earliest
            .min(Epoch(accum.after_fence.0.saturating_sub(past(Epoch(0), line).0)));
        match (self.forward, inherited.recording) {
            (true, true) => ordered.min(inherited.deps.earliest),
            (true, false) => Epoch(0),
            (false, _) => ordered,
        }
    }
    /// The persist of the line and the youngest conflicting FENCE of one buffer.
    fn ask_buffer(
        &mut self,
        at: PortId,
        by: PortId,
        probe: Probe,
        invalidates: bool,
        found: &mut Vec<(PortId, Seq, bool)>,
    ) -> bool {
        let (port, line) = (&mut self.ports[at.index()], probe.line());
        if port.entries.is_empty() {
            return false;
        }
        let mut supplied = false;
        if let Some((seq, newness)) = port.current(line) {
            supplied = *newness == Newness::Youngest;
            found.push((at, seq, false));
            if invalidates {
                *newness = Newness::HandedTo(by);
                self.hand_over(line);
            } else if self.fault == Fault::ReadClearsYoungest {
                *newness = Newness::Superseded;
            }
        }
        if let Some(seq) = self.ports[at.index()].conflicting_fence(probe, invalidates) {
            found.push((at, seq, true));
        }
        supplied
    }
    /// What the other core itself received and has to pass on for lines it accessed since.
    fn ask_inherited(
        &mut self,
        at: PortId,
        by: PortId,
        probe: Probe,
        invalidates: bool,
        found: &mut Vec<(PortId, Seq, bool)>,
    ) {
        let inherited = &self.ports[at.index()].inherited;
        if decision!(
            "delegated.inherited-without-conflict",
            !inherited.sets.conflicts(probe, invalidates)
        ) {
            return;
        }
        let once = planted!(
            "delegated.handed-on-once",
            "a received FENCE dependence is handed on by whoever received it from another"
        );
        found.extend(
            inherited
                .deps
                .open(&self.drained)
                .filter(|d| d.0 != by)
                .map(|(c, s)| (c, s, !once)),
        );
        let epoch = inherited.deps.earliest;
        self.ports[by.index()].accum.raise(epoch, past(epoch, probe.line()));
        self.ports[by.index()].inherited.deps.raise(epoch, Epoch::default());
    }
    fn inherit_epoch(&mut self, by: PortId, epoch: Epoch, active: Epoch) {
        if self.forward {
            self.start_inheriting(by, active);
            self.ports[by.index()].inherited.deps.raise(epoch, Epoch::default());
        }
    }
    fn start_inheriting(&mut self, by: PortId, active: Epoch) {
        let live = self.passes_on(by, active);
        let port = &mut self.ports[by.index()];
        let inherited = &mut port.inherited;
        if decision!("delegated.inherits-anew", !live) {
            inherited.deps.reset();
            inherited.sets.clear();
        }
        if !live || !inherited.recording {
            port.seen = Seen::NOTHING;
        }
        inherited.recording = true;
    }

    // ---- silent upgrades

    /// Whether another port would answer an invalidating request for the line. A read may leave its core with the only
    /// copy, and then its next store makes no bus request.
    fn known_elsewhere(&self, by: PortId, probe: Probe, active: Epoch) -> bool {
        let line = probe.line();
        self.others(by, probe).any(|o| {
            let port = &self.ports[o.index()];
            let inherits = self.forward && self.passes_on(o, active) && port.inherited.sets.may_have_read(probe);
            let lingers = self
                .merge
                .as_ref()
                .is_some_and(|m| m.conflict(o, probe, true, active).is_some());
            inherits || lingers || port.holds(line) || port.conflicting_fence(probe, true).is_some()
        })
    }
    /// Watches a line that is not watched.
    fn watch(&mut self, by: PortId, line: LineAddr) {
        self.notes.entry(line).watchers |= 1 << by.0;
        self.watched[by.index()] += 1;
    }
    fn hand_over(&mut self, line: LineAddr) {
        let note = self.notes.entry(line);
        self.handed += u32::from(!std::mem::replace(&mut note.handed, true));
    }
    /// Stops watching a line; whether it was watched.
    #[inline]
    pub(super) fn unwatch(&mut self, by: PortId, line: LineAddr) -> bool {
        let watched = self.watched[by.index()] > 0 && self.notes.get(line).watchers >> by.0 & 1 == 1;
        if watched {
            self.notes.entry(line).watchers &= !(1 << by.0);
            self.watched[by.index()] -= 1;
        }
        watched
    }
}

/// What a broken mechanism does not pass on of what a request found: persists and FENCEs of other buffers.
fn forget(found: &mut Vec<(PortId, Seq, bool)>, invalidates: bool) {
    let reader_forgets = !invalidates
        && planted!(
            "delegated.read-learns-nothing",
            "who reads a line persists after what its bytes persist after"
        );
    if reader_forgets {
        found.clear();
    }
    let owner_forgets = invalidates
        && planted!(
            "delegated.owner-learns-nothing",
            "who takes a line persists after the buffer that holds it"
        );
    if owner_forgets {
        found.retain(|(_, _, is_fence)| *is_fence);
    }
}

/// Where a FENCE leads that follows a conflict on `line` with accesses in `epoch`: behind the epoch, if the line may have
/// been persisted in it.
fn past(epoch: Epoch, line: LineAddr) -> Epoch {
    if line.is_persistent() {
        Epoch(epoch.0 + 1)
    } else {
        epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::units::{LINE_BYTES, PM_BASE};

    /// A FENCE behind a conflict on persistent memory begins a later epoch than the accesses of the other core; volatile lines are
    /// persisted in none.
    #[test]
    fn a_fence_leads_behind_an_epoch_that_persists_its_line() {
        let led = [LineAddr(PM_BASE / LINE_BYTES), LineAddr(1)].map(|line| past(Epoch(3), line));
        assert_eq!(led, [Epoch(4), Epoch(3)]);
    }
}
