//! `compare`.

use super::shared::{is_built, jobs, print_table, write, write_table};
use crate::args::CompareArgs;
use crate::exit::{CLEAN, VIOLATION};
use crate::interrupt;
use crate::layout::{table, wrapped};
use crate::output::Out;
use crate::progress::Runs;
use fencepost_papers::compare::{Asked, Comparison, baselines_of_papers, compare as lab_compare};
use fencepost_papers::report::comparison;
use fencepost_run::LabError;
use fencepost_run::config::Resolved;
use fencepost_run::kept::hex;
use fencepost_run::request::Request;
use fencepost_run::result::{Check, RunResult};
use fencepost_run::short;
use fencepost_run::store::{Of, Store};
use fencepost_sweep::tables;
use fencepost_table::Format;
use std::collections::BTreeMap;

/// Runs programs on several designs.
pub(super) fn compare(args: &CompareArgs, out: &Out) -> Result<u8, LabError> {
    let base = Request {
        check: args.check,
        cycles: args.work.cycles,
        ..args.common.request("", "", args.work.ops, args.work.warmup)
    };
    let store = args.output.as_deref().map(Store::open).transpose()?;
    if let Some(format) = args.format {
        is_built(format)?;
    }
    if let Some(store) = &store {
        let what = what(&base, args)?;
        store.reserve("comparison.json", &what, None)?;
        if let Some(format) = args.format {
            store.reserve(&format!("comparison.{format}"), &what, None)?;
        }
    }
    interrupt::will_say(match &store {
        Some(s) => format!(
            "finished runs are in {}; the same command goes on from there",
            s.root().display()
        ),
        None => "nothing was kept; with -o DIR finished runs are".into(),
    });
    let progress = Runs::new(out, "compare");
    let designs = args.designs.iter().filter(|d| **d != args.baseline).count() + 1;
    progress.total(args.programs.len() * designs * usize::try_from(args.seeds.get()).unwrap_or(usize::MAX));
    let asked = Asked {
        base: &base,
        programs: &args.programs,
        designs: &args.designs,
        baseline: &args.baseline,
        seeds: args.seeds.get(),
    };
    let told = |cell: &_, step| progress.step(cell, step);
    let result = lab_compare(&asked, jobs(args.jobs), store.as_ref(), &told);
    drop(progress);
    let result = result?;
    if let Some(store) = &store {
        let text = serde_json::to_string_pretty(&result).map_err(|e| LabError::Internal(e.to_string()))?;
        store.write("comparison.json", text.as_bytes())?;
    }
    if let Some(file) = &args.html {
        write(file, &comparison::page(std::slice::from_ref(&result), &base)?)?;
    }
    let words = || text(&result) + &wrapped(&papers_baseline(&base.machine, &result.baseline));
    let table = || tables::runs(&result.runs);
    match (args.format, &store) {
        (Some(format), Some(store)) => {
            // The document has this name already.
            if format != Format::Json {
                write_table(store, "comparison", &table(), format)?;
            }
            out.document(&result, words)?;
        }
        (Some(format), None) => print_table(&table(), format)?,
        (None, _) => out.document(&result, words)?,
    }
    let violated = result.runs.iter().filter_map(|r| r.check.as_ref()).any(Check::violated);
    Ok(if violated { VIOLATION } else { CLEAN })
}

/// What the paper of a machine divides by, where that is another design.
fn papers_baseline(machine: &str, baseline: &str) -> String {
    let others = baselines_of_papers(machine)
        .into_iter()
        .filter(|(_, design)| design != baseline);
    let line = |(paper, design): (&str, String)| {
        format!("`reproduce {paper}` divides by {design}, this by {baseline}: --baseline {design}\n")
    };
    others.map(line).collect()
}

