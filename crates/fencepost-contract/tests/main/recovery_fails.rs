//! Recovery is code that fails too: bad addresses, power that fails while it runs.

use fencepost_contract::ContractKind;
use fencepost_contract::explore::{CrashCheck, CrashMem, RecordMem, Recorder, Report, Schedule, Verdict, plain};
use fencepost_kernel::{Addr, At, CrashPoint, Fence, Flush, Mem, Span, Stream, Val, Violation};

const LOG: Addr = Addr::pm(0x00);
const DATA: Addr = Addr::pm(0x40);

/// Says "add one to the data" in a log, durably, and never gets to do it.
fn request(m: &mut RecordMem<'_>) {
    m.store(At::new(LOG), Val::lit(1));
    m.flush(At::new(LOG), Flush::Clwb);
    m.fence(Fence::Sfence);
}
fn check(again: bool, recover: impl Fn(&mut CrashMem<'_>, &CrashPoint) -> Result<(), Violation>) -> Report {
    let mut check = CrashCheck::new(ContractKind::Px86);
    check.power_fails_again = again;
    let record = |schedule| Recorder::new(schedule).thread(request).run();
    let report = check
        .each(record, |explorer, _| explorer.explore(&mut plain(&recover)))
        .unwrap();
    if let Some(witness) = &report.witness {
        let replayed = check.replay(record, &mut plain(&recover), &witness.replay).unwrap();
        assert_eq!(
            replayed.verdict,
            Err(witness.why.clone()),
            "a replay repeats what was printed"
        );
        assert_eq!(replayed.witness.unwrap().replay, witness.replay);
    }
    report
}
fn expect(m: &mut CrashMem<'_>, values: &[u64]) -> Result<(), Violation> {
    match values.contains(&m.load(At::new(DATA)).v) {
        true => Ok(()),
        false => Err(Violation::at(DATA, "the data is wrong")),
    }
}

#[test]
fn addresses_without_memory_are_violations_with_their_place() {
    for (at, why) in [
        (Addr(0), "the null page"),
        (Addr(0x18), "the null page"),
        (Addr::pm(1 << 40), "an address where there is no memory"),
        (Addr(0xdead_beef_0000), "an address where there is no memory"),
        (Addr::pm(3), "a misaligned address"),
    ] {
        let load = check(true, |m, _| {
            m.load(At::new(at));
            Ok(())
        });
        let store = check(true, |m, _| {
            m.store(At::new(at), Val::lit(1));
            Ok(())
        });
        for (report, what) in [(load, "loads from"), (store, "stores to")] {
            let violation = report.witness.expect("no such memory").why;
            assert_eq!(violation.at, Some(at));
            assert!(
                violation.why.contains(&format!("recovery {what} {why} at ")),
                "{}",
                violation.why
            );
            assert!(violation.why.contains("recovery_fails.rs:"), "{}", violation.why);
        }
    }
}

#[test]
fn a_redo_that_cannot_be_repeated_is_convicted() {
    let increment = |m: &mut CrashMem<'_>, _: &CrashPoint| {
        if m.load(At::new(LOG)).v == 1 {
            let old = m.load(At::new(DATA)).v;
            m.store(At::new(DATA), Val::lit(old + 1));
            m.store(At::new(LOG), Val::lit(0));
        }
        expect(m, &[0, 1])
    };
    assert_eq!(
        check(false, increment).verdict,
        Verdict::Clean,
        "one failure does not show it"
    );
    let report = check(true, increment);
    assert_eq!(report.verdict, Verdict::Violated);
    let second = report.witness.unwrap().second.expect("power failed again");
    assert_eq!(
        (second.persisted.len(), second.persisted[0].at),
        (1, DATA),
        "between the two stores"
    );

    let set = |m: &mut CrashMem<'_>, _: &CrashPoint| {
        if m.load(At::new(LOG)).v == 1 {
            m.store(At::new(DATA), Val::lit(1));
            m.store(At::new(LOG), Val::lit(0));
        }
        expect(m, &[0, 1])
    };
    let report = check(true, set);
    let again = report.again.unwrap();
    assert_eq!(
        (report.verdict, again.complete, again.fenced),
        (Verdict::Clean, true, false)
    );
    assert!(again.recoveries > 0 && again.states > 2, "{again}");
}

