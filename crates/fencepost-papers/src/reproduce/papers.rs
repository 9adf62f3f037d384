//! The papers: a line each. A paper is a folder of this crate with its statements, and one of `experiments/` with its data.

use crate::experiment::statement::{Statement, Statements};
use crate::{broi, dpo, fgc, loc, themis};

/// The statements of each paper.
const PAPERS: &[&[Statement]] = &[
    dpo::STATEMENTS,
    themis::STATEMENTS,
    loc::STATEMENTS,
    fgc::STATEMENTS,
    broi::STATEMENTS,
];

/// Every statement that reproductions test.
pub fn statements() -> Statements {
    Statements::new(PAPERS.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::claims;
    use crate::experiment::kinds::Kind;
    use crate::experiment::rule::Rule;
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_claim_rests_on_a_statement_that_there_is_and_every_statement_on_a_claim() {
        let statements = statements();
        let claims = claims::all();
        let tested = |rule: &Rule| match rule {
            Rule::Check { test } => Some(test.clone()),
            _ => None,
        };
        let claimed: BTreeSet<String> = claims.iter().filter_map(|c| tested(&c.by)).collect();
        let there: BTreeSet<String> = statements.iter().map(|s| s.name.to_owned()).collect();
        assert_eq!(claimed, there);
        // A rule can be broken; a statement about results need not.
        for claim in &claims {
            let Some(statement) = tested(&claim.by).and_then(|name| statements.find(&name).copied()) else {
                continue;
            };
            let rule = claim.rests_on == Kind::Rule;
            assert!(
                statement.broken_by.is_some() || !rule,
                "{}: {}",
                claim.id,
                statement.name
            );
        }
    }
    #[test]
    fn every_rule_holds_without_any_run_of_an_experiment_and_its_fault_breaks_it() {
        let wrong = |s: &Statement| {
            let tried = crate::reproduce::rules::attempt(s)?;
            (!tried.turns()).then(|| format!("{tried:?}"))
        };
        // Those of one paper take a minute, and faults are switched on for one thread.
        let statements = statements();
        let (all, next) = (statements.iter().collect::<Vec<_>>(), AtomicUsize::new(0));
        let one_after_another = || -> Vec<String> {
            let mine = std::iter::from_fn(|| all.get(next.fetch_add(1, Ordering::Relaxed)));
            mine.filter_map(|s| wrong(s)).collect()
        };
        let wrong: Vec<String> = std::thread::scope(|scope| {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let workers: Vec<_> = (0..cores).map(|_| scope.spawn(one_after_another)).collect();
            workers.into_iter().flat_map(|w| w.join().unwrap()).collect()
        });
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
    #[test]
    fn no_fault_stands_beside_two_rules() {
        let statements = statements();
        let faults: Vec<&str> = statements.iter().filter_map(|s| s.broken_by).collect();
        let different: BTreeSet<&&str> = faults.iter().collect();
        assert_eq!(different.len(), faults.len(), "{faults:?}");
    }
}
