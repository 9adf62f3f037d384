//! A private second level of two lines.

use super::*;
use crate::spec::CacheSpec;

/// A fill takes a way of the second level between the grant and the fill of another line that was found there, dirty: that line's dirt
/// is in the shared cache by then, and a store to the line makes it void.
#[test]
fn a_line_that_leaves_the_second_level_before_its_fill_leaves_no_dirt_behind() {
    let mut spec = MachineSpec::default();
    (spec.l1.size, spec.l1.ways) = (Bytes(64), 1);
    spec.l2 = Some(CacheSpec {
        size: Bytes(128),
        ways: 2,
        ..CacheSpec::default()
    });
    let mut b = Bench::new(spec, Hooks::default());
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
