//! What the explorer promises beyond exactness: cost, honesty, witnesses, and clear answers to broken recoveries.

use crate::explore_common::lines;
use fencepost_contract::explore::{CrashMem, Deviation, ExploreError, Explorer, Oracle, Steps, Verdict, plain, steps};
use fencepost_contract::{CrashSpace, FailurePoint};
use fencepost_kernel::{
    Addr, At, Bytes, CrashPoint, Flow, Footprint, Mem, OpRecord, Outcome, Pm, Program, Rollback, Val, Violation,
};
use std::cell::Cell;

#[test]
fn independent_lines_cost_one_recovery_each() {
    for k in [10, 64, 200] {
        let space = lines::space(k, true);
        for report in [
            Explorer::new(&space).explore(&mut steps(&lines::by_steps(k))).unwrap(),
            Explorer::new(&space)
                .explore(&mut plain(lines::with_cuts(k, true)))
                .unwrap(),
        ] {
            // Each pair has three states (nothing, data, both); the flag splits them in two, the rest merges.
            assert_eq!((report.verdict, report.recoveries), (Verdict::Clean, k + 1));
            let total = 3u128.checked_pow(k as u32);
            assert_eq!((report.states_total, report.complete), (total, true));
            assert!(total.is_none_or(|total| report.states_covered == total));
        }
    }
    let space = lines::space(10, true);
    let report = Explorer::new(&space)
        .explore(&mut plain(lines::with_cuts(10, false)))
        .unwrap();
    assert_eq!(report.recoveries, 1 << 10, "without marks nothing merges");
}

/// Of executions with equal digests one is explored.
#[test]
fn executions_that_differ_in_what_had_begun_or_was_told_are_told_apart() {
    let digest = |change: fn(&mut CrashPoint)| {
        let mut space = lines::space(2, true);
        let last = space.points.last_mut().expect("a failure point");
        change(&mut last.crash);
        Explorer::new(&space).digest()
    };
    let as_it_was = digest(|_| ());
    assert_eq!(as_it_was, digest(|_| ()));
    let others = [digest(|c| c.acked[0] += 1), digest(|c| c.begun[0] += 1)];
    assert!(
        others.iter().all(|d| *d != as_it_was) && others[0] != others[1],
        "{others:?}"
    );
}

#[test]
fn the_witness_is_the_token_alone() {
    let space = lines::space(20, false);
    let report = Explorer::new(&space)
        .prefix("lines")
        .explore(&mut steps(&lines::by_steps(20)))
        .unwrap();
    let witness = report.witness.unwrap();
    assert_eq!((witness.deviation, witness.smallest), (Deviation::Persisted, true));
    assert_eq!((witness.persisted.len(), witness.missing.len()), (1, 39));
    assert_eq!(
        witness.persisted[0].at,
        lines::flag(0),
        "of equal witnesses the first one explored"
    );
    assert!(witness.replay.starts_with("lines:"), "{}", witness.replay);
    assert_eq!(witness.lines().len(), 1);
    // One durable and one lost: the durable one is named.
    let report = Explorer::new(&lines::space(1, false))
        .explore(&mut steps(&lines::by_steps(1)))
        .unwrap();
    let witness = report.witness.unwrap();
    assert_eq!(
        (witness.deviation, witness.deviating()[0].at),
        (Deviation::Persisted, lines::flag(0))
    );
}

/// Sums up reads; the sum is what a careless mark forgets.
fn summing(marks_hold_sum: bool) -> impl Fn(&mut CrashMem<'_>, &CrashPoint) -> Result<(), Violation> {
    move |m, _| {
        let mut sum = 0;
        for i in 0..6 {
            m.cut(i * 100 + if marks_hold_sum { sum } else { 0 });
            sum += m.load(At::new(lines::flag(i))).v;
        }
        // Any flag may be missing, but not two of them.
        if sum < 5 {
            Err(Violation {
                why: "two flags are missing".into(),
                at: None,
            })
        } else {
            Ok(())
        }
    }
}
#[test]
fn paranoid_mode_notices_marks_that_forget() {
    let space = lines::space(6, false);
    let exact = Explorer::new(&space)
        .merge(false)
        .explore(&mut plain(summing(false)))
        .unwrap();
    assert_eq!(exact.verdict, Verdict::Violated);
    let careful = Explorer::new(&space)
        .doubt_one_merge_in(1)
        .explore(&mut plain(summing(true)))
        .unwrap();
    assert_eq!(careful.verdict, Verdict::Violated);
    let careless = Explorer::new(&space).explore(&mut plain(summing(false))).unwrap();
    assert_eq!(
        careless.verdict,
        Verdict::Clean,
        "this is the mistake that paranoid mode is for"
    );
    let noticed = Explorer::new(&space)
        .doubt_one_merge_in(1)
        .explore(&mut plain(summing(false)))
        .unwrap_err();
    assert_eq!(
        noticed,
        ExploreError::UnsoundMerge {
            why: "two flags are missing".into()
        }
    );
}

