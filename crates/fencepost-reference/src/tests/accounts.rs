//! Reports of times and memory, each rule broken once.

use super::*;
use crate::Counted;
use fencepost_kernel::stats::{Seen, Sum};

/// A sound run whose two threads took 9 and 6 ns, and whose report says so.
fn reported() -> Small {
    let mut r = sound();
    r.trace.push(HwThread(0), TraceKind::OpEnd(0));
    r.trace.push(HwThread(1), TraceKind::OpEnd(0));
    r.trace.push(HwThread(0), TraceKind::OpEnd(1));
    let thread = |began, ended, ops| ThreadTime {
        began: Ps(began),
        ended: Ps(ended),
        accounted: Ps(ended - began),
        ops,
        instructions: 20,
        memory_ops: 20,
    };
    r.threads = vec![thread(1000, 10_000, 2), thread(2000, 8000, 1)];
    let persistent = Controller {
        lines: [3, 2],
        rows: [2, 2, 1],
        bytes: 5 * 64,
        busy: Ps(50),
        burst: Ps(10),
        channels: 1,
        switches: 2,
        forwarded: 1,
        merged: 1,
        asked: [4, 3],
        empty: true,
    };
    r.reported = Some(Report {
        time: Ps(9000),
        threads: &[],
        in_order: false,
        controllers: [persistent, Controller::default()],
        durable_before: 0,
        design: Counted {
            counters: &[3, 1, 3],
            samples: &[2],
            sums: &[],
        },
    });
    r
}
fn with(change: impl FnOnce(&mut Small)) -> Result<(), &'static str> {
    let mut r = reported();
    change(&mut r);
    r.judge().map_err(|b| b.rule)
}
fn of_memory(change: impl FnOnce(&mut Controller)) -> Result<(), &'static str> {
    with(|r| change(&mut r.reported.as_mut().expect("reported").controllers[0]))
}

#[test]
fn a_report_that_adds_up_is_no_breach() {
    assert_eq!(with(|_| {}), Ok(()));
    // Memory that keeps what it accepted, and an in-order core whose last store is not accounted for.
    assert_eq!(with(|r| r.reported.as_mut().expect("reported").in_order = true), Ok(()));
    assert_eq!(of_memory(|c| c.asked[0] = 0), Ok(()));
}

#[test]
fn times_of_threads_add_up() {
    let wrong = Err("busy time and stalls are the time of a thread");
    assert_eq!(with(|r| r.threads[1].accounted = Ps(5999)), wrong);
    assert_eq!(with(|r| r.threads[1].accounted = Ps(6001)), wrong);
    let in_order = |accounted| {
        with(|r| {
            r.threads[1].accounted = Ps(accounted);
            r.reported.as_mut().expect("reported").in_order = true;
        })
    };
    assert_eq!([in_order(5999), in_order(6001)], [Ok(()), wrong]);
    assert_eq!(
        with(|r| r.threads[0].instructions = 19),
        Err("memory operations are instructions")
    );
    let wrong = Err("operations are counted once");
    assert_eq!(with(|r| r.threads[0].ops = 1), wrong);
    assert_eq!(with(|r| r.threads[1].ops = 2), wrong);
    let wrong = Err("a run lasts from the first thread's start to the last one's end");
    let lasts = |time| with(|r| r.reported.as_mut().expect("reported").time = Ps(time));
    assert_eq!([lasts(8999), lasts(9001)], [wrong, wrong]);
}

/// Threads begin their measured parts one after another: the run lasts from the last of them on.
#[test]
fn the_warm_up_is_no_part_of_the_run() {
    let warm = |ops, durable_before| {
        with(|r| {
            let at = r.trace.events.len() - 1;
            r.counted().events_before = at;
            r.counted().threads_before = [4, 0, 0, 0];
            r.threads[0].ops = ops;
            r.threads[1].ops = 0;
            let report = r.reported.as_mut().expect("reported");
            (report.time, report.durable_before) = (Ps(7000), durable_before);
        })
    };
    assert_eq!([warm(1, 2), warm(2, 2)], [Ok(()), Ok(())]);
    assert_eq!(warm(0, 2), Err("operations are counted once"));
    assert_eq!(warm(1, 1), Err("the warm-up is counted apart"));
}

#[test]
fn counters_of_memory_add_up() {
    let wrong = Err("every line is one access to a row, and one transfer");
    assert_eq!(of_memory(|c| c.rows[2] = 0), wrong);
    assert_eq!(of_memory(|c| c.bytes = 4 * 64), wrong);
    assert_eq!(of_memory(|c| c.busy = Ps(40)), wrong);
    assert_eq!(
        of_memory(|c| c.switches = 3),
        Err("a channel turns where a write follows a read")
    );
    assert_eq!(
        of_memory(|c| c.asked[0] = 5),
        Err("what is asked for is read or forwarded")
    );
    assert_eq!(of_memory(|c| c.merged = 2), Err("writes are issued or merged"));
    let more = |empty| {
        of_memory(|c| {
            (c.merged, c.empty) = (2, empty);
        })
    };
    assert_eq!([more(true), more(false)], [Err("writes are issued or merged"), Ok(())]);
    let lost = |c: &mut Controller| (c.asked[1], c.empty) = (2, false);
    assert_eq!(of_memory(lost), Err("lines that reach memory are writes accepted"));
}

#[test]
fn counters_of_a_design_add_up() {
    let sums = |sums: &'static [Sum]| with(|r| r.reported.as_mut().expect("reported").design.sums = sums);
    let wrong = Err("what a design counts adds up");
    let exact = [
        sums(const { &[Sum::of(&[0], Seen::Accepted)] }),
        sums(const { &[Sum::of(&[0, 1], Seen::Stores)] }),
        sums(const { &[Sum::of(&[0], Seen::Counter(2))] }),
        sums(const { &[Sum::of(&[], Seen::NtStores)] }),
        sums(const { &[Sum::at_most(&[1], Seen::Counter(0))] }),
    ];
    assert_eq!(exact, [Ok(()); 5]);
    let broken = [
        sums(const { &[Sum::of(&[1], Seen::Accepted)] }),
        sums(const { &[Sum::of(&[1], Seen::Zero)] }),
        sums(const { &[Sum::samples(&[0], Seen::Accepted)] }),
        sums(const { &[Sum::at_most(&[0], Seen::Counter(1))] }),
        sums(const { &[Sum::of(&[1], Seen::Commits)] }),
    ];
    assert_eq!(broken, [wrong; 5]);
}
