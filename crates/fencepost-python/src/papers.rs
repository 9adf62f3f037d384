//! Papers: reproduced, and inferred from.

use crate::calls::{json, read};
use crate::work::without_lock;
use fencepost_papers::experiment::spec::Scale;
use fencepost_papers::infer;
use fencepost_papers::reproduce::{Options, reproduce as reproduce_paper};
use fencepost_run::LabError;
use fencepost_run::request::Request;
use fencepost_run::store::Store;
use pyo3::prelude::*;
use serde::Deserialize;
use std::path::PathBuf;

/// What to reproduce.
#[derive(Deserialize)]
struct Reproduced {
    paper: String,
    full: bool,
    seed: u64,
    asked: Vec<String>,
    readings: bool,
    jobs: usize,
    folder: PathBuf,
}

impl Reproduced {
    /// Does something with its options and its folder.
    fn with<T>(&self, work: impl FnOnce(&Options<'_>) -> Result<T, LabError>) -> Result<T, LabError> {
        let store = Store::open(&self.folder)?;
        work(&Options {
            paper: &self.paper,
            scale: if self.full { Scale::Full } else { Scale::Quick },
            seed: self.seed,
            // As the command without --seeds.
            seeds: if self.full { 5 } else { 1 },
            asked: &self.asked,
            readings: self.readings,
            jobs: self.jobs,
            store: &store,
        })
    }
}

/// Reproduces a paper, or an experiment in a folder; the outcome as JSON.
#[pyfunction]
#[pyo3(signature = (request, progress=None))]
pub(crate) fn reproduce(py: Python<'_>, request: String, progress: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    without_lock(py, progress.as_ref(), move |told| {
        let asked: Reproduced = read(&request)?;
        let found = asked.with(|o| reproduce_paper(o, &|n| told.total(n), &|_, _| told.done()))?;
        json(&found)
    })
}

/// Every run that a reproduction needs, each as JSON.
#[pyfunction]
pub(crate) fn planned(py: Python<'_>, request: String) -> PyResult<Vec<String>> {
    without_lock(py, None, move |_| {
        let asked: Reproduced = read(&request)?;
        let runs = asked.with(fencepost_papers::reproduce::planned)?;
        runs.iter().map(json).collect()
    })
}

/// What to infer from.
#[derive(Deserialize)]
struct Inferred {
    paper: String,
    tries: usize,
    first: Vec<String>,
    #[serde(rename = "from")]
    begun: Vec<String>,
    splits: usize,
    full: bool,
    seed: u64,
    jobs: usize,
    folder: PathBuf,
}

/// Searches the joint readings of a paper; the outcome as JSON. `ahead`, a callable, is given the runs that are asked for next, each as
/// JSON, and may finish and keep them.
#[pyfunction]
#[pyo3(name = "infer", signature = (request, ahead=None, progress=None))]
pub(crate) fn infer_readings(
    py: Python<'_>,
    request: String,
    ahead: Option<Py<PyAny>>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    without_lock(py, progress.as_ref(), move |told| {
        let asked: Inferred = read(&request)?;
        let store = Store::open(&asked.folder)?;
        let elsewhere = |runs: &[Request]| -> Result<(), LabError> {
            let Some(ahead) = &ahead else { return Ok(()) };
            let runs: Vec<String> = runs.iter().map(json).collect::<Result<_, _>>()?;
            Python::attach(|py| ahead.call1(py, (runs,)).map(drop)).map_err(|e| LabError::Internal(e.to_string()))
        };
        let options = infer::Options {
            paper: &asked.paper,
            tries: asked.tries.max(1),
            first: &asked.first,
            from: &asked.begun,
            splits: asked.splits,
            full: asked.full,
            seed: asked.seed,
            jobs: asked.jobs,
            store: &store,
            ahead: &elsewhere,
        };
        told.total(options.tries);
        let found = infer::infer(&options, &|_, _| told.done(), &|_, _| {})?;
        infer::write(&found, &store)?;
        json(&found)
    })
}