#[test]
fn recoveries_that_misbehave_are_named() {
    let space = lines::space(3, false);
    let turn = Cell::new(0);
    let fickle = |m: &mut CrashMem<'_>, _: &CrashPoint| {
        turn.set(turn.get() + 1);
        for i in 0..3 {
            m.load(At::new(if turn.get() % 2 == 0 {
                lines::flag(i)
            } else {
                Addr::pm(1 << 20)
            }));
        }
        Ok(())
    };
    turn.set(1);
    assert_eq!(
        Explorer::new(&space).explore(&mut plain(fickle)).unwrap_err(),
        ExploreError::Nondeterministic
    );

    let spinning = |m: &mut CrashMem<'_>, _: &CrashPoint| {
        while m.load(At::new(lines::flag(1))).v == 0 {}
        Ok(())
    };
    let report = Explorer::new(&space)
        .endless_after(1_000, 1_000)
        .explore(&mut plain(spinning))
        .unwrap();
    let why = report.witness.unwrap().why.why;
    assert!(
        why.starts_with("recovery does not end; it was stopped at") && why.contains("explore_behaviour.rs"),
        "{why}"
    );

    // One that counts, and is never where it was.
    let counting = Steps::new(
        |_| 0u64,
        |m: &mut CrashMem<'_>, i| {
            let _ = m.load(At::new(lines::flag(0)));
            Flow::Next(i + 1)
        },
    );
    let report = Explorer::new(&space)
        .endless_after(1_000, 1_000)
        .explore(&mut steps(&counting))
        .unwrap();
    let why = report.witness.unwrap().why.why;
    assert!(why.starts_with("recovery does not end; it was stopped at"), "{why}");

    // A list whose last link points back to its second element, if that store is durable.
    let walking = Steps::new(
        |_| 0u64,
        |m: &mut CrashMem<'_>, i| match i {
            9 if m.load(At::new(lines::flag(0))).v == 1 => Flow::Next(2),
            9 => Flow::Done(Ok(())),
            i => Flow::Next(i + 1),
        },
    );
    let report = Explorer::new(&space).explore(&mut steps(&walking)).unwrap();
    // Ten steps once, and those of a round that comes back to where it was.
    assert!((10..40).contains(&report.steps), "{} steps", report.steps);
    let why = report.witness.unwrap().why.why;
    assert!(
        why.starts_with("recovery does not end; it was stopped at") && why.contains("explore_behaviour.rs"),
        "{why}"
    );

    let panicking = |m: &mut CrashMem<'_>, _: &CrashPoint| {
        let table = [0u64; 1];
        let i = m.load(At::new(lines::flag(2))).v as usize;
        if table[i] == 0 {
            Ok(())
        } else {
            Err(Violation {
                why: "never".into(),
                at: None,
            })
        }
    };
    let why = Explorer::new(&space)
        .explore(&mut plain(panicking))
        .unwrap()
        .witness
        .unwrap()
        .why
        .why;
    assert!(
        why.contains("recovery panics: index out of bounds") && why.contains("explore_behaviour.rs"),
        "{why}"
    );
}

#[test]
fn writes_of_recovery_are_seen_by_itself_and_undone_between_runs() {
    let space = lines::loose(4);
    let swap = |m: &mut CrashMem<'_>, _: &CrashPoint| {
        for i in 0..4u64 {
            m.cut(i);
            let at = At::new(Addr::pm(i * 64));
            let old = m.load(at);
            m.store(at, Val::lit(old.v + 10));
            m.store_n(at.field(3), Val::lit(0x55), fencepost_kernel::Width::B1);
        }
        let ok = (0..4u64).all(|i| m.load(At::new(Addr::pm(i * 64))).v & !1 == 0x5500_000a);
        if ok {
            Ok(())
        } else {
            Err(Violation {
                why: "a write was lost or seen twice".into(),
                at: None,
            })
        }
    };
    let report = Explorer::new(&space).explore(&mut plain(swap)).unwrap();
    assert_eq!((report.verdict, report.complete), (Verdict::Clean, true));
}