#[test]
fn a_recovery_that_fences_is_held_to_its_contract() {
    let redo = |fence: bool| {
        move |m: &mut CrashMem<'_>, _: &CrashPoint| {
            if m.load(At::new(LOG)).v == 1 {
                m.store(At::new(DATA), Val::lit(1));
                m.flush(At::new(DATA), Flush::Clwb);
                if fence {
                    m.fence(Fence::Sfence);
                }
                m.store(At::new(LOG), Val::lit(2));
            }
            match m.load(At::new(LOG)).v {
                2 => expect(m, &[1]),
                _ => Ok(()),
            }
        }
    };
    assert_eq!(check(true, redo(true)).verdict, Verdict::Clean);
    let report = check(true, redo(false));
    assert_eq!(
        report.verdict,
        Verdict::Violated,
        "the log may be closed before the data is durable"
    );
}

/// `if word[a] >= v { word[b] = word[c] + k }`, several times; then a check that reads every word.
#[derive(Clone, Debug)]
struct Random {
    steps: Vec<[u64; 5]>,
    bad: Vec<u64>,
}
const WORDS: u64 = 3;
fn word(i: u64) -> Addr {
    Addr::pm(i * 64)
}
impl Random {
    fn new(rng: &mut Stream) -> Random {
        let step = |rng: &mut Stream| {
            [
                rng.below(WORDS),
                rng.below(3),
                rng.below(WORDS),
                rng.below(WORDS),
                rng.below(2),
            ]
        };
        let mut steps = Vec::new();
        for _ in 0..=rng.below(3) {
            steps.push(step(rng));
        }
        let bad = (0..WORDS).map(|_| rng.below(4)).collect();
        Random { steps, bad }
    }
    /// Runs on `words`; the stores made, and whether the check passes.
    fn run(&self, words: &mut [u64]) -> (Vec<(usize, u64)>, bool) {
        let mut stores = Vec::new();
        for [a, v, b, c, k] in &self.steps {
            if words[*a as usize] >= *v {
                words[*b as usize] = words[*c as usize] + k;
                stores.push((*b as usize, words[*b as usize]));
            }
        }
        (stores, words != self.bad)
    }
    fn run_on(&self, m: &mut CrashMem<'_>) -> Result<(), Violation> {
        for [a, v, b, c, k] in &self.steps {
            if m.load(At::new(word(*a))).v >= *v {
                let value = m.load(At::new(word(*c))).v + k;
                m.store(At::new(word(*b)), Val::lit(value));
            }
        }
        let words: Vec<u64> = (0..WORDS).map(|i| m.load(At::new(word(i))).v).collect();
        match words != self.bad {
            true => Ok(()),
            false => Err(Violation::at(word(0), "the bad state")),
        }
    }
}

