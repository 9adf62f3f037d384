//! Budgets: what bounded exploration covers, and that it never claims more.

use crate::explore_common::lines::loose;
use crate::explore_common::{Nosy, random_trace};
use fencepost_contract::explore::{
    Budget, CrashCheck, CrashMem, Deviation, Explorer, RecordMem, Recorder, Report, Verdict, plain, steps,
};
use fencepost_contract::{Contract, ContractKind};
use fencepost_kernel::{Addr, At, CrashPoint, Image, Mem, Stream, Val, Violation};

/// Reads everything; dislikes states in which exactly `bad` of `n` stores are missing.
fn counting(n: u64, bad: Option<u64>) -> impl Fn(&mut CrashMem<'_>, &CrashPoint) -> Result<(), Violation> {
    move |m, _| {
        let missing: u64 = (0..n).map(|i| 1 - m.load(At::new(Addr::pm(i * 64))).v).sum();
        if Some(missing) == bad {
            Err(Violation {
                why: "too many".into(),
                at: None,
            })
        } else {
            Ok(())
        }
    }
}
#[test]
fn bounded_mode_covers_what_it_says() {
    let (n, space) = (20u64, loose(20));
    let run = |budget, bad| {
        Explorer::new(&space)
            .budget(budget)
            .explore(&mut plain(counting(n, bad)))
            .unwrap()
    };
    // Both ends and t = 1, 2 take 2 + 40 + 380 states; t = 3 takes 2280 more.
    let choose = |t: u64| (0..t).fold(1, |c, i| c * (n - i) / (i + 1));
    let within = |t: u64| (0..=t).map(|i| 2 * u128::from(choose(i))).sum::<u128>();
    for (half, t) in [(2, 0), (50, 1), (1_500, 2), (3_000, 3)] {
        let report = run(Budget::States(2 * half), None);
        assert_eq!((report.verdict, report.complete), (Verdict::Bounded, false));
        assert_eq!(report.lines_deviating, Some(t), "budget {half}");
        assert_eq!(report.states_total, Some(1 << n));
        assert!(
            report.recoveries <= 2 * half,
            "{} recoveries of {}",
            report.recoveries,
            2 * half
        );
        let covered = report.states_covered;
        assert!(
            within(u64::from(t)) <= covered && covered < within(u64::from(t) + 1),
            "{covered}"
        );
        assert!(covered <= u128::from(half) + 1);
        assert_eq!(
            format!("{report}"),
            format!("{}", run(Budget::States(2 * half), None)),
            "deterministic"
        );
    }
    // A state three lines from "all durable" is far from where depth-first search gets with this budget.
    let report = run(Budget::States(6_000), Some(17));
    let witness = report.witness.expect("three durable lines are within reach");
    assert_eq!((report.verdict, witness.deviations()), (Verdict::Violated, 3));
    assert_eq!(witness.deviation, Deviation::Persisted);
    // With time for everything there is nothing bounded about it.
    let report = run(Budget::Unlimited, None);
    assert_eq!(
        (report.verdict, report.states_covered, report.recoveries),
        (Verdict::Clean, 1 << n, 1 << n)
    );
}

#[test]
fn a_time_budget_ends_a_hopeless_search() {
    let space = loose(60);
    let budget = Budget::Time(std::time::Duration::from_millis(200));
    let report = Explorer::new(&space)
        .budget(budget)
        .explore(&mut plain(counting(60, None)))
        .unwrap();
    assert_eq!(
        (report.verdict, report.complete, report.states_total),
        (Verdict::Bounded, false, Some(1 << 60))
    );
    assert!(report.states_covered < 1 << 60 && report.witness.is_none());
    let shown = report.to_string();
    assert!(shown.contains("of 1152921504606846976; complete: no"), "{shown}");
}

#[test]
fn budgets_never_change_a_verdict_to_clean() {
    let mut rng = Stream::new(3, "budgets");
    let (mut bounded, mut violated) = (0, 0);
    for _ in 0..1_500 {
        let (stores, words) = (4 + rng.below(9) as usize, 2 + rng.below(5));
        let trace = random_trace(&mut rng, stores, words);
        let space = Contract::from(ContractKind::ALL[rng.below(13) as usize]).space(&trace, &Image::default());
        let recovery = Nosy::random(&mut rng, words);
        let full: Report = Explorer::new(&space).explore(&mut steps(&recovery)).unwrap();
        let budget = Budget::States(1 + rng.below(60));
        let merge = rng.chance(1, 2);
        let part = Explorer::new(&space)
            .merge(merge)
            .budget(budget)
            .explore(&mut steps(&recovery))
            .unwrap();
        assert!(part.states_covered <= part.states_total.unwrap());
        match (part.verdict, full.verdict) {
            (Verdict::Bounded, _) => {
                assert!(!part.complete);
                bounded += 1;
            }
            (found, expected) => assert_eq!(found, expected),
        }
        violated += u32::from(part.verdict == Verdict::Violated);
    }
    assert!(bounded > 50 && violated > 50, "{bounded} bounded, {violated} violated");
}

/// Every state claimed as covered was run: here no two states share a recovery.
#[test]
fn no_state_is_covered_without_its_recovery() {
    let space = loose(12);
    for budget in [0, 1, 2, 3, 7, 60] {
        let report = Explorer::new(&space)
            .budget(Budget::States(budget))
            .explore(&mut plain(counting(12, None)))
            .unwrap();
        assert!(
            report.states_covered <= u128::from(report.recoveries),
            "budget {budget}: {} covered by {} recoveries",
            report.states_covered,
            report.recoveries
        );
        assert!(report.recoveries <= budget);
    }
}

/// Each of the schedules that are left gets the same part of what is left, and all of them have more states than that.
#[test]
fn schedules_divide_a_budget_fairly() {
    let reads_all = |m: &mut CrashMem<'_>, _: &CrashPoint| {
        for i in 0..20 {
            m.load(At::new(Addr::pm(i * 64)));
        }
        Ok(())
    };
    for (schedules, share) in [(1, 400), (2, 200), (4, 100)] {
        let mut check = CrashCheck::new(ContractKind::Px86);
        (check.schedules, check.budget) = (Some(schedules), Budget::States(400));
        // Each is another execution: it stores another value.
        let mut value = 0;
        let record = |schedule| {
            value += 1;
            let stores = move |m: &mut RecordMem<'_>| {
                (0..20).for_each(|i| m.store(At::new(Addr::pm(i * 64)), Val::lit(value)));
            };
            Recorder::new(schedule).thread(stores).run()
        };
        let mut spent = Vec::new();
        let judge = |explorer: Explorer<'_>, _: &_| {
            let report = explorer.explore(&mut plain(reads_all))?;
            spent.push(report.recoveries);
            Ok(report)
        };
        let report = check.each(record, judge).expect("a verdict");
        assert_eq!((report.verdict, report.executions), (Verdict::Bounded, schedules));
        assert_eq!(spent, vec![share; schedules as usize]);
    }
}
