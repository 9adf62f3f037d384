//! Ranges that get no register.

use super::*;

/// Two registers. A range that gets none shares a line with another one, or came while none was free.
#[test]
fn ranges_without_a_register_have_a_reason() {
    let span = |line: u64| Span {
        at: Addr::pm(line * 64),
        len: 64,
    };
    let bind = |r: &mut Small, range: Span, queue| {
        let (base, len) = (range.at, range.len);
        r.trace.push(HwThread(0), TraceKind::Bind { base, len, queue });
    };
    let run = |held: u64, refused: u64, released: bool| {
        let mut r = Small::new();
        r.hardware.range_registers = 2;
        for line in 0..held {
            let range = span(line);
            r.note(LedgerKind::RegisterSet { queue: 1, range });
            bind(&mut r, range, QueueId(1));
        }
        if released {
            let (queue, range) = (1, span(0));
            r.note(LedgerKind::RegisterCleared { queue, range });
            let (base, len) = (range.at, range.len);
            r.trace.push(HwThread(1), TraceKind::Release { base, len });
        }
        bind(&mut r, span(refused), QueueId::DEFAULT);
        r.judge().err().map(|b| b.rule)
    };
    let rule = Some("a range gets a register unless none is free or another range has a line of it");
    assert_eq!(run(0, 5, false), rule);
    assert_eq!(run(1, 1, false), rule, "a neighbour shares no line");
    assert_eq!(run(1, 0, false), Some("a bound range stays in its queue"));
    assert_eq!(run(2, 5, false), None, "no register is free");
    assert_eq!(run(2, 5, true), None, "none was when the thread asked");
    assert_eq!(run(1, 0, true), None, "it shared a line when the thread asked");
}

/// A write to the range is accepted by the default queue, and durable before or after the range gets a register.
#[test]
fn a_range_moves_when_nothing_is_under_way() {
    let run = |durable_first: bool, bound: bool| {
        let mut r = Small::new();
        (r.hardware.range_registers, r.counts) = (2, None);
        let range = Span {
            at: Addr::pm(0),
            len: 64,
        };
        let queue = u8::from(bound);
        let change = |r: &mut Small| {
            let kind = match bound {
                true => LedgerKind::RegisterCleared { queue: 1, range },
                false => LedgerKind::RegisterSet { queue: 1, range },
            };
            r.note(kind);
            let (base, len, queue) = (range.at, range.len, QueueId(1));
            r.trace.push(
                HwThread(0),
                match bound {
                    true => TraceKind::Release { base, len },
                    false => TraceKind::Bind { base, len, queue },
                },
            );
        };
        if bound {
            r.note(LedgerKind::RegisterSet { queue: 1, range });
            let (base, len, queue) = (range.at, range.len, QueueId(1));
            r.trace.push(HwThread(0), TraceKind::Bind { base, len, queue });
        }
        r.store(0, 0, 1);
        let data = r.accept_by(queue, 1, 0);
        if !durable_first {
            change(&mut r);
        }
        r.issue(1);
        r.become_durable(1, 0, data);
        if durable_first {
            change(&mut r);
        }
        r.judge().err().map(|b| b.rule)
    };
    let rule = Some("a range changes its queue when no write to it is under way");
    assert_eq!([run(true, false), run(true, true)], [None, None]);
    assert_eq!([run(false, false), run(false, true)], [rule, rule]);
}