#[test]
fn interrupted_recoveries_equal_brute_force() {
    let mut rng = Stream::new(11, "interrupted recoveries");
    let (mut first, mut second, mut clean) = (0, 0, 0);
    for round in 0..6_000 {
        let stores: Vec<(u64, u64)> = (0..rng.below(4))
            .map(|_| (rng.below(WORDS), 1 + rng.below(2)))
            .collect();
        let recovery = Random::new(&mut rng);
        let writes = stores.clone();
        let record = move |m: &mut RecordMem<'_>| {
            writes
                .iter()
                .for_each(|(w, v)| m.store(At::new(word(*w)), Val::lit(*v)));
        };
        let recording = Recorder::new(Schedule::default()).thread(record).run().unwrap();

        // Nothing orders the words: any prefix of each word's stores.
        let (mut fails, mut fails_again) = (false, false);
        for set in 0..4u32.pow(WORDS as u32) {
            let mut words = vec![0; WORDS as usize];
            let kept: Vec<u32> = (0..WORDS as u32).map(|w| set / 4u32.pow(w) % 4).collect();
            let mut seen = vec![0; WORDS as usize];
            for (w, v) in &stores {
                seen[*w as usize] += 1;
                if seen[*w as usize] <= kept[*w as usize] {
                    words[*w as usize] = *v;
                }
            }
            let (made, passes) = recovery.run(&mut words.clone());
            fails |= !passes;
            for cut in 0..=made.len() {
                let mut again = words.clone();
                made[..cut].iter().for_each(|(w, v)| again[*w] = *v);
                fails_again |= !recovery.run(&mut again).1;
            }
        }
        let mut check = CrashCheck::new(ContractKind::None);
        let explore = |check: &CrashCheck| {
            let judge = |m: &mut CrashMem<'_>, _: &CrashPoint| recovery.run_on(m);
            check
                .each(
                    |_| Ok(recording.clone()),
                    |explorer, _| explorer.explore(&mut plain(judge)),
                )
                .unwrap()
        };
        let what = format!("round {round}: {stores:?} {recovery:?}");
        assert_eq!(
            explore(&check).verdict == Verdict::Violated,
            fails || fails_again,
            "{what}"
        );
        check.power_fails_again = false;
        assert_eq!(explore(&check).verdict == Verdict::Violated, fails, "{what}");
        first += u32::from(fails);
        second += u32::from(fails_again && !fails);
        clean += u32::from(!fails && !fails_again);
    }
    assert!(first > 100 && second > 15 && clean > 100, "{first} {second} {clean}");
}

/// What the mark is given leaves out `a`, which is used later.
#[test]
fn a_wrong_cut_is_noticed_without_asking() {
    let stores = |m: &mut RecordMem<'_>| {
        m.store(At::new(LOG), Val::lit(1));
        m.store(At::new(DATA), Val::lit(1));
    };
    let forgets = |m: &mut CrashMem<'_>, _: &CrashPoint| {
        let a = m.load(At::new(LOG)).v;
        m.cut(0);
        match (a, m.load(At::new(DATA)).v) {
            (0, 1) => Err(Violation::at(DATA, "data without its log")),
            _ => Ok(()),
        }
    };
    let record = |schedule| Recorder::new(schedule).thread(stores).run();
    let check = CrashCheck::new(ContractKind::Px86);
    let error = check
        .each(record, |explorer, _| explorer.explore(&mut plain(forgets)))
        .unwrap_err();
    assert!(
        error.to_string().contains("a merge would have hidden this violation"),
        "{error}"
    );
    // The builders of the explorer can be used inside `each`.
    let trusting = |explorer: fencepost_contract::explore::Explorer<'_>, _: &_| {
        explorer.doubt_first_merges(0).explore(&mut plain(forgets))
    };
    assert_eq!(
        check.each(record, trusting).unwrap().verdict,
        Verdict::Clean,
        "the wrong answer"
    );
}

/// Behind the mark `a` is used and not loaded again, but it shows in a line that recovery has written. Saying that what follows relies on
/// that line tells states with different lines apart.
#[test]
fn what_follows_a_mark_may_rely_on_a_line_without_reading_it() {
    let stores = |m: &mut RecordMem<'_>| {
        m.store(At::new(LOG), Val::lit(1));
        m.store(At::new(DATA), Val::lit(1));
    };
    let explored = |relies: bool| {
        let recover = move |m: &mut CrashMem<'_>, _: &CrashPoint| {
            let a = m.load(At::new(LOG)).v;
            m.store(At::new(LOG), Val::lit(a + 1));
            m.cut(0);
            let data = m.load(At::new(DATA)).v;
            if relies {
                m.relies_on(Span { at: LOG, len: 8 });
            }
            match (a, data) {
                (0, 1) => Err(Violation::at(DATA, "data without its log")),
                _ => Ok(()),
            }
        };
        let mut check = CrashCheck::new(ContractKind::Px86);
        check.power_fails_again = false;
        let record = |schedule| Recorder::new(schedule).thread(stores).run();
        let trusting = |explorer: fencepost_contract::explore::Explorer<'_>, _: &_| {
            explorer.doubt_first_merges(0).explore(&mut plain(recover))
        };
        check.each(record, trusting).unwrap().verdict
    };
    assert_eq!(explored(true), Verdict::Violated);
    assert_eq!(explored(false), Verdict::Clean, "the wrong answer");
}
