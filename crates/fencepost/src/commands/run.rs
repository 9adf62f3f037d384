//! `run`.

use super::checked::check_text;
use super::shared::{budget, is_built, print_table, write_table};
use crate::args::RunArgs;
use crate::exit::{CLEAN, VIOLATION};
use crate::faults;
use crate::interrupt;
use crate::layout::{table, wrapped};
use crate::output::Out;
use crate::progress::{CrashPoints, Waiting};
use crate::slips::one_only;
use fencepost_run::config::Resolved;
use fencepost_run::kept::{self, Identity};
use fencepost_run::persist_stats::{Beside, PersistStats};
use fencepost_run::request::Request;
use fencepost_run::result::{Check, Histogram, RunResult};
use fencepost_run::short;
use fencepost_run::store::{Of, Store};
use fencepost_run::timeline::TraceFile;
use fencepost_run::{BadInput, LabError};
use fencepost_sweep::keep;
use fencepost_sweep::tables::{self, PersistLog};
use fencepost_table::Table;
use std::fmt::Write as _;
use std::time::Instant;

/// Runs one program on one design.
pub(super) fn run(args: &RunArgs, out: &Out) -> Result<u8, LabError> {
    let Some(program) = &args.program else {
        return super::external::run(args, out);
    };
    one_only(program, &args.design)?;
    let (points, time) = budget(args)?;
    let request = Request {
        check: args.check,
        budget: points,
        nested: args.nested.unwrap_or(Request::default().nested),
        cycles: args.work.cycles,
        ..args
            .common
            .request(program, &args.design, args.work.ops, args.work.warmup)
    };
    if let Some(seeds) = args.seeds.filter(|n| n.get() > 1) {
        return super::repeated::run(args, &request, seeds.get(), out);
    }
    if let Some(format) = args.format {
        is_built(format)?;
    }
    let trace = args.trace.as_deref().map(TraceFile::at).transpose()?;
    let (resolved, design) = Resolved::built(&request)?;
    let store = args.output.as_deref().map(Store::open).transpose()?;
    let identity = Identity::of(&resolved);
    if let Some(store) = &store {
        let what = format!(
            "run {program} -d {} with configuration {}",
            args.design,
            &identity.digest[..16]
        );
        let of = Of {
            what,
            // Another version of the program may write its result of the same run.
            digest: format!(
                "{} {:?} {:?} {}",
                identity.digest, request.check, request.budget, request.nested
            ),
        };
        store.reserve("config.toml", &of, None)?;
        store.reserve("result.json", &of, None)?;
        if let Some(format) = args.format {
            for table in TABLES {
                store.reserve(&format!("{table}.{format}"), &of, None)?;
            }
        }
    }
    interrupt::will_say("nothing was written");
    let progress = CrashPoints::default();
    let shown = Waiting::new(out, "run", None, &progress);
    let until = time.map(|t| Instant::now() + t);
    let (mut result, log) = fencepost_run::run::run_logged(&resolved, design, until, &progress)?;
    drop(shown);
    something_to_judge(&result)?;
    result.note = also(result.note, super::shared::unused(resolved.unused()));
    if let Some(store) = &store {
        if let Some(host) = &result.host {
            keep::cost(store, &identity.key, host)?;
        }
        store.write("config.toml", identity.config.as_bytes())?;
        let kept = RunResult {
            note: also(result.note.clone(), faults::warnings()),
            ..result.clone()
        };
        store.write("result.json", kept::text(&kept)?.as_bytes())?;
    }
    if let Some(file) = trace {
        file.write(&request)?;
    }
    match (args.format, &store) {
        (Some(format), Some(store)) => {
            for (name, table) in TABLES.iter().zip(tables_of(&result, &log)) {
                write_table(store, name, &table, format)?;
            }
            out.document(&result, || text(&result, out))?;
        }
        (Some(format), None) => print_table(&tables::runs([&result]), format)?,
        (None, _) => out.document(&result, || text(&result, out))?,
    }
    let violated = result.check.as_ref().is_some_and(Check::violated);
    Ok(if violated { VIOLATION } else { CLEAN })
}

/// A checked run of which no operation stored to persistent memory passes nothing.
fn something_to_judge(r: &RunResult) -> Result<(), BadInput> {
    let nothing = r.check.is_some() && r.persists.as_ref().is_some_and(|p| p.pm_stores == 0);
    if !nothing {
        return Ok(());
    }
    let why = format!(
        "nothing to judge: none of {} operations stored to persistent memory",
        r.ops
    );
    Err(BadInput::new(why).hint("give more operations (--ops N), or a program that writes"))
}

