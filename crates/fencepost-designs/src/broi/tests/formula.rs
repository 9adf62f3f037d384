//! Equation 2 and the sets, against their literal definitions.

use crate::broi::entry::{BroiEntry, Change};
use crate::broi::params::{BroiFault, LeavesSet};
use crate::broi::priority::Priorities;
use crate::statements::broi::{RequestSet, literal};
use fencepost_kernel::{Ps, Stream};
use fencepost_machine::seam::{Epoch, WriteId};

/// A request of the model: id, bank, whether it was scheduled.
type Request = (u64, u16, bool);

/// An entry as the paper defines it: a list of request sets.
#[derive(Clone, Default)]
struct Model {
    sets: Vec<(u64, Vec<Request>)>,
    /// Whether a scheduled request stays in its set until it is complete.
    stays: bool,
}
impl Model {
    /// Its first and its second set.
    fn sets(&self) -> [RequestSet; 2] {
        [0, 1].map(|number| self.set(number).into_iter().collect())
    }
    fn set(&self, number: usize) -> Vec<(u64, u16)> {
        let set = self.sets.get(number).map(|s| s.1.as_slice()).unwrap_or_default();
        set.iter().filter(|r| self.stays || !r.2).map(|r| (r.0, r.1)).collect()
    }
    fn arrived(&mut self, id: u64, bank: u16, set: u64) {
        if self.sets.last().is_none_or(|s| s.0 < set) {
            self.sets.push((set, Vec::new()));
        }
        self.sets.last_mut().expect("a set").1.push((id, bank, false));
    }
    fn each(&mut self, f: impl FnMut(&mut Vec<Request>)) {
        self.sets.iter_mut().map(|s| &mut s.1).for_each(f);
        self.sets.retain(|s| !s.1.is_empty());
    }
}
/// Requests arrive, are scheduled and complete at random; after every step every priority and every set is the literal one.
#[test]
fn priorities_are_those_of_the_formula() {
    let mut dice = Stream::new(18, "formula");
    let mut nonempty_next = 0;
    for _ in 0..60 {
        let banks = [4, 8, 70, 200][dice.below(4) as usize];
        let sigma = [0, 100, 1000][dice.below(3) as usize];
        let leaves = [LeavesSet::Scheduled, LeavesSet::Complete][dice.below(2) as usize];
        let stays = leaves == LeavesSet::Complete;
        let mut entries = vec![BroiEntry::new(BroiFault::None, leaves); 5];
        let mut models = vec![
            Model {
                stays,
                ..Model::default()
            };
            5
        ];
        let mut set = [0; 5];
        let mut id = 0;
        for step in 0..200 {
            let e = dice.below(5) as usize;
            let now = Ps(step);
            let first: Vec<Request> = models[e].sets.first().map(|s| s.1.clone()).unwrap_or_default();
            match dice.below(4) {
                0 | 1 if entries[e].len() < 8 => {
                    id += 1;
                    let bank = dice.below(banks) as u16;
                    set[e] += dice.below(2);
                    entries[e].arrived(now, WriteId(id), bank, Epoch(set[e]));
                    models[e].arrived(id, bank, set[e]);
                }
                2 if !first.is_empty() => {
                    let chosen = first[dice.below(first.len() as u64) as usize].0;
                    entries[e].issued(now, WriteId(chosen));
                    models[e].each(|s| s.iter_mut().filter(|r| r.0 == chosen).for_each(|r| r.2 = true));
                }
                3 if first.iter().any(|r| r.2) => {
                    let chosen = first.iter().find(|r| r.2).expect("scheduled").0;
                    let last = first.len() == 1 && models[e].sets.len() > 1;
                    let change = entries[e].completed(now, WriteId(chosen));
                    assert_eq!(
                        change == Change::NextSet,
                        last,
                        "a barrier is passed with the last request before it"
                    );
                    models[e].each(|s| s.retain(|r| r.0 != chosen));
                }
                _ => {}
            }
            let mut priorities = Priorities::default();
            priorities.work_out(&entries, 5, sigma);
            let sets: Vec<[RequestSet; 2]> = models.iter().map(Model::sets).collect();
            for i in 0..5 {
                let waiting = |units: &[super::super::Unit]| -> Vec<_> {
                    units
                        .iter()
                        .filter(|u| stays || u.scheduled.is_none())
                        .map(|u| (u.id.0, u.bank))
                        .collect()
                };
                assert_eq!(waiting(entries[i].sub_ready()), models[i].set(0));
                assert_eq!(waiting(entries[i].next_set()), models[i].set(1));
                nonempty_next += usize::from(!models[i].set(1).is_empty());
                assert_eq!(priorities.of(i), literal(&sets, i, sigma), "entry {i}");
            }
        }
    }
    assert!(nonempty_next > 1000);
}

/// Entries of network channels are weighed among themselves.
#[test]
fn remote_sets_are_not_part_of_the_local_ready_set() {
    let mut entries = vec![BroiEntry::new(BroiFault::None, LeavesSet::Scheduled); 3];
    for (e, bank) in [(0, 1), (1, 2), (2, 3)] {
        entries[e].arrived(Ps::ZERO, WriteId(e as u64), bank, Epoch(0));
    }
    let mut p = Priorities::default();
    p.work_out(&entries, 2, 100);
    assert_eq!([p.of(0), p.of(1), p.of(2)], [900, 900, -100]);
    p.work_out(&entries, 3, 100);
    assert_eq!([p.of(0), p.of(1), p.of(2)], [1900; 3], "as Table I has it");
}

/// The planted fault moves the first request behind a barrier to the set before it.
#[test]
fn an_index_register_that_is_off_by_one_shows() {
    let ready = |fault| {
        let mut entry = BroiEntry::new(fault, LeavesSet::Scheduled);
        for id in 0..3 {
            entry.arrived(Ps::ZERO, WriteId(id), 0, Epoch(id));
        }
        entry.sub_ready().len()
    };
    assert_eq!((ready(BroiFault::None), ready(BroiFault::BarrierIndexOffByOne)), (1, 2));
}
