//! The state in which a line comes.

use super::*;

/// A core that reads what nobody else holds may write it without asking, also where the shared cache has the line dirty.
#[test]
fn a_line_that_only_the_shared_cache_holds_is_read_exclusive() {
    let mut spec = MachineSpec::default();
    (spec.l1.size, spec.l1.ways) = (Bytes(64), 1);
    let mut b = Bench::new(spec, Hooks::default());
    b.fetch(0, line(1), true);
    b.store(0, line(1));
    b.fetch(0, line(2), false); // replaces it in the first level
    let llc = &b.h.llc.tags;
    assert!(llc.find(line(1)).is_some_and(|w| llc.dirty(w)));
    b.fetch(1, line(1), false);
    assert!(matches!(b.access(1, line(1), true), Lookup::Hit(_)));
}
