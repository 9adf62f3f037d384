use super::*;
use crate::registry;
use crate::testkit::{Bench, Call, dram_line, pm_line};
use fencepost_kernel::{HwThread, Ps, Stream};
use fencepost_machine::seam::{Cause, CleanKind, Cx as _, Gate, Instr};

const SFENCE: Instr = Instr::Fence(Fence::Sfence);
const PCOMMIT: Instr = Instr::Fence(Fence::Pcommit);
fn clwb(n: u64) -> Instr {
    Instr::Flush(pm_line(n), Flush::Clwb)
}
fn bench(pcommit: PcommitPolicy, fault: SoFault, queue: usize) -> Bench<So> {
    let params = SoParams {
        pcommit,
        fault,
        pcommit_path: Ps::from_ns(10),
        exclusive_hold: Ps::from_ns(50),
    };
    Bench::new(So::new(params, MachineShape::default()), 8, 1, queue)
}
/// Asks for `instr` until it goes, letting anything happen in between; the causes it was refused with.
fn wait_for(b: &mut Bench<So>, hw_thread: u8, instr: Instr, pick: &mut Stream) -> Vec<Cause> {
    let mut causes = Vec::new();
    loop {
        match b.instr(hw_thread, instr) {
            Gate::Go => return causes,
            Gate::Wait(cause) => {
                if causes.last() != Some(&cause) {
                    causes.push(cause);
                }
                b.cx.kicked[usize::from(hw_thread)] = false;
                while !b.cx.kicked[usize::from(hw_thread)] {
                    assert!(
                        b.step_any(pick) || b.cx.kicked[usize::from(hw_thread)],
                        "stuck: {:?}",
                        b.cx.calls
                    );
                    b.answer_drains();
                }
            }
        }
    }
}
fn barrier(b: &mut Bench<So>, hw_thread: u8, pick: &mut Stream) -> Vec<Cause> {
    [SFENCE, PCOMMIT, SFENCE]
        .iter()
        .flat_map(|i| wait_for(b, hw_thread, *i, pick))
        .collect()
}

/// DPO-SEM11: clwb gives up write permission.
#[test]
fn clwb_keeps_the_line_but_gives_up_write_permission() {
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::None, 4);
    assert_eq!(b.instr(0, clwb(7)), Gate::Go);
    assert_eq!(b.cx.cleans[0].kind, CleanKind::KeepShared);
    assert_eq!(b.cx.cleans[0].line, pm_line(7));
    assert_eq!(b.instr(0, Instr::Flush(pm_line(8), Flush::ClflushOpt)), Gate::Go);
    assert_eq!(b.cx.cleans[1].kind, CleanKind::Invalidate);
}

#[test]
fn sfence_waits_for_own_flushes_only() {
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::None, 4);
    b.instr(0, clwb(1));
    b.instr(0, clwb(2));
    assert_eq!(b.instr(1, SFENCE), Gate::Go);
    assert_eq!(b.instr(0, SFENCE), Gate::Wait(Cause::FlushPending));
    assert!(b.finish_clean(true));
    assert!(!b.cx.kicked[0], "one of two flushes is still out");
    assert_eq!(b.instr(0, SFENCE), Gate::Wait(Cause::FlushPending));
    b.finish_clean(false);
    assert!(b.cx.kicked[0]);
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
    assert_eq!(b.cx.counters[&super::mechanism::NOTHING_DIRTY], 1);
}

/// On cores that do not keep program order several `clflush` are under way: each waits for its own.
#[test]
fn synchronous_flushes_of_one_thread_do_not_take_each_others_completion() {
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::None, 4);
    let clflush = |n| Instr::Flush(pm_line(n), Flush::Clflush);
    assert_eq!(b.instr(0, clflush(1)), Gate::Wait(Cause::FlushPending));
    assert_eq!(b.instr(0, clflush(2)), Gate::Wait(Cause::FlushPending));
    assert_eq!(b.cx.cleans.len(), 2, "both are under way");
    assert!(b.finish_clean(true));
    assert_eq!(
        b.instr(0, clflush(2)),
        Gate::Wait(Cause::FlushPending),
        "line 1 came back, not line 2"
    );
    assert_eq!(b.instr(0, clflush(1)), Gate::Go);
    assert!(b.finish_clean(true));
    assert_eq!(b.instr(0, clflush(2)), Gate::Go);
    assert_eq!(
        b.instr(0, clflush(2)),
        Gate::Wait(Cause::FlushPending),
        "the next one is flushed anew"
    );
}

