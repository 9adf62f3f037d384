//! Writes that wait for a full controller.

use super::super::notify::Notify;
use super::*;
use fencepost_kernel::{WriteCause, fault};

#[test]
fn writes_wait_for_a_full_queue_and_go_in_order() {
    let mut b = Bench::new(MachineSpec::default(), Hooks::default());
    b.out.full = true;
    for i in 0..3 {
        b.fetch(0, line(i), true);
        b.store(0, line(i));
        let (at, step) =
            b.h.request_clean(b.out.now, HwThread(0), line(i), CleanKind::KeepShared, i);
        b.out.schedule(at, step);
        b.run();
    }
    assert!(b.out.written.is_empty() && b.h.holds_up_write(line(1), 0));
    assert!(!b.h.holds_up_write(line(9), 0));
    b.out.full = false;
    b.h.try_outgoing(&mut b.out, Side::Pm);
    b.run();
    let lines: Vec<LineAddr> = b.out.written.iter().map(|w| w.0).collect();
    assert_eq!(lines, [line(0), line(1), line(2)]);
    assert_eq!(b.out.cleaned.len(), 3);
}

#[test]
fn a_full_controller_is_asked_once_however_many_writes_wait() {
    let mut b = Bench::new(MachineSpec::default(), Hooks::default());
    b.out.full = true;
    let write = |b: &mut Bench, i: u64| {
        let (line, notify) = (line(i), Notify::default());
        b.h.write_out(&mut b.out, line, LineData::default(), WriteCause::Flush, notify, true);
    };
    (0..500).for_each(|i| write(&mut b, i));
    // Each tells the controller of itself alone.
    assert_eq!(b.out.asked, 500);
    b.out.full = false;
    write(&mut b, 3);
    b.run();
    let lines: Vec<LineAddr> = b.out.written.iter().map(|w| w.0).collect();
    assert_eq!(lines, (0..500).chain([3]).map(line).collect::<Vec<_>>());
    assert_eq!(b.out.asked, 500 + 501);
}

#[test]
fn what_is_read_in_place_of_a_line_is_not_written_over_before() {
    let hooks = Hooks {
        versions: true,
        ..Hooks::default()
    };
    let mut b = Bench::new(MachineSpec::default(), hooks);
    b.out.logged = Some((line(1), line(100)));
    assert_eq!(b.access(0, line(1), false), Lookup::Missed);
    b.run_until(|out| out.agenda.iter().any(|n| matches!(n.2, Next::Read(..))));
    assert!(b.h.holds_up_write(line(100), 3));
    assert!(!b.h.holds_up_write(line(1), 3), "the line's home may be written");
    b.run();
    assert_eq!(b.out.freed, [3]);
    assert!(!b.h.holds_up_write(line(100), 3));
}

/// Three reads for one register: the first has it, and while it does the design takes the second's line. So the register is the third's.
#[test]
fn a_read_that_the_design_answers_leaves_its_register_to_the_next() {
    let mut spec = MachineSpec::default();
    spec.llc.mshrs = 1;
    let hooks = Hooks {
        reads: true,
        ..Hooks::default()
    };
    let mut b = Bench::new(spec, hooks);
    for core in 0..3 {
        assert_eq!(b.access(core, line(core.into()), false), Lookup::Missed);
    }
    b.run_until(|out| out.agenda.iter().all(|n| matches!(n.2, Next::Read(..))));
    b.out.supplied = Some(line(1));
    b.run();
    let mut served: Vec<HwThread> = b.arrived.iter().map(|(w, _)| w.hw_thread()).collect();
    served.sort_unstable();
    assert_eq!(served, [0, 1, 2].map(HwThread));
    assert_eq!(b.h.counters.memory_reads[Side::Pm as usize], 2);
}

/// Three writes of one line wait for a full controller: they are known by the cleans that wait for them.
#[test]
fn writes_of_a_line_go_in_order_and_where_that_is_broken_the_youngest_goes_first() {
    let first_gone = || {
        let mut b = Bench::new(MachineSpec::default(), Hooks::default());
        b.out.full = true;
        for tag in 0..3 {
            let (data, notify) = (LineData::default(), Notify::one(HwThread(0), tag));
            b.h.write_out(&mut b.out, line(1), data, WriteCause::Flush, notify, true);
        }
        b.out.full = false;
        b.h.try_outgoing(&mut b.out, Side::Pm);
        b.run();
        b.out.cleaned.iter().map(|c| c.0).collect::<Vec<_>>()
    };
    assert_eq!(first_gone(), [0, 1, 2]);
    let (broken, reached) = fault::with("hierarchy.write-overtakes-write", first_gone);
    assert!(reached);
    assert_eq!(broken.first(), Some(&2));
}
