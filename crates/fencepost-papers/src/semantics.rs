//! The semantic checks that reproductions run. Each is a test of one rule; a broken rule turns its claim to `miss`.

use crate::experiment::semantics::{Checks, SemanticCheck};

pub mod breaks;
mod broi;
mod coalescing;
mod conforming;
mod dpo;
mod dpo_machine;
mod fgc;
mod graph;
mod litmus;
mod loc;
mod paths;
mod themis;

/// Every semantic check.
pub fn checks() -> Checks {
    let list: Vec<SemanticCheck> = [dpo::CHECKS, themis::CHECKS, loc::CHECKS, fgc::CHECKS, broi::CHECKS].concat();
    Checks::new(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::rule::{Rule, Rules};
    use crate::experiment::runs::Runs;
    use crate::experiment::spec::{names, read};

    #[test]
    fn checks_that_need_no_runs_hold() {
        let (checks, runs) = (checks(), Runs::default());
        for name in [
            "dpo-persist-grain",
            "dpo-cumulativity",
            "dpo-reorder-only-within-an-epoch",
            "dpo-no-epoch-deadlock",
            "dpo-no-forbidden-outcome",
            "dpo-coalescing-rule",
            "dpo-no-writeback-to-pm",
            "dpo-pcommit-waits-for-all",
            "dpo-clwb-drops-permission",
            "dpo-full-buffer-blocks-l1",
            "dpo-coherence-order",
            "dpo-pwq-needs-no-pcommit",
        ] {
            match checks.run(name, &runs) {
                Some(Ok(_)) => {}
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    #[test]
    fn every_claim_of_every_experiment_has_a_rule_and_nothing_else_has() {
        for paper in names() {
            let rules: Rules = read(paper, "expected.toml").unwrap_or_else(|e| panic!("{e}"));
            let claims = crate::claims::of_paper(paper).unwrap();
            for c in &claims {
                assert!(rules.contains_key(&c.id), "{paper}: no rule for {}", c.id);
            }
            for id in rules.keys() {
                assert!(claims.iter().any(|c| c.id == *id), "{paper}: {id} is no claim");
            }
            for (id, rule) in &rules {
                if let Rule::NotRun { reason } = rule {
                    let admitted = ["figure-only", "synthesis", "hardware absent", "depends on"];
                    assert!(admitted.iter().any(|a| reason.starts_with(a)), "{id}: {reason}");
                }
            }
        }
    }
}