#[test]
fn damaged_and_foreign_replay_ids_are_refused() {
    let space = lines::space(4, false);
    let explorer = Explorer::new(&space).prefix("p");
    let id = explorer
        .explore(&mut steps(&lines::by_steps(4)))
        .unwrap()
        .witness
        .unwrap()
        .replay;
    let mut subject = plain(lines::with_cuts(4, false));
    assert_eq!(
        explorer.replay(&mut subject, &id).unwrap().verdict.unwrap_err().why,
        "token before value"
    );
    let other = lines::space(5, false);
    let refused = Explorer::new(&other).replay(&mut subject, &id).unwrap_err().to_string();
    assert!(refused.contains("belongs to another execution"), "{refused}");
    let refused = explorer
        .replay(&mut subject, &id[..id.len() - 2])
        .unwrap_err()
        .to_string();
    assert!(refused.contains("damaged"), "{refused}");
}

/// A store that is acknowledged between the two failure points, though nothing makes it durable.
fn acknowledged_too_early() -> CrashSpace {
    let mut space = lines::loose(1);
    let point = |event, acked| FailurePoint {
        event,
        executed: 1,
        newly_must: 0..0,
        crash: CrashPoint {
            begun: vec![1],
            acked: vec![acked],
        },
    };
    space.points = vec![point(1, 0), point(2, 1)];
    space
}
/// The word must be there once the operation is acknowledged. No state holds the crash point but the audit's.
#[derive(Clone)]
struct Promise;
fn kept(m: &mut impl Mem<Dep = ()>, acked: u32) -> Result<(), Violation> {
    if m.load(At::new(Addr::pm(0))).v < u64::from(acked) {
        return Err(Violation::at(Addr::pm(0), "an acknowledged store is lost"));
    }
    Ok(())
}
impl Program for Promise {
    type Input = ();
    type Rebuild = ();
    type Audit = u32;
    type Model = ();
    fn footprint(&self) -> Footprint {
        Footprint {
            dram: Bytes(4096),
            pm: Bytes(64),
        }
    }
    fn setup<M: Mem>(&self, _: &mut M) {}
    fn input(&self, _: u32, _: u32) {}
    fn op<M: Mem>(&self, _: &mut Pm<'_, M>, _: u32, _: u32, (): &()) -> Result<Outcome, Rollback> {
        Ok(Outcome::default())
    }
    fn rebuild_start(&self) {}
    fn rebuild<M: Mem<Dep = ()>>(&self, _: &mut M, (): ()) -> Flow<()> {
        Flow::Done(Ok(()))
    }
    fn model(&self, _: &[OpRecord]) {}
    fn audit_start(&self, (): &(), crash: &CrashPoint) -> u32 {
        crash.acked[0]
    }
    fn audit<M: Mem<Dep = ()>>(&self, (): &(), m: &mut M, acked: u32) -> Flow<u32> {
        Flow::Done(kept(m, acked))
    }
}
#[test]
fn merged_states_of_one_failure_point_do_not_acquit_a_harder_one() {
    let space = acknowledged_too_early();
    let oracle = Oracle::new(&Promise, &[]);
    let marked = |m: &mut CrashMem<'_>, crash: &CrashPoint| {
        m.cut(0);
        kept(m, crash.acked[0])
    };
    for report in [
        Explorer::new(&space).explore(&mut steps(&oracle)).unwrap(),
        Explorer::new(&space).explore(&mut plain(marked)).unwrap(),
    ] {
        let witness = report.witness.expect("the store may be lost after its acknowledgement");
        assert_eq!(
            (witness.point, witness.crash.acked[0], witness.missing.len()),
            (1, 1, 1)
        );
        assert_eq!((report.states_covered, report.states_total), (3, Some(4)));
    }
}

/// A step is the beginning of a run, or a mark that no run passed before: marks that a run passes again are counted once.
#[test]
fn steps_of_plain_recovery_are_its_runs_and_their_new_marks() {
    let reading = |m: &mut CrashMem<'_>, _: &CrashPoint| {
        m.cut(1);
        let seen = m.load(At::new(lines::flag(0))).v;
        m.cut(10 + seen);
        m.cut(20 + seen);
        Ok(())
    };
    let report = Explorer::new(&lines::space(1, true))
        .explore(&mut plain(reading))
        .unwrap();
    assert_eq!((report.recoveries, report.steps), (2, 2 + 1 + 2 * 2));
}