/// A note with more.
fn also(note: Option<String>, more: impl IntoIterator<Item = String>) -> Option<String> {
    let all: Vec<String> = note.into_iter().chain(more).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The tables of a run, by name.
const TABLES: [&str; 5] = ["run", "stalls", "counters", "histograms", "persist_log"];
fn tables_of(r: &RunResult, log: &PersistLog) -> [Table; 5] {
    [
        tables::runs([r]),
        tables::stalls([r]),
        tables::counters([r]),
        tables::histograms([r]),
        tables::persist_log(log),
    ]
}

fn text(r: &RunResult, out: &Out) -> String {
    let us = |ps: u64| short(ps as f64 / 1e6);
    let mut head = format!(
        "{} on {} ({}, {}), {} threads, {} operations, seed {}\n",
        r.program, r.design, r.machine, r.media, r.threads, r.ops, r.seed
    );
    if let Some(w) = &r.warning {
        let _ = writeln!(head, "warning: {w}");
    }
    if let Some(n) = &r.note {
        let _ = writeln!(head, "note: {n}");
    }
    let _ = writeln!(
        head,
        "time {} us, {} million operations per second, IPC {}\npersistent memory: {} lines read, {} written, {} durable events, log digest {}",
        us(r.time_ps),
        short(r.ops_per_s / 1e6),
        short(r.ipc),
        r.pm_reads,
        r.pm_writes,
        r.durable_events,
        r.log_digest
    );
    let mut t = wrapped(&head);
    let total = (r.busy_ps + r.stalls.values().sum::<u64>()).max(1);
    let share = |ps: u64| short(100.0 * ps as f64 / total as f64);
    let mut rows = vec![vec!["busy".to_owned(), us(r.busy_ps), share(r.busy_ps)]];
    let mut stalls: Vec<_> = r.stalls.iter().collect();
    stalls.sort_by_key(|s| std::cmp::Reverse(*s.1));
    rows.extend(
        stalls
            .into_iter()
            .map(|(cause, ps)| vec![cause.clone(), us(*ps), share(*ps)]),
    );
    if !out.quiet {
        t.push_str(&table(&["thread time", "us", "%"], &rows));
        t.push_str(&histograms(r));
    }
    if out.verbose > 0 {
        let rows: Vec<Vec<String>> = r.counters.iter().map(|(k, v)| vec![k.clone(), v.to_string()]).collect();
        t.push_str(&table(&["counter", "value"], &rows));
    }
    if out.verbose > 0 {
        t.push_str(&persists(r));
    }
    if let Some(c) = &r.check {
        t.push_str(&wrapped(&check_text(c)));
    }
    let Some(h) = &r.host else { return t };
    let host = format!(
        "host: {:.2} s, {} million instructions and {} million memory operations per second of a core, peak {} MB",
        h.seconds,
        short(h.minstr_per_s),
        short(h.mops_per_s),
        h.peak_rss_bytes.map_or_else(|| "?".into(), |b| (b >> 20).to_string())
    );
    t + &wrapped(&host)
}

/// How the run persists beside what WHISPER published of its programs; counted where runs are recorded (`--check`).
fn persists(r: &RunResult) -> String {
    let all = r
        .persists
        .as_ref()
        .map(PersistStats::beside_whisper)
        .unwrap_or_default();
    let row = |b: Beside| vec![b.what.to_owned(), short(b.here), b.published.to_owned()];
    match all.is_empty() {
        true => String::new(),
        false => table(
            &["persists", "here", "WHISPER"],
            &all.into_iter().map(row).collect::<Vec<_>>(),
        ),
    }
}

/// One line for each histogram; all of its values are in the JSON document.
fn histograms(r: &RunResult) -> String {
    let number = |v: Option<u64>| v.map_or_else(String::new, |v| v.to_string());
    let row = |(name, h): (&String, &Histogram)| {
        let at = |share| number(h.quantile(share));
        let (samples, mean) = (h.count().to_string(), short(h.mean()));
        vec![
            name.clone(),
            samples,
            mean,
            at(0.5),
            at(0.9),
            at(0.99),
            number(h.max()),
            h.unit.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = r.histograms.iter().map(row).collect();
    let head = [
        "histogram",
        "samples",
        "mean",
        "median",
        "90 %",
        "99 %",
        "largest",
        "unit",
    ];
    if rows.is_empty() {
        String::new()
    } else {
        table(&head, &rows)
    }
}
