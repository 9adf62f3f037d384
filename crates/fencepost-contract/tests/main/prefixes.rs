//! What a run left behind, prefix by prefix of its persist log: every crash point is looked at, and audits that go on from the one before
//! say what audits from the beginning say.

use crate::explore_common::sps::{Sps, Variant, X86};
use fencepost_contract::ContractKind;
use fencepost_contract::explore::{
    Oracle, PrefixCheck, PrefixReport, Recording, Recovered, Schedule, Verdict, check_prefixes, record_program,
};
use fencepost_kernel::{
    Addr, CrashPoint, Image, LineAddr, PersistLog, PersistRecord, Ps, Trace, TraceEvent, TraceKind, Violation,
    WriteCause, fault,
};
use std::cell::Cell;
use std::num::NonZeroU64;

/// The recorded execution with every store durable at once, but for those that `lose` names.
fn log_of(recording: &Recording, lose: impl Fn(Addr) -> bool) -> (Trace, PersistLog) {
    let mut trace = Trace {
        events: Vec::new(),
        ..recording.trace.clone()
    };
    let (mut log, mut image) = (PersistLog::new(true), recording.initial.clone());
    for event in &recording.trace.events {
        trace.events.push(*event);
        let store = match event.kind {
            TraceKind::Store(id) => Some(id),
            TraceKind::Rmw { store, .. } => store,
            _ => None,
        };
        let Some(id) = store.filter(|id| trace.store(*id).addr.is_persistent()) else {
            continue;
        };
        let info = *trace.store(id);
        if lose(info.addr) {
            continue;
        }
        image.set_word(info.addr, info.value, Some(id));
        let line = info.addr.line();
        trace.push_hardware(TraceKind::Durable {
            index: log.len() as u32,
        });
        log.push(PersistRecord {
            time: Ps(log.len()),
            line,
            data: image.line(line),
            cause: WriteCause::Persist,
        });
    }
    (trace, log)
}

#[test]
fn prefixes_of_the_durable_log() {
    let program = Sps {
        cells: 5,
        threads: 2,
        variant: Variant::Right,
    };
    let recording = record_program(&program, X86, 2, 6, false, Schedule::default()).unwrap();
    let oracle = Oracle::new(&program, &recording.trace.ops);
    let at_most = |n| NonZeroU64::new(n).unwrap();
    let (trace, log) = log_of(&recording, |_| false);
    let report = check_prefixes(
        &oracle,
        &recording.initial,
        &trace,
        &log,
        at_most(u64::MAX),
        Image::clone,
    );
    assert_eq!(
        (report.verdict, report.points),
        (Verdict::Clean, log.len() + 1),
        "program order is always allowed"
    );
    let some = check_prefixes(
        &oracle,
        &recording.initial,
        &trace,
        &log,
        at_most(log.len() / 3),
        Image::clone,
    );
    assert_eq!((some.verdict, some.points), (Verdict::Bounded, log.len() / 3));

    // The second thread's log never reaches memory: its first half-done swap cannot be rolled back.
    let second = |at: Addr| (Addr::pm(128)..Addr::pm(256)).contains(&at);
    let (trace, log) = log_of(&recording, second);
    let report = check_prefixes(
        &oracle,
        &recording.initial,
        &trace,
        &log,
        at_most(u64::MAX),
        Image::clone,
    );
    let broken = report.broken.expect("a lost log is noticed");
    assert_eq!(report.verdict, Verdict::Violated);
    assert!(broken.missing.iter().any(|s| second(trace.store(s.store).addr)));
    let swapped = log.records()[broken.records - 1].line;
    assert!(
        swapped.base() >= Addr::pm(256),
        "the last durable event is a swapped cell"
    );
    // Each crash point by itself says the same of the first that breaks, and goes on.
    let (mut points, mut breaks) = (0, Vec::new());
    PrefixCheck::new(&oracle, &recording.initial, &trace, &log).each(Image::clone, |records, why| {
        assert_eq!(records, points);
        points += 1;
        breaks.extend(why.map(|b| b.records));
    });
    assert_eq!(points, log.len() + 1);
    assert!(
        breaks.first() == Some(&broken.records) && breaks.len() > 1,
        "{breaks:?}"
    );
    // Hardware that repairs memory before software runs is taken into account.
    let undo = |_: &Image| recording.initial.clone();
    let repaired = check_prefixes(&oracle, &recording.initial, &trace, &log, at_most(u64::MAX), undo);
    assert!(
        repaired.broken.is_none_or(|b| b.crash.acked.iter().any(|a| *a > 0)),
        "only acknowledged work is missed"
    );
}

