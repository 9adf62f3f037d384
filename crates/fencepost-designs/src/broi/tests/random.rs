//! Random programs of two cores of two threads, on a device that stores what it may in any order.

use crate::broi::{Broi, BroiFault, BroiParams, Schedules};
use crate::delegated::BufferPer;
use crate::info::MachineShape;
use crate::testkit::{Bench, Mini, Mix, Order};
use fencepost_contract::{Contract, ContractKind, Demands, conform};
use fencepost_kernel::{Fence, Stream};

const MIX: Mix = Mix {
    threads: 4,
    ops: 12,
    pm_lines: 3,
    dram_lines: 2,
    fences: &[Fence::Dmb, Fence::DmbSt, Fence::Dsb],
    flushes: &[],
    nt_stores: true,
};

/// What is wrong with the run of a seed, if anything.
fn wrong(params: &BroiParams, seed: u64) -> Option<String> {
    let shape = MachineShape {
        hw_threads: 4,
        cores: 2,
        ..MachineShape::default()
    };
    let mut dice = Stream::new(seed, "broi");
    let programs = MIX.programs(&mut dice);
    let design = Broi::new(params.clone(), shape, Schedules::BankParallel);
    let mut bench = Bench::new(design, 4, 2, [1, 3, 64][(seed % 3) as usize]);
    bench.cx.durable_on_accept = seed % 5 == 4;
    let order = [Order::InOrder, Order::StoresLag, Order::Relaxed][(seed / 3 % 3) as usize];
    let mut mini = Mini::new(bench, &programs, order);
    if !mini.run(&mut dice) {
        return Some("stuck".into());
    }
    if mini.hierarchy.stale.is_some() {
        return mini.hierarchy.stale;
    }
    let demands = Demands { complete: true };
    let contract = Contract::from(ContractKind::Rcbsp);
    let judged = conform(&mini.trace, &mini.records, &contract, demands);
    judged.err().map(|why| why.to_string())
}

#[test]
fn siblings_and_cores_persist_in_order() {
    for buffers in [BufferPer::Thread, BufferPer::Core, BufferPer::Shared] {
        let params = BroiParams {
            buffers,
            ..BroiParams::default()
        };
        let smallest = BroiParams {
            entries: 1,
            fences: 1,
            units: 1,
            barriers: 1,
            ..params.clone()
        };
        for seed in 0..1500 {
            assert_eq!(wrong(&params, seed), None, "seed {seed}, {buffers:?}");
            assert_eq!(wrong(&smallest, seed), None, "seed {seed}, {buffers:?}, smallest");
        }
    }
}

/// Without the sibling's part, or with the release of delegated ordering, the same programs convict.
#[test]
fn planted_faults_are_convicted() {
    for fault in [BroiFault::SiblingHitUnseen, BroiFault::ReleasedWhenSent] {
        let params = BroiParams {
            fault,
            ..BroiParams::default()
        };
        assert!((0..1500).any(|seed| wrong(&params, seed).is_some()), "{fault:?}");
    }
}
