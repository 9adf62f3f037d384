//! The rules of delegated and synchronous ordering.

use crate::experiment::runs::Runs;
use crate::experiment::statement::Statement;
use crate::statements::conforming::{all_clean, checked, faulty_and_right, faulty_and_right_on, pmem, small};
use crate::statements::preset::Preset;
use crate::statements::{graph, litmus};
use fencepost_contract::{ContractKind, Grain};
use fencepost_designs::statements::dpo;

/// Every statement of this paper.
pub(crate) const STATEMENTS: &[Statement] = &[
    Statement::rule(&dpo::PERSIST_GRAIN, persist_grain),
    Statement::new(
        "dpo-strict-persistency-conformance",
        Some("delegated.drain-ignores-dependences"),
        conformance,
    ),
    Statement::rule(&dpo::CUMULATIVITY, cumulativity),
    Statement::rule(&dpo::COHERENCE_ORDER, coherence_order),
    Statement::new("dpo-reorder-only-within-an-epoch", Some("memory.epoch-passed"), |_| {
        faulty_and_right("delegated", "epoch-boundary-skipped")
    }),
    Statement::new(
        "dpo-no-epoch-deadlock",
        Some("delegated.waits-for-whole-epochs"),
        no_deadlock,
    ),
    Statement::new(
        "dpo-no-forbidden-outcome",
        Some("delegated.epoch-boundary-skipped"),
        |_| litmus::no_forbidden_outcome(),
    ),
    Statement::rule(&dpo::COALESCING, |_| DPO.shows(&dpo::COALESCING)),
    Statement::rule(&dpo::NO_WRITEBACK, no_writeback),
    Statement::rule(&dpo::PCOMMIT, |_| {
        let by_hand = DPO.shows(&dpo::PCOMMIT)?;
        Ok(format!(
            "{by_hand}; {}",
            faulty_and_right("so", "pcommit-ignores-others")?
        ))
    }),
    Statement::rule(&dpo::CLWB, |_| DPO.shows(&dpo::CLWB)),
    Statement::new(
        "dpo-pwq-needs-no-pcommit",
        Some("so.sfence-ignores-flushes"),
        pwq_needs_no_pcommit,
    ),
    Statement::rule(&dpo::FULL_BUFFER, |_| DPO.shows(&dpo::FULL_BUFFER)),
];

const DPO: Preset = Preset("dpo");

/// Persist order equals volatile memory order: every run of delegated ordering conforms, and recovery survives every
/// prefix of what became durable; with dependences ignored the same small runs are convicted.
fn conformance(runs: &Runs) -> Result<String, String> {
    let small = faulty_and_right("delegated", "drain-ignores-dependences")?;
    let points = ["delegated", "delegated-merge"];
    let clean = all_clean(runs, "E05", &points)?;
    let (mut any, mut reordered) = (false, 0);
    for (_, _, check) in checked(runs, "E05", &points) {
        any = true;
        reordered += check.reordered;
    }
    match (any, reordered) {
        (true, 0) => Err("no run ever reordered unordered persists: the check cannot fire".into()),
        _ => Ok(format!("{clean}, {reordered} allowed reorderings seen; {small}")),
    }
}

/// On the persistent write queue, flush and fence suffice; without waiting for the flushes they do not.
fn pwq_needs_no_pcommit(runs: &Runs) -> Result<String, String> {
    let small = faulty_and_right_on("pwq", "so-adr", "sfence-ignores-flushes")?;
    for (name, r, _) in checked(runs, "E05-pwq", &["so-adr"]) {
        let pcommits = r.counters.get("design.pcommits").copied().unwrap_or(0);
        if pcommits > 0 {
            return Err(format!("{name}: {pcommits} pcommits"));
        }
    }
    let clean = all_clean(runs, "E05-pwq", &["so-adr"])?;
    Ok(format!("without pcommit {clean}; {small}"))
}

