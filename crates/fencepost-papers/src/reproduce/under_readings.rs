//! Claims under the readings: every choice of readings planned, its runs told apart, its claims scored, summed up per claim.

use super::Options;
use crate::experiment::claims::Claim;
use crate::experiment::readings::{Choice, Outcome, Readings, Spread, spread};
use crate::experiment::runs::{Cell, Known, Plan, Runs, plan};
use crate::experiment::score::{Found, outcome};
use crate::experiment::spec::{Experiment, Scale, is_folder};
use fencepost_run::result::RunResult;
use fencepost_run::{BadInput, LabError};
use std::collections::BTreeMap;

/// The choices to run: the primaries (or what was asked for), then, if wanted, every other reading alone and, at full scale,
/// the joint readings.
pub(super) fn choices(readings: &Readings, o: &Options<'_>) -> Result<Vec<Choice>, LabError> {
    let mut choices = vec![Choice::asked(readings, o.asked)?];
    if o.readings {
        let others = choices[0].one_at_a_time(readings);
        choices.extend(others);
        if o.scale == Scale::Full {
            choices.extend(Choice::joint(readings));
        }
    }
    Ok(choices)
}

/// The runs of every choice: all experiments under the first, the headline under the others.
pub(super) fn plans(
    written: &Experiment,
    readings: &Readings,
    choices: &[Choice],
    o: &Options<'_>,
) -> Result<Vec<Plan>, LabError> {
    let mut plans = Vec::new();
    for (i, choice) in choices.iter().enumerate() {
        let experiment = match i {
            0 => choice.apply(written, readings),
            _ => choice.apply_to_headline(written, readings),
        };
        let mut plan = plan_registered(&experiment, o.scale, o.seed)?;
        // A paper may need what is not built yet; in an experiment of the user's it is a slip.
        if is_folder(o.paper) {
            if let Some(name) = plan.missing_programs.first() {
                return Err(
                    BadInput::unknown("program", name, fencepost_programs::programs().iter().map(|p| p.name)).into(),
                );
            }
            if let Some(name) = plan.missing_designs.first() {
                return Err(BadInput::unknown("design", name, fencepost_designs::all().iter().map(|d| d.name)).into());
            }
        }
        if i > 0 {
            plan.jobs
                .iter_mut()
                .for_each(|j| j.cell.choice.clone_from(&choice.label));
        }
        plans.push(plan);
    }
    Ok(plans)
}

/// The runs of an experiment, with the programs and designs that there are.
pub(crate) fn plan_registered(e: &Experiment, scale: Scale, seed: u64) -> Result<Plan, LabError> {
    let programs = fencepost_programs::programs();
    let clients = fencepost_programs::clients::Workload::NAMES;
    let programs: Vec<&str> = programs.iter().map(|p| p.name).chain(clients.iter().copied()).collect();
    let designs: Vec<&str> = fencepost_designs::all().iter().map(|d| d.name).collect();
    let known = Known {
        programs: &programs,
        designs: &designs,
    };
    Ok(plan(e, scale, seed, &known)?)
}

/// An experiment's runs before any has finished.
pub(crate) fn runs_of(e: &Experiment) -> Runs {
    let mut runs = Runs {
        native: e.native.clone(),
        counted: e.counted.clone(),
        ..Runs::default()
    };
    for m in &e.matrix {
        let of_tag = runs.of_tag.entry(m.tag.clone()).or_default();
        of_tag.extend(m.programs.iter().cloned());
        for p in &m.programs {
            if !runs.programs.contains(p) {
                runs.programs.push(p.clone());
            }
        }
    }
    runs
}

