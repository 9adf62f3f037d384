//! The rules of Themis, and its trends.

use crate::experiment::measured::ratios;
use crate::experiment::runs::Runs;
use crate::experiment::statement::{Programs, Statement};
use crate::statements::conforming::checked;
use crate::statements::preset::Preset;
use fencepost_designs::statements::themis;
use fencepost_run::cost;
use fencepost_run::crash::{CrashRequest, crash};
use fencepost_run::request::Request;
use fencepost_run::result::{Histogram, RunResult};
use fencepost_run::run::FENCE_DISTANCE;
use std::collections::BTreeMap;

/// Every statement of this paper.
pub(crate) const STATEMENTS: &[Statement] = &[
    Statement {
        name: "thm-near-ideal",
        broken_by: None,
        programs: Programs::OneRefutes,
        reads: &["E06"],
        run: |r| apart(r, "ideal"),
    },
    Statement {
        programs: Programs::OneRefutes,
        reads: &["E06"],
        ..Statement::rule(&themis::AT_L1, at_l1)
    },
    Statement {
        name: "thm-pointer-width",
        broken_by: None,
        programs: Programs::AllCount,
        reads: &["E12"],
        run: pointer_width,
    },
    Statement {
        name: "thm-transaction-size",
        broken_by: None,
        programs: Programs::OneRefutes,
        reads: &["E13-1", "E13-2", "E13-8"],
        run: transaction_size,
    },
    Statement::new("thm-hw-pointer-storage", None, pointer_storage),
    Statement::rule(&themis::NT_BEFORE_TEMPORAL, nt_before_temporal),
    Statement::rule(&themis::OTHER_ORDERINGS, |_| THEMIS.shows(&themis::OTHER_ORDERINGS)),
    Statement::rule(&themis::ACROSS_THREADS, |_| THEMIS.shows(&themis::ACROSS_THREADS)),
    Statement::rule(&themis::FOUR_USES, |_| THEMIS.shows(&themis::FOUR_USES)),
    Statement::rule(&themis::VOLATILE_EXEMPT, |_| THEMIS.shows(&themis::VOLATILE_EXEMPT)),
    Statement {
        name: "thm-stores-per-transaction",
        broken_by: None,
        programs: Programs::OneSuffices,
        reads: &["E06"],
        run: stores_per_transaction,
    },
    Statement::rule(&themis::IDEAL, ideal_convicted),
];
const THEMIS: Preset = Preset("themis");
const MEDIA: &str = "themis-pcm";
/// Speedups that differ by at most so many percentage points count as close (fixed beforehand).
const POINTS: f64 = 3.0;

/// Speedup over the baseline in percent, by program.
fn speedups(runs: &Runs, tag: &str, base: &str, point: &str) -> Vec<(String, f64)> {
    let ratio = ratios(runs, tag, [&base.to_owned(), &point.to_owned()], MEDIA);
    ratio.into_iter().map(|(p, r)| (p, (r - 1.0) * 100.0)).collect()
}

/// Themis and another design have nearly the same speedup over the baseline, on every program.
fn apart(runs: &Runs, other: &str) -> Result<String, String> {
    let (ours, theirs) = (
        speedups(runs, "E06", "baseline", "themis"),
        speedups(runs, "E06", "baseline", other),
    );
    let apart: Vec<(String, f64)> = (ours.iter())
        .filter_map(|(p, a)| theirs.iter().find(|t| t.0 == *p).map(|t| (p.clone(), (a - t.1).abs())))
        .collect();
    let text = apart
        .iter()
        .map(|(p, d)| format!("{p} {d:.2}"))
        .collect::<Vec<_>>()
        .join(", ");
    let text = format!("percentage points between themis and {other}: {text}");
    if !apart.is_empty() && apart.iter().all(|a| a.1 <= POINTS) {
        Ok(text)
    } else {
        Err(text)
    }
}

/// Why the two levels agree so well.
const HOLLOW: &str = "both hold flushed lines back at the first level, and these programs flush every line that they log: only evicted \
                      lines can tell the two apart";

