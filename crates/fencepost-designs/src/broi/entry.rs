//! A BROI entry: the requests of one thread or channel in the order of its barriers (paper: IV-D, IV-E).

use super::banks::BankSet;
use super::params::{BroiFault, LeavesSet};
use fencepost_kernel::{Ps, decision, planted};
use fencepost_machine::seam::{Epoch, WriteId};
use std::collections::VecDeque;
use std::ops::Range;

/// A request in a unit of the entry.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The request: the paper's index into the persist buffer.
    pub id: WriteId,
    /// Its bank, counted over the whole controller.
    pub bank: u16,
    /// Its place in the order in which the scheduler put requests out, once it did.
    pub scheduled: Option<u64>,
    /// Whether its data is on the way to the medium.
    pub issued: bool,
    /// Whether it was counted among the requests that became ready.
    pub counted: bool,
}

/// What a request that came or was stored changed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The first set is the same set as before.
    Same,
    /// A set behind a barrier is now the first.
    NextSet,
}

/// One BROI entry.
#[derive(Clone, Debug)]
pub struct BroiEntry {
    /// Requests, oldest first.
    units: Vec<Unit>,
    /// Barrier index registers: how many units lie in front of each barrier, the first barrier first.
    barriers: VecDeque<u8>,
    /// Number of the newest set that a request belonged to.
    newest: Epoch,
    /// Since when the first set has had a request that was not put out.
    pub blocked_since: Option<Ps>,
    /// Banks of SubReady-SET and Next-SET, of requests that have not left them.
    pub ready_banks: BankSet,
    /// See `ready_banks`.
    pub next_banks: BankSet,
    /// Requests of the SubReady-SET that have not left it.
    pub ready_size: u32,
    /// Requests of the SubReady-SET that were not put out.
    waiting: u32,
    leaves: LeavesSet,
    fault: BroiFault,
}

