//! Litmus tests on the simulated machine: what a design shows, held against what its contract and its cores allow.
//!
//! A test runs on the dataflow front end, over seeds that draw placement, padding, delays and cache sizes, over media and over the
//! design's variants, and a power failure is tried after every persist. Final states must be ones of the cores' consistency model,
//! crash states ones of the design's contract. What is allowed and was never shown is counted and listed: hardware that shows
//! nothing would pass otherwise.

pub mod files;
mod lower;
mod neighbour;
mod rules;
mod run;
mod state;
mod steps;
#[cfg(test)]
mod tests;
mod thread;
pub mod verdicts;
mod way;

pub use rules::{Explained, Rule, switched_off};
pub use run::{Prepared, Ran};
pub use state::State;

use crate::config::Resolved;
use crate::error::LabError;
use crate::request::Request;
use crate::simulate::contract_of;
use fencepost_contract::ContractKind;
use fencepost_designs::DesignInfo;
use fencepost_designs::info::Values;
use fencepost_litmus::{Judge, Model, Outcome, Program, crash};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// Media that differ in latency and in where writes are durable.
const MEDIA: [&str; 3] = ["pcm", "ddr3-1600", "pwq"];

/// Memories whose queues are short, or many; and ways to memory, caches' and designs', that are so long that what is on one is overtaken on
/// another. A design takes what it has.
const PATHS: [&[&str]; 5] = [
    &["pm.controller.write_queue=2"],
    &["pm.media.channels=4", "pm.media.mapping=row-column-bank"],
    &["llc.latency=600ns"],
    &["design.path_slot=2us"],
    &["design.drain_delay=2us"],
];

/// How much is tried.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Runs of a test on a design.
    pub seeds: u64,
    /// The machine; each design's own if `None`.
    pub machine: Option<String>,
    /// The medium; several if `None`.
    pub media: Option<String>,
    /// Settings, as `--set` takes them.
    pub sets: Vec<String>,
    /// Further runs while something that is allowed was not shown, as a multiple of `seeds`.
    pub further: u64,
}

/// States that a model or contract allows, and which of them were shown.
#[derive(Clone, Debug, Serialize)]
pub struct Coverage {
    /// The model or contract.
    pub by: &'static str,
    /// States that it allows.
    pub allowed: usize,
    /// Of these, how many were shown.
    pub shown: usize,
    /// The others.
    pub unseen: Vec<String>,
    #[serde(skip)]
    states: BTreeSet<Vec<u64>>,
    #[serde(skip)]
    seen: BTreeSet<Vec<u64>>,
}

/// What a design showed of a test.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// The design.
    pub design: &'static str,
    /// The machine.
    pub machine: String,
    /// Runs.
    pub runs: u64,
    /// Final states.
    pub visible: Coverage,
    /// Crash states, where the contract speaks of them: contracts that order transactions do not, and x86 contracts not on relaxed
    /// cores. The order of persists was held against the contract in every run all the same.
    pub crash: Option<Coverage>,
    /// Whether the design can keep its promise here. One that cannot must be convicted.
    #[serde(rename = "can_keep_promise")]
    pub sound: bool,
    /// Final or crash states, or orders of persists, that are not allowed.
    pub violations: Vec<String>,
}

/// A test for several designs: what models and contracts allow of it is found once for all of them.
pub struct Subject<'p> {
    program: &'p Program<'p>,
    allowed: RefCell<HashMap<(bool, ContractKind), Allowed>>,
}

/// Final states, and crash states where the contract speaks of them; or why nobody can say.
type Allowed = Result<(Coverage, Option<Coverage>), String>;

/// A test cannot run on machines, or not on this one.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It asks for what machines do not have.
    #[error("{0}")]
    Unsupported(String),
    /// Something went wrong.
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// The configurations of a design that a sweep alternates between: media, then the design's variants and its smallest size.
pub fn configurations(info: &'static DesignInfo, sweep: &Sweep) -> Result<Vec<Resolved>, LabError> {
    let machine = sweep.machine.clone().unwrap_or_else(|| home(info).to_owned());
    let resolve_with = |media: Option<&str>, values: Values, machine_sets: &[&str]| {
        let mut sets = sweep.sets.clone();
        sets.extend(values.iter().map(|(k, v)| format!("design.{k}={v}")));
        sets.extend(machine_sets.iter().map(|s| (*s).to_owned()));
        let request = Request {
            design: info.name.into(),
            machine: machine.clone(),
            media: media.map(str::to_owned),
            sets,
            ..Request::default()
        };
        Resolved::with_design(&request, info)
    };
    let resolve = |media, values| resolve_with(media, values, &[]);
    let mut list = vec![resolve(sweep.media.as_deref(), &[])?];
    let asked = sweep.media.is_some() || !sweep.sets.is_empty();
    if !asked {
        list.extend(MEDIA.iter().filter_map(|m| resolve(Some(m), &[]).ok()));
        let values = info.variants.iter().chain([&info.smallest]).filter(|v| !v.is_empty());
        list.extend(values.filter_map(|v| resolve(None, v).ok()));
        list.extend(PATHS.iter().filter_map(|q| resolve_with(None, &[], q).ok()));
        // What cannot keep its promise is run when it is asked for.
        if list.iter().any(Resolved::sound) {
            list.retain(Resolved::sound);
        }
    }
    Ok(list)
}