/// Order at the L1 costs as little as at the last level, in a handwritten program and in the experiment's.
fn at_l1(runs: &Runs) -> Result<String, String> {
    let by_hand = THEMIS.shows(&themis::AT_L1)?;
    match runs.by_cell.is_empty() {
        true => Ok(by_hand),
        // Said in the row: the agreement is hollow where nothing is evicted.
        false => apart(runs, "themis-llc").map(|text| format!("{text}; {HOLLOW}")),
    }
}

/// Pointers of 4 to 10 bits: mean speedups within two points.
fn pointer_width(runs: &Runs) -> Result<String, String> {
    let means: Vec<f64> = (["bits-4", "bits-6", "bits-8", "bits-10"].iter())
        .filter_map(|p| {
            let over = ratios(runs, "E12", [&"bits-6".to_owned(), &(*p).to_owned()], MEDIA);
            (!over.is_empty()).then(|| over.iter().map(|r| (r.1 - 1.0) * 100.0).sum::<f64>() / over.len() as f64)
        })
        .collect();
    let spread =
        means.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b)) - means.iter().fold(f64::INFINITY, |a, b| a.min(*b));
    let text = format!("mean speedups over 6 bits spread over {spread:.2} points");
    if means.len() == 4 && spread <= 2.0 {
        Ok(text)
    } else {
        Err(text)
    }
}

/// Speedup grows with the stores of a transaction, in every program that does several updates in one.
fn transaction_size(runs: &Runs) -> Result<String, String> {
    let mut chains: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for tag in ["E13-1", "E13-2", "E13-8"] {
        for (program, speedup) in speedups(runs, tag, "baseline", "themis") {
            chains.entry(program).or_default().push(speedup);
        }
    }
    let each: Vec<String> = chains.iter().map(|(p, c)| format!("{p} {c:.1?}")).collect();
    let text = format!(
        "speedup in % with 1, 2, 8 updates a transaction: {}; cq and rbtree do one at a time",
        each.join(", ")
    );
    let rises = |c: &Vec<f64>| c.len() == 3 && c.windows(2).all(|w| w[0] < w[1]);
    if chains.contains_key("sps") && chains.values().all(rises) {
        Ok(text)
    } else {
        Err(text)
    }
}

/// Log-data pairs, the paper's "stores of a transaction", per operation in runs of the baseline: the largest program exceeds
/// 100. Each pair has one fence between its halves, and the run counts what lies between these fences.
fn stores_per_transaction(runs: &Runs) -> Result<String, String> {
    let pairs = |r: &RunResult| {
        let distances = r.histograms.get(FENCE_DISTANCE).map_or(0, Histogram::count);
        distances as f64 / r.ops.max(1) as f64
    };
    let baseline = (runs.by_cell.iter()).filter(|(c, _)| c.tag == "E06" && c.point == "baseline");
    let sizes: Vec<(&str, f64)> = baseline.map(|(c, r)| (c.program.as_str(), pairs(r))).collect();
    let text = sizes
        .iter()
        .map(|(p, n)| format!("{p} {n:.1}"))
        .collect::<Vec<_>>()
        .join(", ");
    let text = format!("log-data pairs an operation: {text}");
    if sizes.iter().any(|s| s.0 == "sps" && s.1 > 100.0) {
        Ok(text)
    } else {
        Err(text)
    }
}

/// Pointers of 4, 6, 8, 10 bits cost 0.5, 0.75, 1, 1.25 KB per data cache of 64 KB; 6 bits are 1.2 %.
fn pointer_storage(_: &Runs) -> Result<String, String> {
    let mut seen = Vec::new();
    for (bits, kib) in [(4, 0.5), (6, 0.75), (8, 1.0), (10, 1.25)] {
        let set = [format!("design.pointer_bits={bits}")];
        let costs = cost::cost(Some("themis"), "themis", &set).map_err(|e| e.to_string())?;
        let tags = costs
            .iter()
            .flat_map(|b| &b.items)
            .find(|i| i.what.starts_with("tail pointers"));
        let found = tags.ok_or("no tail pointers among the storage costs")?.bits as f64 / 8192.0;
        if found != kib {
            return Err(format!("{bits} bits: {found} KB instead of {kib}"));
        }
        seen.push(format!("{bits} bits {found} KB"));
    }
    let share: f64 = 0.75 / 64.0 * 100.0;
    if (share * 10.0).round() != 12.0 {
        return Err(format!("6 bits are {share} % of the data cache"));
    }
    Ok(format!(
        "{}; 6 bits are {share:.2} % of the data cache",
        seen.join(", ")
    ))
}

