//! The way out: evictions, reads, the persist path, the write queue, explicit drains, epoch rules.

use super::*;
use crate::testkit::{dram_line, pm_line};
use fencepost_kernel::Stream;
use fencepost_machine::seam::{Cause, Design as _, Epoch, Exit, Level, ReadAnswer, Snoop, Way, Why};

/// DPO-SEM9 and the lines that must not be dropped.
#[test]
fn persistent_lines_evicted_from_the_last_level_are_dropped() {
    let mut b = bench(1);
    let mut exit = |from, line| {
        let way = Way {
            line,
            dirty: true,
            meta: 0,
            frozen: false,
        };
        b.design
            .leaving(&mut b.cx, from, &way, &crate::testkit::filled(1), Why::Replaced)
    };
    assert_eq!(exit(Level::Llc, pm_line(0)), Exit::Drop);
    assert_eq!(exit(Level::Llc, dram_line(0)), Exit::Down);
    assert_eq!(exit(Level::L1(CoreId(0)), pm_line(0)), Exit::Down);
    let way = Way {
        line: pm_line(0),
        dirty: true,
        meta: 0,
        frozen: false,
    };
    let data = crate::testkit::filled(1);
    let cleaned = b
        .design
        .leaving(&mut b.cx, Level::L1(CoreId(0)), &way, &data, Why::Cleaned);
    assert_eq!(cleaned, Exit::Drop, "a clean of a private copy goes straight to memory");
    assert!(b.cx.writes.is_empty());
}

/// Reads of dropped lines are served by the buffer while it has the bytes.
#[test]
fn reads_are_served_by_the_buffer() {
    let mut b = bench(2);
    let reads = |b: &mut Bench<Delegated>, line| b.design.read_missed(&mut b.cx, HwThread(1), line);
    b.store(0, pm_line(0), 0, 1);
    assert_eq!(reads(&mut b, pm_line(0)), ReadAnswer::Supply);
    assert_eq!(reads(&mut b, pm_line(1)), ReadAnswer::Pass);
    assert_eq!(reads(&mut b, dram_line(0)), ReadAnswer::Pass);
    b.one_slot();
    assert_eq!(reads(&mut b, pm_line(0)), ReadAnswer::Pass);
}

/// The explicit drain returns when everything before it is durable, not earlier.
#[test]
fn dsb_waits_until_everything_before_it_is_durable() {
    for durable_on_accept in [false, true] {
        let mut b = bench(2);
        b.cx.durable_on_accept = durable_on_accept;
        let dsb = Instr::Fence(Fence::Dsb);
        b.store(0, pm_line(0), 0, 42);
        assert_eq!(b.instr(0, dsb), Gate::Wait(Cause::DrainPending));
        assert_eq!(b.entries(0).len(), 2, "it passes as a FENCE");
        assert_eq!(b.instr(0, dsb), Gate::Wait(Cause::DrainPending));
        assert_eq!(b.entries(0).len(), 2, "asking again adds nothing");
        b.run_for(Ps::from_ns(1000));
        if !durable_on_accept {
            b.answer_drains();
            assert_eq!(
                b.instr(0, dsb),
                Gate::Wait(Cause::DrainPending),
                "drained is not durable"
            );
            let id = b.candidates()[0];
            b.write_to_device(id);
        }
        b.run_for(Ps::from_ns(1000));
        assert!(b.cx.kicked[0]);
        assert_eq!(b.instr(0, dsb), Gate::Go);
        assert_eq!(b.durable_values(pm_line(0), 0), [42]);
        assert_eq!(
            b.instr(0, dsb),
            Gate::Wait(Cause::DrainPending),
            "the next one is a new drain"
        );
    }
}

/// On a memory that is durable on acceptance the queue keeps no epochs.
#[test]
fn a_durable_queue_keeps_no_epochs() {
    let mut b = bench(1);
    b.cx.durable_on_accept = true;
    b.store(0, pm_line(0), 0, 1);
    b.fence(0);
    b.store(0, pm_line(1), 0, 2);
    b.run_for(Ps::from_ns(1000));
    assert!(b.cx.writes.iter().all(|w| w.write.epoch.is_none() && w.durable));
    assert_eq!(b.lines(), [pm_line(0), pm_line(1)]);
}

