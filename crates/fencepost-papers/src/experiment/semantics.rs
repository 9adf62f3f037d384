//! Semantic checks that run inside a reproduction: a claim about a rule is `match` only if its test ran there.

use super::runs::Runs;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A test of one rule. It answers with one sentence about what it saw, or with what broke.
#[derive(Copy, Clone)]
pub struct SemanticCheck {
    /// Name, as `expected.toml` and the scoreboard call it.
    pub name: &'static str,
    /// Runs the test; finished runs of the experiment are at hand.
    pub run: fn(&Runs) -> Result<String, String>,
}

/// Which outcome of a check over an experiment's programs no further program can change: `true` where one program suffices for
/// the claim, `false` where one refutes it, `None` where all count together.
pub fn decided_by_some(test: &str) -> Option<bool> {
    match test {
        "thm-stores-per-transaction" => Some(true),
        "thm-near-ideal" | "thm-l1-against-llc" | "thm-transaction-size" => Some(false),
        _ => None,
    }
}

/// A set of semantic checks.
#[derive(Clone, Default)]
pub struct Checks {
    list: Vec<SemanticCheck>,
}
impl Checks {
    /// A registry of these checks.
    pub fn new(list: Vec<SemanticCheck>) -> Checks {
        Checks { list }
    }
    /// Names of all checks.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.list.iter().map(|c| c.name)
    }
    /// Runs a check; `None` when there is none of that name. A panic inside it is a failure of the check.
    pub fn run(&self, name: &str, runs: &Runs) -> Option<Result<String, String>> {
        let check = self.list.iter().find(|c| c.name == name)?;
        let outcome = catch_unwind(AssertUnwindSafe(|| (check.run)(runs)));
        Some(outcome.unwrap_or_else(|_| Err("the test panicked".into())))
    }
}
