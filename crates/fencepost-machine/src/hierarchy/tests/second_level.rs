//! A private second level of two lines.

use super::*;
use crate::spec::CacheSpec;

/// A first level of one line above it.
fn small(hooks: Hooks) -> Bench {
    let mut spec = MachineSpec::default();
    (spec.l1.size, spec.l1.ways) = (Bytes(64), 1);
    spec.l2 = Some(CacheSpec {
        size: Bytes(128),
        ways: 2,
        ..CacheSpec::default()
    });
    Bench::new(spec, hooks)
}

/// A fill takes a way of the second level between the grant and the fill of another line that was found there, dirty: that line's dirt
/// is in the shared cache by then, and a store to the line makes it void.
#[test]
fn a_line_that_leaves_the_second_level_before_its_fill_leaves_no_dirt_behind() {
    let mut b = small(Hooks::default());
    b.fetch(0, line(1), true);
    b.store(0, line(1));
    b.fetch(0, line(2), false);
    // Line 3 comes from memory; when it arrives, line 1 has been granted and not filled.
    assert_eq!(b.access(0, line(3), false), Lookup::Missed);
    let is_fill = |n: &(Ps, u64, Next)| matches!(n.2, Next::Step(Step::Fill(..)));
    b.run_until(|out| out.agenda.iter().any(is_fill));
    let Some(at) = b.out.agenda.iter().position(is_fill) else {
        panic!("line 3 arrives");
    };
    let (_, _, fill_3) = b.out.agenda.swap_remove(at);
    assert_eq!(b.access(0, line(1), false), Lookup::Missed);
    b.run_until(|out| out.agenda.iter().any(is_fill));
    let now = b.out.now;
    b.out.agenda.push((now, 0, fill_3));
    b.run();
    let dirty = |b: &Bench| {
        let llc = &b.h.llc.tags;
        llc.find(line(1)).is_some_and(|w| llc.dirty(w))
    };
    assert!(dirty(&b), "the second level gave it up");
    b.store(0, line(1));
    assert!(!dirty(&b));
}

/// Line 1 is dirty in the second level, and what was stored to it since waits to leave the first: `newer` in its first word.
fn with_a_waiting_victim(newer: u64) -> Bench {
    let mut b = small(Hooks {
        holds: true,
        ..Hooks::default()
    });
    b.h.keep_bytes();
    let memory = Some([0; 8]);
    b.fetch(0, line(1), true);
    b.h.set_words(Level::L1(CoreId(0)), line(1), memory);
    b.store(0, line(1));
    b.fetch(0, line(2), false);
    b.fetch(0, line(1), false);
    b.store(0, line(1));
    b.h.stored(CoreId(0), Addr::pm(64), newer);
    b.out.held = Some(line(1));
    b.fetch(0, line(2), false);
    assert_eq!(waiting(&b), [Level::L1(CoreId(0))]);
    b
}
fn waiting(b: &Bench) -> Vec<Level> {
    b.h.cores[0].write_back.iter().map(|d| d.from).collect()
}

#[test]
fn a_victim_of_the_second_level_does_not_go_behind_newer_bytes_of_the_first() {
    let mut b = with_a_waiting_victim(7);
    b.fetch(0, line(3), false);
    assert!(b.h.cores[0].ways(line(1)).is_nowhere(), "it left the second level");
    assert_eq!(waiting(&b), [Level::L1(CoreId(0))]);
    b.out.held = None;
    b.h.drain_write_back(&mut b.out, CoreId(0));
    assert_eq!(b.h.words(Level::Llc, line(1)).map(|w| w[0]), Some(7));
}

#[test]
fn a_clean_waits_for_the_victim_and_its_core_reads_on_from_the_second_level() {
    let mut b = with_a_waiting_victim(7);
    let (at, step) =
        b.h.request_clean(b.out.now, HwThread(0), line(1), CleanKind::KeepShared, 5);
    b.out.schedule(at, step);
    b.run();
    assert_eq!(
        waiting(&b),
        [Level::L1(CoreId(0))],
        "nothing older goes to memory behind it"
    );
    assert!(b.out.cleaned.is_empty());
    b.fetch(0, line(1), false);
    assert_eq!(b.h.words(Level::L1(CoreId(0)), line(1)).map(|w| w[0]), Some(7));
    b.out.held = None;
    b.h.drain_write_back(&mut b.out, CoreId(0));
    b.run();
    assert_eq!((b.out.cleaned.len(), b.out.written.len()), (1, 1));
}
