//! Every hook of the seam is called by the machine, and every call on the handle works: shown with a test double.

use super::common::double::{Calls, VERSIONED, double};
use super::common::{SITES, body, dram, pm};
use fencepost_kernel::{Addr, At, Fence, Flush, HwThread, Image, LineAddr, LineData, Mem, QueueId, Site, Val};
use fencepost_machine::seam::*;
use fencepost_machine::{Fences, Machine, MachineSpec, RunReport, ThreadBody, Workload};
use std::cell::RefCell;
use std::rc::Rc;

fn threads() -> Vec<ThreadBody> {
    let worker = |t: u64| {
        body(move |m| {
            // More dirty lines than the first level holds.
            (0..32).for_each(|k| m.store(pm((1 << 21) + (t << 16) + k * 64), Val::lit(k)));
            for k in 0..64u64 {
                m.op_begin(k as u32);
                m.store(pm(k * 64), Val::lit(k + t * 1000));
                m.load(pm((k * 7 % 64) * 64));
                m.flush(pm(k * 64), Flush::Clwb);
                m.fence(Fence::Sfence);
                m.op_end(k as u32, Default::default());
            }
            // Volatile ones go to memory too.
            (0..32).for_each(|k| m.store(dram((1 << 21) + (t << 16) + k * 64), Val::lit(k)));
        })
    };
    let mixed = body(|m| {
        m.nt_store(pm(1 << 22), Val::lit(1));
        m.nt_store(pm(1 << 22 | 8), Val::lit(2));
        // More versions of a line than a set has ways.
        (0..4).for_each(|v| m.store(At::new(VERSIONED), Val::lit(v)));
        assert_eq!(m.bind(Addr::pm(0), 4096), QueueId(3));
        m.commit_queue(QueueId(3));
        m.release(Addr::pm(0), 64);
        let mut rolled_back = None;
        for k in 0..3 {
            m.op_begin(k);
            match m.tx_begin() {
                Ok(_) => {
                    m.store(pm(1 << 23), Val::lit(u64::from(k) + 1));
                    if k == 1 { m.tx_abort() } else { m.tx_commit() }
                }
                Err(r) => rolled_back = Some(r.op),
            }
        }
        assert_eq!(
            rolled_back,
            Some(1),
            "the abort is reported at the next transaction start"
        );
        assert_eq!(m.load(pm(1 << 23)).v, 1, "functional memory was restored");
        m.tx_flush();
        m.compute(Site(2));
        m.lock(dram(0));
        m.unlock(dram(0));
    });
    vec![worker(0), worker(1), mixed]
}

fn tiny() -> MachineSpec {
    let mut spec = MachineSpec::default();
    spec.core.cores = 3;
    spec.l1.size = fencepost_kernel::Bytes(64 * 2 * 4);
    spec.l1.ways = 2;
    spec.llc.size = fencepost_kernel::Bytes(64 * 4 * 4);
    spec.llc.ways = 4;
    spec.pm.controller.write_queue = 8;
    spec
}

