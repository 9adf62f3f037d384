//! States that the caches may not be in.

use super::super::tags::State;
use super::*;

/// Lines that two cores hold, and one that a core may write, in caches that are small enough to be looked at whole.
fn used() -> Bench {
    let mut spec = MachineSpec::default();
    (spec.l1.size, spec.l1.ways) = (Bytes(256), 2);
    let mut b = Bench::new(spec, Hooks::default());
    b.fetch(0, line(1), false);
    b.fetch(1, line(1), false);
    b.fetch(0, line(2), true);
    b.store(0, line(2));
    b.run();
    b
}

#[test]
fn what_the_protocol_leaves_is_sound() {
    assert_eq!(used().h.unsound(), None);
}
#[test]
fn a_line_that_one_core_may_write_and_another_has_is_not() {
    let mut b = used();
    let l1 = &mut b.h.cores[0].l1;
    let way = l1.find(line(1)).expect("it was fetched");
    l1.set_state(way, State::Exclusive);
    let what = b.h.unsound().expect("two cores have it");
    assert!(what.contains("which core 0 may write and another has"), "{what}");
}
#[test]
fn a_count_of_waiting_lines_without_a_line_is_not() {
    let mut b = used();
    b.h.parked_lines.insert(line(3), 1);
    assert_eq!(b.h.unsound().as_deref(), Some("the count of lines that wait to leave"));
}
#[test]
fn copies_behind_a_flush_are_gone_or_clean() {
    let mut b = used();
    // Line 1 is clean in two cores and the shared cache, line 2 dirty in one core.
    let is = |b: &Bench, n| {
        let kinds = [CleanKind::Invalidate, CleanKind::KeepExclusive, CleanKind::ToLlc];
        kinds.map(|kind| b.h.is_flushed(line(n), kind))
    };
    assert_eq!(is(&b, 1), [false, true, true]);
    assert_eq!(is(&b, 2), [false, false, false]);
    assert_eq!(is(&b, 3), [true; 3], "nobody has it");
    let shared = &mut b.h.llc.tags;
    let way = shared.find(line(1)).expect("it passed");
    shared.set_dirty(way, true);
    assert_eq!(is(&b, 1), [false, false, true], "dirty where it was flushed to");
    b.h.misflushed = Some(line(1));
    let what = b.h.unsound().expect("a flush went wrong");
    assert!(what.contains("behind its flush"), "{what}");
}
