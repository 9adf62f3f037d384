//! Random multi-threaded programs on the mock: never convicted, never stuck, sometimes reordered; every planted fault is
//! convicted.

use super::oracle::first_violation;
use super::*;
use crate::delegated::{Arbitration, EpochRule, Fault};
use crate::testkit::{Mini, Op, Order, dram_line, pm_line, random_programs};
use fencepost_contract::{ConformReport, ContractKind, Demands, conform};
use fencepost_kernel::Stream;

struct Setup {
    params: DelegatedParams,
    merge: bool,
    cores: u8,
    threads_per_core: u8,
    queue: usize,
    durable_on_accept: bool,
    order: Order,
}
impl Setup {
    fn new(fault: Fault, merge: bool) -> Setup {
        Setup {
            params: DelegatedParams {
                fault,
                path_slot: Ps::from_ns(30),
                ..DelegatedParams::default()
            },
            merge,
            cores: 3,
            threads_per_core: 1,
            queue: 64,
            durable_on_accept: false,
            order: Order::StoresLag,
        }
    }
    /// Runs one random program to the end; it must not get stuck.
    fn run(&self, seed: u64, ops: usize) -> Mini<Delegated> {
        let mini = self
            .attempt(seed, ops)
            .unwrap_or_else(|| panic!("seed {seed} got stuck"));
        assert!(mini.bench.design.front.tracker.is_empty());
        mini
    }
    /// Runs one random program; nothing if it got stuck.
    fn attempt(&self, seed: u64, ops: usize) -> Option<Mini<Delegated>> {
        let mut dice = Stream::new(seed, "delegated-random");
        let threads = usize::from(self.cores * self.threads_per_core);
        let programs = random_programs(&mut dice, threads, ops, 3, 2);
        let design = build(&self.params, self.cores, self.threads_per_core, self.merge);
        let mut bench = Bench::new(design, threads as u8, self.threads_per_core, self.queue);
        bench.cx.durable_on_accept = self.durable_on_accept;
        let mut mini = Mini::new(bench, &programs, self.order);
        mini.run(&mut dice).then_some(mini)
    }
    /// Whether a run breaks the contract in the eyes of either judge.
    fn convicted(&self, seed: u64, ops: usize) -> bool {
        let mini = self.run(seed, ops);
        let by_relations = first_violation(&mini.trace, &mini.records, self.order != Order::Relaxed).is_some();
        by_relations || judge(&mini).is_err()
    }
}
fn judge(mini: &Mini<Delegated>) -> Result<ConformReport, String> {
    let demands = Demands { complete: true };
    conform(&mini.trace, &mini.records, &ContractKind::Rcbsp.into(), demands).map_err(|r| r.to_string())
}

/// DPO-SEM2, SEM4, SEM5, SEM6, SEM7: no violation, no deadlock, under both epoch rules, on every kind of memory.
#[test]
fn never_accused_and_never_stuck() {
    let mut reordered = [0, 0];
    for seed in 0..3000u64 {
        let mut s = Setup::new(Fault::None, seed % 2 == 1);
        s.order = [Order::InOrder, Order::StoresLag, Order::Relaxed][(seed / 2 % 3) as usize];
        s.durable_on_accept = seed % 7 == 0;
        s.queue = [64, 1, 3][(seed / 6 % 3) as usize];
        (s.cores, s.threads_per_core) = [(3, 1), (2, 2), (4, 1)][(seed / 18 % 3) as usize];
        s.params.path_slot = Ps([30_000, 0, 1_000][(seed / 5 % 3) as usize]);
        if seed % 4 == 0 {
            s.params.epoch_rule = EpochRule::Gather;
        }
        s.params.arbitration = if seed % 5 == 0 {
            Arbitration::OldestFirst
        } else {
            Arbitration::RoundRobin
        };
        if seed % 3 == 0 {
            (s.params.entries, s.params.fences) = [(1, 1), (2, 1), (8, 4), (3, 3)][(seed / 3 % 4) as usize];
            s.params.filter_bytes = 8;
        }
        let mini = s.run(seed, 12);
        let dependent = s.order != Order::Relaxed;
        assert_eq!(
            first_violation(&mini.trace, &mini.records, dependent),
            None,
            "seed {seed}"
        );
        match judge(&mini) {
            Ok(report) => reordered[(seed % 2) as usize] += report.reordered,
            Err(refusal) => panic!("seed {seed}: {refusal}"),
        }
    }
    assert!(
        reordered.iter().all(|r| *r > 0),
        "both rules are relaxed and were seen to reorder: {reordered:?}"
    );
}