/// A `clflush` covers what is in the line when it completes: another hardware thread's store meanwhile is flushed too.
#[test]
fn a_synchronous_flush_is_repeated_if_its_line_changed_meanwhile() {
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::None, 4);
    let flush = Instr::Flush(pm_line(1), Flush::Clflush);
    b.store(0, pm_line(1), 0, 1);
    assert_eq!(b.instr(0, flush), Gate::Wait(Cause::FlushPending));
    assert!(b.finish_clean(true));
    b.store(1, pm_line(1), 0, 2);
    assert_eq!(b.instr(0, flush), Gate::Wait(Cause::FlushPending));
    assert!(b.finish_clean(true));
    assert_eq!(b.instr(0, flush), Gate::Go);
}

/// x86: a locked instruction completes older flushes, as a fence does.
#[test]
fn a_locked_instruction_waits_for_own_flushes() {
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::None, 4);
    b.instr(0, clwb(1));
    assert_eq!(b.instr(0, Instr::Locked), Gate::Wait(Cause::FlushPending));
    b.finish_clean(true);
    assert_eq!(b.instr(0, Instr::Locked), Gate::Go);
}

/// A fence waits until the controller has the hardware thread's own non-temporal stores.
#[test]
fn sfence_waits_for_own_non_temporal_stores() {
    use fencepost_machine::seam::Design as _;
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::None, 1);
    let data = crate::testkit::filled(1);
    assert_eq!(
        b.design.nt_store(&mut b.cx, HwThread(0), pm_line(0), &data, 1),
        Gate::Go
    );
    assert_eq!(b.instr(0, SFENCE), Gate::Wait(Cause::WcbPending));
    assert_eq!(b.instr(1, SFENCE), Gate::Go);
    let full = b.design.nt_store(&mut b.cx, HwThread(1), pm_line(1), &data, 1);
    assert_eq!(full, Gate::Wait(Cause::WriteQueueFull));
    b.run_for(Ps(1));
    assert!(b.cx.kicked[0]);
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
    let id = b.candidates()[0];
    b.write_to_device(id);
    assert!(b.cx.kicked[1], "an entry is free again");
}

/// DPO-SEM10: pcommit waits for accepted writes of every thread, also unrelated ones.
#[test]
fn pcommit_waits_for_the_writes_of_every_thread() {
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::None, 8);
    b.instr(1, clwb(100));
    b.finish_clean(true);
    assert_eq!(b.instr(0, PCOMMIT), Gate::Go);
    assert_eq!(b.instr(0, SFENCE), Gate::Wait(Cause::PcommitPending));
    b.run_for(Ps::from_ns(1000));
    b.answer_drains();
    assert_eq!(
        b.instr(0, SFENCE),
        Gate::Wait(Cause::PcommitPending),
        "hardware thread 1's write is not durable"
    );
    let id = b.candidates()[0];
    b.write_to_device(id);
    b.run_for(Ps::from_ns(20));
    assert!(b.cx.kicked[0]);
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
}

#[test]
fn planted_fault_pcommit_ignores_the_others() {
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::PcommitIgnoresOthers, 8);
    b.instr(1, clwb(100));
    b.finish_clean(true);
    b.instr(0, PCOMMIT);
    b.run_for(Ps::from_ns(1000));
    assert_eq!(b.instr(0, SFENCE), Gate::Go, "the fault lets hardware thread 0 pass");
    assert!(b.cx.durable_order.is_empty());
    // Its own writes it still waits for.
    b.instr(0, clwb(5));
    b.finish_clean(true);
    b.instr(0, PCOMMIT);
    b.run_for(Ps::from_ns(1000));
    assert_eq!(b.instr(0, SFENCE), Gate::Wait(Cause::PcommitPending));
    for id in b.candidates() {
        b.write_to_device(id);
    }
    b.run_for(Ps::from_ns(20));
    assert_eq!(b.instr(0, SFENCE), Gate::Go, "they are durable");
}

#[test]
fn planted_fault_sfence_ignores_own_flushes() {
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::SfenceIgnoresFlushes, 8);
    b.instr(0, clwb(100));
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
    assert_eq!(b.cx.cleans.len(), 1);
}

