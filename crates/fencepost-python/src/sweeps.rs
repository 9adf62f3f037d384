//! Sweeps: plans, folders, and single cells for executors of other processes and hosts.

use crate::calls::{json, of_run, read};
use crate::errors::raised;
use crate::table::PyTable;
use crate::work::without_lock;
use fencepost_papers::reproduce::grid::expanded;
use fencepost_run::host::Host;
use fencepost_run::kept::{self, Identity, VERSION, hex};
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::run::{identified, run_resolved};
use fencepost_run::store::Store;
use fencepost_run::{BadInput, LabError};
use fencepost_sweep::engine::{Engine, default_bound};
use fencepost_sweep::grid::{Node, Plan as Grid};
use fencepost_sweep::keep;
use fencepost_sweep::matrix::Matrix;
use fencepost_sweep::sweep::{Ended, Failure, find_in, sweep, table};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A grid that is known to be well-formed.
#[pyclass(frozen, module = "fencepost._core")]
pub struct Plan(Grid);

#[pymethods]
impl Plan {
    /// Reads a grid from JSON, or from TOML with a name for messages.
    #[staticmethod]
    fn read(py: Python<'_>, name: Option<String>, text: String, most: u64) -> PyResult<Plan> {
        without_lock(py, None, move |_| {
            let grid = match &name {
                Some(name) => Node::from_toml(name, &text)?,
                None => Node::from_json(&read(&text)?)?,
            };
            Ok(Plan(Grid::read(&expanded(&grid)?, most)?))
        })
    }
    /// Every `of`-th cell from the `part`-th on, counted from 1.
    fn shard(&self, py: Python<'_>, part: u64, of: u64) -> PyResult<Plan> {
        match (1..=of).contains(&part) {
            true => Ok(Plan(self.0.clone().shard(part, of))),
            false => Err(crate::errors::input(py, "a shard is (I, N) with I from 1 to N")),
        }
    }
    fn __len__(&self) -> usize {
        self.0.len()
    }
    /// Digest of all cells, and of the version of fencepost.
    #[getter]
    fn digest(&self) -> String {
        hex(format!("{VERSION} {}", self.0.digest()).as_bytes())
    }
    /// A cell as JSON: its number, what it sets, and its request.
    fn cell(&self, py: Python<'_>, i: usize) -> PyResult<String> {
        let all = || {
            if i >= self.0.len() {
                return Err(BadInput::new(format!("there is no cell {i}")).into());
            }
            let c = self.0.cell(i)?;
            json(&serde_json::json!({ "number": c.number, "values": c.values, "request": c.request }))
        };
        all().map_err(|e: LabError| raised(py, &e))
    }
    /// Brings every cell to its end in a folder; returns that of each cell, as JSON: its key, or its error.
    #[pyo3(signature = (folder, jobs, memory=None, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        folder: &Folder,
        jobs: usize,
        memory: Option<u64>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        without_lock(py, progress.as_ref(), |told| {
            let engine = Engine {
                store: Some(&folder.0),
                jobs,
                memory: memory.or_else(default_bound),
                stop: fencepost_kernel::stop::current(),
            };
            told.total(self.0.len());
            let swept = sweep(&self.0, &engine, &|_, _| told.done())?;
            fencepost_kernel::stop::look();
            let cells: Vec<End> = swept.cells.into_iter().map(End::of).collect();
            json(&serde_json::json!({ "cells": cells, "tally": Tally(swept.tally) }))
        })
    }
    /// The table of the cells that came to their ends, given as JSON as `run` returns it.
    fn table(&self, py: Python<'_>, folder: &Folder, cells: String) -> PyResult<PyTable> {
        without_lock(py, None, |_| {
            let cells: Vec<End> = read(&cells)?;
            let ended: Vec<Ended> = cells.into_iter().map(End::into_ended).collect();
            Ok(PyTable(table(&self.0, &ended, &|key| find_in(&folder.0, key))?))
        })
    }
}

/// Designs with programs on machines, as a grid in JSON.
#[pyfunction]
pub(crate) fn matrix(py: Python<'_>, asked: String) -> PyResult<String> {
    without_lock(py, None, move |_| json(&read::<Matrix>(&asked)?.grid()?))
}

