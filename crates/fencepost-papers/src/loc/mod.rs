//! The rules of loose-ordering consistency.

use crate::experiment::runs::Runs;
use crate::experiment::statement::Statement;
use crate::statements::conforming::all_clean;
use crate::statements::preset::Preset;
use fencepost_designs::statements::loc;
use fencepost_run::cost;
use fencepost_run::request::Request;
use fencepost_run::result::{Check, RunResult};

/// Every statement of this paper.
pub(crate) const STATEMENTS: &[Statement] = &[
    Statement::new("loc-metadata-share", None, metadata_share),
    Statement::new("loc-bplustree-node", None, bplustree_node),
    Statement::new("loc-count-based-commit", Some("loc.count-ignored"), |r| {
        clean_and(r, &["ec-wal"], None)
    }),
    Statement::new("loc-dependency-pairs", Some("loc.pairs-ignored"), |r| {
        clean_and(r, &["loc-wal"], Some("design.fault=pair-first"))
    }),
    Statement::new("loc-in-order-commit", Some("loc.hole-skipped"), |r| {
        clean_and(r, &["loc-wal", "loc-kiln"], None)
    }),
    Statement::new("loc-no-partial-transaction", Some("loc.log-emptied-first"), |r| {
        clean_and(r, &["s-wal", "h-wal", "ec-wal", "loc-wal", "kiln", "loc-kiln"], None)
    }),
    Statement::rule(&loc::ONLY_LAST_VERSIONS, |_| LOC.shows(&loc::ONLY_LAST_VERSIONS)),
    Statement::new("loc-atomic-groups", Some("loc.group-not-atomic"), |r| {
        clean_and(r, &["loc-wal"], Some("design.group_atomic=false"))
    }),
    Statement::new("loc-in-place-after-log", Some("loc.in-place-early"), |r| {
        clean_and(r, &["loc-wal", "ec-wal"], Some("design.fault=in-place-early"))
    }),
];

const LOC: Preset = Preset("loc");

/// Programs whose operations meet in a few lines.
const SMALL: [(&str, &[&str]); 3] = [
    ("sps", &["program.sps.entries=24", "program.sps.swaps=2"]),
    (
        "hash",
        &[
            "program.hash.buckets=7",
            "program.hash.keys=24",
            "program.hash.preload=8",
        ],
    ),
    ("rbtree", &["program.rbtree.keys=40", "program.rbtree.preload=20"]),
];

/// Lines leave small caches early; on large ones the window's transactions meet in them.
const SMALL_CACHES: [&str; 3] = ["l1.size=1KiB", "l2.size=2KiB", "llc.size=4KiB"];

/// A small run of which every crash point is examined.
fn small(design: &str, program: &str, sets: &[&str]) -> Result<RunResult, String> {
    let request = Request {
        program: program.into(),
        design: design.into(),
        machine: "loc".into(),
        ops: 60,
        warmup: 0,
        sets: sets.iter().map(|s| (*s).to_owned()).collect(),
        check: true,
        budget: Some(20_000),
        ..Request::default()
    };
    fencepost_run::run::run(&request).map_err(|e| format!("{program} on {design}: {e}"))
}

/// The experiment's runs are clean; so are small ones of each of the designs, at every crash point, in the very configuration
/// in which the rule broken on purpose, where it can be broken by a setting, is noticed on at least one program.
fn clean_and(runs: &Runs, points: &[&str], broken: Option<&str>) -> Result<String, String> {
    let large = all_clean(runs, "E25", points)?;
    let (mut seen, mut total, mut convicted) = (0, 0, Vec::new());
    let caches = match broken {
        Some(b) if b.ends_with("early") => &SMALL_CACHES[..],
        _ => &[],
    };
    for (program, sizes) in SMALL {
        let sets: Vec<&str> = sizes.iter().chain(caches).copied().collect();
        for design in points {
            let r = small(design, program, &sets)?;
            let check = r.check.as_ref().ok_or("the run was not checked")?;
            if check.violated() {
                let why = check.witnesses.first().map_or("", |w| w.why.as_str());
                return Err(format!("{program} on {design}: {why}"));
            }
            (seen, total) = (seen + check.points, total + check.points_total);
        }
        if let Some(broken) = broken {
            let sets: Vec<&str> = sets.iter().copied().chain([broken]).collect();
            let r = small(points[0], program, &sets)?;
            if r.check.as_ref().is_some_and(Check::violated) {
                convicted.push(program);
            }
        }
    }
    let small = format!("{large}; small runs: {seen} of {total} crash points recovered");
    match broken {
        None => Ok(small),
        Some(broken) if convicted.is_empty() => Err(format!("`{broken}` goes unnoticed")),
        Some(broken) => Ok(format!("{small}; with `{broken}` {} convicted", convicted.join(", "))),
    }
}

/// One block of eight in a block group is metadata.
fn metadata_share(_: &Runs) -> Result<String, String> {
    let share = fencepost_designs::loc::log::format::metadata_share() * 100.0;
    let costs = cost::cost(Some("loc-wal"), "loc", &[]).map_err(|e| e.to_string())?;
    let area = costs.iter().flat_map(|b| &b.items).any(|i| i.what == "memory log area");
    if share == 12.5 && area {
        Ok(format!("{share} % of the log area"))
    } else {
        Err(format!("{share} %"))
    }
}

/// Nodes of the B+ tree hold 200 pairs of 8-byte keys and 4-byte values in 4 KB.
fn bplustree_node(runs: &Runs) -> Result<String, String> {
    let ran = runs.by_cell.keys().any(|c| c.program == "bplustree");
    let fields = fencepost_run::config::find_program("bplustree")
        .map_err(|e| e.to_string())?
        .fields;
    let value = |name: &str| fields.iter().find(|f| f.name == name).map(|f| f.default.clone());
    match (ran, value("pairs")) {
        (true, Some(pairs)) if pairs == "200" => Ok("bplustree ran with 200 pairs a node".into()),
        (_, pairs) => Err(format!("bplustree ran: {ran}; pairs a node: {pairs:?}")),
    }
}
