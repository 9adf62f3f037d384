//! The calls that are one command each.

use crate::table::PyTable;
use crate::work::without_lock;
use fencepost_papers::compare::Asked;
use fencepost_run::config::{Resolved, document};
use fencepost_run::crash::{CrashRequest, Grain, LineOrder, crash as explore};
use fencepost_run::kept::VERSION;
use fencepost_run::litmus::{files, verdicts};
use fencepost_run::progress::Progress;
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::store::Store;
use fencepost_run::timeline::TraceFile;
use fencepost_run::{BadInput, LabError};
use fencepost_sweep::tables;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A value as JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<String, LabError> {
    serde_json::to_string(value).map_err(|e| LabError::Internal(e.to_string()))
}
/// A request out of the package's JSON.
pub(crate) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, LabError> {
    serde_json::from_str(text).map_err(|e| BadInput::new(format!("not a request: {e}")).into())
}

/// Version of fencepost: its number, and a digest of the sources it was built from.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    VERSION
}

/// What there is of one kind, as JSON.
#[pyfunction]
pub(crate) fn names(py: Python<'_>, kind: String) -> PyResult<String> {
    without_lock(py, None, move |_| {
        json(&fencepost_papers::listing::list(Some(&kind))?.remove(0).entries)
    })
}

/// Runs a request: its result as JSON, and its tables by name. What happened goes to the file `trace`.
#[pyfunction]
#[pyo3(signature = (request, trace=None, progress=None))]
pub(crate) fn run(
    py: Python<'_>,
    request: String,
    trace: Option<PathBuf>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<(&'static str, PyTable)>)> {
    without_lock(py, progress.as_ref(), move |told| {
        let request: Request = read(&request)?;
        let trace = trace.as_deref().map(TraceFile::at).transpose()?;
        let (resolved, design) = Resolved::built(&request)?;
        let (result, log) = fencepost_run::run::run_logged(&resolved, design, None, &Points(told))?;
        if let Some(file) = trace {
            file.write(&request)?;
        }
        let mut tables = of_run(&result);
        tables.push(("persist_log", PyTable(tables::persist_log(&log))));
        Ok((json(&result)?, tables))
    })
}

/// Tables of a result that is kept.
pub(crate) fn of_run(result: &RunResult) -> Vec<(&'static str, PyTable)> {
    let one = || std::iter::once(result);
    vec![
        ("run", PyTable(tables::runs(one()))),
        ("stalls", PyTable(tables::stalls(one()))),
        ("counters", PyTable(tables::counters(one()))),
        ("histograms", PyTable(tables::histograms(one()))),
    ]
}

/// Crash points of a check as progress.
struct Points(crate::work::Told);
impl Progress for Points {
    fn begin(&self, points: u64) {
        self.0.total(usize::try_from(points).unwrap_or(usize::MAX));
    }
    fn examined(&self) {
        self.0.done();
    }
}

/// Runs programs on several designs: the comparison as JSON, and its runs as a table.
#[pyfunction]
#[pyo3(signature = (request, programs, designs, baseline, jobs, folder=None, progress=None))]
#[allow(clippy::too_many_arguments)] // as many as the command has
pub(crate) fn compare(
    py: Python<'_>,
    request: String,
    programs: Vec<String>,
    designs: Vec<String>,
    baseline: String,
    jobs: usize,
    folder: Option<PathBuf>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, PyTable)> {
    without_lock(py, progress.as_ref(), move |told| {
        let base: Request = read(&request)?;
        let store = folder.as_deref().map(Store::open).transpose()?;
        let others = designs.iter().filter(|d| **d != baseline).count();
        told.total(programs.len() * (others + 1));
        let done = |_: &_, _| told.done();
        let asked = Asked {
            base: &base,
            programs: &programs,
            designs: &designs,
            baseline: &baseline,
            seeds: 1,
        };
        let found = fencepost_papers::compare::compare(&asked, jobs, store.as_ref(), &done)?;
        Ok((json(&found)?, PyTable(tables::runs(&found.runs))))
    })
}

/// What to explore, beside the request.
#[derive(Deserialize)]
struct Explored {
    request: Request,
    contract: Option<String>,
    budget: Option<String>,
    schedules: Option<u64>,
    paranoid: Option<u64>,
    line_order: Option<String>,
    grain: u32,
    full_size: bool,
}

/// Explores the crash states of a program; the outcome as JSON.
#[pyfunction]
pub(crate) fn crash(py: Python<'_>, request: String) -> PyResult<String> {
    without_lock(py, None, move |_| {
        let x: Explored = read(&request)?;
        let grain = match x.grain {
            1 => Grain::Byte,
            8 => Grain::Word,
            64 => Grain::Line,
            n => return Err(BadInput::new(format!("grain {n} is not 1, 8 or 64 bytes")).into()),
        };
        let found = explore(&CrashRequest {
            request: x.request,
            contract: x.contract,
            budget: x.budget,
            schedules: x.schedules,
            doubt: x.paranoid,
            recovery_fails: true,
            line_order: line_order(x.line_order.as_deref())?,
            grain,
            small: !x.full_size,
        })?;
        json(&found)
    })
}

fn line_order(name: Option<&str>) -> Result<Option<LineOrder>, LabError> {
    match name {
        None => Ok(None),
        Some("fifo") => Ok(Some(LineOrder::Fifo)),
        Some("none") => Ok(Some(LineOrder::Unordered)),
        Some(other) => Err(BadInput::unknown("order within a line", other, ["fifo", "none"]).into()),
    }
}

/// Judges a recorded persist log; the verdict as JSON.
#[pyfunction]
pub(crate) fn judge(
    py: Python<'_>,
    file: PathBuf,
    contract: String,
    complete: bool,
    order: Option<String>,
) -> PyResult<String> {
    without_lock(py, None, move |_| {
        let order = line_order(order.as_deref())?;
        json(&fencepost_run::judge::judge(&file, &contract, complete, order)?)
    })
}

/// Storage that designs add, as JSON.
#[pyfunction]
pub(crate) fn cost(py: Python<'_>, design: Option<String>, machine: String, sets: Vec<String>) -> PyResult<String> {
    without_lock(py, None, move |_| {
        json(&fencepost_run::cost::cost(design.as_deref(), &machine, &sets)?)
    })
}

/// A resolved configuration with the origin of every value, as JSON.
#[pyfunction]
pub(crate) fn config(py: Python<'_>, request: String) -> PyResult<String> {
    without_lock(py, None, move |_| {
        json(&document(&Resolved::resolve(&read(&request)?)?))
    })
}

/// What tests to judge, and by whom.
#[derive(Deserialize)]
struct Litmus {
    files: Vec<PathBuf>,
    /// A test itself, instead of files.
    text: Option<String>,
    models: Vec<String>,
    states: bool,
}

/// Judges litmus tests; a record for each test and model, as JSON.
#[pyfunction]
pub(crate) fn litmus(py: Python<'_>, request: String) -> PyResult<String> {
    without_lock(py, None, move |_| {
        let x: Litmus = read(&request)?;
        let judges = verdicts::judges(&x.models)?;
        json(&match x.text {
            Some(text) => verdicts::of_text("", &text, &judges, x.states),
            None => verdicts::of_files(&files::tests(&x.files)?, &judges, x.states),
        })
    })
}