/// A full write queue holds persists back, lets FENCEs pass, and the design goes on when an entry is free.
#[test]
fn a_refused_persist_waits_for_room() {
    let mut b = bench_with(&slow(), 2, 1);
    b.store(0, pm_line(0), 0, 1);
    b.store(0, pm_line(1), 0, 1);
    b.fence(1);
    b.run_for(Ps::from_ns(1000));
    assert_eq!(b.lines(), [pm_line(0)]);
    assert_eq!((b.entries(0).len(), b.entries(1).len()), (1, 0));
    assert!(
        b.design
            .explain(HwThread(0))
            .is_some_and(|t| t.contains("a free entry of the write queue"))
    );
    let id = b.candidates()[0];
    b.write_to_device(id);
    b.run_for(Ps::from_ns(1000));
    assert_eq!(b.lines(), [pm_line(0), pm_line(1)]);
}

/// Round robin alternates between cores; oldest first goes by age.
#[test]
fn arbitration_follows_its_parameter() {
    use crate::delegated::Arbitration;
    for (arbitration, expected) in [
        (Arbitration::RoundRobin, [0, 10, 1, 11]),
        (Arbitration::OldestFirst, [0, 1, 10, 11]),
    ] {
        let mut b = bench_with(&DelegatedParams { arbitration, ..slow() }, 2, 64);
        for (hw_thread, line) in [(0, 0), (0, 1), (1, 10), (1, 11)] {
            b.store(hw_thread, pm_line(line), 0, 1);
            b.cx.now += Ps(1);
        }
        b.run_for(Ps::from_ns(1000));
        assert_eq!(b.lines(), expected.map(pm_line));
    }
}

/// Sibling threads share a buffer: its order is their order.
#[test]
fn siblings_share_a_buffer() {
    let mut b = Bench::new(build(&slow(), 1, 2, false), 2, 2, 64);
    assert_eq!(b.core(0), b.core(1));
    b.store(0, pm_line(0), 0, 1);
    b.fence(1);
    b.store(1, pm_line(1), 0, 2);
    assert_eq!(b.entries(0).len(), 3);
    b.run_for(Ps::from_ns(1000));
    let epochs: Vec<_> = b.cx.writes.iter().map(|w| w.write.epoch).collect();
    assert_eq!(epochs, [Some(Epoch(0)), Some(Epoch(1))]);
}

/// A non-temporal store goes through the buffer like any other.
#[test]
fn non_temporal_stores_are_stores() {
    let mut b = bench(2);
    b.store(0, pm_line(0), 0, 1);
    let data = crate::testkit::filled(9);
    assert_eq!(
        b.design.nt_store(&mut b.cx, HwThread(1), pm_line(0), &data, 1),
        Gate::Go
    );
    assert_eq!(b.dp(1, 0), [(0, 0)]);
    assert!(!b.youngest(0, 0));
    assert!(b.cx.writes.is_empty());
}

/// Its request invalidates: it follows the FENCE before what another core has read there.
#[test]
fn a_non_temporal_store_follows_reads_of_its_line() {
    let mut b = bench(2);
    b.store(0, pm_line(1), 0, 1);
    b.fence(0);
    b.load(0, pm_line(0));
    let data = crate::testkit::filled(9);
    let gate = b.design.nt_store(&mut b.cx, HwThread(1), pm_line(0), &data, 1);
    assert_eq!(gate, Gate::Go);
    assert_eq!(b.dp(1, 0), [(0, 1)]);
}

