//! Rules as described and broken: with its planted fault on, the row of every claim that rests on a rule turns to `miss`.

use super::papers::statements;
use crate::experiment::claims;
use crate::experiment::kinds::Kind;
use crate::experiment::rule::Rule;
use crate::experiment::runs::Runs;
use crate::experiment::statement::Statement;

/// What became of a rule as described and broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Claims whose rows rest on it.
    pub claims: Vec<String>,
    /// Its check.
    pub check: &'static str,
    /// The switch.
    pub fault: &'static str,
    /// What the check says of the mechanism as described.
    pub clean: Result<String, String>,
    /// What it says of the broken one.
    pub broken: Result<String, String>,
    /// Whether the switch was asked about at all.
    pub reached: bool,
}
impl Tried {
    /// Whether the row is `match` as described and `miss` when broken.
    pub fn turns(&self) -> bool {
        self.clean.is_ok() && self.broken.is_err() && self.reached
    }
}

/// Tests a rule on the mechanism as described and with its planted fault on, without any run of an experiment; `None` for a
/// statement about results.
pub fn attempt(rule: &Statement) -> Option<Tried> {
    let (fault, runs) = (rule.broken_by?, Runs::default());
    let clean = rule.test(&runs);
    let (broken, reached) = fencepost_kernel::fault::with(fault, || rule.test(&runs));
    Some(Tried {
        claims: claims_of(rule.name),
        check: rule.name,
        fault,
        clean,
        broken,
        reached,
    })
}

/// Statements that decide a claim about a rule: a mechanism that misses one is broken.
pub fn rules() -> Vec<&'static str> {
    let statements = statements();
    let rules = statements.iter().filter(|s| s.broken_by.is_some());
    rules.map(|s| s.name).collect()
}

/// Claims that a statement decides.
fn claims_of(statement: &str) -> Vec<String> {
    let rests = |rule: &Rule| matches!(rule, Rule::Check { test } if test == statement);
    let claims = claims::all().into_iter().filter(|c| rests(&c.by));
    claims.map(|c| c.id).collect()
}

/// Claims about rules that no fault breaks.
pub fn without_a_switch() -> Vec<String> {
    let switched: Vec<String> = rules().into_iter().flat_map(claims_of).collect();
    let claims = claims::all().into_iter();
    let left = claims.filter(|c| c.rests_on == Kind::Rule && !switched.contains(&c.id));
    left.map(|c| c.id).collect()
}