/// What the comparison is the result of: its runs and what they are relative to.
fn what(base: &Request, args: &CompareArgs) -> Result<Of, LabError> {
    let mut all = args.baseline.clone();
    for program in &args.programs {
        for design in args.designs.iter().chain([&args.baseline]) {
            let request = Request {
                program: program.clone(),
                design: design.clone(),
                ..base.clone()
            };
            all += &format!("\n{} {}", Resolved::resolve(&request)?.digest(), request.check);
        }
    }
    let (programs, designs) = (args.programs.join(" "), args.designs.join(","));
    all += &format!("\n{} seeds", args.seeds);
    Ok(Of {
        what: format!("compare {programs} -d {designs} --baseline {}", args.baseline),
        digest: hex(all.as_bytes()),
    })
}

fn text(c: &Comparison) -> String {
    if c.spread.is_empty() { single(c) } else { several(c) }
}

/// Of one seed: every run.
fn single(c: &Comparison) -> String {
    let mut rows: Vec<Vec<String>> = (c.runs.iter())
        .map(|r| {
            let slowdown = c.slowdown.get(&r.program).and_then(|d| d.get(&r.design));
            vec![
                r.program.clone(),
                r.design.clone(),
                short(r.time_ps as f64 / 1e6),
                slowdown.map_or(String::new(), |s| short(*s)),
                r.pm_writes.to_string(),
                longest(r),
                checked(&[r]).to_owned(),
            ]
        })
        .collect();
    if c.slowdown.len() > 1 {
        let mean =
            |(design, mean): (&String, &f64)| vec!["geomean".to_owned(), design.clone(), String::new(), short(*mean)];
        rows.extend(c.geomean.iter().map(mean));
    }
    let slowdown = format!("time / {}", c.baseline);
    let head = [
        "program",
        "design",
        "time us",
        &slowdown,
        "PM writes",
        "longest stall",
        "crash check",
    ];
    table(&head, &rows)
}

/// Of several seeds: means with the half of their 95 % interval.
fn several(c: &Comparison) -> String {
    let mut rows = Vec::new();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for r in &c.runs {
        let pair = (r.program.as_str(), r.design.as_str());
        if seen.contains(&pair) {
            continue;
        }
        seen.push(pair);
        let same: Vec<&RunResult> = c
            .runs
            .iter()
            .filter(|x| (x.program.as_str(), x.design.as_str()) == pair)
            .collect();
        let of = |by: &BTreeMap<String, BTreeMap<String, f64>>| by.get(&r.program)?.get(&r.design).copied();
        let us = |r: &RunResult| r.time_ps as f64 / 1e6;
        rows.push(vec![
            r.program.clone(),
            r.design.clone(),
            short(same.iter().map(|r| us(r)).sum::<f64>() / same.len() as f64),
            of(&c.slowdown).map_or(String::new(), short),
            of(&c.spread).map_or(String::new(), short),
            checked(&same).to_owned(),
        ]);
    }
    if c.slowdown.len() > 1 {
        let half = |design: &String| c.geomean_spread.get(design).map_or(String::new(), |h| short(*h));
        let mean = |(design, mean): (&String, &f64)| {
            vec![
                "geomean".to_owned(),
                design.clone(),
                String::new(),
                short(*mean),
                half(design),
            ]
        };
        rows.extend(c.geomean.iter().map(mean));
    }
    let slowdown = format!("time / {}", c.baseline);
    table(&["program", "design", "time us", &slowdown, "+-", "crash check"], &rows)
}

/// The cause of stalls that took most time.
fn longest(r: &RunResult) -> String {
    let worst = r.stalls.iter().max_by_key(|s| s.1);
    worst.map_or(String::new(), |s| s.0.clone())
}

/// The verdict on runs; empty where crash states were not examined.
fn checked(runs: &[&RunResult]) -> &'static str {
    let checks: Vec<&Check> = runs.iter().filter_map(|r| r.check.as_ref()).collect();
    match checks.iter().any(|c| c.violated()) {
        _ if checks.is_empty() => "",
        true => "VIOLATED",
        false => "clean",
    }
}
