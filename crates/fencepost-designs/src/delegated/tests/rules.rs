//! The rules of the paper's section IV for buffers and dependences, one by one.

use super::*;
use crate::delegated::stats::DEPENDENCES;
use crate::delegated::{Fault, PortId};
use crate::testkit::{dram_line, pm_line};
use fencepost_machine::seam::{Cause, Epoch, Snoop, SnoopAnswer};

/// DPO-SEM8: same line, AccumDP empty, Youngest set; each condition alone prevents it.
#[test]
fn coalescing_needs_all_three_conditions() {
    let (x, y) = (pm_line(0), pm_line(1));
    let mut b = bench(2);
    b.store(0, x, 0, 1);
    b.store(0, x, 1, 2);
    assert_eq!(b.entries(0).len(), 1, "all three hold");
    let Kind::Persist { data, .. } = &b.entries(0)[0].kind else {
        panic!("a persist")
    };
    assert_eq!(data.words[..2], [1, 2]);

    // Another line between: not the newest entry.
    b.store(0, y, 0, 3);
    b.store(0, x, 0, 4);
    assert_eq!(b.entries(0).len(), 3);
    assert!(!b.youngest(0, 0) && b.youngest(0, 2), "one Youngest entry per line");

    // A FENCE between: an older epoch must not change.
    let mut b = bench(2);
    b.store(0, x, 0, 1);
    b.fence(0);
    b.store(0, x, 0, 2);
    assert_eq!(b.entries(0).len(), 3);

    // AccumDP not empty.
    let mut b = bench(2);
    b.store(1, y, 0, 1);
    b.store(0, x, 0, 1);
    b.snoop(0, y, Snoop::Read);
    assert_eq!(b.accum(0), [(1, 0)]);
    let depends = |b: &Bench<Delegated>| b.design.front.tracker.newest_depends(PortId(0));
    assert!(!depends(&b), "its only entry came before");
    b.store(0, x, 0, 2);
    assert_eq!(b.entries(0).len(), 2);
    assert_eq!(b.dp(0, 1), [(1, 0)]);
    assert!(depends(&b));

    // Youngest cleared by another core's invalidating request; the line comes back before that core stored.
    let mut b = bench(2);
    b.store(0, x, 0, 1);
    b.snoop(1, x, Snoop::ReadExclusive);
    b.snoop(0, x, Snoop::ReadExclusive);
    b.store(0, x, 0, 2);
    assert_eq!(b.entries(0).len(), 2);
}

#[test]
fn planted_fault_coalesces_with_a_dependence_waiting() {
    let (x, y) = (pm_line(0), pm_line(1));
    let params = DelegatedParams {
        fault: Fault::CoalesceWithDependences,
        ..slow()
    };
    let mut b = bench_with(&params, 2, 64);
    b.store(1, y, 0, 1);
    b.store(0, x, 0, 1);
    b.snoop(0, y, Snoop::Read);
    b.store(0, x, 0, 2);
    assert_eq!(b.entries(0).len(), 1);
}

/// Only an invalidating request clears Youngest; a read leaves it, and the entry answers the next request too.
#[test]
fn a_read_leaves_youngest_set() {
    let x = pm_line(0);
    let mut b = bench(3);
    b.store(0, x, 0, 1);
    assert_eq!(b.snoop(1, x, Snoop::Read), SnoopAnswer::Supply);
    assert!(b.youngest(0, 0));
    assert_eq!(b.snoop(2, x, Snoop::Upgrade), SnoopAnswer::Supply);
    assert!(!b.youngest(0, 0));
    assert_eq!((b.accum(1), b.accum(2)), (vec![(0, 0)], vec![(0, 0)]));
    let params = DelegatedParams {
        fault: Fault::ReadClearsYoungest,
        ..slow()
    };
    let mut b = bench_with(&params, 3, 64);
    b.store(0, x, 0, 1);
    b.snoop(1, x, Snoop::Read);
    assert_eq!(
        b.snoop(2, x, Snoop::Upgrade),
        SnoopAnswer::Pass,
        "the fault loses the dependence"
    );
    assert!(b.accum(2).is_empty());
}

