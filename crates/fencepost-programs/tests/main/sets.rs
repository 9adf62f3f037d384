//! Oracles against every choice of whole operations: what a run leaves of which only some operations happened.
//!
//! An operation is given the same whatever happened before it, so that any choice of a run's operations can be run by itself. Where the
//! choice has everything that its operations met in memory, recovery could have left it, and the oracle must accept it; where it has not, and no such
//! choice leaves the same, the oracle must refuse it. What operations met is read off memory here: the oracle knows their keys and locks.

use crate::common::*;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{CrashPoint, Image, OpRecord, Outcome, Pm, Program, run_thread};
use fencepost_programs::{Variant, Visit, with_program};
use std::collections::BTreeSet;

/// Threads and operations of each, unless a case says so.
const RUN: (u32, u32) = (3, 3);

/// What an operation did.
struct Done {
    /// Words read, and words and locks stored to.
    met: (BTreeSet<u64>, BTreeSet<u64>),
    /// It stored to persistent memory.
    persists: bool,
    locks: BTreeSet<u64>,
    outcome: Outcome,
}
impl Done {
    /// Whether one of the two stored what the other read or stored.
    fn meets(&self, other: &Done) -> bool {
        let (a, b) = (&self.met, &other.met);
        !a.1.is_disjoint(&b.0) || !a.1.is_disjoint(&b.1) || !a.0.is_disjoint(&b.1)
    }
    /// Whether both stored something under one lock.
    fn locks_out(&self, other: &Done) -> bool {
        self.persists && other.persists && !self.locks.is_disjoint(&other.locks)
    }
    /// Whether it found the same in another run. What nothing durable came of may have been anything.
    fn found_by(&self, other: &Done) -> bool {
        !self.persists || self.outcome == other.outcome
    }
    /// Whether it changed any memory but its locks.
    fn changes(&self) -> bool {
        !self.met.1.is_subset(&self.locks)
    }
}

/// Runs operations, whole and one after another: what each did, its record, and the memory that is left.
fn perform<P: Program>(p: &P, from: &Image, order: &[(u32, u32)]) -> (Vec<Done>, Vec<OpRecord>, Image) {
    let mut m = RecordingMem::new();
    m.image = from.clone();
    let (mut done, mut records) = (Vec::new(), Vec::new());
    for (thread, k) in order {
        m.thread = *thread;
        run_thread(p, &mut Pm::new(&mut m, ADR), *thread, *k, *k + 1);
        let outcome = m.outcome.take().expect("the operation ended");
        done.push(Done {
            met: std::mem::take(&mut m.words),
            persists: std::mem::take(&mut m.events)
                .iter()
                .any(|e| matches!(e, Event::Store { .. })),
            locks: std::mem::take(&mut m.locks),
            outcome,
        });
        records.push(OpRecord {
            thread: *thread,
            k: *k,
            stamp: records.len() as u64,
            outcome,
        });
    }
    (done, records, m.image)
}

/// One choice: the first operations of each thread. Those that changed nothing in the whole run leave nothing.
struct Choice {
    of: Vec<u32>,
    /// The memory that they leave.
    left: Image,
    /// What operations after them find.
    found: Vec<Outcome>,
    /// It has all that its operations met in memory.
    closed: bool,
    /// They found what they find in the whole run.
    alike: bool,
    /// And it has whoever had their locks before and stored something.
    ordered: bool,
}
impl Choice {
    fn new<P: Program>(p: &P, from: &Image, whole: &[(&(u32, u32), &Done)], of: Vec<u32>) -> Choice {
        let is_in = |i: &usize| whole[*i].0.1 < of[whole[*i].0.0 as usize];
        let chosen: Vec<usize> = (0..whole.len()).filter(is_in).collect();
        let has = |concerns: fn(&Done, &Done) -> bool| {
            let lacks = |b: &usize| (0..*b).any(|a| !is_in(&a) && concerns(whole[a].1, whole[*b].1));
            !chosen.iter().any(lacks)
        };
        let stored: Vec<usize> = chosen.iter().copied().filter(|i| whole[*i].1.changes()).collect();
        let few: Vec<_> = stored.iter().map(|i| *whole[*i].0).collect();
        let (done, _, left) = perform(p, from, &few);
        let (after, ..) = perform(p, &left, &later());
        Choice {
            found: after.iter().map(|d| d.outcome).collect(),
            left: persistent(&left),
            closed: has(Done::meets),
            alike: stored.iter().zip(&done).all(|(i, d)| whole[*i].1.found_by(d)),
            ordered: has(Done::locks_out),
            of,
        }
    }
    fn is_within(&self, crash: &CrashPoint) -> bool {
        let bounds = crash.acked.iter().zip(&crash.begun);
        self.of
            .iter()
            .zip(bounds)
            .all(|(n, (acked, begun))| (acked..=begun).contains(&n))
    }
}

