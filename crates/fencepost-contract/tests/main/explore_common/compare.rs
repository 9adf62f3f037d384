//! The explorer in every form against brute force, on one execution.

use super::{Nosy, brute_force, images, random_trace};
use fencepost_contract::explore::{Enumerated, Explorer, Report, Verdict, plain, steps};
use fencepost_contract::{Contract, ContractKind, ContractParams, CrashSpace, Grain, LineOrder};
use fencepost_kernel::{Image, Stream};

pub(crate) fn random_contract(rng: &mut Stream, kind: ContractKind) -> Contract {
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

fn expect(report: &Report, brute: &[Enumerated], what: &str) {
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

/// Both forms, with and without merging, in both orders, and on images; several failure points share a table. Whether it is broken.
pub(crate) fn compare(space: &CrashSpace, recovery: &Nosy, what: &str) -> bool {
    let brute = brute_force(space, recovery);
    let explorer = Explorer::new(space).prefix("test");
    let report = explorer.explore(&mut steps(recovery)).unwrap();
    expect(&report, &brute, what);
    expect(
        &Explorer::new(space).merge(false).explore(&mut steps(recovery)).unwrap(),
        &brute,
        what,
    );
    expect(
        &Explorer::new(space)
            .oldest_first(true)
            .explore(&mut steps(recovery))
            .unwrap(),
        &brute,
        what,
    );
    let mut cuts = plain(|m, crash| recovery.run(m, crash, true));
    expect(&explorer.explore(&mut cuts).unwrap(), &brute, what);
    let paranoid = Explorer::new(space).doubt_one_merge_in(2);
    expect(&paranoid.explore(&mut steps(recovery)).unwrap(), &brute, what);
    expect(&paranoid.explore(&mut cuts).unwrap(), &brute, what);
    // The search for programs in any language: every image for itself, and merged by what recovery reads.
    for reported in [false, true] {
        let (violated, progress) = images::search(space, recovery, reported);
        assert_eq!(violated, brute.iter().any(|b| b.fewest.is_some()), "in images, {what}");
        if !violated {
            let total = brute.iter().map(|b| b.states).sum();
            let found = (progress.complete, progress.covered, progress.total);
            assert_eq!(found, (true, total, Some(total)), "in images, {what}");
        }
    }
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

/// A random execution under a random form of a contract, with a random recovery. Whether it is broken.
pub(crate) fn random_program(rng: &mut Stream, kind: ContractKind, what: &str) -> bool {
    let (stores, words) = (3 + rng.below(10) as usize, 2 + rng.below(5));
    let trace = random_trace(rng, stores, words);
    let contract = random_contract(rng, kind);
    let space = contract.space(&trace, &Image::default());
    let recovery = Nosy::random(rng, words);
    compare(&space, &recovery, &format!("{contract:?}, {what}"))
}
