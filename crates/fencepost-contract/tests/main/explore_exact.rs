//! The explorer against brute force over all closed sets, on random executions, for every contract.

use crate::explore_common::{Brute, Nosy, brute_force, random_trace};
use fencepost_contract::explore::{Explorer, Report, Verdict, plain, steps};
use fencepost_contract::{Contract, ContractKind, ContractParams, CrashSpace, Grain, LineOrder};
use fencepost_kernel::{Image, Stream};

fn random_contract(rng: &mut Stream, kind: ContractKind) -> Contract {
    let line_order = [None, Some(LineOrder::Fifo), Some(LineOrder::Unordered)][rng.below(3) as usize];
    let grain = [Grain::Word, Grain::Word, Grain::Word, Grain::Line][rng.below(4) as usize];
    let buffered = [None, Some(true), Some(false)][rng.below(3) as usize];
    Contract {
        kind,
        params: ContractParams {
            line_order,
            grain,
            buffered,
        },
    }
}

fn expect(report: &Report, brute: &[Brute], what: &str) {
    let broken = brute.iter().position(|b| b.fewest.is_some());
    match broken {
        None => {
            let total = brute.iter().map(|b| b.states).sum();
            assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{what}");
            assert_eq!(
                (report.states_covered, report.states_total),
                (total, Some(total)),
                "{what}"
            );
        }
        Some(point) => {
            assert_eq!((report.verdict, report.complete), (Verdict::Violated, false), "{what}");
            let witness = report.witness.as_ref().expect("a violation has a witness");
            let fewest = brute[point].fewest.map(|f| f as usize);
            assert_eq!(
                (witness.point, Some(witness.deviations()), witness.smallest),
                (point, fewest, true),
                "{what}"
            );
        }
    }
}

/// Both forms, with and without merging; several failure points share a table.
fn compare(space: &CrashSpace, recovery: &Nosy, what: &str) -> bool {
    let brute = brute_force(space, recovery);
    let explorer = Explorer::new(space).prefix("test");
    let report = explorer.explore(&mut steps(recovery)).unwrap();
    expect(&report, &brute, what);
    expect(
        &Explorer::new(space).merge(false).explore(&mut steps(recovery)).unwrap(),
        &brute,
        what,
    );
    let mut cuts = plain(|m, crash| recovery.run(m, crash, true));
    expect(&explorer.explore(&mut cuts).unwrap(), &brute, what);
    let paranoid = Explorer::new(space).doubt_one_merge_in(2);
    expect(&paranoid.explore(&mut steps(recovery)).unwrap(), &brute, what);
    expect(&paranoid.explore(&mut cuts).unwrap(), &brute, what);
    if let Some(witness) = &report.witness {
        let replayed = explorer.replay(&mut cuts, &witness.replay).unwrap();
        assert_eq!(replayed.verdict, Err(witness.why.clone()), "{what}");
        let again = replayed.witness.unwrap();
        assert_eq!(
            (again.replay, again.missing.len()),
            (witness.replay.clone(), witness.missing.len()),
            "{what}"
        );
    }
    report.witness.is_some()
}

#[test]
fn explorer_equals_brute_force_for_every_contract() {
    let mut rng = Stream::new(1, "explorer against brute force");
    for kind in ContractKind::ALL {
        let (mut broken, mut points) = (0, 0);
        for round in 0..2_000 {
            let (stores, words) = (3 + rng.below(10) as usize, 2 + rng.below(5));
            let trace = random_trace(&mut rng, stores, words);
            let contract = random_contract(&mut rng, kind);
            let space = contract.space(&trace, &Image::default());
            let recovery = Nosy::random(&mut rng, words);
            points += space.points.len();
            broken += u32::from(compare(&space, &recovery, &format!("{contract:?}, round {round}")));
        }
        println!("{kind}: {points} failure points, {broken} of 2000 executions broken");
        assert!(broken > 50, "{kind}: the test must see both verdicts");
    }
}

#[test]
fn torn_words_equal_brute_force() {
    let mut rng = Stream::new(2, "torn words");
    let mut broken = 0;
    for round in 0..2_000 {
        let (stores, words) = (2 + rng.below(4) as usize, 1 + rng.below(4));
        let trace = random_trace(&mut rng, stores, words);
        let mut contract = random_contract(&mut rng, ContractKind::ALL[round % 13]);
        contract.params.grain = Grain::Byte;
        let space = contract.space(&trace, &Image::default());
        let recovery = Nosy::random(&mut rng, words);
        broken += u32::from(compare(&space, &recovery, &format!("{contract:?}, round {round}")));
    }
    assert!(broken > 50, "{broken}");
}
