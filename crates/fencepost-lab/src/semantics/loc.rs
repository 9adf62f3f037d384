//! The rules of loose-ordering consistency.

use super::all_clean;
use crate::cost;
use crate::experiment::runs::Runs;
use crate::experiment::semantics::SemanticCheck;
use crate::request::Request;
use crate::result::{Check, RunResult};

/// Every check of this paper.
pub const CHECKS: &[SemanticCheck] = &[
    SemanticCheck {
        name: "loc-metadata-share",
        run: metadata_share,
    },
    SemanticCheck {
        name: "loc-bplustree-node",
        run: bplustree_node,
    },
    SemanticCheck {
        name: "loc-count-based-commit",
        run: |r| all_clean(r, "E25", &["ec-wal"]),
    },
    SemanticCheck {
        name: "loc-dependency-pairs",
        run: |r| clean_but(r, &["loc-wal"], "design.fault=pair-first"),
    },
    SemanticCheck {
        name: "loc-in-order-commit",
        run: |r| all_clean(r, "E25", &["loc-wal", "loc-kiln"]),
    },
    SemanticCheck {
        name: "loc-no-partial-transaction",
        run: |r| all_clean(r, "E25", &["s-wal", "h-wal", "ec-wal", "loc-wal", "kiln", "loc-kiln"]),
    },
    SemanticCheck {
        name: "loc-only-last-versions",
        run: only_last_versions,
    },
    SemanticCheck {
        name: "loc-atomic-groups",
        run: |r| clean_but(r, &["loc-wal"], "design.group_atomic=false"),
    },
    SemanticCheck {
        name: "loc-in-place-after-log",
        run: |r| clean_but(r, &["loc-wal", "ec-wal"], "design.fault=in-place-early"),
    },
];

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

fn small(program: &str, sets: &[&str]) -> Result<RunResult, String> {
    let request = Request {
        program: program.into(),
        design: "loc-wal".into(),
        machine: "loc".into(),
        ops: 60,
        warmup: 0,
        sets: sets.iter().map(|s| (*s).to_owned()).collect(),
        check: true,
        ..Request::default()
    };
    crate::run::run(&request).map_err(|e| format!("{program} on loc-wal: {e}"))
}

/// The experiment's runs are clean, and the rule broken on purpose is noticed on at least one program.
fn clean_but(runs: &Runs, points: &[&str], broken: &str) -> Result<String, String> {
    let clean = all_clean(runs, "E25", points)?;
    let mut convicted = Vec::new();
    for (program, sizes) in SMALL {
        // Lines leave small caches early; on large ones the window's transactions meet in them.
        let caches = ["l1.size=1KiB", "l2.size=2KiB", "llc.size=4KiB"];
        let caches = if broken.ends_with("early") { &caches[..] } else { &[] };
        let sets: Vec<&str> = sizes.iter().chain(caches).copied().chain([broken]).collect();
        if small(program, &sets)?.check.as_ref().is_some_and(Check::violated) {
            convicted.push(program);
        }
    }
    if convicted.is_empty() {
        return Err(format!("`{broken}` goes unnoticed"));
    }
    Ok(format!("{clean}; with `{broken}` {} convicted", convicted.join(", ")))
}

/// One block of eight in a block group is metadata.
fn metadata_share(_: &Runs) -> Result<String, String> {
    let share = fencepost_designs::loc::cost::metadata_share() * 100.0;
    let bills = cost::cost(Some("loc-wal"), "loc", &[]).map_err(|e| e.to_string())?;
    let area = bills.iter().flat_map(|b| &b.items).any(|i| i.what == "memory log area");
    if share == 12.5 && area {
        Ok(format!("{share} % of the log area"))
    } else {
        Err(format!("{share} %"))
    }
}

/// Nodes of the B+ tree hold 200 pairs of 8-byte keys and 4-byte values in 4 KB.
fn bplustree_node(runs: &Runs) -> Result<String, String> {
    let ran = runs.by_cell.keys().any(|c| c.program == "bplustree");
    let fields = crate::config::find_program("bplustree")
        .map_err(|e| e.to_string())?
        .fields;
    let value = |name: &str| fields.iter().find(|f| f.name == name).map(|f| f.default.clone());
    match (ran, value("pairs")) {
        (true, Some(pairs)) if pairs == "200" => Ok("bplustree ran with 200 pairs a node".into()),
        (_, pairs) => Err(format!("bplustree ran: {ran}; pairs a node: {pairs:?}")),
    }
}

/// Blocks that a successor of the same window overwrites are never written to the log.
fn only_last_versions(_: &Runs) -> Result<String, String> {
    let blocks = |degree: u32| {
        let set = format!("design.speculation_degree={degree}");
        let r = small("cq", &[&set])?;
        let count = |name: &str| r.counters.get(name).copied().unwrap_or(0);
        Ok::<(u64, u64), String>((count("design.log_blocks"), count("design.blocks_merged")))
    };
    let ((one, merged_one), (many, merged)) = (blocks(1)?, blocks(16)?);
    let text =
        format!("log blocks of cq: {one} at degree 1 ({merged_one} merged), {many} at degree 16 ({merged} merged)");
    if merged_one == 0 && merged > 0 && many < one {
        Ok(text)
    } else {
        Err(text)
    }
}