/// What an oracle said of all choices.
#[derive(Debug, Default)]
struct Said {
    refused: usize,
    /// What it should have said otherwise.
    accused: Vec<String>,
    passed: Vec<String>,
}

/// Operations of the first thread that a run of so few does not reach.
fn later() -> Vec<(u32, u32)> {
    (20..60).map(|k| (0, k)).collect()
}

/// From this seed, whether the order under locks counts, threads and operations of each.
struct Sets(u64, bool, (u32, u32));
impl Visit for Sets {
    type Out = Said;
    fn visit<P: Program>(self, p: P) -> Said {
        let (threads, ops) = self.2;
        let run = record(&p, ADR, threads, ops, self.0);
        let order: Vec<(u32, u32)> = run.ops.iter().map(|o| (o.thread, o.k)).collect();
        let (done, records, _) = perform(&p, &run.initial, &order);
        let whole: Vec<_> = order.iter().zip(&done).collect();
        let model = p.model(&records);
        let each = ops + 1;
        let choices: Vec<Choice> = (0..each.pow(threads))
            .map(|n| (0..threads).map(|t| n / each.pow(t) % each).collect())
            .map(|of| Choice::new(&p, &run.initial, &whole, of))
            .collect();
        let mut said = Said::default();
        for c in &choices {
            // Two memories in which every later operation finds the same are no different.
            let explains = |o: &Choice| o.alike && (o.ordered || !self.1) && o.found == c.found;
            let explained: Vec<&Choice> = choices.iter().filter(|o| explains(o)).collect();
            for crash in crashes(&c.of, ops) {
                let judged = judge(&p, &model, &c.left, &crash);
                let told = format!("{:?} with {crash:?} of {order:?}: {judged:?}", c.of);
                said.refused += usize::from(judged.is_err());
                if c.closed && c.is_within(&crash) {
                    if judged.is_err() {
                        said.accused.push(told);
                    }
                } else if judged.is_ok() && !explained.iter().any(|o| o.is_within(&crash)) {
                    said.passed.push(told);
                }
            }
        }
        said
    }
}

/// What threads may have done: anything, just that, one operation less begun, one more acknowledged.
fn crashes(of: &[u32], ops: u32) -> Vec<CrashPoint> {
    let threads = of.len();
    let point = |begun: Vec<u32>, acked: Vec<u32>| CrashPoint { begun, acked };
    let mut all = vec![
        point(vec![ops; threads], vec![0; threads]),
        point(of.to_vec(), of.to_vec()),
    ];
    for t in 0..threads {
        let (mut less, mut more) = (of.to_vec(), of.to_vec());
        if of[t] > 0 {
            less[t] -= 1;
            all.push(point(less, vec![0; threads]));
        }
        if of[t] < ops {
            more[t] += 1;
            all.push(point(vec![ops; threads], more));
        }
    }
    all
}

/// Programs in which operations under one lock survive in its order, whatever they concern: of the others what each datum went through counts.
const BY_LOCK: [&str; 12] = [
    "cq",
    "hash",
    "rbtree",
    "bplustree",
    "ll",
    "ctree",
    "hashmap",
    "btree",
    "ssca2",
    "sdg",
    "sqlite",
    "memcached",
];

#[test]
fn oracles_accept_what_operations_explain_and_nothing_else() {
    let set = |name: &str, value| (name.to_owned(), value);
    // Few orders: those that are delivered are the run's own.
    let standard = vec![
        set("mix", Raw::Text("standard".into())),
        set("districts", Raw::Int(1)),
        set("orders", Raw::Int(1)),
    ];
    let cases = fencepost_programs::programs()
        .into_iter()
        .map(|about| (about, Vec::new(), 3));
    let cases = cases.flat_map(|(about, none, seeds)| match about.name {
        "tpcc" => vec![
            (about.clone(), standard.clone(), 12, (2, 12)),
            (about, none, seeds, RUN),
        ],
        _ => vec![(about, none, seeds, RUN)],
    });
    let (mut wrong, mut lenient) = (Vec::new(), Vec::new());
    for (about, params, seeds, run) in cases {
        let mut refused = 0;
        for seed in 0..seeds {
            let mut s = settings(about.name, about.schemes[0], Variant::Correct, seed);
            s.ops = 60;
            s.params.extend(params.iter().cloned());
            let said = with_program(about.name, &s, Sets(seed, BY_LOCK.contains(&about.name), run)).unwrap();
            refused += said.refused;
            let told = |why: &'static str| move |l: String| format!("{} seed {seed} {why}: {l}", about.name);
            wrong.extend(said.accused.into_iter().take(1).map(told("accused")));
            wrong.extend(said.passed.into_iter().take(1).map(told("accepted")));
        }
        if refused == 0 {
            lenient.push(about.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(lenient.is_empty(), "nothing to refuse: {lenient:?}");
}
