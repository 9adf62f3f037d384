//! Which deliberate mistakes of which program are broken under which contract: the table of docs/variants.md.
//!
//! Every cell is an exploration of all crash states that the contract allows of a small run of the program, written in
//! the dialect that belongs to the contract, with stores to one line ordered (`fifo`) or not (`none`).

use crate::crash::{CrashRequest, Grain, LineOrder, crash, dialect_for};
use crate::error::LabError;
use crate::request::Request;
use fencepost_contract::ContractKind;
use fencepost_programs::{About, Scheme, Variant, programs};
use std::fmt::Write as _;

/// The contracts of the table, from the weakest.
pub const CONTRACTS: [ContractKind; 11] = [
    ContractKind::None,
    ContractKind::Px86Pcommit,
    ContractKind::Commit,
    ContractKind::Px86,
    ContractKind::Themis,
    ContractKind::Rcbsp,
    ContractKind::Strand,
    ContractKind::Epoch,
    ContractKind::StrictTso,
    ContractKind::StrictSc,
    ContractKind::Eadr,
];
const ORDERS: [LineOrder; 2] = [LineOrder::Fifo, LineOrder::Unordered];
/// Seeds tried until one convicts.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;
/// Runs of recovery allowed for one exploration.
const BUDGET: &str = "200";

/// Sizes at which a few operations touch everything, and an exploration of one thread ends.
pub fn sizes(about: &About) -> Vec<String> {
    let all = about.small.iter().chain(about.smallest);
    all.map(|(name, value)| format!("program.{name}={value}")).collect()
}

/// One verdict of the table.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Every allowed crash state of every seed recovers.
    Clean,
    /// A crash state of some seed does not.
    Broken,
    /// None was found, but not all were explored.
    Bounded,
}

/// One row: a program, a mistake, and the verdicts by contract and line order (as in `CONTRACTS`; `fifo`, then `none`).
#[derive(Clone, Debug)]
pub struct Row {
    /// Program word.
    pub program: &'static str,
    /// Logging scheme.
    pub scheme: Scheme,
    /// Variant.
    pub variant: Variant,
    /// Verdicts.
    pub cells: [[Cell; 2]; CONTRACTS.len()],
}

/// Programs of the table. An operation of SQLite stores thousands of words: what a budget for six of them covers says nothing.
fn listed() -> impl Iterator<Item = About> {
    programs().into_iter().filter(|p| p.name != "sqlite")
}

/// The table: every program in its natural form, with every variant.
///
/// # Errors
/// Only on defects: every combination is possible.
pub fn table() -> Result<Vec<Row>, LabError> {
    let mut jobs = Vec::new();
    for about in listed() {
        let Some((scheme, variants)) = about.variants.first() else {
            continue;
        };
        jobs.extend(variants.iter().map(|v| (about.clone(), *scheme, *v)));
    }
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = &jobs;
    let rows = std::thread::scope(|scope| {
        let work = move |w: usize| {
            jobs.iter()
                .skip(w)
                .step_by(workers)
                .map(|(about, scheme, variant)| row(about, *scheme, *variant))
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..workers).map(|w| scope.spawn(move || work(w))).collect();
        let mut parts: Vec<_> = threads.into_iter().map(|t| t.join().map(Vec::into_iter)).collect();
        let next = |i: usize| match &mut parts[i % workers] {
            Ok(rows) => rows.next(),
            Err(_) => None,
        };
        (0..jobs.len()).map(next).collect::<Vec<_>>()
    });
    let lost = || LabError::Internal("a worker of the table of variants panicked".into());
    rows.into_iter().map(|r| r.unwrap_or_else(|| Err(lost()))).collect()
}

fn row(about: &About, scheme: Scheme, variant: Variant) -> Result<Row, LabError> {
    let mut cells = [[Cell::Clean; 2]; CONTRACTS.len()];
    for (contract, cells) in CONTRACTS.into_iter().zip(&mut cells) {
        for (order, cell) in ORDERS.into_iter().zip(cells) {
            *cell = verdict((about, scheme, variant, contract, order))?.0;
        }
    }
    Ok(Row {
        program: about.name,
        scheme,
        variant,
        cells,
    })
}

/// A cell of the table: program, way of logging, mistake, contract, line order.
type Place<'a> = (&'a About, Scheme, Variant, ContractKind, LineOrder);

