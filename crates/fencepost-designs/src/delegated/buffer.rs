//! One core's persist buffer with its FENCE sets and registers.

mod sound;

use super::deps::{Deps, Seq};
use super::filter::{AccessSets, Probe, Seen};
use super::port::PortId;
use super::summary::low;
use fencepost_kernel::decision;
use fencepost_kernel::{HwThread, LineAddr, LineData, Ps};
use fencepost_machine::seam::Epoch;
use std::collections::VecDeque;

/// Whether an entry holds the newest bytes of its line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Newness {
    /// The Youngest bit is set: this entry answers coherence requests.
    Youngest,
    /// An invalidating request cleared the bit, but the requester has not stored yet. Should the line move on before it
    /// does, the next requester must still learn of this entry.
    HandedTo(PortId),
    /// A later store, here or elsewhere, has replaced it.
    Superseded,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A line to be written.
    Persist {
        /// The line.
        line: LineAddr,
        /// The whole line as of the newest store in this entry.
        data: LineData,
        /// Whether it is the newest copy.
        newness: Newness,
        /// The hardware thread that stored last; none for what came over a network.
        hw_thread: Option<HwThread>,
    },
    /// A FENCE, with the index of its read and write sets.
    Fence {
        /// Index into the buffer's pool of sets.
        sets: usize,
    },
}

/// A persist buffer entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Position in the core's stream; the hardware id follows from it.
    pub seq: Seq,
    /// Persist or FENCE.
    pub kind: Kind,
    /// Other cores' entries that must drain first.
    pub deps: Deps,
    /// When it was appended (for oldest-first arbitration).
    pub since: Ps,
}

/// Dependences on other cores' FENCEs that this core received and that have not drained, with what the core accessed
/// since: whoever reads or overwrites that is ordered after those FENCEs too.
#[derive(Clone, Debug)]
pub struct Inherited {
    /// The FENCEs (and, merging epochs, the epoch).
    pub deps: Deps,
    /// Accesses since the first of them arrived, up to the core's next FENCE.
    pub sets: AccessSets,
    /// Whether accesses are being recorded.
    pub recording: bool,
}

/// A persist buffer.
#[derive(Clone, Debug)]
pub struct PersistBuffer {
    /// Entries, oldest first.
    pub entries: VecDeque<Entry>,
    /// How many of the oldest were sent to the controller and stay until it has made them durable. Designs that free an
    /// entry when they send it never have one.
    pub sent: usize,
    /// Dependences that the next persist or FENCE will carry.
    pub accum: Deps,
    /// See `Inherited`.
    pub inherited: Inherited,
    /// Read and write sets, one pair per FENCE slot.
    pub sets: Vec<AccessSets>,
    free_sets: Vec<usize>,
    /// The sets of the newest FENCE, while it is in the buffer.
    pub(super) newest_sets: Option<usize>,
    /// Accesses that need not be recorded again, until other sets record.
    pub(super) seen: Seen,
    /// Entries ever appended.
    pub appended: u64,
    /// How many persists it holds of lines with the same low address bits: most questions about a line end here.
    held: [u8; 64],
    /// A bit for every core of which some dependence here may name an entry that has not drained.
    pub names: u64,
}