/// Aligned 8-byte words become durable whole; nothing larger does.
fn persist_grain(_: &Runs) -> Result<String, String> {
    let (word, byte) = (
        graph::values_of_one_store(Grain::Word),
        graph::values_of_one_store(Grain::Byte),
    );
    let seen = DPO.shows(&dpo::PERSIST_GRAIN)?;
    let text = format!(
        "after one 8-byte store a word has {word} possible values; at a grain of 1 byte it would have {byte}; {seen}"
    );
    if (word, byte) == (2, 256) { Ok(text) } else { Err(text) }
}

/// The paper's Figure 1: X; FENCE; Y on one core, a read of Y and a Z that depends on it on another. X persists before Z,
/// Y and Z are unordered; without the dependence X and Z are too. Hardware that ignores dependences between cores is
/// convicted.
fn cumulativity(_: &Runs) -> Result<String, String> {
    let (dependent, free) = (
        graph::figure_one(ContractKind::Rcbsp, true),
        graph::figure_one(ContractKind::Rcbsp, false),
    );
    if let Some(s) = dependent.iter().find(|s| s.z && !s.x) {
        return Err(format!("Z durable without X is allowed: {s:?}"));
    }
    if !(dependent.iter().any(|s| s.y && !s.z) && dependent.iter().any(|s| s.z && !s.y)) {
        return Err(format!("Y and Z are ordered: {dependent:?}"));
    }
    if !free.iter().any(|s| s.z && !s.x) {
        return Err(format!("X and Z are ordered without a dependence: {free:?}"));
    }
    DPO.shows(&dpo::CUMULATIVITY)?;
    faulty_and_right("delegated", "drain-ignores-dependences").map(|seen| {
        format!(
            "Figure 1: {} crash states, none with Z and without X, Y and Z in either order; {seen}",
            dependent.len()
        )
    })
}

/// Words never go back to older values: stores of two cores to one line persist in coherence order.
fn coherence_order(runs: &Runs) -> Result<String, String> {
    let backwards = graph::backwards_is_refused();
    backwards.map_err(|e| format!("a log that goes back is not refused: {e}"))?;
    let handed = DPO.shows(&dpo::COHERENCE_ORDER)?;
    let clean = all_clean(runs, "E05", &["delegated", "delegated-merge"])?;
    Ok(format!("{handed}; {clean}; a log that goes back is refused"))
}

/// Persist buffers of one entry and a write queue of one still drain with dependences among eight threads, and so do threads
/// that store to the same lines in opposite orders within one epoch.
fn no_deadlock(_: &Runs) -> Result<String, String> {
    let crossing = litmus::crossing_epochs_drain()?;
    let tiny = ["design.entries=1", "design.fences=1", "pm.controller.write_queue=1"];
    let mut dependences = 0;
    for program in ["cq", "hash"] {
        for design in ["delegated", "delegated-merge"] {
            let r = small(program, design, "pcm", 8, &tiny)?;
            dependences += r.counters.get("design.dependences").copied().unwrap_or(0);
        }
    }
    if dependences == 0 {
        Err("no dependence between cores arose".into())
    } else {
        Ok(format!(
            "{crossing}; 4 of 4 programs with every queue of size one drained; {dependences} dependences between cores"
        ))
    }
}

/// Lines of persistent memory that leave a small last level are dropped: nothing but persist buffers writes.
fn no_writeback(_: &Runs) -> Result<String, String> {
    DPO.shows(&dpo::NO_WRITEBACK)?;
    let caches = ["l1.size=4KiB", "llc.size=16KiB", "program.entries=4096"];
    let (delegated, volatile) = (
        small("sps", "delegated", "pcm", 8, &caches)?,
        small("sps", "volatile", "pcm", 8, &caches)?,
    );
    let causes = pmem(&delegated)?;
    let dropped = delegated.counters.get("design.dropped").copied().unwrap_or(0);
    let others: u64 = causes.iter().filter(|c| *c.0 != "persist").map(|c| c.1).sum();
    match (others, dropped, volatile.pm_writes) {
        (0, 1.., 1..) => Ok(format!(
            "{dropped} dirty lines left the last level and none was written; the volatile run wrote {}",
            volatile.pm_writes
        )),
        _ => Err(format!(
            "{others} writes not by persist buffers, {dropped} lines dropped, volatile wrote {}",
            volatile.pm_writes
        )),
    }
}