/// Every planted fault is convicted by the contract's own conformance check.
#[test]
fn planted_faults_are_convicted() {
    for fault in [
        Fault::ReadClearsYoungest,
        Fault::FilterMissesAnAddress,
        Fault::DrainIgnoresDependences,
        Fault::CoalesceWithDependences,
        Fault::EpochBoundarySkipped,
    ] {
        for merge in [false, true] {
            let mut s = Setup::new(fault, merge);
            let convicted = (0..3000).find(|seed| {
                s.order = [Order::InOrder, Order::StoresLag][(seed % 2) as usize];
                s.attempt(*seed, 14).is_some_and(|m| judge(&m).is_err())
            });
            assert!(
                convicted.is_some(),
                "{} (merge: {merge}) was never convicted",
                fault.name()
            );
        }
    }
}

/// Joining an entry although a dependence waits breaks only programs whose store depends on the load that brought it: a
/// FENCE between the two would stand between the stores as well. The contract convicts by the trace's dependences alone,
/// and on the same runs as the brute-force judge.
#[test]
fn coalescing_with_a_dependence_waiting_is_convicted_by_dependences_alone() {
    for merge in [false, true] {
        let mut s = Setup::new(Fault::CoalesceWithDependences, merge);
        s.order = Order::InOrder;
        let mut convicted = 0;
        for seed in 0..1000 {
            let mut mini = s.run(seed, 14);
            let by_relations = first_violation(&mini.trace, &mini.records, true).is_some();
            assert_eq!(judge(&mini).is_err(), by_relations, "seed {seed}, merge: {merge}");
            convicted += u32::from(by_relations);
            mini.trace.dependences.clear();
            assert_eq!(judge(&mini).map(drop), Ok(()), "seed {seed}, merge: {merge}");
        }
        assert!(convicted > 0, "merge: {merge}");
    }
}

/// `x; FENCE; a | b = a | y = b` through volatile a and b: the literal text of the paper loses the order of x and y, handing
/// dependences on keeps it.
#[test]
fn a_chain_through_volatile_lines_needs_forwarding() {
    let (x, y, a, b) = (pm_line(0), pm_line(1), dram_line(0), dram_line(1));
    let programs = [
        vec![Op::Store(x, 0), Op::Fence(Fence::Dmb), Op::Store(a, 0)],
        vec![Op::Load(a, 0), Op::Store(b, 0)],
        vec![Op::Load(b, 0), Op::Store(y, 0)],
    ];
    for merge in [false, true] {
        let convicted = |forward: bool| {
            let params = DelegatedParams { forward, ..slow() };
            (0..3000).any(|seed| {
                let bench = Bench::new(build(&params, 3, 1, merge), 3, 1, 64);
                let mut mini = Mini::new(bench, &programs, Order::InOrder);
                assert!(mini.run(&mut Stream::new(seed, "chain")));
                first_violation(&mini.trace, &mini.records, true).is_some()
            })
        };
        assert!(!convicted(true), "merge: {merge}");
        assert!(convicted(false), "merge: {merge}");
    }
}

/// A machine with every structure at size one gets through, with every path rate.
#[test]
fn every_structure_at_size_one() {
    for seed in 0..200 {
        let mut s = Setup::new(Fault::None, seed % 2 == 0);
        (s.params.entries, s.params.fences, s.params.filter_bytes, s.queue) = (1, 1, 8, 1);
        s.params.path_slot = Ps(if seed % 3 == 0 { 0 } else { 10_000 });
        assert!(!s.convicted(seed, 15));
    }
}

/// Same seed, same calls; another seed, others.
#[test]
fn deterministic() {
    let s = Setup::new(Fault::None, true);
    let calls = |seed| s.run(seed, 15).bench.cx.calls;
    assert_eq!(calls(1), calls(1));
    assert_ne!(calls(1), calls(2));
}