/// The exploration of a cell with a seed.
fn exploration((about, scheme, variant, contract, order): Place<'_>, seed: u64) -> CrashRequest {
    CrashRequest {
        request: Request {
            program: about.name.into(),
            threads: Some(1),
            ops: about.few_ops,
            seed,
            log: Some(scheme.name().into()),
            variant: Some(variant.name().into()),
            sets: sizes(about),
            ..Request::default()
        },
        contract: Some(contract.name().into()),
        budget: Some(BUDGET.into()),
        schedules: Some(1),
        doubt: None,
        recovery_fails: false,
        line_order: Some(order),
        grain: Grain::Word,
        small: false,
    }
}

/// The verdict of a cell, and the id that replays the crash state which is the reason, if there is one.
fn verdict(place: Place<'_>) -> Result<(Cell, Option<String>), LabError> {
    let mut all = true;
    for seed in SEEDS {
        let found = crash(&exploration(place, seed))?;
        if found.violated() {
            return Ok((Cell::Broken, found.witness.and_then(|w| w.replay)));
        }
        all &= found.complete;
    }
    Ok((if all { Cell::Clean } else { Cell::Bounded }, None))
}

/// The page.
///
/// # Errors
/// As [`table`].
pub fn page() -> Result<String, LabError> {
    let mut out = String::from(INTRODUCTION);
    let _ = write!(out, "| program | variant |");
    for c in CONTRACTS {
        let _ = write!(out, " `{c}` |");
    }
    let _ = write!(
        out,
        "\n| --- | --- |{}\n| | *written for* |",
        " --- |".repeat(CONTRACTS.len())
    );
    for c in CONTRACTS {
        let _ = write!(out, " {} |", dialect_for(c).unwrap_or("-"));
    }
    out.push('\n');
    for row in table()? {
        let _ = write!(
            out,
            "| {} ({}) | {} |",
            row.program,
            row.scheme.name(),
            row.variant.name()
        );
        for [fifo, none] in row.cells {
            let _ = match fifo == none {
                true => write!(out, " {} |", sign(fifo)),
                false => write!(out, " {} / {} |", sign(fifo), sign(none)),
            };
        }
        out.push('\n');
    }
    out.push_str("\nThe variants:\n\n");
    let mut all: Vec<Variant> = programs()
        .iter()
        .flat_map(|p| p.variants.clone())
        .flat_map(|v| v.1)
        .collect();
    all.sort_by_key(|v| v.name());
    all.dedup();
    for v in all {
        let _ = writeln!(out, "- `{}`: {}", v.name(), v.about());
    }
    Ok(out)
}

fn sign(cell: Cell) -> &'static str {
    match cell {
        Cell::Clean => "clean",
        Cell::Broken => "**broken**",
        Cell::Bounded => "none found",
    }
}

const INTRODUCTION: &str = "# Deliberate mistakes and where they are convicted

Each program exists in a correct form and in wrong variants. The table says, for small runs of 6 operations of one thread
(two seeds), whether recovery and audit survive *every* crash state that a contract allows: `clean`, or **broken** with a
witness as `fencepost crash PROGRAM --contract C --variant V` prints it; `none found` where 200 recoveries did not cover all
states. SQLite is left out: an operation of it stores thousands of words, of which such a budget covers nothing. Where order within a cache line makes a
difference, the cell reads *with line order `fifo`* / *with `none`*. Flags and records lie on different lines everywhere.

How to read it: a missing or misplaced flush or fence *flips*. It is broken where that instruction carries the order (flushes
on x86, fences on x86 and under epochs) and harmless where nothing depends on it (strict persistency, eADR; a flush means
nothing under epochs). Stores in the wrong program order, updates that are not atomic and mistakes of logic stay broken
everywhere. `none` promises nothing, so everything is broken there. Themis orders log entries before data without a fence, so
code written for it cannot miss that fence.

One exception: a change of the hash table or of a list is a single link store, with the contents of a new item ordered before, and what is
written for barriers alone acknowledges no operation before the end of the run. Whether that store or the mark in the log is
durable first shows in no crash state under `rcbsp`, `strand` and `epoch`.

Programs with a front are listed without it. With `front=application` they persist the same words by the same instructions in the same order,
which is tested, so the table holds for that form too.

";

#[cfg(test)]
mod tests;
