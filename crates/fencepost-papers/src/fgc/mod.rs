//! The rules of per-task committing. Each check's clean half runs in the very configuration in which its planted fault is
//! convicted.

use crate::experiment::runs::Runs;
use crate::experiment::statement::Statement;
use crate::statements::conforming::all_clean;
use crate::statements::preset::Preset;
use fencepost_designs::statements::{Rule, fgc};
use fencepost_run::LabError;
use fencepost_run::request::Request;
use fencepost_run::result::{Check, RunResult};

/// Every statement of this paper.
pub(crate) const STATEMENTS: &[Statement] = &[
    Statement::rule(&fgc::COMMIT_WAITS, |r| {
        clean_but(
            r,
            &fgc::COMMIT_WAITS,
            &["poll-early", "ignores-queue", "credit-at-issue"],
        )
    }),
    Statement::rule(&fgc::DEFAULT_QUEUE, |r| {
        clean_but(r, &fgc::DEFAULT_QUEUE, &["default-queue-closed"])
    }),
    Statement::rule(&fgc::CLOSED_QUEUE, |r| {
        clean_but(r, &fgc::CLOSED_QUEUE, &["closed-queue-takes", "flag-cleared-early"])
    }),
    Statement::rule(&fgc::DRAM_CACHE, adr_in_a_dram_cache),
    Statement::rule(&fgc::CREDIT_ZERO, |r| {
        clean_but(r, &fgc::CREDIT_ZERO, &["issues-at-zero"])
    }),
];

const FGC: Preset = Preset("fgc");

/// Programs whose operations meet in a few lines, few queues with two credits each, and a slow link, so that queues close, credits
/// run out, and writes wait in the controller.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("sps", &["program.sps.entries=24", "program.sps.swaps=4"]),
    (
        "hash",
        &[
            "program.hash.buckets=7",
            "program.hash.keys=24",
            "program.hash.preload=8",
        ],
    ),
    ("commitstore", &[]),
];
/// Asynchronous DRAM refresh: what the controller has accepted is durable.
const ACCEPT: &str = "pm.controller.durable_at=accept";
const SMALL: [&str; 4] = [
    "design.queues=2",
    "design.credits=2",
    "pm.module.entries=6",
    "pm.module.slot=100ns",
];

fn small(program: &str, design: &str, sets: &[&str]) -> Result<RunResult, String> {
    attempt(program, design, sets).map_err(|e| format!("{program} on {design}: {e}"))
}
fn attempt(program: &str, design: &str, sets: &[&str]) -> Result<RunResult, LabError> {
    let request = Request {
        program: program.into(),
        design: design.into(),
        machine: "fgc".into(),
        threads: Some(8),
        ops: 40,
        warmup: 0,
        sets: sets.iter().map(|s| (*s).to_owned()).collect(),
        check: true,
        budget: Some(300),
        ..Request::default()
    };
    fencepost_run::run::run(&request)
}
/// Whether a run with a planted fault is convicted; one that gets stuck is.
fn convicted(program: &str, sets: &[&str]) -> Result<bool, String> {
    match attempt(program, "per-task-commit", sets) {
        Err(LabError::Convicted { .. }) => Ok(true),
        other => Ok(violated(&other.map_err(|e| format!("{program}: {e}"))?)),
    }
}
fn violated(r: &RunResult) -> bool {
    r.check.as_ref().is_some_and(Check::violated)
}

/// The handwritten program shows the rule; the experiment's runs are clean, so are small ones, and each fault planted in them is noticed on at least one program.
fn clean_but(runs: &Runs, by_hand: &Rule, faults: &[&str]) -> Result<String, String> {
    FGC.shows(by_hand)?;
    let mut text = all_clean(runs, "E30", &["per-task"])?;
    for (program, sets) in PROGRAMS {
        let sets: Vec<&str> = SMALL.iter().chain(sets).copied().collect();
        if violated(&small(program, "per-task-commit", &sets)?) {
            return Err(format!("{program} is convicted without any fault"));
        }
    }
    for fault in faults {
        let planted = format!("design.fault={fault}");
        let mut noticed_on = Vec::new();
        for (program, sets) in PROGRAMS {
            let sets: Vec<&str> = SMALL.iter().chain(sets).copied().chain([planted.as_str()]).collect();
            if convicted(program, &sets)? {
                noticed_on.push(program);
            }
        }
        if noticed_on.is_empty() {
            return Err(format!("fault `{fault}` goes unnoticed"));
        }
        text += &format!("; with `{fault}` {} convicted, clean without", noticed_on.join(", "));
    }
    Ok(text)
}

/// Software that trusts ADR over a DRAM cache loses what it acknowledged, on a controller that is durable on acceptance; per-task committing
/// over the same cache does not.
fn adr_in_a_dram_cache(runs: &Runs) -> Result<String, String> {
    FGC.shows(&fgc::DRAM_CACHE)?;
    let clean = all_clean(runs, "E30", &["per-task-dram-cache"])?;
    let mut lost = Vec::new();
    for (program, sets) in PROGRAMS {
        let per_task = small(program, "per-task-commit-dram-cache", sets)?;
        if violated(&per_task) {
            return Err(format!("{program} loses data with per-task committing"));
        }
        let accept: Vec<&str> = sets.iter().copied().chain([ACCEPT]).collect();
        if violated(&small(program, "so-adr", &accept)?) {
            return Err(format!("{program} loses data with ADR and without a cache"));
        }
        let adr = small(program, "adr-dram-cache", &accept)?;
        let witness = adr
            .check
            .as_ref()
            .and_then(|c| c.witnesses.iter().find(|w| !w.source.is_empty()));
        if let Some(w) = witness.filter(|_| violated(&adr)) {
            lost.push(format!("{program} ({})", w.source[0]));
        }
    }
    match lost.is_empty() {
        true => Err("ADR over a DRAM cache loses nothing".into()),
        false => Ok(format!(
            "{clean}; ADR alone loses acknowledged data of {}",
            lost.join(", ")
        )),
    }
}