/// Twelve swaps of two threads.
fn swaps() -> (Sps, Recording) {
    let program = Sps {
        cells: 9,
        threads: 2,
        variant: Variant::Right,
    };
    let recording = record_program(&program, X86, 2, 12, true, Schedule::default()).unwrap();
    (program, recording)
}

/// What a report says of the crash points, whatever it cost.
fn said(r: PrefixReport) -> (u64, Verdict, Option<(usize, CrashPoint, Violation)>) {
    (r.points, r.verdict, r.broken.map(|b| (b.records, b.crash, b.why)))
}

/// Steps that nothing has touched are not run again: the verdicts are those of audits from the beginning, whatever is lost.
#[test]
fn audits_go_on_from_the_image_before() {
    let (program, recording) = swaps();
    let oracle = Oracle::new(&program, &recording.trace.ops);
    // Hardware that hands out an image of its own and does not say what it wrote has every audit begun anew.
    let both = |lost: Option<u64>| {
        let (trace, log) = log_of(&recording, |at| {
            lost.is_some_and(|line| at.line() == Addr::pm(64 * line).line())
        });
        let check = PrefixCheck::new(&oracle, &recording.initial, &trace, &log);
        let anew = check.run(|image| Some(image.clone())).map(said);
        (check.run(|_| None::<Image>).map(said), anew)
    };
    let lines = || (0..13).map(Some).chain([None]);
    let mut broken = 0;
    for lost in lines() {
        let (on, anew) = both(lost);
        assert_eq!(on, anew, "{lost:?}");
        broken += u32::from(on.is_ok_and(|on| on.1 == Verdict::Violated));
    }
    assert!((5..14).contains(&broken), "{broken}");
    let deaf = || lines().map(both).any(|(on, anew)| on != anew);
    let (seen, reached) = fault::with("explorer.step-not-run-again", deaf);
    assert!(reached && seen);
}

/// Hardware that puts back what a few lines held at first, now these and now those, and says so: the verdicts are those of audits from the
/// beginning.
#[test]
fn audits_go_on_from_what_hardware_left_before() {
    let (program, recording) = swaps();
    let oracle = Oracle::new(&program, &recording.trace.ops);
    let (trace, log) = log_of(&recording, |_| false);
    let check = PrefixCheck::new(&oracle, &recording.initial, &trace, &log);
    let line = |n: u64| Addr::pm(64 * n).line();
    let mut broken = 0;
    for first in 0..13 {
        let left = |image: &Image, turn: u64| {
            // Most crash points find nothing put back, though a line is named; the last three turns of the loop never do.
            let late = first < 10 && turn > 20 && turn.is_multiple_of(7);
            let put_back: Vec<LineAddr> = (first..first + u64::from(late)).map(line).collect();
            let mut left = image.clone();
            for line in &put_back {
                left.set_line(*line, &recording.initial.line(*line));
            }
            (left, [put_back, vec![line(turn % 13)]].concat())
        };
        let turns = Cell::new(0);
        let next = || turns.replace(turns.get() + 1);
        let on = check.run(|image| {
            let (left, lines) = left(image, next());
            Recovered::of(left, lines)
        });
        turns.set(0);
        let anew = check.run(|image| left(image, next()).0);
        let (on, anew) = (on.map(said), anew.map(said));
        assert_eq!(on, anew, "line {first}");
        broken += u32::from(on.is_ok_and(|on| on.1 == Verdict::Violated));
    }
    // Whoever puts a line back takes what was acknowledged.
    assert_eq!(broken, 10);
}