impl BroiEntry {
    /// An empty entry.
    pub fn new(fault: BroiFault, leaves: LeavesSet) -> BroiEntry {
        BroiEntry {
            units: Vec::with_capacity(8),
            barriers: VecDeque::with_capacity(2),
            newest: Epoch::default(),
            blocked_since: None,
            ready_banks: BankSet::default(),
            next_banks: BankSet::default(),
            ready_size: 0,
            waiting: 0,
            leaves,
            fault: fault.or_planted(),
        }
    }
    /// Whether it holds no request.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }
    /// Requests that it holds.
    pub fn len(&self) -> usize {
        self.units.len()
    }
    /// Barrier index registers in use.
    pub fn barriers(&self) -> usize {
        self.barriers.len()
    }
    /// The units of the set with this number: 0 is the SubReady-SET, 1 the Next-SET.
    fn set(&self, number: usize) -> Range<usize> {
        let slip = usize::from(self.fault == BroiFault::BarrierIndexOffByOne);
        let boundary = |k: usize| {
            let register = self.barriers.get(k).map(|b| usize::from(*b) + slip);
            register.unwrap_or(self.units.len()).min(self.units.len())
        };
        let first = if number == 0 { 0 } else { boundary(number - 1) };
        first..boundary(number).max(first)
    }
    /// The first request set.
    pub fn sub_ready(&self) -> &[Unit] {
        &self.units[self.set(0)]
    }
    /// The second request set; empty where no second barrier epoch has begun.
    pub fn next_set(&self) -> &[Unit] {
        &self.units[self.set(1)]
    }
    /// Whether it makes a deliberate mistake.
    pub fn errs(&self) -> bool {
        self.fault != BroiFault::None
    }
    /// What is wrong with it, if anything is.
    pub fn unsound(&self) -> Option<&'static str> {
        let ascends = self
            .barriers
            .iter()
            .zip(self.barriers.iter().skip(1))
            .all(|(a, b)| a < b);
        let ends = [self.barriers.front(), self.barriers.back()];
        let within = ends
            .into_iter()
            .flatten()
            .all(|b| (1..=self.units.len()).contains(&usize::from(*b)));
        let behind = &self.units[self.set(0).end..];
        match () {
            () if !ascends || !within => Some("where its barriers lie"),
            () if behind.iter().any(|u| u.scheduled.is_some() || u.counted) => {
                Some("a request behind a barrier was put out")
            }
            () => None,
        }
    }
    /// Banks of the requests that were counted among the ready ones.
    pub fn counted_banks(&self) -> impl Iterator<Item = u16> {
        self.units.iter().filter(|u| u.counted).map(|u| u.bank)
    }
    /// Calls `count` with the bank of every request of the first set that has not been counted.
    pub fn count_ready(&mut self, mut count: impl FnMut(usize)) {
        let ready = self.set(0);
        for unit in self.units[ready].iter_mut().filter(|u| !u.counted) {
            unit.counted = true;
            count(usize::from(unit.bank));
        }
    }
    /// Requests that the scheduler may put out, oldest first.
    pub fn candidates(&self) -> impl Iterator<Item = &Unit> {
        let candidates = match self.fault {
            BroiFault::SchedulerIgnoresSets => &self.units[..],
            _ => self.sub_ready(),
        };
        candidates.iter().filter(|u| u.scheduled.is_none())
    }
    /// Whether the scheduler may put any out.
    #[inline]
    pub fn has_candidates(&self) -> bool {
        match self.fault {
            BroiFault::SchedulerIgnoresSets => self.candidates().next().is_some(),
            _ => self.waiting > 0,
        }
    }
    /// Whether the scheduler may choose a request.
    #[inline]
    pub fn is_ready(&self, id: WriteId) -> bool {
        self.candidates().any(|u| u.id == id)
    }
    /// The place of a request that was put out.
    #[inline]
    pub fn place(&self, id: WriteId) -> Option<u64> {
        self.units.iter().find(|u| u.id == id)?.scheduled
    }

    /// A request arrives that belongs to the set numbered `set`; a barrier lies in front of it if the newest had a smaller number.
    pub fn arrived(&mut self, now: Ps, id: WriteId, bank: u16, set: Epoch) -> Change {
        let behind_barrier = set > self.newest;
        self.newest = self.newest.max(set);
        let alone = self.units.is_empty();
        let waits = behind_barrier
            && !alone
            && !planted!(
                "broi.barrier-left-out",
                "a request of a later set than all before it lies behind a barrier"
            );
        if decision!("broi.behind-barrier", waits) {
            self.barriers.push_back(self.units.len() as u8);
        }
        self.units.push(Unit {
            id,
            bank,
            scheduled: None,
            issued: false,
            counted: false,
        });
        self.look(now);
        match behind_barrier && alone {
            true => Change::NextSet,
            false => Change::Same,
        }
    }
    /// The scheduler puts a request out, as number `place` of all.
    pub fn schedule(&mut self, now: Ps, id: WriteId, place: u64) {
        if let Some(unit) = self.units.iter_mut().find(|u| u.id == id) {
            unit.scheduled = Some(place);
        }
        match self.leaves {
            LeavesSet::Complete => self.look_who_waits(now),
            LeavesSet::Scheduled => self.look(now),
        }
    }
    /// A request's data goes to the medium.
    pub fn issued(&mut self, now: Ps, id: WriteId) {
        if let Some(unit) = self.units.iter_mut().find(|u| u.id == id) {
            unit.issued = true;
            if unit.scheduled.is_some() {
                return;
            }
            unit.scheduled = Some(0);
        }
        self.look(now);
    }
    /// A request is complete and leaves its unit; the units behind it move up.
    pub fn completed(&mut self, now: Ps, id: WriteId) -> Change {
        let Some(at) = self.units.iter().position(|u| u.id == id) else {
            return Change::Same;
        };
        self.units.remove(at);
        let stay = planted!("broi.barriers-stay", "barriers move up with the units behind them");
        for barrier in self.barriers.iter_mut().filter(|b| usize::from(**b) > at && !stay) {
            *barrier -= 1;
        }
        let early = self.fault == BroiFault::SetReadyTooEarly;
        let passed = self.barriers.front().is_some_and(|b| *b == 0 || early);
        if decision!("broi.barrier-passed", passed) {
            self.barriers.pop_front();
        }
        self.look(now);
        match passed {
            true => Change::NextSet,
            false => Change::Same,
        }
    }
    /// Works out banks and sizes anew.
    fn look(&mut self, now: Ps) {
        self.ready_banks.clear();
        self.next_banks.clear();
        self.ready_size = 0;
        let leaves = self.leaves;
        let stays = move |u: &&Unit| leaves == LeavesSet::Complete || u.scheduled.is_none();
        let (ready, next) = (self.set(0), self.set(1));
        for unit in self.units[ready].iter().filter(stays) {
            self.ready_banks.insert(unit.bank);
            self.ready_size += 1;
        }
        for unit in self.units[next].iter().filter(stays) {
            self.next_banks.insert(unit.bank);
        }
        self.look_who_waits(now);
    }
    /// Works out anew how many requests of the first set were not put out, and since when there are any.
    fn look_who_waits(&mut self, now: Ps) {
        let waiting = self.sub_ready().iter().filter(|u| u.scheduled.is_none()).count();
        self.waiting = waiting as u32;
        self.blocked_since = (waiting > 0).then(|| self.blocked_since.unwrap_or(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_deliberate_mistake_errs() {
        let errs = |fault| BroiEntry::new(fault, LeavesSet::Complete).errs();
        assert!(!errs(BroiFault::None) && errs(BroiFault::SetReadyTooEarly) && errs(BroiFault::ReleasedWhenSent));
    }
    #[test]
    fn barriers_that_lie_where_none_can_are_named() {
        let entry = || {
            let mut e = BroiEntry::new(BroiFault::None, LeavesSet::Complete);
            for (id, set) in [(1, 0), (2, 1), (3, 1), (4, 2)] {
                e.arrived(Ps(0), WriteId(id), id as u16, Epoch(set));
            }
            e
        };
        assert_eq!(entry().unsound(), None);
        let wrong = |breaks: fn(&mut BroiEntry)| {
            let mut e = entry();
            breaks(&mut e);
            e.unsound()
        };
        assert_eq!(wrong(|e| e.barriers[0] = 0), Some("where its barriers lie"));
        assert_eq!(wrong(|e| e.barriers[1] = 1), Some("where its barriers lie"));
        assert_eq!(wrong(|e| e.barriers[1] = 5), Some("where its barriers lie"));
        let early = wrong(|e| e.units[1].scheduled = Some(3));
        assert_eq!(early, Some("a request behind a barrier was put out"));
    }
}
