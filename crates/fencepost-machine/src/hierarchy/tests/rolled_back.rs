//! What a roll-back takes back of a line, wherever its bytes are on their way.

use super::*;

#[test]
fn bytes_on_their_way_down_are_taken_back_in_every_buffer() {
    let mut spec = MachineSpec::default();
    (spec.l1.size, spec.l1.ways) = (Bytes(64), 1);
    let hooks = Hooks {
        holds: true,
        ..Hooks::default()
    };
    let mut b = Bench::new(spec, hooks);
    // The design keeps a dirty line in the buffer behind the first level; the same waits behind the shared cache, and another line.
    b.fetch(0, line(1), true);
    b.store(0, line(1));
    b.out.held = Some(line(1));
    b.fetch(0, line(2), false);
    let held = b.h.cores[0].write_back[0].clone();
    assert_eq!(held.way.line, line(1));
    let mut other = held.clone();
    other.way.line = line(3);
    b.h.llc.write_back.extend([held, other]);
    let before = LineData {
        words: [9; 8],
        ..LineData::default()
    };
    b.h.refresh(line(1), &before);
    assert_eq!(b.h.cores[0].write_back[0].data, before);
    assert_eq!(b.h.llc.write_back[0].data, before);
    assert_ne!(b.h.llc.write_back[1].data, before, "of another line");
}