/// Between two durable events with the same memory an operation is acknowledged whose last write is not durable yet.
#[test]
fn an_acknowledgement_between_two_events_with_the_same_memory_is_looked_at() {
    let program = Sps {
        cells: 5,
        threads: 1,
        variant: Variant::Right,
    };
    let recording = record_program(&program, X86, 1, 1, false, Schedule::default()).unwrap();
    let oracle = Oracle::new(&program, &recording.trace.ops);
    let (trace, log) = log_of(&recording, |_| false);
    let is_durable = |e: &TraceEvent| matches!(e.kind, TraceKind::Durable { .. });
    let last = trace.events.iter().rposition(is_durable).unwrap();
    let ack = trace
        .events
        .iter()
        .position(|e| matches!(e.kind, TraceKind::Ack(0)))
        .unwrap();
    assert!(last < ack);
    let mut late = trace.clone();
    // The record before the last one once more, then the acknowledgement, then the last one.
    let n = log.len() as u32;
    late.events.insert(
        ack + 1,
        TraceEvent {
            thread: None,
            kind: TraceKind::Durable { index: n },
        },
    );
    let mut longer = PersistLog::new(true);
    let records = log.records();
    let (end, before) = (records.len() - 1, records.len() - 2);
    for i in (0..end).chain([before, end]) {
        longer.push(records[i]);
    }
    let judged = |trace: &Trace, log: &PersistLog| {
        let check = PrefixCheck::new(&oracle, &recording.initial, trace, log);
        check.run(|_| None::<Image>).unwrap()
    };
    assert_eq!(judged(&trace, &log).verdict, Verdict::Clean);
    let report = judged(&late, &longer);
    let broken = report.broken.expect("what was acknowledged is not durable");
    assert_eq!((broken.records, broken.crash.acked), (end + 1, vec![1]));
}

/// Every record together with one behind it that changes nothing: one step all the same, after which memory differs.
fn in_groups(recording: &Recording, trace: &Trace, log: &PersistLog) -> (Trace, PersistLog) {
    let (mut grouped, mut image) = (PersistLog::new(true), recording.initial.clone());
    let mut events = Vec::new();
    for event in &trace.events {
        let TraceKind::Durable { index } = event.kind else {
            events.push(*event);
            continue;
        };
        let record = log.records()[index as usize];
        image.set_line(record.line, &record.data);
        // A line that holds what it held.
        let again = Addr::pm(64 * u64::from(index % 9)).line();
        let data = image.line(again);
        let cause = WriteCause::LogPart;
        let of = |n: u64| TraceKind::Durable { index: n as u32 };
        for part in [
            PersistRecord { cause, ..record },
            PersistRecord {
                line: again,
                data,
                ..record
            },
        ] {
            let kind = of(grouped.len());
            events.push(TraceEvent { thread: None, kind });
            grouped.push(part);
        }
    }
    (
        Trace {
            events,
            ..trace.clone()
        },
        grouped,
    )
}

#[test]
fn a_group_whose_last_record_changes_nothing_is_looked_at() {
    let (program, recording) = swaps();
    let oracle = Oracle::new(&program, &recording.trace.ops);
    let mut broken = 0;
    for lost in (0..13).map(Some).chain([None]) {
        let (trace, log) = log_of(&recording, |at| {
            lost.is_some_and(|line| at.line() == Addr::pm(64 * line).line())
        });
        let (together, grouped) = in_groups(&recording, &trace, &log);
        let judged = |trace: &Trace, log: &PersistLog| {
            let check = PrefixCheck::new(&oracle, &recording.initial, trace, log);
            said(check.run(|_| None::<Image>).unwrap())
        };
        let (plain, groups) = (judged(&trace, &log), judged(&together, &grouped));
        let of = |(points, verdict, broken): (_, _, Option<(usize, _, _)>), records| {
            (points, verdict, broken.map(|(r, crash, why)| (r / records, crash, why)))
        };
        broken += u32::from(plain.1 == Verdict::Violated);
        assert_eq!(of(plain, 1), of(groups, 2), "{lost:?}");
    }
    assert!(broken > 4, "{broken}");
}

/// Power fails again in every recovery that stores something, until so many second recoveries were run as all crash points may take
/// together; what that leaves out is said.
#[test]
fn second_recoveries_stay_within_their_number() {
    let (program, recording) = swaps();
    let oracle = Oracle::new(&program, &recording.trace.ops);
    let (trace, log) = log_of(&recording, |_| false);
    let run = |most| {
        let check = PrefixCheck::new(&oracle, &recording.initial, &trace, &log);
        let check = check
            .power_fails_again(Some(ContractKind::Px86.into()))
            .most_second(most);
        let report = check.run(|_| None::<Image>).expect("a verdict");
        assert_eq!(report.verdict, Verdict::Clean);
        (report.second, report.again.expect("it was asked for"))
    };
    let (all, again) = run(u64::MAX);
    assert!(
        again.complete && again.recoveries > 1 && all > again.recoveries,
        "{all}: {again}"
    );
    for most in [0, 1, 2, all / 2, all - 1] {
        let (second, again) = run(most);
        assert!(second <= most, "{second} of {most}");
        assert!(!again.complete, "{most}: {again}");
    }
    assert_eq!(run(0).1.recoveries, 0, "none is interrupted that nothing may follow");
}