/// The line moves on before its new owner stores: the next requester still learns of the entry.
#[test]
fn a_handed_over_line_is_not_forgotten_before_the_new_owner_stores() {
    let x = pm_line(0);
    let mut b = bench(3);
    b.store(0, x, 0, 1);
    b.snoop(1, x, Snoop::ReadExclusive);
    assert_eq!(b.snoop(2, x, Snoop::ReadExclusive), SnoopAnswer::Pass);
    assert_eq!(b.accum(2), [(0, 0)]);
    b.store(2, x, 0, 2);
    // Now core 2 holds the newest bytes, and only it answers.
    b.snoop(1, x, Snoop::ReadExclusive);
    b.store(1, pm_line(9), 0, 3);
    assert_eq!(
        b.dp(1, 0),
        [(0, 0), (2, 0)],
        "core 1 still carries its own earlier request's dependence"
    );
}

/// A read left core 1 with the only copy; its store makes no bus request and must still see core 0's FENCE and entry.
#[test]
fn a_silent_upgrade_asks_again() {
    let (x, v, z) = (pm_line(0), dram_line(0), pm_line(1));
    let mut b = bench(2);
    b.store(0, x, 0, 1);
    b.fence(0);
    b.load(0, v);
    b.snoop(1, v, Snoop::Read);
    assert!(b.accum(1).is_empty(), "a read does not conflict with core 0's read");
    b.store(1, v, 0, 1);
    assert_eq!(b.accum(1), [(0, 1)], "the silent store does");
    b.store(1, z, 0, 1);
    assert_eq!(b.dp(1, 0), [(0, 1)]);

    let mut b = bench(2);
    b.store(0, x, 0, 1);
    b.snoop(1, x, Snoop::Read);
    b.store(1, x, 0, 2);
    assert!(
        !b.youngest(0, 0) && b.youngest(1, 0),
        "the newest bytes are in one place"
    );
}

/// A core whose received dependence has drained receives another, having accessed nothing since: what it accesses again is handed on anew.
#[test]
fn what_is_accessed_again_hands_on_what_was_received_anew() {
    let (v, w) = (dram_line(0), dram_line(1));
    let mut b = bench(3);
    for round in 0..3 {
        b.store(0, pm_line(round), 0, 1);
        b.fence(0);
        b.store(0, v, 0, round);
        b.snoop(1, v, Snoop::Read);
        let received = b.accum(1);
        assert_eq!(received.len(), 1, "core 0's FENCE");
        b.store(1, w, 0, round);
        b.snoop(2, w, Snoop::Read);
        assert_eq!(b.accum(2), received, "round {round}");
        b.run_for(Ps::from_ns(1000));
        assert!(b.design.front.tracker.is_empty() && b.accum(2).is_empty());
    }
}

/// DPO-SEM13: full entries or full FENCE slots block the L1 until an entry drains.
#[test]
fn a_full_buffer_blocks_the_l1_until_an_entry_drains() {
    let params = DelegatedParams { entries: 2, ..slow() };
    let mut b = bench_with(&params, 2, 64);
    b.store(0, pm_line(0), 0, 1);
    assert_eq!(b.cx.blocked[0], None);
    b.store(0, pm_line(1), 0, 1);
    assert_eq!(b.cx.blocked, [Some(Cause::PersistBufferFull), None]);
    assert_eq!(b.instr(0, DMB), Gate::Wait(Cause::PersistBufferFull));
    b.cx.kicked[0] = false;
    b.one_slot();
    assert_eq!(b.cx.blocked[0], None);
    assert!(b.cx.kicked[0]);
    b.fence(0);

    let params = DelegatedParams { fences: 1, ..slow() };
    let mut b = bench_with(&params, 2, 64);
    b.fence(0);
    assert_eq!(b.cx.blocked[0], Some(Cause::FenceSlots));
    assert_eq!(b.instr(0, DMB), Gate::Wait(Cause::FenceSlots));
    b.one_slot();
    assert_eq!(b.cx.blocked[0], None);
}

/// A FENCE is appended to an empty buffer too: it carries the dependences.
#[test]
fn a_fence_in_an_empty_buffer_takes_a_slot_and_the_dependences() {
    let x = pm_line(0);
    let mut b = bench(2);
    b.store(0, x, 0, 1);
    b.snoop(1, x, Snoop::Read);
    b.fence(1);
    assert_eq!(b.dp(1, 0), [(0, 0)]);
    assert!(b.accum(1).is_empty());
    b.one_slot();
    b.one_slot();
    assert!(b.entries(1).is_empty());
    assert_eq!(b.cx.open_epoch(0), Epoch(1), "x, then the boundary");
}