#[test]
fn impossible_sizes_are_refused_with_the_name() {
    use fencepost_kernel::params::ParamError;
    let bad = |p: DelegatedParams| match checked(p) {
        Err(ParamError::Value { name, .. }) => name,
        other => panic!("accepted: {other:?}"),
    };
    let d = DelegatedParams::default;
    assert_eq!(bad(DelegatedParams { entries: 0, ..d() }), "entries");
    assert_eq!(bad(DelegatedParams { fences: 0, ..d() }), "fences");
    assert_eq!(
        bad(DelegatedParams {
            filter_bytes: 12,
            ..d()
        }),
        "filter_bytes"
    );
    assert_eq!(
        bad(DelegatedParams {
            filter_hashes: 0,
            ..d()
        }),
        "filter_hashes"
    );
}

/// Merged epochs: FENCEs of unrelated cores do not separate one another's persists; a dependence does.
#[test]
fn merged_epochs_join_unordered_persists_and_separate_ordered_ones() {
    let run = |dependent: bool| {
        let mut b = Bench::new(build(&slow(), 2, 1, true), 2, 1, 64);
        b.store(0, pm_line(0), 0, 1);
        b.fence(0);
        b.store(0, pm_line(1), 0, 1);
        if dependent {
            b.snoop(1, pm_line(1), Snoop::Read);
            b.fence(1);
        }
        b.store(1, pm_line(10), 0, 1);
        b.run_for(Ps::from_ns(2000));
        let mut of: Vec<_> =
            b.cx.writes
                .iter()
                .map(|w| (w.write.line, w.write.epoch.expect("epoch").0))
                .collect();
        of.sort();
        of.iter().map(|p| p.1).collect::<Vec<_>>()
    };
    assert_eq!(run(false), [0, 1, 0], "core 1's persist joins the first epoch");
    assert_eq!(run(true), [0, 1, 2], "it observed core 0's second persist, then fenced");
}

/// A FENCE that has drained into a future epoch still raises who reads what followed it.
#[test]
fn merged_epochs_remember_drained_fences() {
    let v = dram_line(0);
    let mut b = Bench::new(build(&slow(), 2, 1, true), 2, 1, 64);
    b.store(0, pm_line(0), 0, 1);
    b.fence(0);
    b.store(0, v, 0, 1);
    b.run_for(Ps::from_ns(1000));
    assert!(b.design.front.tracker.is_empty());
    b.snoop(1, v, Snoop::Read);
    b.load(1, v);
    b.store(1, pm_line(1), 0, 1);
    b.run_for(Ps::from_ns(1000));
    let epochs: Vec<_> = b.cx.writes.iter().map(|w| w.write.epoch).collect();
    assert_eq!(epochs, [Some(Epoch(0)), Some(Epoch(1))]);
    // Once everything is durable there is nothing to wait for, and nothing is remembered.
    let mut dice = Stream::new(1, "merge");
    b.settle(&mut dice);
    assert!(b.drain(&mut dice));
}

/// Another FENCE after it, with nothing in between, leaves no gap: what followed the first one is remembered until its epoch is active.
#[test]
fn merged_epochs_remember_a_fence_that_another_followed() {
    let v = dram_line(0);
    let mut b = Bench::new(build(&slow(), 2, 1, true), 2, 1, 64);
    b.store(0, pm_line(0), 0, 1);
    b.fence(0);
    b.store(0, v, 0, 1);
    b.fence(0);
    b.run_for(Ps::from_ns(1000));
    assert!(b.design.front.tracker.is_empty());
    b.snoop(1, v, Snoop::Read);
    b.load(1, v);
    b.store(1, pm_line(1), 0, 1);
    b.run_for(Ps::from_ns(1000));
    let epochs: Vec<_> = b.cx.writes.iter().map(|w| w.write.epoch).collect();
    assert_eq!(epochs, [Some(Epoch(0)), Some(Epoch(1))]);
}

