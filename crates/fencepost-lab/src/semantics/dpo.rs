//! The rules of delegated and synchronous ordering.

use super::{checked, coalescing, faulty_and_right, graph, litmus, pmem, small};
use crate::experiment::runs::Runs;
use crate::experiment::semantics::SemanticCheck;
use fencepost_contract::{ContractKind, Grain};

/// Every check of this paper.
pub const CHECKS: &[SemanticCheck] = &[
    SemanticCheck {
        name: "dpo-persist-grain",
        run: persist_grain,
    },
    SemanticCheck {
        name: "dpo-strict-persistency-conformance",
        run: conformance,
    },
    SemanticCheck {
        name: "dpo-cumulativity",
        run: cumulativity,
    },
    SemanticCheck {
        name: "dpo-coherence-order",
        run: coherence_order,
    },
    SemanticCheck {
        name: "dpo-reorder-only-within-an-epoch",
        run: |_| faulty_and_right("delegated", "epoch-boundary-skipped"),
    },
    SemanticCheck {
        name: "dpo-no-epoch-deadlock",
        run: no_deadlock,
    },
    SemanticCheck {
        name: "dpo-no-forbidden-outcome",
        run: |_| litmus::no_forbidden_outcome(),
    },
    SemanticCheck {
        name: "dpo-coalescing-rule",
        run: |_| coalescing::three_conditions(),
    },
    SemanticCheck {
        name: "dpo-no-writeback-to-pm",
        run: no_writeback,
    },
    SemanticCheck {
        name: "dpo-pcommit-waits-for-all",
        run: |_| faulty_and_right("so", "pcommit-ignores-others"),
    },
    SemanticCheck {
        name: "dpo-clwb-drops-permission",
        run: clwb_drops_permission,
    },
    SemanticCheck {
        name: "dpo-pwq-needs-no-pcommit",
        run: pwq_needs_no_pcommit,
    },
    SemanticCheck {
        name: "dpo-full-buffer-blocks-l1",
        run: full_buffer,
    },
];

/// Persist order equals volatile memory order: every run of delegated ordering conforms, and recovery survives every
/// prefix of what became durable.
fn conformance(runs: &Runs) -> Result<String, String> {
    let (mut n, mut points, mut reordered) = (0, 0, 0);
    for (name, _, check) in checked(runs, "E05", &["delegated", "delegated-merge"]) {
        if check.violated() {
            let why = check.witnesses.first().map_or("", |w| w.why.as_str());
            return Err(format!("{name}: {why}"));
        }
        n += 1;
        points += check.points;
        reordered += check.reordered;
    }
    match (n, reordered) {
        (0, _) => Err("no checked run of delegated ordering".into()),
        (_, 0) => Err("no run ever reordered unordered persists: the check cannot fire".into()),
        _ => Ok(format!(
            "{n} runs conform to rcbsp, {points} crash points recovered, {reordered} allowed reorderings seen"
        )),
    }
}

/// On the persistent write queue, flush and fence suffice.
fn pwq_needs_no_pcommit(runs: &Runs) -> Result<String, String> {
    let (mut n, mut points) = (0, 0);
    for (name, r, check) in checked(runs, "E05-pwq", &["so-adr"]) {
        let pcommits = r.counters.get("design.pcommits").copied().unwrap_or(0);
        if check.violated() || pcommits > 0 {
            return Err(format!("{name}: {} violations, {pcommits} pcommits", check.violations));
        }
        n += 1;
        points += check.points;
    }
    if n == 0 {
        Err("no checked run".into())
    } else {
        Ok(format!("{n} runs without pcommit, {points} crash points recovered"))
    }
}

/// Aligned 8-byte words become durable whole; nothing larger does.
fn persist_grain(_: &Runs) -> Result<String, String> {
    let (word, byte) = (
        graph::values_of_one_store(Grain::Word),
        graph::values_of_one_store(Grain::Byte),
    );
    let text =
        format!("after one 8-byte store a word has {word} possible values; at a grain of 1 byte it would have {byte}");
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
    faulty_and_right("delegated", "drain-ignores-dependences").map(|seen| {
        format!(
            "Figure 1: {} crash states, none with Z and without X, Y and Z in either order; {seen}",
            dependent.len()
        )
    })
}

/// Words never go back to older values: coherence is part of conformance, on every checked run.
fn coherence_order(runs: &Runs) -> Result<String, String> {
    let backwards = graph::backwards_is_refused();
    backwards.map_err(|e| format!("a log that goes back is not refused: {e}"))?;
    let (mut n, mut events) = (0, 0);
    for (name, r, check) in checked(runs, "E05", &["delegated", "delegated-merge"]) {
        if check.conforms != Some(true) {
            return Err(name);
        }
        n += 1;
        events += r.durable_events;
    }
    if n == 0 {
        Err("no checked run".into())
    } else {
        Ok(format!(
            "{events} durable events of {n} runs in coherence order; a log that goes back is refused"
        ))
    }
}

/// Persist buffers of one entry and a write queue of one still drain, with dependences among eight threads.
fn no_deadlock(_: &Runs) -> Result<String, String> {
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
            "4 runs with every queue of size one drained; {dependences} dependences between cores"
        ))
    }
}

/// Lines of persistent memory that leave a small last level are dropped: nothing but persist buffers writes.
fn no_writeback(_: &Runs) -> Result<String, String> {
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

/// A store to a line that clwb wrote back pays another bus transaction; keeping permission saves it.
fn clwb_drops_permission(_: &Runs) -> Result<String, String> {
    let grants = |design: &str, sets: &[&str]| {
        small("cq", design, "pwq", 1, sets).map(|r| r.counters.get("bus_grants").copied().unwrap_or(0))
    };
    let (so, shared) = (
        grants("so-adr", &[])?,
        grants("x86-adr", &["design.clwb_keeps=shared"])?,
    );
    let exclusive = grants("x86-adr", &["design.clwb_keeps=exclusive"])?;
    let text = format!(
        "bus transactions of one thread: {so} with so-adr; {shared} and {exclusive} on the x86 paths with clwb giving up and keeping permission"
    );
    if shared > exclusive && so > exclusive {
        Ok(text)
    } else {
        Err(text)
    }
}

/// With one entry the L1 of a lone thread is blocked; with more than it ever fills it is not.
fn full_buffer(_: &Runs) -> Result<String, String> {
    let blocked = |entries: u32| {
        let sets = [
            format!("design.entries={entries}"),
            format!("design.fences={}", entries.div_ceil(2)),
        ];
        let r = small("cq", "delegated", "pwq", 1, &sets.each_ref().map(String::as_str))?;
        let stall = |c: &str| r.stalls.get(c).copied().unwrap_or(0);
        let total = (r.busy_ps + r.stalls.values().sum::<u64>()).max(1);
        let full = stall("persist-buffer-full") + stall("fence-slots") + stall("l1-blocked");
        Ok::<f64, String>(100.0 * full as f64 / total as f64)
    };
    let (one, many) = (blocked(1)?, blocked(64)?);
    let text = format!("blocked by a full persist buffer: {one:.1} % of thread time with 1 entry, {many:.1} % with 64");
    if one > 0.0 && many == 0.0 { Ok(text) } else { Err(text) }
}
