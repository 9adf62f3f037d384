//! The BROI queues: one entry for each thread and network channel, kept up to date by what the controller reports.

use super::entry::{BroiEntry, Change};
use super::params::{BroiFault, BroiParams, Release};
use fencepost_kernel::Ps;
use fencepost_machine::seam::{Write, WriteId};
use std::cell::Cell;
use std::rc::Rc;

/// What the scheduler counts and the design reports.
#[derive(Debug, Default)]
pub struct Tally {
    /// Requests that became ready.
    pub ready: Cell<u64>,
    /// Those of them that found another ready request of their bank.
    pub conflicts: Cell<u64>,
    /// Remote requests that were ready and waited because the controller's queue was too full.
    pub held: Cell<u64>,
    /// An entry that held more barriers than it has registers, or more requests than it has units.
    pub overfull: Cell<Option<usize>>,
}

/// All BROI entries. A write's queue says which entry it belongs to, its epoch to which set of it.
#[derive(Clone, Debug)]
pub struct BroiQueues {
    /// Entries of threads, then those of network channels.
    pub entries: Vec<BroiEntry>,
    /// Entries of which the scheduler may put a request out, a bit each.
    open: u64,
    /// How many belong to threads.
    pub local: usize,
    /// Requests of threads that arrived and are not complete.
    pub local_requests: u32,
    /// Barrier index registers of a thread's entry and of a channel's, and units of each.
    registers: [u8; 2],
    units: u8,
    release: Release,
    /// Ready requests of each bank that are not stored.
    at_bank: Vec<u16>,
    /// Of each entry, the remote request that was held back last.
    held: Vec<Cell<Option<WriteId>>>,
    tally: Rc<Tally>,
}