/// Adjacent FENCEs make one boundary.
#[test]
fn adjacent_fences_make_one_boundary() {
    let mut b = bench(2);
    b.store(0, pm_line(0), 0, 1);
    b.fence(0);
    b.fence(0);
    b.fence(1);
    b.run_for(Ps::from_ns(1000));
    assert!(b.design.front.tracker.is_empty());
    assert_eq!(b.cx.open_epoch(0), Epoch(1));
}

/// An id that drained before it is used is dropped, and its slot can be used by another entry.
#[test]
fn drained_ids_are_dropped_and_slots_are_reused_safely() {
    let x = pm_line(0);
    let params = DelegatedParams { entries: 1, ..slow() };
    let mut b = bench_with(&params, 2, 64);
    b.store(0, x, 0, 1);
    b.snoop(1, x, Snoop::Read);
    assert_eq!(b.accum(1).len(), 1);
    b.one_slot();
    assert!(b.accum(1).is_empty(), "0:0 has drained");
    // Slot 0 of core 0 is in use again, by an entry that core 1 does not depend on.
    b.store(0, pm_line(5), 0, 1);
    b.store(1, pm_line(6), 0, 1);
    assert_eq!(b.dp(1, 0), []);
    b.run_for(Ps::from_ns(1000));
    assert!(b.design.front.tracker.is_empty());
}

/// Filters and buffers answer whether or not the L1 still holds the line, and for volatile lines.
#[test]
fn only_accesses_since_the_fence_conflict() {
    let (before, after) = (dram_line(1), dram_line(2));
    let mut b = bench(2);
    b.store(0, before, 0, 1);
    b.store(0, pm_line(0), 0, 1);
    b.fence(0);
    b.store(0, after, 0, 1);
    b.snoop(1, before, Snoop::ReadExclusive);
    assert!(b.accum(1).is_empty());
    b.snoop(1, after, Snoop::Read);
    assert_eq!(b.accum(1), [(0, 1)]);
}

/// The youngest FENCE that conflicts is returned, and an older FENCE no longer records.
#[test]
fn the_youngest_conflicting_fence_is_returned() {
    let (u, v) = (dram_line(1), dram_line(2));
    let mut b = bench(3);
    b.store(0, pm_line(0), 0, 1);
    b.fence(0);
    b.store(0, u, 0, 1);
    b.fence(0);
    b.store(0, v, 0, 1);
    b.snoop(1, u, Snoop::Read);
    assert_eq!(b.accum(1), [(0, 1)]);
    b.snoop(2, v, Snoop::Read);
    assert_eq!(b.accum(2), [(0, 2)]);
    b.snoop(1, v, Snoop::Read);
    assert_eq!(b.accum(1), [(0, 2)], "the newer replaces the older");
}

/// A FENCE's order passes through a core that only touches volatile lines; with the paper's text alone it does not.
#[test]
fn dependences_pass_through_volatile_lines() {
    let (x, a, c, y) = (pm_line(0), dram_line(0), dram_line(1), pm_line(1));
    for forward in [true, false] {
        let mut b = bench_with(&DelegatedParams { forward, ..slow() }, 3, 64);
        b.store(0, x, 0, 1);
        b.fence(0);
        b.store(0, a, 0, 1);
        b.snoop(1, a, Snoop::Read);
        b.load(1, a);
        b.store(1, c, 0, 1);
        b.snoop(2, c, Snoop::Read);
        b.load(2, c);
        b.store(2, y, 0, 1);
        let expected: &[(u8, usize)] = if forward { &[(0, 1)] } else { &[] };
        assert_eq!(b.dp(2, 0), expected);
    }
}

/// What a core learns from others is counted id by id.
#[test]
fn every_dependence_received_is_counted_once() {
    let mut b = bench(3);
    for line in 0..3 {
        b.store(0, pm_line(line), 0, 1);
        b.snoop(1, pm_line(line), Snoop::Read);
    }
    assert_eq!(b.cx.counters[&DEPENDENCES], 3);
    b.snoop(2, pm_line(9), Snoop::Read);
    assert_eq!(b.cx.counters[&DEPENDENCES], 3, "nobody holds that line");
}
