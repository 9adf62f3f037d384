//! Statements of a paper that a program tests inside a reproduction: their claims are `match` only if the test ran there.

use super::runs::Runs;
use fencepost_designs::statements::Rule;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A statement as a test. It returns one sentence about what it saw, or what broke.
#[derive(Copy, Clone)]
pub struct Statement {
    /// Name, as `claims.toml` and the scoreboard call it.
    pub name: &'static str,
    /// The planted fault with which a rule of the mechanism is broken; `None` for statements about an experiment's results.
    pub broken_by: Option<&'static str>,
    /// What programs that were not run can still change.
    pub programs: Programs,
    /// The matrices whose runs decide it under a joint reading; none for statements that look at checked runs, or at none.
    pub reads: &'static [&'static str],
    /// Runs the test; finished runs of the experiment are at hand.
    pub run: fn(&Runs) -> Result<String, String>,
}

/// How the outcome of a statement over an experiment's programs depends on each of them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Programs {
    /// All count together.
    AllCount,
    /// One suffices for the claim.
    OneSuffices,
    /// One refutes it.
    OneRefutes,
}

/// A set of statements.
#[derive(Clone, Default)]
pub struct Statements {
    list: Vec<Statement>,
}
impl Statements {
    /// A registry of these statements.
    pub fn new(list: Vec<Statement>) -> Statements {
        Statements { list }
    }
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Statement> {
        self.list.iter()
    }
    /// The one of a name.
    pub fn find(&self, name: &str) -> Option<&Statement> {
        self.list.iter().find(|c| c.name == name)
    }
}
/// What the test of a statement saw.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Name of the statement.
    pub name: &'static str,
    /// What programs that were not run can still change.
    pub programs: Programs,
    /// What the test returned.
    pub outcome: Result<String, String>,
}

impl Statements {
    /// Runs the tests of these names on some runs, so many at a time.
    pub fn tested(&self, names: &BTreeSet<&str>, runs: &Runs, jobs: usize) -> BTreeMap<&'static str, Seen> {
        let asked: Vec<&Statement> = self.list.iter().filter(|s| names.contains(s.name)).collect();
        let (next, seen) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let test = || {
            while let Some(statement) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (name, programs) = (statement.name, statement.programs);
                let outcome = statement.test(runs);
                let found = Seen {
                    name,
                    programs,
                    outcome,
                };
                seen.lock()
                    .expect("a panic inside a test is caught")
                    .insert(name, found);
            }
        };
        std::thread::scope(|s| {
            for _ in 1..jobs.min(asked.len()) {
                s.spawn(test);
            }
            test();
        });
        seen.into_inner().expect("a panic inside a test is caught")
    }
}
impl Statement {
    /// A statement that all programs count for together and that looks at checked runs or at none.
    pub const fn new(
        name: &'static str,
        broken_by: Option<&'static str>,
        run: fn(&Runs) -> Result<String, String>,
    ) -> Statement {
        Statement {
            name,
            broken_by,
            programs: Programs::AllCount,
            reads: &[],
            run,
        }
    }
    /// A rule of a mechanism, tried as `run` says.
    pub const fn rule(rule: &Rule, run: fn(&Runs) -> Result<String, String>) -> Statement {
        Statement::new(rule.name, Some(rule.broken_by), run)
    }
    /// Runs the test. A panic inside it is a failure.
    pub fn test(&self, runs: &Runs) -> Result<String, String> {
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.run)(runs)));
        outcome.unwrap_or_else(|_| Err("the test panicked".into()))
    }
}
