//! What the caches keep for a design: its marks of lines, and whom it keeps from their L1.

use super::*;
use crate::seam::Cause;

#[test]
fn a_mark_stays_with_its_way_until_the_design_changes_it() {
    let mut b = Bench::new(MachineSpec::default(), Hooks::default());
    let ways = [1, 2].map(|i| {
        b.fetch(0, line(i), false);
        b.h.l1(CoreId(0)).find(line(i)).expect("it was fetched")
    });
    let marks = |b: &Bench| ways.map(|way| b.h.meta(CoreId(0), way));
    assert_eq!(marks(&b), [0, 0]);
    b.h.set_meta(CoreId(0), ways[0], 5);
    b.h.set_meta(CoreId(0), ways[1], 9);
    assert_eq!(marks(&b), [5, 9]);
    b.h.clear_meta(Level::L1(CoreId(0)));
    assert_eq!(marks(&b), [0, 0]);
}

/// Whoever waits is asked again when its thread is let in, and not when it was in already or is kept out for another reason.
#[test]
fn a_thread_is_unblocked_once() {
    let mut b = Bench::new(MachineSpec::default(), Hooks::default());
    let (pending, full) = (Some(Cause::OrderPending), Some(Cause::WindowFull));
    for (cause, unblocked) in [
        (None, false),
        (pending, false),
        (full, false),
        (None, true),
        (None, false),
    ] {
        assert_eq!(b.h.block(HwThread(1), cause), unblocked, "{cause:?}");
        assert_eq!([0, 1].map(|t| b.h.blocked(HwThread(t))), [None, cause]);
    }
}