/// The finished runs, told apart by choice; within a choice they are found as those of the primaries are.
pub(super) fn by_choice(
    e: &Experiment,
    plans: &[Plan],
    choices: &[Choice],
    by_cell: BTreeMap<Cell, RunResult>,
) -> Vec<Runs> {
    let none = runs_of(e);
    let empty = |plan: &Plan| Runs {
        missing_programs: plan.missing_programs.clone(),
        missing_designs: plan.missing_designs.clone(),
        counted: plan.counted.clone(),
        ..none.clone()
    };
    let mut runs: Vec<Runs> = plans.iter().map(empty).collect();
    for (mut cell, result) in by_cell {
        let label = std::mem::take(&mut cell.choice);
        let of = match label.as_str() {
            "" => 0,
            other => choices
                .iter()
                .skip(1)
                .position(|c| c.label == other)
                .map_or(0, |i| i + 1),
        };
        runs[of].by_cell.insert(cell, result);
    }
    runs
}

/// A reading that changes no run's result would be scored as if it had been looked at.
pub(super) fn no_reading_is_dead(choices: &[Choice], runs: &[Runs]) -> Result<(), LabError> {
    let Some(primaries) = runs.first() else { return Ok(()) };
    for (choice, other) in choices.iter().zip(runs).skip(1) {
        let differs = |(cell, r): (&Cell, &RunResult)| {
            (primaries.by_cell.get(cell)).is_none_or(|p| (p.time_ps, &p.log_digest) != (r.time_ps, &r.log_digest))
        };
        let counts_alike = other.counted == primaries.counted;
        if counts_alike && !other.by_cell.is_empty() && !other.by_cell.iter().any(differs) {
            return Err(LabError::Internal(format!(
                "reading `{}` changes no run of the headline",
                choice.label
            )));
        }
    }
    Ok(())
}

/// Each claim about the headline experiments under the choices; empty when there is only one. `claims` come with what
/// the scoreboard measured under the first choice.
pub(super) fn of_claims(
    readings: &Readings,
    claims: &[(&Claim, Option<Found>)],
    choices: &[Choice],
    runs: &[Runs],
) -> BTreeMap<String, Spread> {
    let mut under_readings = BTreeMap::new();
    if choices.len() < 2 {
        return under_readings;
    }
    for (claim, primary) in claims {
        if !claim.by.tag().is_some_and(|t| readings.headline.iter().any(|h| h == t)) {
            continue;
        }
        let (mut scored, mut outcomes) = (Vec::new(), Vec::new());
        for (i, (choice, runs)) in choices.iter().zip(runs).enumerate() {
            let found = if i == 0 { *primary } else { outcome(claim, runs) };
            let Some(Found { value, met }) = found else {
                continue;
            };
            scored.push(choice);
            outcomes.push(Outcome {
                choice: choice.label.clone(),
                readings: choice
                    .readings(readings)
                    .map(|(i, r)| format!("{i}={}", r.name))
                    .collect(),
                value,
                met,
            });
        }
        if !outcomes.is_empty() {
            under_readings.insert(claim.id.clone(), spread(readings, &scored, outcomes));
        }
    }
    under_readings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::counted::Counted;

    #[test]
    fn a_reading_that_changes_no_run_is_an_error() {
        let choice = |label: &str| Choice {
            label: label.into(),
            taken: vec![0],
        };
        let runs = |time_ps| {
            let cell = Cell {
                tag: "E".into(),
                program: "p".into(),
                point: "d".into(),
                media: "m".into(),
                choice: String::new(),
            };
            let result = crate::experiment::made_up(time_ps);
            Runs {
                by_cell: [(cell, result)].into(),
                ..Runs::default()
            }
        };
        let choices = [choice(""), choice("a=x")];
        assert!(no_reading_is_dead(&choices, &[runs(5), runs(6)]).is_ok());
        let dead = no_reading_is_dead(&choices, &[runs(5), runs(5)]).unwrap_err();
        assert!(dead.to_string().contains("`a=x` changes no run"), "{dead}");
        let counted = Runs {
            counted: Counted {
                metrics: [("pm_reads".to_owned(), "loads".to_owned())].into(),
                ..Counted::default()
            },
            ..runs(5)
        };
        assert!(
            no_reading_is_dead(&choices, &[runs(5), counted]).is_ok(),
            "another metric is another value"
        );
    }
}
