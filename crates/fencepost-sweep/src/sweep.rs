//! A grid on a folder: every cell brought to its end, and the table of all of them.

use crate::engine::{Engine, Step, Tally, Work};
use crate::grid::{Plan, Scalar};
use crate::keep;
use crate::tables::{VERSION, field, run};
use fencepost_run::LabError;
use fencepost_run::config::Resolved;
use fencepost_run::kept::Identity;
use fencepost_run::result::RunResult;
use fencepost_run::run::{identified, run_resolved};
use fencepost_table::{Builder, Datum, Row, Table};
use std::sync::Mutex;

/// What a cell of a sweep came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// A run, by its key in the folder.
    Run {
        /// Names its files.
        key: String,
        /// Whether its check found what must not happen.
        unexpected: bool,
    },
    /// It failed.
    Failed(Failure),
    /// The work was stopped before.
    Open,
}

/// Why a cell failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// `input`, `file`, `convicted` or `internal`.
    pub kind: &'static str,
    /// What is wrong, with the hint.
    pub message: String,
    /// What the command would exit with.
    pub exit_code: u8,
}
impl Failure {
    /// The kind of this name; a defect of ours where there is none.
    pub fn known(name: &str) -> &'static str {
        let kinds = ["input", "file", "convicted"];
        kinds.into_iter().find(|k| *k == name).unwrap_or("internal")
    }
    /// Of an error.
    pub fn of(e: &LabError) -> Failure {
        Failure {
            kind: match e {
                LabError::Input(_) => "input",
                LabError::File { .. } => "file",
                LabError::Convicted { .. } => "convicted",
                LabError::Internal(_) => "internal",
            },
            message: e.to_string(),
            exit_code: e.exit_code(),
        }
    }
}

/// A sweep that came to its end, or was stopped.
#[derive(Clone, Debug)]
pub struct Swept {
    /// Of each cell, in the order of the plan.
    pub cells: Vec<Ended>,
    /// How many came to which end.
    pub tally: Tally,
}

/// Tells of progress: number of the cell in the plan, and how it ended.
pub type Progress<'a> = &'a (dyn Fn(usize, Step) + Sync);

/// Brings every cell of a plan to its end.
///
/// # Errors
/// The folder cannot be written. Cells that fail are no error here.
pub fn sweep(plan: &Plan, engine: &Engine<'_>, progress: Progress<'_>) -> Result<Swept, LabError> {
    let cells = Cells {
        plan,
        progress,
        keys: Mutex::default(),
        ended: Mutex::new(vec![Ended::Open; plan.len()]),
    };
    let tally = engine.execute(&cells)?;
    Ok(Swept {
        cells: cells.ended.into_inner().unwrap_or_else(|e| e.into_inner()),
        tally,
    })
}

struct Cells<'a> {
    plan: &'a Plan,
    progress: Progress<'a>,
    /// Keys of cells that are resolved and have not ended.
    keys: Mutex<std::collections::HashMap<usize, String>>,
    ended: Mutex<Vec<Ended>>,
}
impl Work for Cells<'_> {
    type Ready = Resolved;
    fn cells(&self) -> usize {
        self.plan.len()
    }
    fn resolve(&self, cell: usize) -> Result<(Identity, Resolved), LabError> {
        let found = identified(&self.plan.cell(cell)?.request)?;
        let mut keys = self.keys.lock().unwrap_or_else(|e| e.into_inner());
        keys.insert(cell, found.0.key.clone());
        Ok(found)
    }
    fn run(&self, resolved: &Resolved) -> Result<RunResult, LabError> {
        run_resolved(resolved)
    }
    fn ended(&self, cell: usize, outcome: Result<&RunResult, &LabError>, step: Step) -> Result<(), LabError> {
        let key = self.keys.lock().unwrap_or_else(|e| e.into_inner()).remove(&cell);
        let ended = match outcome {
            Ok(r) => Ended::Run {
                key: key.unwrap_or_default(),
                unexpected: r.check.as_ref().is_some_and(|c| !c.as_expected()),
            },
            Err(e) => Ended::Failed(Failure::of(e)),
        };
        self.ended.lock().unwrap_or_else(|e| e.into_inner())[cell] = ended;
        (self.progress)(cell, step);
        Ok(())
    }
}

/// Schema `fencepost-sweep`: a row for each cell that came to its end, with what the cell sets, its run and its error. `find` gives the
/// run of a key.
///
/// # Errors
/// A run that is no longer there.
pub fn table(plan: &Plan, swept: &[Ended], find: &dyn Fn(&str) -> Option<RunResult>) -> Result<Table, LabError> {
    let mut b = Builder::new("fencepost-sweep", VERSION);
    let axes = plan.axes();
    for (i, ended) in swept.iter().enumerate().filter(|c| *c.1 != Ended::Open) {
        let cell = plan.cell(i)?;
        let row = &mut b.row();
        row.set(field("cell", "", "number of the cell in its grid"), cell.number);
        for axis in &axes {
            if let Some(value) = cell.values.get(axis) {
                row.set(field(axis, "", "what the cell sets"), datum(value));
            }
        }
        end(row, ended, find)?;
    }
    Ok(b.finish())
}

fn end(row: &mut Row<'_>, ended: &Ended, find: &dyn Fn(&str) -> Option<RunResult>) -> Result<(), LabError> {
    let (key, failure) = match ended {
        Ended::Run { key, .. } => (Some(key.as_str()), None),
        Ended::Failed(failure) => (None, Some(failure)),
        Ended::Open => (None, None),
    };
    row.maybe(field("run", "", "key of the run in the folder"), key)
        .maybe(
            field("error_kind", "", "input, file, convicted or internal"),
            failure.map(|f| f.kind),
        )
        .maybe(
            field("error", "", "why the cell failed"),
            failure.map(|f| f.message.as_str()),
        );
    let result = match key {
        Some(key) => {
            let gone = || LabError::Internal(format!("the run {key} was finished and is gone from its folder"));
            Some(find(key).ok_or_else(gone)?)
        }
        None => None,
    };
    run(row, result.as_ref());
    Ok(())
}

fn datum(value: &Scalar) -> Datum {
    match value {
        Scalar::Int(x) => Datum::Int(*x),
        Scalar::Float(x) => Datum::Float(*x),
        Scalar::Bool(x) => Datum::Bool(*x),
        Scalar::Text(x) => Datum::Text(x.clone()),
    }
}

/// The run of a key in a folder.
pub fn find_in(store: &fencepost_run::store::Store, key: &str) -> Option<RunResult> {
    fencepost_run::kept::intact(&store.read(&keep::result_file(key))?)
}

/// What the command exits with: a defect of ours before bad input before a violation.
pub fn exit_code(cells: &[Ended]) -> u8 {
    let code = |c: &Ended| match c {
        Ended::Failed(f) => f.exit_code,
        Ended::Run { unexpected, .. } => u8::from(*unexpected),
        Ended::Open => 0,
    };
    cells.iter().map(code).max().unwrap_or(0)
}