fn run_double(calls: &Calls) -> RunReport {
    let work = Workload {
        initial: Image::default(),
        threads: threads(),
        sites: Rc::from(SITES),
        resident: Default::default(),
        warm_up: 0,
        record: true,
    };
    Machine::new(&tiny(), Box::new(double(calls)), work)
        .unwrap()
        .run()
        .unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_hook_is_called() {
    let calls = Calls::default();
    let r = run_double(&calls);
    double(&calls).recover(&mut Recovery::new(&mut Image::default()));
    double(&calls).explain(HwThread(0));
    let seen = calls.borrow();
    for hook in [
        "controller",
        "flush",
        "fence",
        "tx_begin",
        "tx_commit",
        "tx_abort",
        "tx_flush",
        "bind",
        "commit_queue",
        "release",
        "nt_store",
        "may_load",
        "may_store",
        "performed_load",
        "performed_store",
        "block_l1",
        "place",
        "snooped",
        "may_leave_llc",
        "may_leave_replaced",
        "may_leave_cleaned",
        "may_leave_taken",
        "may_leave_downgraded",
        "leaving",
        "version_overflow",
        "cleaned_found",
        "cleaned_nothing",
        "read_missed",
        "read_from",
        "accepted",
        "issued",
        "durable",
        "queue_freed",
        "drained_snapshot",
        "drained_empty",
        "read_done",
        "timer",
        "drain",
        "recover",
        "explain",
    ] {
        assert!(seen.contains_key(hook), "{hook} was never called; seen: {seen:?}");
    }
    assert_eq!((r.design_counts[0], r.histograms[0].get(&42)), (1, Some(&1)));
    assert_eq!((r.design_count("seen"), r.design_count("unseen")), (Some(1), None));
}

/// Declares nothing, and is told nothing of what it would have to declare.
struct Deaf;
impl Design for Deaf {
    fn queued(&mut self, _: &mut dyn Cx, _: HwThread, instr: Instr) {
        panic!("told that {instr:?} is queued");
    }
    fn may_access(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr, access: Access) -> Gate {
        panic!("asked for {access:?} of {line}");
    }
    fn performed(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr, access: Access, _: &mut u32) {
        panic!("told of {access:?} of {line}");
    }
    fn snooped(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr, _: Snoop) -> SnoopAnswer {
        panic!("told of a request for {line}");
    }
    fn may_leave(&mut self, _: &mut dyn Cx, _: Level, way: &Way, _: Why) -> Gate {
        panic!("asked whether {} may leave", way.line);
    }
    fn leaving(&mut self, _: &mut dyn Cx, _: Level, way: &Way, _: &LineData, _: Why) -> Exit {
        panic!("told that {} leaves", way.line);
    }
    fn read_missed(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr) -> ReadAnswer {
        panic!("told that a read of {line} missed");
    }
    fn accepted(&mut self, _: &mut dyn Cx, id: WriteId, _: &Write) {
        panic!("told that {id:?} is accepted");
    }
    fn issued(&mut self, _: &mut dyn Cx, id: WriteId) {
        panic!("told that {id:?} is issued");
    }
    fn durable(&mut self, _: &mut dyn Cx, id: WriteId, _: &Write) {
        panic!("told that {id:?} is durable");
    }
}

#[test]
fn hooks_that_are_not_declared_are_not_called() {
    let mut threads = threads();
    // The third one needs what the double has.
    threads.truncate(2);
    let r = super::common::run(&tiny(), Deaf, threads);
    assert!(r.pm.writes > 0 && r.dram.writes > 0 && r.counters.private_writebacks > 0);
}

/// Refuses every store for ever.
struct Mule;
impl Design for Mule {
    fn hooks(&self) -> Hooks {
        Hooks {
            gate_loads: true,
            gate_stores: true,
            ..Hooks::default()
        }
    }
    fn may_access(&mut self, _: &mut dyn Cx, _: HwThread, _: LineAddr, access: Access) -> Gate {
        if access == Access::Store {
            Gate::Wait(Cause::WindowFull)
        } else {
            Gate::Go
        }
    }
    fn explain(&self, _: HwThread) -> Option<String> {
        Some("the mule never grants a store".into())
    }
}

#[test]
fn a_stuck_machine_says_who_waits_for_whom() {
    let work = Workload {
        initial: Image::default(),
        threads: vec![body(|m| {
            m.lock(dram(0));
            m.store(pm(64), Val::lit(1));
            m.fence(Fence::Dmb);
            m.unlock(dram(0));
        })],
        sites: Rc::from(SITES),
        resident: Default::default(),
        warm_up: 0,
        record: false,
    };
    let error = Machine::new(&tiny(), Box::new(Mule), work)
        .unwrap()
        .run()
        .unwrap_err()
        .to_string();
    for part in [
        "stuck",
        "thread 0",
        "window-full",
        "the mule never grants a store",
        "seam_hooks.rs",
    ] {
        assert!(error.contains(part), "no {part:?} in:\n{error}");
    }
}

/// What a design hears of flushes and markers: when they take their places in the store queue, and when it is asked about them.
#[derive(Clone, Default)]
struct Beside {
    heard: Rc<RefCell<Vec<(&'static str, Instr)>>>,
    gated: Rc<RefCell<Vec<Access>>>,
}
impl Design for Beside {
    fn hooks(&self) -> Hooks {
        Hooks {
            queued: true,
            gate_loads: true,
            ..Hooks::default()
        }
    }
    fn fence(&self, _: Fence) -> FenceAction {
        FenceAction::MARKER
    }
    fn queued(&mut self, _: &mut dyn Cx, _: HwThread, instr: Instr) {
        self.heard.borrow_mut().push(("queued", instr));
    }
    fn instr(&mut self, _: &mut dyn Cx, _: HwThread, instr: Instr) -> Gate {
        self.heard.borrow_mut().push(("asked", instr));
        Gate::Go
    }
    fn may_access(&mut self, _: &mut dyn Cx, _: HwThread, _: LineAddr, access: Access) -> Gate {
        self.gated.borrow_mut().push(access);
        Gate::Go
    }
}

/// Both enter the queue in program order while an older store still misses, and are asked about behind it; the thread runs on whatever the
/// machine says of fences, because the design declares markers. Loads are gated, stores are not.
#[test]
fn a_design_hears_what_enters_the_store_queue_and_gates_loads_apart() {
    for execution in [Fences::Declared, Fences::Serialize] {
        let design = Beside::default();
        let mut spec = tiny();
        spec.core.fence_execution = execution;
        let work = Workload {
            initial: Image::default(),
            threads: vec![body(|m| {
                m.store(pm(64), Val::lit(1));
                m.flush(pm(64), Flush::Clwb);
                m.fence(Fence::PersistBarrier);
                m.flush(pm(128), Flush::Clwb);
                m.load(pm(4096));
            })],
            sites: Rc::from(SITES),
            resident: Default::default(),
            warm_up: 0,
            record: false,
        };
        let machine = Machine::new(&spec, Box::new(design.clone()), work).unwrap();
        machine.run().expect("it does not get stuck");
        let flush = |at: u64| Instr::Flush(Addr::pm(at).line(), Flush::Clwb);
        let three = [flush(64), Instr::Fence(Fence::PersistBarrier), flush(128)];
        let heard = design.heard.borrow();
        let of = |kind| {
            heard
                .iter()
                .filter(move |h| h.0 == kind)
                .map(|h| h.1)
                .collect::<Vec<_>>()
        };
        assert_eq!((of("queued"), of("asked")), (three.to_vec(), three.to_vec()));
        assert_eq!(
            heard[..3].iter().map(|h| h.0).collect::<Vec<_>>(),
            ["queued"; 3],
            "{execution:?}"
        );
        assert_eq!(*design.gated.borrow(), [Access::Load]);
    }
}