impl PersistBuffer {
    /// An empty buffer with `fences` FENCE slots; every pair of sets starts as `empty`.
    pub fn new(fences: u8, empty: &AccessSets) -> PersistBuffer {
        PersistBuffer {
            entries: VecDeque::new(),
            sent: 0,
            accum: Deps::default(),
            inherited: Inherited {
                deps: Deps::default(),
                sets: empty.clone(),
                recording: false,
            },
            sets: vec![empty.clone(); usize::from(fences)],
            free_sets: (0..usize::from(fences)).rev().collect(),
            newest_sets: None,
            seen: Seen::NOTHING,
            appended: 0,
            held: [0; 64],
            names: 0,
        }
    }
    /// FENCE slots that are free.
    pub fn free_fences(&self) -> usize {
        self.free_sets.len()
    }
    fn push(&mut self, kind: Kind, since: Ps) -> Seq {
        self.appended += 1;
        let seq = Seq(self.appended);
        let deps = self.accum.take();
        self.entries.push_back(Entry { seq, kind, deps, since });
        seq
    }
    /// Appends a persist; older entries of the line stop being the newest.
    pub fn push_persist(&mut self, line: LineAddr, data: LineData, hw_thread: Option<HwThread>, since: Ps) -> Seq {
        self.supersede(line);
        self.held[low(line)] += 1;
        let newness = Newness::Youngest;
        self.push(
            Kind::Persist {
                line,
                data,
                newness,
                hw_thread,
            },
            since,
        )
    }
    /// Appends a FENCE, if a slot is free.
    pub fn push_fence(&mut self, since: Ps) -> Option<Seq> {
        let sets = self.free_sets.pop()?;
        self.sets[sets].clear();
        self.newest_sets = Some(sets);
        self.seen = Seen::NOTHING;
        self.inherited.recording = false;
        Some(self.push(Kind::Fence { sets }, since))
    }
    /// The newest entry, if it is a persist of `line` with its Youngest bit set and was not sent: the only one a store may join.
    pub fn joinable(&mut self, line: LineAddr) -> Option<(&mut LineData, &mut Option<HwThread>)> {
        if decision!("delegated.newest-entry-sent", self.sent == self.entries.len()) {
            return None;
        }
        match &mut self.entries.back_mut()?.kind {
            Kind::Persist {
                line: l,
                data,
                newness: Newness::Youngest,
                hw_thread,
            } if *l == line => Some((data, hw_thread)),
            _ => None,
        }
    }
    /// Marks every entry of a line as replaced.
    pub fn supersede(&mut self, line: LineAddr) {
        if self.held[low(line)] == 0 {
            return;
        }
        for e in &mut self.entries {
            if let Kind::Persist { line: l, newness, .. } = &mut e.kind
                && *l == line
            {
                *newness = Newness::Superseded;
            }
        }
    }
    /// Removes the oldest entry; a FENCE's sets become free (their contents stay until the slot is used again).
    pub fn pop(&mut self) -> Option<Entry> {
        let e = self.entries.pop_front()?;
        self.sent = self.sent.saturating_sub(1);
        match e.kind {
            Kind::Fence { sets } => {
                self.free_sets.push(sets);
                // It was the last one, if it was the newest.
                self.newest_sets = self.newest_sets.filter(|newest| *newest != sets);
            }
            Kind::Persist { line, .. } => self.held[low(line)] -= 1,
        }
        Some(e)
    }
    /// Entry `seq` of another core has drained: what depends on it learns the epochs it drained into.
    pub fn tell(&mut self, owner: PortId, seq: Seq, (earliest, after_fence): (Epoch, Epoch)) {
        let own = [&mut self.accum, &mut self.inherited.deps];
        let mut later = false;
        for deps in self.entries.iter_mut().map(|e| &mut e.deps).chain(own) {
            match deps.newest_of(owner) {
                Some(s) if s == seq => deps.raise(earliest, after_fence),
                Some(s) => later |= s > seq,
                None => {}
            }
        }
        if !later {
            self.names &= !(1 << owner.0);
        }
    }
    /// The entry that holds or last held the newest bytes of a line here, not yet replaced by a store.
    pub fn current(&mut self, line: LineAddr) -> Option<(Seq, &mut Newness)> {
        if self.held[low(line)] == 0 {
            return None;
        }
        self.entries.iter_mut().rev().find_map(|e| match &mut e.kind {
            Kind::Persist { line: l, newness, .. } if *l == line && *newness != Newness::Superseded => {
                Some((e.seq, newness))
            }
            _ => None,
        })
    }
    /// The newest FENCE whose sets conflict with a request.
    pub fn conflicting_fence(&self, line: Probe, invalidates: bool) -> Option<Seq> {
        if self.free_sets.len() == self.sets.len() {
            return None;
        }
        self.entries.iter().rev().find_map(|e| match e.kind {
            Kind::Fence { sets } if self.sets[sets].conflicts(line, invalidates) => Some(e.seq),
            _ => None,
        })
    }
    /// Whether it holds a persist of any line with the low address bits of this one.
    #[inline]
    pub fn may_hold(&self, line: LineAddr) -> bool {
        self.held[low(line)] > 0
    }
    /// The sets of its FENCEs, and those of what it inherited.
    pub fn all_sets(&self) -> impl Iterator<Item = &AccessSets> {
        let fences = self.entries.iter().filter_map(|e| match e.kind {
            Kind::Fence { sets } => Some(&self.sets[sets]),
            Kind::Persist { .. } => None,
        });
        fences.chain(std::iter::once(&self.inherited.sets))
    }
    /// Whether any entry holds bytes of the line.
    pub fn holds(&self, line: LineAddr) -> bool {
        let same = |e: &Entry| matches!(e.kind, Kind::Persist { line: l, .. } if l == line);
        self.held[low(line)] > 0 && self.entries.iter().any(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever inherits a dependence later must know the epochs, too: an entry, the next entry, and what is handed on.
    #[test]
    fn everything_that_names_a_drained_entry_learns_its_epochs() {
        let (owner, seq, epochs) = (PortId(3), Seq(7), (Epoch(5), Epoch(6)));
        let mut buffer = PersistBuffer::new(1, &AccessSets::new(8, 1, false));
        buffer.accum.add(owner, seq);
        buffer.push_persist(LineAddr(1), LineData::default(), None, Ps::ZERO);
        buffer.accum.add(owner, seq);
        buffer.inherited.deps.add(owner, seq);
        buffer.tell(owner, seq, epochs);
        for deps in [&buffer.entries[0].deps, &buffer.accum, &buffer.inherited.deps] {
            assert_eq!((deps.earliest, deps.after_fence), epochs);
        }
    }
}
