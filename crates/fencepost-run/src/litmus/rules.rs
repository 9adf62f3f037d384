//! Why an allowed state is never shown: the rules of the machine that forbid it, found by switching rules off.
//!
//! One rule after the other first; for what no single rule forbids, sets of rules: a drawn half, quarter or eighth of all of them is
//! off in a run, and a set that shows the state is made smaller for as long as the state is shown without a rule less.

use super::run::Prepared;
use super::state::State;
use super::{Refused, Sweep, configurations};
use crate::config::Resolved;
use fencepost_designs::DesignInfo;
use fencepost_kernel::Stream;
use fencepost_kernel::fault::{self, Faults};
use fencepost_litmus::Program;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A rule of the machine or the design.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The planted fault that breaks it.
    pub fault: String,
    /// The rule.
    pub breaks: &'static str,
}

/// A state and the rules without which it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The state.
    #[serde(flatten)]
    pub state: State,
    /// All of these are off together; with any of them on, the same runs do not show the state.
    pub rules: Vec<Rule>,
    /// Runs without these rules that showed it, of how many.
    pub shown: u64,
    /// Those runs.
    pub runs: u64,
    /// The first of them: its seed.
    pub seed: u64,
    /// And its medium.
    pub media: String,
}

/// A way to break one rule.
struct Switch {
    rule: Rule,
    configurations: Vec<Resolved>,
}

/// Sets of rules that are tried for states which no single rule forbids, for each of the sweep's seeds.
const SETS: u64 = 24;
/// A rule forbids what is shown without it in so many runs at least, of at most [`CONFIRMING`] times the sweep's seeds: what a run without
/// it showed once by chance is no proof.
const SHOWN: u64 = 3;
const CONFIRMING: u64 = 5;

/// Switches rules off and looks which of `wanted` are shown then. Only builds with faults can break all rules; others know those that are
/// a parameter.
///
/// # Errors
/// Why the test cannot run.
pub fn switched_off(
    program: &Program<'_>,
    info: &'static DesignInfo,
    sweep: &Sweep,
    wanted: BTreeSet<State>,
) -> Result<Vec<Explained>, Refused> {
    let prepared = Prepared::new(program);
    let mut search = Search {
        switches: switches(&prepared, info, sweep)?,
        plain: configurations(info, sweep)?,
        prepared,
        seeds: sweep.seeds,
        wanted,
        found: Vec::new(),
    };
    search.single();
    search.sets();
    Ok(search.found)
}

struct Search<'p> {
    prepared: Prepared<'p>,
    switches: Vec<Switch>,
    plain: Vec<Resolved>,
    seeds: u64,
    wanted: BTreeSet<State>,
    found: Vec<Explained>,
}