/// Snapshot against drain-empty: a write accepted after the commit arrived delays only the latter.
#[test]
fn snapshot_ignores_writes_accepted_later_and_drain_empty_does_not() {
    for (policy, expected) in [
        (PcommitPolicy::Snapshot, Gate::Go),
        (PcommitPolicy::DrainEmpty, Gate::Wait(Cause::PcommitPending)),
    ] {
        let mut b = bench(policy, SoFault::None, 8);
        b.instr(0, clwb(1));
        b.finish_clean(true);
        b.instr(0, PCOMMIT);
        b.run_for(Ps::from_ns(10));
        b.instr(1, clwb(2));
        b.finish_clean(true);
        let first = b
            .candidates()
            .into_iter()
            .find(|id| b.cx.writes[id.0 as usize].write.line == pm_line(1));
        b.write_to_device(first.expect("accepted"));
        b.run_for(Ps::from_ns(10));
        assert_eq!(b.instr(0, SFENCE), expected, "{policy:?}");
    }
}

/// What the barrier is for, and DPO-SEM2's instance of it: A durable before B is stored.
#[test]
fn the_barrier_makes_everything_before_it_durable_under_every_policy_and_queue_size() {
    let policies = [
        PcommitPolicy::Snapshot,
        PcommitPolicy::DrainEmpty,
        PcommitPolicy::Exclusive,
    ];
    for (policy, queue, seed) in policies
        .iter()
        .flat_map(|p| (1..=3).flat_map(move |q| (0..20).map(move |s| (*p, q, s))))
    {
        let mut pick = Stream::new(seed, "so-barrier");
        let mut b = bench(policy, SoFault::None, queue);
        for round in 0..6u64 {
            let hw_thread = (round % 3) as u8;
            for line in 0..3 {
                b.store(hw_thread, pm_line(line), 0, round * 3 + line + 1);
                assert_eq!(b.instr(hw_thread, clwb(line)), Gate::Go);
            }
            barrier(&mut b, hw_thread, &mut pick);
            for line in 0..3 {
                let last = b.durable_values(pm_line(line), 0).last().copied();
                assert_eq!(
                    last,
                    Some(round * 3 + line + 1),
                    "{policy:?}, queue of {queue}, seed {seed}"
                );
            }
        }
        assert!(b.drain(&mut pick));
    }
}

/// DPO-SEM12: with a persistent write queue the dialect has no pcommit, and acceptance suffices.
#[test]
fn on_a_durable_queue_the_idiom_is_clwb_sfence() {
    let on_accept = (registry::find("so").unwrap().dialect)(Environment::new(true, false));
    assert_eq!(on_accept.order, [Fence::Sfence]);
    let device = (registry::find("so").unwrap().dialect)(Environment::new(false, false));
    assert_eq!(device.order, [Fence::Sfence, Fence::Pcommit, Fence::Sfence]);

    let mut b = bench(PcommitPolicy::Snapshot, SoFault::None, 2);
    b.cx.durable_on_accept = true;
    b.store(0, pm_line(3), 0, 42);
    b.instr(0, clwb(3));
    assert_eq!(b.instr(0, SFENCE), Gate::Wait(Cause::FlushPending));
    b.finish_clean(true);
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
    assert_eq!(b.durable_values(pm_line(3), 0), [42]);
    // A pcommit in a litmus test costs nothing and asks nothing there.
    assert_eq!(b.instr(0, PCOMMIT), Gate::Go);
    assert!(!b.cx.calls.iter().any(|c| matches!(c, Call::WhenDrained(..))));
}

#[test]
fn exclusive_lets_one_thread_at_a_time_accept_and_commit() {
    let mut b = bench(PcommitPolicy::Exclusive, SoFault::None, 8);
    b.instr(0, clwb(1));
    b.instr(1, clwb(2));
    assert!(b.cx.cleans.is_empty(), "flushes are held back until the fence");
    assert_eq!(b.instr(0, SFENCE), Gate::Wait(Cause::FlushPending));
    assert_eq!(b.instr(1, SFENCE), Gate::Wait(Cause::CommitExclusive));
    assert_eq!(b.cx.cleans.len(), 1);
    b.finish_clean(true);
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
    assert_eq!(b.instr(0, PCOMMIT), Gate::Go);
    b.run_for(Ps::from_ns(60));
    assert_eq!(
        b.instr(1, SFENCE),
        Gate::Wait(Cause::CommitExclusive),
        "hardware thread 0's commit is not finished"
    );
    let id = b.candidates()[0];
    b.write_to_device(id);
    b.run_for(Ps::from_ns(10));
    assert!(b.cx.kicked[1]);
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
    assert_eq!(b.instr(1, SFENCE), Gate::Wait(Cause::FlushPending));
}

