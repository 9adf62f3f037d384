//! What a fence does in the core: the design declares it, the machine may say otherwise.

use super::common::{Plain, body, dram, pm, run};
use fencepost_kernel::{Addr, Fence, HwThread, LineAddr, Mem, Ps, Site, Val};
use fencepost_machine::seam::*;
use fencepost_machine::{Fences, MachineSpec, RunReport, StoreOrder};
use std::cell::RefCell;
use std::rc::Rc;

/// Time from a miss to its data when everything is idle and the line is in memory.
fn cold_read(spec: &MachineSpec) -> Ps {
    let (b, media) = (&spec.bus, &spec.dram.media);
    let to_controller = spec.l1.latency + b.arbitration + spec.llc.latency + b.to_memory;
    let media = spec.dram.controller.static_latency + media.t_rcd + media.t_cl + media.t_burst;
    to_controller + media + b.to_memory
}

/// A store that misses, a fence, and `instructions[site]` instructions behind it.
fn store_fence_compute(fences: Fences, fence: Fence, load: bool) -> RunReport {
    let mut spec = MachineSpec::default();
    spec.core.fence_execution = fences;
    run(
        &spec,
        Plain,
        vec![body(move |m| {
            m.store(dram(0), Val::lit(1));
            m.fence(fence);
            if load {
                m.load(dram(1 << 13));
            }
            m.compute(Site(3));
        })],
    )
}

/// The miss takes M, the 1000 instructions C = 1000 / ipc cycles. Where a fence holds up retirement, the reorder buffer
/// lets at most its own size of them execute meanwhile; where it serialises, none; where it is buffered, all.
#[test]
fn instructions_behind_a_fence_wait_retire_or_go_on() {
    let spec = MachineSpec::default();
    let period = spec.core.clock.period();
    let compute = period * (1000 / u64::from(spec.core.compute_ipc));
    let window = period * (u64::from(spec.core.rob) / u64::from(spec.core.compute_ipc));
    let (miss, slack) = (cold_read(&spec), Ps::from_ns(8));
    let time = |f| store_fence_compute(f, Fence::Sfence, false).time;
    let near = |got: Ps, want: Ps| got + slack >= want && got <= want + slack;
    assert!(miss < compute, "the example needs more work than wait");
    let (serial, retire, buffered) = (time(Fences::Serialize), time(Fences::Retire), time(Fences::Buffered));
    assert!(near(serial, miss + compute), "{serial} is not {miss} + {compute}");
    assert!(
        near(retire, miss + compute - window),
        "{retire} is not {miss} + {compute} - {window}"
    );
    assert!(near(buffered, compute), "{buffered} is not {compute}");
    assert_eq!(time(Fences::Declared), retire, "the default of every design");
}

/// A load behind a store fence overlaps its wait in every execution but the serialising one; behind a full fence in none.
#[test]
fn loads_wait_behind_full_fences_wherever_those_wait() {
    let spec = MachineSpec::default();
    let miss = cold_read(&spec);
    for (fences, fence, overlaps) in [
        (Fences::Retire, Fence::Sfence, true),
        (Fences::Buffered, Fence::Sfence, true),
        (Fences::Serialize, Fence::Sfence, false),
        (Fences::Retire, Fence::Dmb, false),
        (Fences::Buffered, Fence::Dmb, false),
    ] {
        let r = store_fence_compute(fences, fence, true);
        // The load's data arrives one miss or two after the start; only then its 1000 successors drain the buffer.
        let stalled =
            r.hw_threads[0].account.stalled(Cause::LoadMemory) + r.hw_threads[0].account.stalled(Cause::LoadCache);
        let drained = r.hw_threads[0].account.stalled(Cause::StoreDrain);
        let waited = stalled + drained;
        let expected = if overlaps { miss } else { miss * 2 };
        let slack = Ps::from_ns(30); // the second read may find its row open
        assert!(
            waited <= expected + slack && waited + slack >= expected,
            "{fences:?} {fence:?}: waited {waited}, expected {expected}"
        );
    }
}