/// The machine of a design's paper; for x86 contracts one that keeps the order of stores, which they take for granted.
fn home(info: &DesignInfo) -> &'static str {
    let x86 = (info.contract)(fencepost_designs::Environment::new(true, true)).name();
    let papers = crate::config::presets::names(crate::config::presets::Kind::Machine);
    let own = papers.into_iter().find(|m| *m == info.paper.short);
    match own {
        Some("dpo") if matches!(x86, "px86" | "themis") => "themis",
        Some(own) => own,
        None => "dpo",
    }
}

/// Runs a test on a design, over and over.
///
/// # Errors
/// Why it cannot run.
pub fn sweep(subject: &Subject<'_>, info: &'static DesignInfo, sweep: &Sweep) -> Result<Shown, Refused> {
    let program = subject.program;
    if let Some(why) = way::unsupported(program) {
        return Err(Refused::Unsupported(why.into()));
    }
    let configurations = configurations(info, sweep)?;
    let first = &configurations[0];
    let threads = program.test.threads.len();
    if threads > usize::from(first.machine.spec.hw_threads()) {
        let hw_threads = first.machine.spec.hw_threads();
        return Err(Refused::Unsupported(format!(
            "{threads} threads, {hw_threads} hardware threads"
        )));
    }
    let (mut visible, mut crash) = subject.allowed(first).map_err(Refused::Unsupported)?;
    let prepared = Prepared::new(program);
    let mut violations = Vec::new();
    let (mut finals, mut crashes) = (BTreeSet::new(), BTreeSet::new());
    let mut runs = 0;
    for seed in 0..sweep.seeds * (1 + sweep.further) {
        let all = |c: &Coverage, seen: &BTreeSet<Vec<u64>>| c.states.is_subset(seen);
        if seed >= sweep.seeds && all(&visible, &finals) && crash.as_ref().is_none_or(|c| all(c, &crashes)) {
            break;
        }
        runs += 1;
        let resolved = &configurations[(seed % configurations.len() as u64) as usize];
        let ran = prepared.run(resolved, seed)?;
        let media = &resolved.machine.media;
        if let Some(defect) = ran.defect {
            let why = format!("{}, seed {seed} on {media}: {defect}", program.test.name);
            return Err(LabError::Internal(why).into());
        }
        if let Some(state) = ran.state {
            if !visible.states.contains(&state) {
                let state = program.test.state_line(&state);
                violations.push(format!(
                    "seed {seed} on {media}: {state} is not allowed by {}",
                    visible.by
                ));
            }
            finals.insert(state);
        }
        if let Some(why) = ran.refused {
            violations.push(format!("seed {seed} on {media}: {why}"));
        }
        if let Some(crash) = &crash {
            for state in ran.crash_states.difference(&crash.states) {
                violations.push(format!(
                    "seed {seed} on {media}: crash state {state:?} is not allowed by {}",
                    crash.by
                ));
            }
        }
        crashes.extend(ran.crash_states);
    }
    visible.count(finals, |s| program.test.state_line(s));
    if let Some(crash) = &mut crash {
        crash.count(crashes, |s| s.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
    }
    Ok(Shown {
        design: info.name,
        machine: first.machine.name.clone(),
        runs,
        sound: first.sound(),
        visible,
        crash,
        violations,
    })
}

impl Shown {
    /// Every state that is allowed and was not shown.
    pub fn unseen(&self) -> BTreeSet<State> {
        let crash = self.crash.iter().flat_map(|c| c.unseen_states());
        let visible = self.visible.unseen_states();
        (visible.into_iter().map(State::Final))
            .chain(crash.map(State::Crash))
            .collect()
    }
}

impl Coverage {
    fn of(by: &'static str, states: BTreeSet<Vec<u64>>) -> Coverage {
        Coverage {
            by,
            allowed: states.len(),
            shown: 0,
            unseen: Vec::new(),
            states,
            seen: BTreeSet::new(),
        }
    }
    /// The states that were not shown.
    pub fn unseen_states(&self) -> BTreeSet<Vec<u64>> {
        self.states.difference(&self.seen).cloned().collect()
    }
    fn count(&mut self, seen: BTreeSet<Vec<u64>>, show: impl Fn(&Vec<u64>) -> String) {
        self.shown = self.states.intersection(&seen).count();
        self.unseen = self.states.difference(&seen).map(show).collect();
        self.seen = seen;
    }
}

impl<'p> Subject<'p> {
    /// A test of which nothing is known yet.
    pub fn new(program: &'p Program<'p>) -> Subject<'p> {
        Subject {
            program,
            allowed: RefCell::default(),
        }
    }
    /// What the cores and the design of a machine may show.
    fn allowed(&self, resolved: &Resolved) -> Allowed {
        let (tso, contract) = (resolved.environment().tso, contract_of(resolved));
        let mut known = self.allowed.borrow_mut();
        let allowed = known.entry((tso, contract));
        allowed
            .or_insert_with(|| allowed_of(self.program, tso, contract))
            .clone()
    }
}

fn allowed_of(program: &Program<'_>, tso: bool, contract: ContractKind) -> Allowed {
    let model = if tso { Model::Tso } else { Model::Armv7Mca };
    let outcome = Outcome::of_program(program, model).map_err(|e| e.to_string())?;
    let visible = Coverage::of(model.name(), outcome.states.into_iter().map(|s| s.0).collect());
    let x86 = contract.row().by_flush;
    let crash = match crash::crash(program, contract) {
        Ok(crash) if tso || !x86 => Some(Coverage::of(Judge::Contract(contract).name(), crash.states)),
        _ => None,
    };
    Ok((visible, crash))
}
