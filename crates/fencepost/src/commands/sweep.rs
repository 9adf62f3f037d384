//! `sweep`.

use super::shared::jobs;
use crate::args::{ManyArgs, MatrixArgs, SweepArgs};
use crate::interrupt;
use crate::layout::table;
use crate::output::Out;
use crate::progress::Runs;
use fencepost_papers::compare::Comparison;
use fencepost_papers::report::comparison;
use fencepost_papers::reproduce::grid::expanded;
use fencepost_run::kept::{VERSION, hex};
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::store::Store;
use fencepost_run::{BadInput, LabError, input};
use fencepost_sweep::engine::{Engine, Tally, default_bound};
use fencepost_sweep::grid::{Node, Plan};
use fencepost_sweep::matrix::Matrix;
use fencepost_sweep::sweep::{Ended, Swept, exit_code, find_in, sweep as run_all, table as rows};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Failures shown at most.
const SHOWN: usize = 5;

/// What is printed of a sweep.
#[derive(Serialize)]
struct Document {
    /// Cells of this call.
    cells: usize,
    ran: usize,
    resumed: usize,
    shared: usize,
    failed: usize,
    violated: usize,
    folder: String,
    /// The table, below the folder.
    table: String,
    /// How many cells failed for each reason.
    errors: BTreeMap<String, usize>,
}

/// Runs a grid.
pub(super) fn sweep(args: &SweepArgs, out: &Out) -> Result<u8, LabError> {
    super::shared::is_built(args.how.format)?;
    let text = input::read(&args.grid, input::CONFIGURATION)?;
    let grid = Node::from_toml(&args.grid.to_string_lossy(), &text)?;
    let plan = Plan::read(&expanded(&grid)?, args.most_cells)?;
    let stem = args.grid.file_stem().unwrap_or_default().to_string_lossy();
    go(plan, &stem, &args.how, out, &|_| Ok(()))
}

/// Runs designs with programs on machines, all of them where nothing is named.
pub(super) fn matrix(args: &MatrixArgs, out: &Out) -> Result<u8, LabError> {
    super::shared::is_built(args.how.format)?;
    let matrix = Matrix {
        designs: args.designs.clone(),
        programs: args.programs.clone(),
        machines: args.machines.clone(),
        ops: args.ops,
        warmup: args.warmup,
        threads: args.threads,
        seed: args.seed,
        points: args.points,
    };
    if args.html.is_some() && !matrix.designs()?.contains(&args.baseline) {
        let e = BadInput::new(format!("the page is relative to {}, which is not run", args.baseline));
        return Err(e.hint("--baseline names one of the designs").into());
    }
    let plan = Plan::read(&Node::from_json(&matrix.grid()?)?, u64::MAX)?;
    let base = Request {
        ops: args.ops,
        warmup: args.warmup,
        seed: args.seed,
        threads: Some(args.threads),
        check: true,
        budget: Some(args.points),
        ..Request::default()
    };
    go(plan, "matrix", &args.how, out, &|runs| match &args.html {
        Some(file) => super::shared::write(file, &page(runs, &args.baseline, &base)?),
        None => Ok(()),
    })
}

/// The page of a matrix: a comparison for each machine, in the order in which they ran.
fn page(runs: Vec<RunResult>, baseline: &str, base: &Request) -> Result<String, LabError> {
    let mut machines: Vec<(String, Vec<RunResult>)> = Vec::new();
    for run in runs {
        match machines.iter_mut().find(|m| m.0 == run.machine) {
            Some((_, of)) => of.push(run),
            None => machines.push((run.machine.clone(), vec![run])),
        }
    }
    let all: Vec<Comparison> = machines
        .into_iter()
        .map(|(_, of)| Comparison::of_runs(baseline, of))
        .collect();
    comparison::page(&all, base)
}

/// Brings a plan to its end, as asked.
fn go(
    plan: Plan,
    stem: &str,
    how: &ManyArgs,
    out: &Out,
    finished: &dyn Fn(Vec<RunResult>) -> Result<(), LabError>,
) -> Result<u8, LabError> {
    let plan = match how.shard {
        Some((part, of)) => plan.shard(part, of),
        None => plan,
    };
    if plan.is_empty() {
        let e = BadInput::new(format!("`{stem}` has no cell to run"));
        return Err(e
            .hint("its conditions, or the part that --shard names, leave nothing")
            .into());
    }
    let root = how.output.clone().unwrap_or_else(|| PathBuf::from("runs").join(stem));
    let store = Store::open(&root)?;
    interrupt::will_say(format!(
        "finished runs are in {}; the same command goes on from there",
        root.display()
    ));
    let engine = Engine {
        store: Some(&store),
        jobs: jobs(how.jobs),
        memory: how.memory.or_else(default_bound),
        stop: Default::default(),
    };
    let progress = Runs::new(out, stem);
    progress.total(plan.len());
    let label = |i: usize| {
        let values = plan.cell(i).map(|c| c.values).unwrap_or_default();
        values
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let swept = run_all(&plan, &engine, &|i, step| progress.ended(|| label(i), step));
    drop(progress);
    let swept = swept?;
    // The name says which cells, by which version: a table is never written over by that of another grid.
    let digest = hex(format!("{VERSION} {}", plan.digest()).as_bytes());
    let part = how.shard.map_or_else(String::new, |(i, n)| format!(".{i}-of-{n}"));
    let name = format!("sweeps/{stem}-{}{part}", &digest[..12]);
    let rows = rows(&plan, &swept.cells, &|key| find_in(&store, key))?;
    super::shared::write_table(&store, &name, &rows, how.format)?;
    let run = |cell: &Ended| match cell {
        Ended::Run { key, .. } => find_in(&store, key),
        _ => None,
    };
    finished(swept.cells.iter().filter_map(run).collect())?;
    let document = document(&swept, &store, format!("{name}.{}", how.format));
    out.document(&document, || text_of(&document, out))?;
    Ok(exit_code(&swept.cells))
}

fn document(swept: &Swept, store: &Store, table: String) -> Document {
    let mut errors: BTreeMap<String, usize> = BTreeMap::new();
    let mut violated = 0;
    for cell in &swept.cells {
        match cell {
            Ended::Failed(f) => *errors.entry(f.message.clone()).or_default() += 1,
            Ended::Run { unexpected, .. } => violated += usize::from(*unexpected),
            Ended::Open => {}
        }
    }
    let Tally {
        ran,
        resumed,
        shared,
        failed,
    } = swept.tally;
    Document {
        cells: swept.cells.len(),
        ran,
        resumed,
        shared,
        failed,
        violated,
        folder: store.root().to_string_lossy().into_owned(),
        table,
        errors,
    }
}

fn text_of(d: &Document, out: &Out) -> String {
    let mut t = format!(
        "{} cells: {} ran, {} already there, {} the same as another, {} failed, {} violated\n",
        d.cells, d.ran, d.resumed, d.shared, d.failed, d.violated
    );
    if !d.errors.is_empty() {
        let shown = if out.verbose > 0 { usize::MAX } else { SHOWN };
        let mut errors: Vec<_> = d.errors.iter().collect();
        errors.sort_by_key(|e| std::cmp::Reverse(e.1));
        let rows = errors
            .iter()
            .take(shown)
            .map(|(why, n)| vec![n.to_string(), (*why).clone()]);
        t.push_str(&table(&["cells", "failed because"], &rows.collect::<Vec<_>>()));
    }
    let _ = writeln!(t, "table: {}/{}", d.folder, d.table);
    t
}