/// Runs without the fence between log and data conform, also when the buffer is slow, and recover everywhere.
fn nt_before_temporal(runs: &Runs) -> Result<String, String> {
    let (mut n, mut points, mut switches) = (0, 0, 0);
    let by_hand = THEMIS.shows(&themis::NT_BEFORE_TEMPORAL)?;
    for (name, r, check) in checked(runs, "E14", &["themis", "themis-llc", "themis-slow"]) {
        if check.violated() {
            let why = check.witnesses.first().map_or("", |w| w.why.as_str());
            return Err(format!("{name}: {why}"));
        }
        n += 1;
        points += check.points;
        switches += r.counters.get("design.unfenced_switches").copied().unwrap_or(0);
    }
    let text =
        format!("{by_hand}; {n} runs with {switches} unfenced switches conform, {points} crash points recovered");
    if n == 0 || switches > 0 { Ok(text) } else { Err(text) }
}

/// The same programs without those fences on baseline hardware are convicted: each of them by a crash state that the contract
/// allows, and some within a run whose buffer is slow.
fn ideal_convicted(runs: &Runs) -> Result<String, String> {
    THEMIS.shows(&themis::IDEAL)?;
    let slow = ideal_in_a_run()?;
    let all: Vec<_> = checked(runs, "E14", &["ideal-slow"]).collect();
    if all.is_empty() {
        return Ok(slow);
    }
    for (name, r, _) in &all {
        if !by_contract(&r.program, "x86-ideal")? {
            return Err(format!("{name}: no crash state that px86 allows breaks it"));
        }
        if by_contract(&r.program, "x86-adr")? {
            return Err(format!("{} is broken with its fences too", r.program));
        }
    }
    let bad: Vec<&str> = (all.iter().filter(|c| c.2.violated()))
        .map(|c| c.1.program.as_str())
        .collect();
    let text = format!(
        "{slow}; {} programs convicted by contract, clean with their fences; in runs with a slow buffer: {}",
        all.len(),
        bad.join(", ")
    );
    if bad.is_empty() { Err(text) } else { Ok(text) }
}

/// A run of the array swaps on Ideal with a slow buffer is convicted, the same with fences is not.
fn ideal_in_a_run() -> Result<String, String> {
    let violated = |design: &str| {
        let request = Request {
            program: "sps".into(),
            design: design.into(),
            machine: "themis".into(),
            threads: Some(4),
            ops: 60,
            warmup: 0,
            sets: vec!["design.drain_delay=2us".into(), "program.sps.entries=1024".into()],
            check: true,
            ..Request::default()
        };
        let run = fencepost_run::run::run(&request).map_err(|e| format!("sps on {design}: {e}"))?;
        run.check
            .map(|c| c.violated())
            .ok_or_else(|| "the run was not checked".to_owned())
    };
    match (violated("x86-ideal")?, violated("x86-adr")?) {
        (true, false) => Ok("sps with a slow buffer is convicted on x86-ideal and clean on x86-adr".into()),
        (ideal, fenced) => Err(format!(
            "sps with a slow buffer: convicted on x86-ideal {ideal}, on x86-adr {fenced}"
        )),
    }
}

/// Whether a crash state that the design's contract allows breaks a small run of the program.
fn by_contract(program: &str, design: &str) -> Result<bool, String> {
    let request = Request {
        program: program.into(),
        design: design.into(),
        machine: "themis".into(),
        threads: Some(2),
        ops: 3,
        sets: vec!["program.rbtree.keys=64".into(), "program.rbtree.preload=32".into()],
        ..Request::default()
    };
    let explored = crash(&CrashRequest {
        request,
        contract: None,
        budget: Some("20000".into()),
        schedules: Some(1),
        doubt: None,
        recovery_fails: true,
        line_order: None,
        grain: fencepost_run::crash::Grain::Word,
        small: false,
    });
    explored
        .map(|c| c.violated())
        .map_err(|e| format!("{program} on {design}: {e}"))
}
