//! `explorer [--programs N] [--seed S]`: the explorer against itself and against brute force, on random programs of every contract:
//! with and without merging, from the newest value and from the oldest, in both forms of recovery, on images as programs in any language
//! see them, and state by state from the graph's own definition of a crash state. Between them, on programs of a few instructions, the
//! crash states that the contracts of the x86 family and of relaxed consistency allow are those of their axioms and of an abstract machine,
//! of transactions those of a machine that commits them one after the other, of barriers and strands the sets that these leave closed, and of
//! strict persistency those closed under what threads can see; and conformance refuses a random persist order exactly if it
//! leaves the crash states of its contract; that of transactions, exactly if something is home before it would survive,
//! and of a log by values, exactly if no choice of the stores that they may stand for conforms.

#[path = "../../crates/fencepost-contract/tests/main/explore_common/mod.rs"]
mod explore_common;
#[path = "../../crates/fencepost-contract/tests/main/support/mod.rs"]
mod support;

use crate::seeded::arguments;
use explore_common::compare::random_program;
use fencepost_contract::ContractKind;
use fencepost_kernel::Stream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Programs unless the command says so.
const PROGRAMS: u64 = 5_000;
/// Of so many programs one is followed by programs on which contracts are held to their axioms.
const BETWEEN: u64 = 4;
/// Logs by values for each program: few have choices that are taken back.
const BY_VALUE: u64 = 12;
const AGREE: [fn(&mut Stream, u64); 6] = [
    support::agree::px86_unordered,
    support::agree::px86_ordered,
    support::agree::rcbsp,
    support::transactional::transactions,
    support::barriers::barriers,
    support::strict_order::strict_order,
];

/// Runs it; 1 at the first program of which two searches say different things, 2 for arguments that are none.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let (programs, seed) = match arguments(args, ("explorer", "--programs"), PROGRAMS) {
        Ok(asked) => asked,
        Err(code) => return code,
    };
    match compare(programs, seed) {
        Ok(broken) => {
            println!("{programs} programs, {broken} of them broken by some crash state: every search says the same");
            ExitCode::SUCCESS
        }
        Err(program) => {
            eprintln!("seed {seed}, program {program}: two searches say different things (above)");
            ExitCode::from(1)
        }
    }
}

/// How many programs are broken; or the first of which two searches say different things.
pub(crate) fn compare(programs: u64, seed: u64) -> Result<u64, u64> {
    let mut rng = Stream::new(seed, "explorer against itself");
    let mut broken = 0;
    for program in 0..programs {
        let kind = ContractKind::ALL[program as usize % ContractKind::ALL.len()];
        let same = AssertUnwindSafe(|| random_program(&mut rng, kind, &format!("program {program}")));
        broken += u64::from(catch_unwind(same).map_err(|_| program)?);
        if program % BETWEEN == 0 {
            let axioms = AssertUnwindSafe(|| AGREE.iter().for_each(|agree| agree(&mut rng, program)));
            catch_unwind(axioms).map_err(|_| program)?;
        }
        if !kind.is_transactional() {
            let judged = AssertUnwindSafe(|| support::any_order::judged_by_states(&mut rng, kind, program));
            catch_unwind(judged).map_err(|_| program)?;
        }
        let judged = AssertUnwindSafe(|| {
            support::recoverable::judged_anew(&mut rng, program);
            for _ in 0..BY_VALUE {
                support::by_value::best_choice(&mut rng, program);
            }
        });
        catch_unwind(judged).map_err(|_| program)?;
    }
    Ok(broken)
}

/// A search that leaves values out, sees its own stores late, or merges what differs says something else than brute force.
#[test]
fn a_broken_search_is_told_from_a_sound_one() {
    use fencepost_kernel::fault;
    assert!(compare(130, 3).is_ok_and(|broken| broken > 0));
    for name in [
        "explorer.choice-left-out",
        "explorer.own-store-unseen",
        "explorer.exclude-not-closed",
        "explorer.include-not-closed",
        "explorer.must-forgotten",
        "explorer.merge-ignores-memory",
        "explorer.point-counted-not-searched",
        "external.read-forgotten",
    ] {
        let (found, reached) = fault::with(name, || compare(400, 3));
        assert!(reached && found.is_err(), "{name}");
    }
}