type Seen = Rc<RefCell<Vec<Option<LineAddr>>>>;
/// Notes stores as they perform and fences as they are handed over; refuses each fence for 300 ns first.
struct Marks {
    action: FenceAction,
    seen: Seen,
    refused: bool,
}
impl Design for Marks {
    fn hooks(&self) -> Hooks {
        Hooks {
            stores: true,
            ..Hooks::default()
        }
    }
    fn fence(&self, _: Fence) -> FenceAction {
        self.action
    }
    fn instr(&mut self, cx: &mut dyn Cx, _: HwThread, instr: Instr) -> Gate {
        if !matches!(instr, Instr::Fence(_)) {
            return Gate::Go;
        }
        self.refused = !self.refused;
        if self.refused {
            let at = cx.now() + Ps::from_ns(300);
            cx.timer(at, 0);
            return Gate::Wait(Cause::PersistBufferFull);
        }
        self.seen.borrow_mut().push(None);
        Gate::Go
    }
    fn performed(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr, a: Access, _: &mut u32) {
        if a == Access::Store {
            self.seen.borrow_mut().push(Some(line));
        }
    }
    fn timer(&mut self, cx: &mut dyn Cx, _: u64) {
        cx.kick(None);
    }
}

/// Stores to four lines with a marker after each two, then an atomic.
fn marked(order: StoreOrder, action: FenceAction, refuse_first: bool) -> (Vec<Option<LineAddr>>, RunReport) {
    let mut spec = MachineSpec::default();
    spec.core.store_order = order;
    let seen = Seen::default();
    let design = Marks {
        action,
        seen: seen.clone(),
        refused: !refuse_first,
    };
    let r = run(
        &spec,
        design,
        vec![body(|m| {
            m.load(pm(0)); // younger stores would hit while older ones miss
            for i in [4, 3, 2, 1] {
                m.store(pm(i * 64), Val::lit(i));
                if i % 2 == 1 {
                    m.fence(Fence::DmbSt);
                }
            }
            m.store(pm(0), Val::lit(9));
        })],
    );
    (Rc::try_unwrap(seen).unwrap().into_inner(), r)
}

#[test]
fn a_marker_is_handed_over_between_the_stores_around_it_and_stalls_nobody() {
    for order in [StoreOrder::Tso, StoreOrder::Relaxed] {
        for refuse in [false, true] {
            let (seen, r) = marked(order, FenceAction::MARKER, refuse);
            let marks: Vec<usize> = (0..seen.len()).filter(|i| seen[*i].is_none()).collect();
            assert_eq!(marks, [2, 5], "{order:?}: {seen:?}");
            let line = |i: u64| Some(Addr::pm(i * 64).line());
            assert!(seen[..2].contains(&line(4)) && seen[..2].contains(&line(3)), "{seen:?}");
            assert!(
                seen[3..5].contains(&line(2)) && seen[3..5].contains(&line(1)),
                "{seen:?}"
            );
            assert_eq!(seen[6], line(0));
            let account = &r.hw_threads[0].account;
            for cause in [Cause::StoreDrain, Cause::PersistBufferFull, Cause::StoreQueueFull] {
                assert_eq!(account.stalled(cause), Ps::ZERO, "{order:?}: {cause:?}");
            }
            assert_eq!(r.counters.fences, 2);
        }
    }
}

#[test]
fn a_fence_that_waits_for_stores_stalls_where_a_marker_does_not() {
    let (seen, r) = marked(StoreOrder::Relaxed, FenceAction::AFTER_STORES, true);
    assert_eq!(seen.iter().filter(|s| s.is_none()).count(), 2);
    let account = &r.hw_threads[0].account;
    assert!(account.stalled(Cause::StoreDrain) >= cold_read(&MachineSpec::default()));
    assert!(account.stalled(Cause::PersistBufferFull) >= Ps::from_ns(299));
}