impl Search<'_> {
    /// The configuration of a run with a set of rules off: a rule that is a parameter has its own.
    fn configuration(&self, off: &[usize], seed: u64) -> &Resolved {
        let own = off.first().map(|at| &self.switches[*at].configurations);
        let list = own.filter(|_| off.len() == 1).unwrap_or(&self.plain);
        &list[(seed % list.len() as u64) as usize]
    }

    /// What of the wanted a run shows with a set of rules off. With rules broken a run may break others, or get stuck: that is not
    /// what is asked here. But one that loses bytes shows any state that is without them: that says nothing of order.
    fn shows(&self, off: &[usize], seed: u64) -> Vec<State> {
        let names = off.iter().map(|at| &*self.switches[*at].rule.fault);
        let _off = Faults::named(names).enter();
        let Ok(ran) = self.prepared.run(self.configuration(off, seed), seed) else {
            return Vec::new();
        };
        if ran.lost || ran.defect.is_some_and(|d| d.contains("stale")) {
            return Vec::new();
        }
        let shown = ran.state.into_iter().map(State::Final);
        let shown = shown.chain(ran.crash_states.into_iter().map(State::Crash));
        shown.filter(|s| self.wanted.contains(s)).collect()
    }

    /// Notes that a set of rules forbids a state, if enough runs without them show it.
    fn confirm(&mut self, off: &[usize], state: &State) -> bool {
        let (mut shown, mut runs, mut first) = (0, 0, None);
        for seed in 0..self.seeds * CONFIRMING {
            runs += 1;
            if self.shows(off, seed).contains(state) {
                first = first.or(Some(seed));
                shown += 1;
            }
            if shown == SHOWN {
                break;
            }
        }
        let Some(seed) = first.filter(|_| shown == SHOWN) else {
            return false;
        };
        self.wanted.remove(state);
        self.found.push(Explained {
            state: state.clone(),
            rules: off.iter().map(|at| self.switches[*at].rule.clone()).collect(),
            shown,
            runs,
            seed,
            media: self.configuration(off, seed).machine.media.clone(),
        });
        true
    }

    /// Looks for the single rule without which most runs show a state.
    fn single(&mut self) {
        let mut shown: BTreeMap<State, Vec<(u64, usize)>> = BTreeMap::new();
        for at in 0..self.switches.len() {
            for state in (0..self.seeds).flat_map(|seed| self.shows(&[at], seed)) {
                let rules = shown.entry(state).or_default();
                match rules.last_mut().filter(|r| r.1 == at) {
                    Some(last) => last.0 += 1,
                    None => rules.push((1, at)),
                }
            }
        }
        for (state, mut rules) in shown {
            rules.sort_by_key(|r| (Reverse(r.0), r.1));
            let _found = rules.iter().any(|r| self.confirm(&[r.1], &state));
        }
    }

    /// Looks for sets of rules.
    fn sets(&mut self) {
        for n in 0..self.seeds * SETS {
            if self.wanted.is_empty() {
                return;
            }
            let mut dice = Stream::new(n, "rules off");
            let share = 2 << dice.below(3);
            let off: Vec<usize> = (0..self.switches.len()).filter(|_| dice.chance(1, share)).collect();
            let seed = n % self.seeds;
            for state in self.shows(&off, seed) {
                let smallest = self.smallest(off.clone(), seed, &state);
                self.confirm(&smallest, &state);
            }
        }
    }

    /// A smaller set: takes out one rule after the other without which the run shows the state all the same, and then those without
    /// which other runs do.
    fn smallest(&self, mut off: Vec<usize>, seed: u64, state: &State) -> Vec<usize> {
        for seeds in [seed..seed + 1, 0..self.seeds] {
            let mut at = 0;
            while at < off.len() && off.len() > 1 {
                let mut without = off.clone();
                without.remove(at);
                match seeds.clone().any(|s| self.shows(&without, s).contains(state)) {
                    true => off = without,
                    false => at += 1,
                }
            }
        }
        off
    }
}

/// The rules of the design, then every one that the runs reach, those of what is nearest to persistence first.
fn switches(prepared: &Prepared<'_>, info: &'static DesignInfo, sweep: &Sweep) -> Result<Vec<Switch>, Refused> {
    let mut list: Vec<Switch> = Vec::new();
    for fault in info.faults {
        let mut sweep = sweep.clone();
        let values = fault.values.iter().map(|(k, v)| format!("design.{k}={v}"));
        sweep.sets.extend(values);
        if let Ok(configurations) = configurations(info, &sweep) {
            let rule = Rule {
                fault: fault.name.to_owned(),
                breaks: fault.breaks,
            };
            list.push(Switch { rule, configurations });
        }
    }
    let plain = configurations(info, sweep)?;
    let ((), reached) = fault::rules_asked(|| {
        for (seed, resolved) in (0..sweep.seeds).zip(plain.iter().cycle()) {
            let _ = prepared.run(resolved, seed);
        }
    });
    for (name, breaks) in reached {
        if !list.iter().any(|s| s.rule.fault == name) {
            let rule = Rule {
                fault: name.to_owned(),
                breaks,
            };
            let configurations = plain.clone();
            list.push(Switch { rule, configurations });
        }
    }
    Ok(list)
}