#[test]
fn the_right_to_commit_lapses_when_no_pcommit_follows() {
    let mut b = bench(PcommitPolicy::Exclusive, SoFault::None, 8);
    b.instr(0, clwb(1));
    b.instr(1, clwb(2));
    b.instr(0, SFENCE);
    b.finish_clean(true);
    assert_eq!(b.instr(0, SFENCE), Gate::Go);
    assert_eq!(b.instr(1, SFENCE), Gate::Wait(Cause::CommitExclusive));
    b.cx.kicked[1] = false;
    b.run_for(Ps::from_ns(50));
    assert!(b.cx.kicked[1]);
    assert_eq!(b.instr(1, SFENCE), Gate::Wait(Cause::FlushPending));
}

#[test]
fn clflush_waits_for_itself() {
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::None, 8);
    let flush = Instr::Flush(pm_line(1), Flush::Clflush);
    assert_eq!(b.instr(0, flush), Gate::Wait(Cause::FlushPending));
    assert_eq!(b.instr(0, flush), Gate::Wait(Cause::FlushPending));
    assert_eq!(b.cx.cleans.len(), 1, "asking again issues nothing");
    b.finish_clean(true);
    assert!(b.cx.kicked[0]);
    assert_eq!(b.instr(0, flush), Gate::Go);
    assert_eq!(
        b.instr(0, flush),
        Gate::Wait(Cause::FlushPending),
        "the next one is a new flush"
    );
}

/// Arm: a clean to the point of persistence followed by DSB is durable at the device; DMB is not enough.
#[test]
fn dsb_after_cvap_reaches_the_device() {
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::None, 8);
    b.instr(0, Instr::Flush(pm_line(1), Flush::CvAp));
    b.finish_clean(true);
    assert_eq!(b.instr(0, Instr::Fence(Fence::Dmb)), Gate::Go);
    let dsb = Instr::Fence(Fence::Dsb);
    assert_eq!(b.instr(0, dsb), Gate::Wait(Cause::PcommitPending));
    b.run_for(Ps::from_ns(100));
    assert_eq!(b.instr(0, dsb), Gate::Wait(Cause::PcommitPending));
    let id = b.candidates()[0];
    b.write_to_device(id);
    b.run_for(Ps::from_ns(100));
    assert_eq!(b.instr(0, dsb), Gate::Go);
    assert_eq!(b.instr(0, dsb), Gate::Go, "nothing new to wait for");
}

#[test]
fn a_stuck_thread_says_what_it_waits_for() {
    let mut b = bench(PcommitPolicy::Exclusive, SoFault::None, 8);
    use fencepost_machine::seam::Design as _;
    assert_eq!(b.design.explain(HwThread(0)), None);
    b.instr(0, clwb(1));
    b.instr(0, SFENCE);
    let text = b.design.explain(HwThread(0)).expect("waits");
    assert!(
        text.contains("1 flushes") && text.contains("held by hardware thread 0"),
        "{text}"
    );
}

#[test]
fn contract_follows_the_memory_and_so_adr_is_marked_where_it_cannot_hold() {
    let so = registry::find("so").unwrap();
    let adr = registry::find("so-adr").unwrap();
    assert_eq!((so.contract)(Environment::new(false, true)).name(), "px86-pcommit");
    assert_eq!((so.contract)(Environment::new(true, true)).name(), "px86");
    assert_eq!((adr.contract)(Environment::new(false, true)).name(), "px86");
    assert!(!(adr.sound)(Environment::new(false, true)) && (adr.sound)(Environment::new(true, true)));
    assert_eq!((adr.dialect)(Environment::new(false, true)).order, [Fence::Sfence]);
}

#[test]
fn flushing_a_volatile_line_is_allowed() {
    let mut b = bench(PcommitPolicy::Snapshot, SoFault::None, 8);
    assert_eq!(b.instr(0, Instr::Flush(dram_line(9), Flush::Clwb)), Gate::Go);
    assert_eq!(b.cx.core_of(HwThread(0)).0, 0);
}
