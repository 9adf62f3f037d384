//! The design's marks of lines in the shared cache, and reads and writes that wait for each other below it.

use super::*;

#[test]
fn a_line_that_comes_down_again_brings_its_mark() {
    let mut b = Bench::new(MachineSpec::default(), Hooks::default());
    let mark = |b: &Bench| {
        let llc = &b.h.llc.tags;
        llc.find(line(1)).map(|w| (llc.dirty(w), llc.meta(w)))
    };
    for (dirty, meta, then) in [
        (true, 3, (true, 3)),
        (true, 5, (true, 5)),
        (false, 7, (true, 5)),
        (true, 0, (true, 0)),
    ] {
        b.h.insert_llc(&mut b.out, line(1), (dirty, meta), None);
        assert_eq!(mark(&b), Some(then));
    }
}

/// Who reads a line whose dirty copy below is marked may not store to it without asking.
#[test]
fn a_marked_dirty_copy_below_is_not_overwritten_unasked() {
    for (dirty, meta, asks) in [(true, 5, true), (true, 0, false), (false, 0, false)] {
        let mut b = Bench::new(MachineSpec::default(), Hooks::default());
        b.h.insert_llc(&mut b.out, line(1), (dirty, meta), None);
        b.fetch(0, line(1), false);
        let stores = b.access(0, line(1), true);
        assert_eq!(stores == Lookup::Missed, asks, "dirty {dirty}, mark {meta}: {stores:?}");
    }
}

/// A write waits for an older one of its line that has not left, and for a read that was sent to the line instead of another.
#[test]
fn a_write_waits_for_a_redirected_read_of_its_line() {
    let hooks = Hooks {
        versions: true,
        ..Hooks::default()
    };
    let mut b = Bench::new(MachineSpec::default(), hooks);
    b.out.logged = Some((line(1), line(9)));
    assert!(!b.h.holds_up_write(line(9), 0));
    assert_eq!(b.access(0, line(1), false), Lookup::Missed);
    let read = |out: &Fake| out.agenda.iter().any(|n| matches!(n.2, Next::Read(..)));
    b.run_until(read);
    assert!(b.h.holds_up_write(line(9), 2), "the read is under way");
    assert!(!b.h.holds_up_write(line(1), 2), "nobody reads there");
    b.run();
    assert!(!b.h.holds_up_write(line(9), 2));
    assert_eq!(b.out.freed, [2], "who was refused is told");
}
