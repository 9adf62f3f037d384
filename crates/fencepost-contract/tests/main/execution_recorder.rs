//! Recorded executions: store buffers, spinning, time limits, and what a verdict covers.

use fencepost_contract::ContractKind;
use fencepost_contract::explore::{
    Budget, CrashCheck, CrashMem, Granularity, Order, RecordError, RecordMem, Recorder, Schedule, Verdict, plain,
};
use fencepost_kernel::{Addr, At, CrashPoint, Fence, Mem, TraceKind, Val};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

const X: Addr = Addr::pm(0x00);
const Y: Addr = Addr::pm(0x40);

fn schedule(seed: u64, order: Order) -> Schedule {
    Schedule {
        seed,
        granularity: Granularity::Access,
        order,
        until: None,
    }
}
/// What two threads read, over many schedules.
fn outcomes(order: Order, threads: [fn(&mut RecordMem<'_>) -> u64; 2]) -> BTreeSet<[u64; 2]> {
    let run = |seed| {
        let read = Rc::new([Cell::new(0), Cell::new(0)]);
        let mut recorder = Recorder::new(schedule(seed, order));
        for (i, body) in threads.into_iter().enumerate() {
            let read = Rc::clone(&read);
            recorder = recorder.thread(move |m| read[i].set(body(m)));
        }
        recorder.run().unwrap();
        [read[0].get(), read[1].get()]
    };
    (0..300).map(run).collect()
}
fn set(m: &mut RecordMem<'_>, at: Addr) {
    m.store(At::new(at), Val::lit(1));
}
fn get(m: &mut RecordMem<'_>, at: Addr) -> u64 {
    m.load(At::new(at)).v
}

/// All outcomes of total store order and no others: what the model says of SB, SB with fences, MP and forwarding.
#[test]
fn store_buffers_show_what_total_store_order_allows() {
    let sb: [fn(&mut RecordMem<'_>) -> u64; 2] = [
        |m| {
            set(m, X);
            get(m, Y)
        },
        |m| {
            set(m, Y);
            get(m, X)
        },
    ];
    assert_eq!(
        outcomes(Order::Sequential, sb),
        BTreeSet::from([[0, 1], [1, 0], [1, 1]])
    );
    assert_eq!(
        outcomes(Order::StoreBuffers, sb),
        BTreeSet::from([[0, 0], [0, 1], [1, 0], [1, 1]])
    );
    let fenced: [fn(&mut RecordMem<'_>) -> u64; 2] = [
        |m| {
            set(m, X);
            m.fence(Fence::Mfence);
            get(m, Y)
        },
        |m| {
            set(m, Y);
            m.fence(Fence::Mfence);
            get(m, X)
        },
    ];
    assert_eq!(
        outcomes(Order::StoreBuffers, fenced),
        BTreeSet::from([[0, 1], [1, 0], [1, 1]])
    );
    let mp: [fn(&mut RecordMem<'_>) -> u64; 2] = [
        |m| {
            set(m, X);
            set(m, Y);
            0
        },
        |m| get(m, Y) * 2 + get(m, X),
    ];
    assert_eq!(
        outcomes(Order::StoreBuffers, mp),
        BTreeSet::from([[0, 0], [0, 1], [0, 3]]),
        "never y without x"
    );
    let own: [fn(&mut RecordMem<'_>) -> u64; 2] = [
        |m| {
            set(m, X);
            get(m, X)
        },
        |_| 0,
    ];
    assert_eq!(
        outcomes(Order::StoreBuffers, own),
        BTreeSet::from([[1, 0]]),
        "a thread sees its own stores"
    );
}

/// Traces of both recorders are executions: loads come after the store they read, and every store performs once.
#[test]
fn loads_stand_after_the_store_that_they_read() {
    for order in [Order::Sequential, Order::StoreBuffers] {
        for seed in 0..200 {
            let mut recorder = Recorder::new(schedule(seed, order));
            for _ in 0..3 {
                recorder = recorder.thread(|m| {
                    for at in [X, Y, X] {
                        let old = get(m, at);
                        m.store(At::new(at), Val::lit(old + 1));
                        get(m, at);
                    }
                });
            }
            let trace = recorder.run().unwrap().trace;
            let mut performed = BTreeSet::new();
            let mut of_word: BTreeMap<_, String> = BTreeMap::new();
            for event in &trace.events {
                let accessed = match event.kind {
                    TraceKind::Store(s) => Some((trace.store(s).addr, 's')),
                    TraceKind::Load { addr, .. } => Some((addr, 'l')),
                    _ => None,
                };
                if let Some((addr, how)) = accessed {
                    of_word.entry((event.thread, addr)).or_default().push(how);
                }
                match event.kind {
                    TraceKind::Store(s) => assert!(performed.insert(s)),
                    TraceKind::Load { addr, from: Some(s) } => {
                        assert!(performed.contains(&s) && trace.store(s).addr == addr);
                    }
                    _ => {}
                }
            }
            assert_eq!(performed.len(), trace.stores.len());
            // A thread's accesses to one word are in the order of its program, those included that its own buffer answers.
            for ((_, addr), accesses) in of_word {
                assert_eq!(accesses, if addr == X { "lsllsl" } else { "lsl" }, "{order:?} {seed}");
            }
        }
    }
}

#[test]
fn spinning_on_plain_loads_is_diagnosed() {
    let wait = |m: &mut RecordMem<'_>| while get(m, X) == 0 {};
    for order in [Order::Sequential, Order::StoreBuffers] {
        let schedule = Schedule {
            granularity: Granularity::Lock,
            ..schedule(1, order)
        };
        let done = Recorder::new(schedule).thread(wait).thread(|m| set(m, X)).run();
        assert!(done.is_ok(), "the store comes");
        let error = Recorder::new(schedule)
            .thread(wait)
            .thread(|m| set(m, Y))
            .run()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("thread 0 spins on plain loads") && error.contains("execution_recorder.rs:"),
            "{error}"
        );
    }
}

#[test]
fn a_recording_without_end_ends_with_its_time() {
    let schedule = Schedule {
        until: Some(Instant::now() + Duration::from_millis(50)),
        ..Schedule::default()
    };
    let endless = |m: &mut RecordMem<'_>| {
        loop {
            set(m, X);
        }
    };
    assert_eq!(
        Recorder::new(schedule).thread(endless).run().unwrap_err(),
        RecordError::OutOfTime
    );
}

fn sound(m: &mut CrashMem<'_>, _: &CrashPoint) -> Result<(), fencepost_kernel::Violation> {
    m.load(At::new(X));
    Ok(())
}

#[test]
fn a_verdict_says_what_it_covered() {
    let append = |me: u64| {
        move |m: &mut RecordMem<'_>| {
            m.lock(At::new(Y));
            let old = get(m, X);
            m.store(At::new(X), Val::lit(old * 4 + me));
            m.unlock(At::new(Y));
        }
    };
    let run = |check: &CrashCheck, threads: u64| {
        let record = |schedule| {
            (1..=threads)
                .fold(Recorder::new(schedule), |r, me| r.thread(append(me)))
                .run()
        };
        check
            .each(record, |explorer, _| explorer.explore(&mut plain(sound)))
            .unwrap()
    };
    let mut check = CrashCheck::new(ContractKind::Px86);
    let one = run(&check, 1);
    assert_eq!(
        (one.verdict, one.complete, one.schedules, one.executions),
        (Verdict::Clean, true, 1, 1)
    );
    let three = run(&check, 3);
    assert_eq!(
        (three.verdict, three.complete, three.schedules),
        (Verdict::Clean, false, 8)
    );
    assert!((2..=8).contains(&three.executions), "{}", three.executions);
    check.schedules = Some(1);
    assert!(!run(&check, 3).complete, "one interleaving is not all of them");
    check.budget = Budget::Time(Duration::ZERO);
    let nothing = run(&check, 1);
    assert_eq!((nothing.verdict, nothing.recoveries), (Verdict::NothingExplored, 0));
    check.budget = Budget::Time(Duration::from_millis(100));
    let endless = |schedule| {
        let forever = |m: &mut RecordMem<'_>| {
            loop {
                set(m, X);
            }
        };
        Recorder::new(schedule).thread(forever).run()
    };
    let late = check
        .each(endless, |explorer, _| explorer.explore(&mut plain(sound)))
        .unwrap();
    assert_eq!((late.verdict, late.schedules), (Verdict::NothingExplored, 0));
}

/// A range has one queue as long as it is bound, however often, and another one when it is bound anew.
#[test]
fn a_range_keeps_its_queue_until_every_binding_is_undone() {
    let queues = Rc::new(Cell::new([0; 5]));
    let told = Rc::clone(&queues);
    let body = move |m: &mut RecordMem<'_>| {
        let first = m.bind(X, 64);
        let (again, other) = (m.bind(X, 64), m.bind(Y, 64));
        m.release(X, 64);
        let bound = m.bind(X, 64);
        (0..2).for_each(|_| m.release(X, 64));
        told.set([first, again, other, bound, m.bind(X, 64)].map(|q| q.0));
    };
    Recorder::new(schedule(1, Order::Sequential))
        .thread(body)
        .run()
        .unwrap();
    let [first, again, other, bound, anew] = queues.get();
    assert!(first == again && first == bound && first != other);
    assert!(anew != first && anew != other, "{:?}", queues.get());
}