impl BroiQueues {
    /// Empty entries for `local` threads and the network channels.
    pub fn new(params: &BroiParams, local: usize, tally: &Rc<Tally>) -> BroiQueues {
        let fault: BroiFault = params.fault;
        let entries = local + usize::from(params.remote_channels);
        BroiQueues {
            entries: (0..entries).map(|_| BroiEntry::new(fault, params.leaves)).collect(),
            open: 0,
            local,
            local_requests: 0,
            registers: [params.barriers, params.remote_barriers],
            units: params.units,
            release: params.release,
            at_bank: Vec::new(),
            held: vec![Cell::new(None); entries],
            tally: Rc::clone(tally),
        }
    }
    /// Whether an entry belongs to a network channel.
    pub fn is_remote(&self, entry: usize) -> bool {
        entry >= self.local
    }
    /// What is wrong with the entries and with what is counted over them, if anything is. A deliberate mistake is none of its business.
    pub fn unsound(&self) -> Option<String> {
        if self.entries.iter().any(BroiEntry::errs) {
            return None;
        }
        let wrong = (0..).zip(&self.entries).find_map(|(i, e)| Some((i, e.unsound()?)));
        if let Some((entry, what)) = wrong {
            return Some(format!("BROI entry {entry}: {what}"));
        }
        // Where a unit is free before its request is stored, entries do not say how many are not.
        let held = self.entries[..self.local].iter().map(BroiEntry::len).sum::<usize>();
        let open = (0..).zip(&self.entries).filter(|(_, e)| e.has_candidates());
        if open.fold(0, |open, (i, _)| open | 1 << i) != self.open {
            return Some("the note of entries with requests that may go".to_owned());
        }
        let counted = self.release == Release::Drain || held == self.local_requests as usize;
        let mut at_bank = vec![0; self.at_bank.len()];
        let ready = self.entries.iter().flat_map(BroiEntry::counted_banks);
        ready.for_each(|bank| at_bank[usize::from(bank)] += 1);
        match counted {
            false => Some("the count of requests of threads".to_owned()),
            true => (self.release == Release::Media && at_bank != self.at_bank)
                .then(|| "the count of ready requests of a bank".to_owned()),
        }
    }
    /// A write arrived; the entry and what it changed there.
    pub fn arrived(&mut self, now: Ps, bank: u16, id: WriteId, write: &Write) -> (usize, Change) {
        let at = usize::from(write.queue);
        self.local_requests += u32::from(at < self.local);
        let registers = self.registers[usize::from(self.is_remote(at))];
        let entry = &mut self.entries[at];
        let change = entry.arrived(now, id, bank, write.epoch.unwrap_or_default());
        // Where a write is durable on acceptance it has no set, and its sender takes the unit as free at once: the controller's
        // own slots bound it then.
        let bounded = write.epoch.is_some();
        if bounded && (entry.barriers() > usize::from(registers) || entry.len() > usize::from(self.units)) {
            self.tally.overfull.set(Some(at));
        }
        self.look(at);
        (at, change)
    }
    /// Entries of which the scheduler may put a request out, a bit each.
    #[inline]
    pub fn open(&self) -> u64 {
        self.open
    }
    /// An entry changed.
    #[inline]
    fn look(&mut self, entry: usize) {
        let open = u64::from(self.entries[entry].has_candidates());
        self.open = self.open & !(1 << entry) | open << entry;
    }
    /// A request of an entry is put out, as number `place` of all.
    pub fn schedule(&mut self, now: Ps, entry: usize, id: WriteId, place: u64) {
        self.entries[entry].schedule(now, id, place);
        self.look(entry);
    }
    /// A write's data goes to the medium.
    pub fn issued(&mut self, now: Ps, id: WriteId, write: &Write) -> (usize, Change) {
        let at = usize::from(write.queue);
        self.entries[at].issued(now, id);
        let change = match self.release {
            Release::Media => Change::Same,
            Release::Drain => self.entries[at].completed(now, id),
        };
        self.look(at);
        (at, change)
    }
    /// The medium has stored a write.
    pub fn stored(&mut self, now: Ps, bank: u16, id: WriteId, write: &Write) -> (usize, Change) {
        let at = usize::from(write.queue);
        self.local_requests -= u32::from(at < self.local);
        if let Some(ready) = self.at_bank.get_mut(usize::from(bank)) {
            *ready = ready.saturating_sub(1);
        }
        let change = match self.release {
            Release::Media => self.entries[at].completed(now, id),
            Release::Drain => Change::Same,
        };
        self.look(at);
        (at, change)
    }
    /// Counts the request of a remote entry that is held back now, once.
    pub fn count_held(&self, entry: usize) {
        let waiting = self.entries[entry].candidates().next().map(|u| u.id);
        if waiting.is_some() && self.held[entry].replace(waiting) != waiting {
            self.tally.held.set(self.tally.held.get() + 1);
        }
    }
    /// Counts the requests of an entry's first set that have become ready since it was last asked.
    pub fn count_ready(&mut self, entry: usize) {
        let (at_bank, tally) = (&mut self.at_bank, &self.tally);
        self.entries[entry].count_ready(|bank| {
            if bank >= at_bank.len() {
                at_bank.resize(bank + 1, 0);
            }
            let conflicts = u64::from(at_bank[bank] > 0);
            at_bank[bank] += 1;
            tally.ready.set(tally.ready.get() + 1);
            tally.conflicts.set(tally.conflicts.get() + conflicts);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{filled, pm_line};
    use fencepost_kernel::WriteCause;
    use fencepost_machine::seam::Epoch;

    /// A write of the entry `queue` in its set `set`.
    fn write(queue: u8, set: u64) -> Write {
        Write {
            line: pm_line(1),
            data: filled(1),
            queue,
            epoch: Some(Epoch(set)),
            cause: WriteCause::Persist,
            hw_thread: None,
            delay: Ps::ZERO,
        }
    }

    /// Requests are ready once the set before theirs is complete; those that find another one of their bank are conflicts, and a remote one
    /// that waits is counted once however often it is passed over.
    #[test]
    fn what_is_ready_meets_in_a_bank_or_is_held_is_counted_once() {
        let params = BroiParams {
            remote_channels: 1,
            ..BroiParams::default()
        };
        let tally = Rc::new(Tally::default());
        let mut queues = BroiQueues::new(&params, 2, &tally);
        let arrives = |queues: &mut BroiQueues, id, bank, write: Write| {
            let (entry, _) = queues.arrived(Ps::ZERO, bank, WriteId(id), &write);
            queues.count_ready(entry);
            assert_eq!(queues.unsound(), None, "write {id}");
        };
        arrives(&mut queues, 1, 3, write(0, 0));
        arrives(&mut queues, 2, 3, write(0, 1));
        arrives(&mut queues, 3, 3, write(1, 0));
        arrives(&mut queues, 4, 5, write(2, 0));
        let counted = |t: &Tally| (t.ready.get(), t.conflicts.get(), t.held.get());
        assert_eq!(counted(&tally), (3, 1, 0), "the second waits behind its barrier");
        for _ in 0..3 {
            queues.count_held(2);
        }
        assert_eq!(counted(&tally), (3, 1, 1));
        for (id, bank, entry) in [(1, 3, 0), (3, 3, 1)] {
            let (at, _) = queues.stored(Ps::ZERO, bank, WriteId(id), &write(entry, 0));
            queues.count_ready(at);
            assert_eq!(queues.unsound(), None);
        }
        assert_eq!(
            counted(&tally),
            (4, 2, 1),
            "ready when the first was stored, and the third was not"
        );
        queues.at_bank[5] += 1;
        assert_eq!(
            queues.unsound().as_deref(),
            Some("the count of ready requests of a bank")
        );
    }
}