/// How many cells came to which end.
struct Tally(fencepost_sweep::engine::Tally);
impl Serialize for Tally {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let t = &self.0;
        let pairs = [
            ("ran", t.ran),
            ("resumed", t.resumed),
            ("shared", t.shared),
            ("failed", t.failed),
        ];
        to.collect_map(pairs)
    }
}

/// The end of a cell in JSON.
#[derive(Default, Serialize, Deserialize)]
struct End {
    key: Option<String>,
    #[serde(default)]
    unexpected: bool,
    kind: Option<String>,
    error: Option<String>,
}
impl End {
    fn of(ended: Ended) -> End {
        match ended {
            Ended::Run { key, unexpected } => End {
                key: Some(key),
                unexpected,
                ..End::default()
            },
            Ended::Failed(f) => End {
                kind: Some(f.kind.to_owned()),
                error: Some(f.message),
                ..End::default()
            },
            Ended::Open => End::default(),
        }
    }
    fn into_ended(self) -> Ended {
        match (self.key, self.error) {
            (Some(key), _) => Ended::Run {
                key,
                unexpected: self.unexpected,
            },
            (None, Some(message)) => Ended::Failed(Failure {
                kind: Failure::known(self.kind.as_deref().unwrap_or_default()),
                message,
                exit_code: 2,
            }),
            (None, None) => Ended::Open,
        }
    }
}

/// A folder of results.
#[pyclass(frozen, module = "fencepost._core")]
pub struct Folder(Store);

#[pymethods]
impl Folder {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Folder> {
        without_lock(py, None, move |_| Ok(Folder(Store::open(&path)?)))
    }
    /// The key of a request's run, and whether it is finished there.
    fn find(&self, py: Python<'_>, request: String) -> PyResult<(String, bool)> {
        without_lock(py, None, |_| {
            let (identity, _) = identified(&read::<Request>(&request)?)?;
            let there = keep::finished(&self.0, &identity).is_some();
            Ok((identity.key, there))
        })
    }
    /// Keeps what [`simulate`] returned, if this version of fencepost simulated it; says whether its check found what must not happen.
    fn keep(&self, py: Python<'_>, done: String) -> PyResult<bool> {
        without_lock(py, None, |_| {
            let done: Done = read(&done)?;
            let result = kept::intact(&done.result).ok_or_else(|| {
                let here = VERSION;
                BadInput::new(format!("a worker runs another version of fencepost than {here}"))
            })?;
            let identity = Identity {
                key: done.key,
                digest: result.config_digest.clone(),
                config: done.config,
            };
            let unexpected = result.check.as_ref().is_some_and(|c| !c.as_expected());
            let result = RunResult {
                host: done.host,
                ..result
            };
            keep::keep(&self.0, &identity, &result)?;
            Ok(unexpected)
        })
    }
    /// A finished run by its key: its result as JSON, and its tables.
    #[allow(clippy::type_complexity)] // JSON, and tables by name
    fn get(&self, py: Python<'_>, key: String) -> PyResult<Option<(String, Vec<(&'static str, PyTable)>)>> {
        without_lock(py, None, |_| match find_in(&self.0, &key) {
            Some(result) => Ok(Some((json(&result)?, of_run(&result)))),
            None => Ok(None),
        })
    }
    /// Writes a document completely or not at all.
    fn write(&self, py: Python<'_>, name: String, bytes: Vec<u8>) -> PyResult<()> {
        without_lock(py, None, |_| self.0.write(&name, &bytes))
    }
}

/// A finished run on its way from one process to another.
#[derive(Serialize, Deserialize)]
struct Done {
    key: String,
    config: String,
    /// The file as it is kept, sealed.
    result: String,
    host: Option<Host>,
}

/// Runs a request for another process, which keeps it.
#[pyfunction]
pub(crate) fn simulate(py: Python<'_>, request: String) -> PyResult<String> {
    without_lock(py, None, move |_| {
        let (identity, resolved) = identified(&read::<Request>(&request)?)?;
        let result = run_resolved(&resolved)?;
        json(&Done {
            key: identity.key,
            config: identity.config,
            result: kept::text(&result)?,
            host: result.host,
        })
    })
}