/// A FENCE whose epoch is active orders nothing any more: who reads what followed it may still add to its newest entry.
#[test]
fn merged_epochs_forget_a_fence_whose_epoch_is_active() {
    let v = dram_line(0);
    let entries = |active: bool| {
        let mut b = Bench::new(build(&slow(), 2, 1, true), 2, 1, 64);
        b.store(0, pm_line(0), 0, 1);
        b.fence(0);
        b.store(0, v, 0, 1);
        b.store(0, pm_line(2), 0, 1);
        b.run_for(Ps::from_ns(1000));
        let epochs: Vec<_> = b.cx.writes.iter().map(|w| w.write.epoch).collect();
        assert_eq!(epochs, [Some(Epoch(0)), Some(Epoch(1))]);
        if active {
            let first = b.cx.writes[0].id;
            b.write_to_device(first);
        }
        b.store(1, pm_line(1), 0, 1);
        b.snoop(1, v, Snoop::Read);
        b.store(1, pm_line(1), 1, 2);
        b.entries(1).len()
    };
    assert_eq!([false, true].map(entries), [2, 1]);
}

/// The epochs of persists, by line, once two cores with epochs of different length have drained.
fn epochs_of_two_cores(epoch_rule: crate::delegated::EpochRule) -> Vec<u64> {
    let mut b = bench_with(&DelegatedParams { epoch_rule, ..slow() }, 2, 64);
    // Core 0: 0 FENCE 1 FENCE 2; core 1: 10 11 12 FENCE 13.
    for (core, lines) in [(0, &[0, 100, 1, 100, 2][..]), (1, &[10, 11, 12, 100, 13][..])] {
        for line in lines {
            if *line == 100 {
                b.fence(core);
            } else {
                b.store(core, pm_line(*line), 0, 1);
            }
        }
    }
    b.run_for(Ps::from_ns(2000));
    assert!(b.design.front.tracker.is_empty());
    let mut of: Vec<_> = (b.cx.writes.iter())
        .map(|w| (w.write.line, w.write.epoch.expect("epoch").0))
        .collect();
    of.sort();
    of.iter().map(|p| p.1).collect()
}

/// In their turns the FENCEs of either core cut the other's epoch; gathered, unordered epochs join one, and every FENCE still
/// closes it for both.
#[test]
fn fences_gather_the_epochs_of_all_buffers() {
    use crate::delegated::EpochRule;
    assert_eq!(epochs_of_two_cores(EpochRule::CloseAny), [0, 1, 2, 0, 1, 1, 2]);
    assert_eq!(epochs_of_two_cores(EpochRule::Gather), [0, 1, 2, 0, 0, 0, 1]);
}

/// A refused persist is a persist still: no FENCE leaves before it.
#[test]
fn gathering_fences_wait_for_refused_persists() {
    let params = DelegatedParams {
        epoch_rule: crate::delegated::EpochRule::Gather,
        ..slow()
    };
    let mut b = bench_with(&params, 2, 1);
    b.store(0, pm_line(0), 0, 1);
    b.store(0, pm_line(1), 0, 1);
    b.fence(1);
    b.run_for(Ps::from_ns(1000));
    assert_eq!((b.entries(0).len(), b.entries(1).len()), (1, 1));
    let id = b.candidates()[0];
    b.write_to_device(id);
    b.run_for(Ps::from_ns(1000));
    assert_eq!((b.entries(0).len(), b.entries(1).len()), (0, 0));
    let epochs: Vec<_> = b.cx.writes.iter().map(|w| w.write.epoch).collect();
    assert_eq!(epochs, [Some(Epoch(0)); 2]);
}

/// Without epochs in the queue a FENCE has nothing to gather for and drains in its turn.
#[test]
fn a_durable_queue_gathers_nothing() {
    let params = DelegatedParams {
        epoch_rule: crate::delegated::EpochRule::Gather,
        ..slow()
    };
    let mut b = bench_with(&params, 2, 64);
    b.cx.durable_on_accept = true;
    for line in 0..4 {
        b.store(0, pm_line(line), 0, 1);
    }
    b.fence(1);
    b.one_slot();
    b.one_slot();
    assert_eq!((b.entries(0).len(), b.entries(1).len()), (3, 0));
}
