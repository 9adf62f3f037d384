//! `run --seeds`.

use super::checked::check_text;
use super::shared::{is_built, jobs, print_table, unused, write_table};
use crate::args::RunArgs;
use crate::exit::{CLEAN, VIOLATION};
use crate::interrupt;
use crate::layout::{table, wrapped};
use crate::output::Out;
use crate::progress::Runs;
use fencepost_papers::experiment::interval::Interval;
use fencepost_papers::repeated::{Repeated, repeated};
use fencepost_run::LabError;
use fencepost_run::config::Resolved;
use fencepost_run::request::Request;
use fencepost_run::short;
use fencepost_run::store::{Of, Store};
use fencepost_sweep::tables;
use fencepost_table::Format;

/// Runs one program on one design with `seeds` seeds.
pub(super) fn run(args: &RunArgs, request: &Request, seeds: u64, out: &Out) -> Result<u8, LabError> {
    if let Some(format) = args.format {
        is_built(format)?;
    }
    let resolved = Resolved::resolve(request)?;
    let store = args.output.as_deref().map(Store::open).transpose()?;
    if let Some(store) = &store {
        let of = Of {
            what: format!("run {} -d {} with {seeds} seeds", request.program, request.design),
            digest: format!(
                "{} {seeds} {:?} {:?} {}",
                resolved.digest(),
                request.check,
                request.budget,
                request.nested
            ),
        };
        store.reserve("seeds.json", &of, None)?;
        if let Some(format) = args.format {
            store.reserve(&format!("run.{format}"), &of, None)?;
        }
    }
    interrupt::will_say(match &store {
        Some(s) => format!(
            "finished runs are in {}; the same command goes on from there",
            s.root().display()
        ),
        None => "nothing was kept; with -o DIR finished runs are".into(),
    });
    let progress = Runs::new(out, "run");
    progress.total(usize::try_from(seeds).unwrap_or(usize::MAX));
    let told = |cell: &_, step| progress.step(cell, step);
    let result = repeated(request, seeds, jobs(args.jobs), store.as_ref(), &told);
    drop(progress);
    let result = result?;
    if let Some(note) = unused(resolved.unused()) {
        out.note(&note);
    }
    if let Some(store) = &store {
        let text = serde_json::to_string_pretty(&result).map_err(|e| LabError::Internal(e.to_string()))?;
        store.write("seeds.json", text.as_bytes())?;
    }
    match (args.format, &store) {
        (Some(format), Some(store)) => {
            if format != Format::Json {
                write_table(store, "run", &tables::runs(&result.runs), format)?;
            }
            out.document(&result, || text(&result))?;
        }
        (Some(format), None) => print_table(&tables::runs(&result.runs), format)?,
        (None, _) => out.document(&result, || text(&result))?,
    }
    let violated = result
        .runs
        .iter()
        .filter_map(|r| r.check.as_ref())
        .any(|c| c.violated());
    Ok(if violated { VIOLATION } else { CLEAN })
}

fn text(r: &Repeated) -> String {
    let Some(first) = r.runs.first() else {
        return String::new();
    };
    let mut t = wrapped(&format!(
        "{} on {} ({}, {}), {} threads, {} operations, {} seeds from {}; means, with the half of their 95 % interval\n",
        first.program,
        first.design,
        first.machine,
        first.media,
        first.threads,
        first.ops,
        r.seeds.len(),
        first.seed
    ));
    let row = |what: &str, i: Interval, scale: f64| {
        vec![
            what.to_owned(),
            short(i.mean / scale),
            format!("+- {}", short(i.half / scale)),
        ]
    };
    let mut rows = vec![
        row("time, us", r.time_ps, 1e6),
        row("million operations/s", r.ops_per_s, 1e6),
        row("IPC", r.ipc, 1.0),
        row("lines written", r.pm_writes, 1.0),
    ];
    let mut stalls: Vec<_> = r.stalls.iter().collect();
    stalls.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    rows.extend(
        stalls
            .into_iter()
            .map(|(cause, i)| row(&format!("{cause}, us"), *i, 1e6)),
    );
    t.push_str(&table(&["over all seeds", "mean", ""], &rows));
    for run in &r.runs {
        if let Some(check) = &run.check {
            t.push_str(&wrapped(&format!("seed {}: {}", run.seed, check_text(check))));
        }
    }
    t
}
