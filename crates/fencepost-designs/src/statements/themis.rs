//! The ordering rules of the Themis paper (section III), each seen to hold where it says so, and to be broken where it says that a
//! fence is needed.

use super::stage::{FIRST, SECOND, WORK, body, dram, nt_store, persist, pm, store, then};
use super::{Machines, Rule, Seen, Stage, expect};
use crate::x86::stat;
use fencepost_kernel::{At, Fence, LineAddr, Mem, Pm, Ps, Val};
use fencepost_machine::seam::Cause;
use fencepost_machine::{RunReport, SimMem, ThreadBody};
use std::cmp::Ordering;

/// Non-temporal before temporal needs no fence.
pub const NT_BEFORE_TEMPORAL: Rule = Rule {
    name: "thm-nt-before-temporal",
    broken_by: "themis.write-backs-go",
    holds: nt_before_temporal,
};
/// The three other orderings of a thread need what they need on x86.
pub const OTHER_ORDERINGS: Rule = Rule {
    name: "thm-other-orderings-need-fences",
    broken_by: "x86.sfence-ignores-flushes",
    holds: other_orderings,
};
/// Between threads, non-temporal before temporal needs a fence on the first one.
pub const ACROSS_THREADS: Rule = Rule {
    name: "thm-across-threads-needs-a-fence",
    broken_by: "x86.sfence-ignores-wcb",
    holds: across_threads,
};
/// After four full uses of the buffer's entries the pointers are reset.
pub const FOUR_USES: Rule = Rule {
    name: "thm-four-uses-per-reset",
    broken_by: "themis.pointers-reset-late",
    holds: four_uses,
};
/// Volatile lines leave without waiting.
pub const VOLATILE_EXEMPT: Rule = Rule {
    name: "thm-volatile-lines-exempt",
    broken_by: "themis.volatile-lines-wait",
    holds: volatile_exempt,
};
/// Where order is enforced matters little.
pub const AT_L1: Rule = Rule {
    name: "thm-l1-against-llc",
    broken_by: "themis.stores-wait",
    holds: at_l1,
};
pub use super::undo::IDEAL;
/// Every rule of this paper.
pub const RULES: &[Rule] = &[
    NT_BEFORE_TEMPORAL,
    OTHER_ORDERINGS,
    ACROSS_THREADS,
    FOUR_USES,
    VOLATILE_EXEMPT,
    AT_L1,
    IDEAL,
];

const DESIGNS: [&str; 2] = ["themis", "themis-llc"];

/// A design whose buffer is slowed down: an entry stays at least so long.
fn slowed(on: &dyn Machines, design: &str, delay: &str) -> Result<Stage, String> {
    on.with(design, &[&format!("design.{design}.drain_delay={delay}")])
}

/// How a line leaves, and the threads that make it do so.
type WayOut = (&'static str, fn() -> Vec<ThreadBody>);

/// Line FIRST takes the non-temporal path, line SECOND the temporal one, and leaves its core in one of five ways.
const WAYS_OUT: [WayOut; 5] = [
    ("flushed", || {
        vec![body(|m| {
            both(m);
            persist(m, SECOND);
        })]
    }),
    ("replaced", || {
        vec![body(|m| {
            both(m);
            (2..40).for_each(|line| m.store(pm(line), Val::lit(7)));
        })]
    }),
    ("flushed by another core", || then(both, |m| persist(m, SECOND))),
    ("taken by another core", || {
        then(both, |m| {
            m.store(pm(SECOND).field(8), Val::lit(9));
            persist(m, SECOND);
        })
    }),
    ("read by another core and flushed", || {
        then(both, |m| {
            let _ = m.load(pm(SECOND));
            persist(m, SECOND);
        })
    }),
];
fn both(m: &mut SimMem<'_>) {
    nt_store(m, FIRST);
    store(m, SECOND);
}

/// Equation 3: on Themis they persist in order, however the line leaves; on the same hardware without its tags they do not.
fn nt_before_temporal(on: &dyn Machines) -> Seen {
    for (how, threads) in WAYS_OUT {
        let go = |design: &str, delay: &str| slowed(on, design, delay)?.with_tiny_caches().order(threads());
        for (design, delay) in DESIGNS
            .iter()
            .flat_map(|d| ["0ns", "100ns", "3us"].map(|delay| (d, delay)))
        {
            expect(go(design, delay)? == Ordering::Less, || {
                format!("{design}: a temporal store, {how}, overtook an older non-temporal one")
            })?;
        }
        for design in ["x86-adr", "x86-ideal"] {
            expect(go(design, "3us")? == Ordering::Greater, || {
                format!("{design}, {how}: the order is kept without any mechanism: the test cannot fail")
            })?;
        }
    }
    Ok("nt-store then store persist in order with no fence; without the tags they do not".into())
}

/// Two stores of a thread, with what the x86 model puts between them or without it.
type Pair = (&'static str, fn(&mut SimMem<'_>, bool));

/// Equations 1, 4 and 2: temporal to temporal, temporal to non-temporal, non-temporal to non-temporal.
const PAIRS: [Pair; 3] = [
    ("temporal to temporal", |m, fenced| {
        store(m, FIRST);
        if fenced {
            persist(m, FIRST);
        }
        store(m, SECOND);
        persist(m, SECOND);
    }),
    ("temporal to non-temporal", |m, fenced| {
        store(m, FIRST);
        if fenced {
            persist(m, FIRST);
        }
        nt_store(m, SECOND);
        m.fence(Fence::Sfence);
    }),
    // The second store is combined into an older entry of its line, which goes first.
    ("non-temporal to non-temporal", |m, fenced| {
        m.nt_store(pm(SECOND).field(8), Val::lit(5));
        nt_store(m, FIRST);
        if fenced {
            m.fence(Fence::Sfence);
        }
        nt_store(m, SECOND);
    }),
];

/// Seen out of order without a fence, in order with it.
fn needs_its_fence(what: &str, go: impl Fn(bool) -> Result<Ordering, String>) -> Result<(), String> {
    expect(go(false)? == Ordering::Greater, || {
        format!("{what}: never seen out of order without its fence")
    })?;
    expect(go(true)? == Ordering::Less, || {
        format!("{what}: persisted out of order although fenced")
    })
}

/// Equations 1, 2 and 4 still need what they need on x86: without it the reordering is seen, with it never.
fn other_orderings(on: &dyn Machines) -> Seen {
    for design in DESIGNS.into_iter().chain(["x86-adr", "x86-ideal"]) {
        for (what, run) in PAIRS {
            let go = |fenced| slowed(on, design, "50ns")?.order(vec![body(move |m| run(m, fenced))]);
            needs_its_fence(&format!("{design}, {what}"), go)?;
        }
    }
    let pairs: Vec<&str> = PAIRS.iter().map(|p| p.0).collect();
    Ok(format!(
        "on {}: {} reordered without their fences, in order with them",
        DESIGNS.join(" and "),
        pairs.join(", ")
    ))
}

/// The first store of one thread, the second of another that was told by a volatile flag.
fn across_threads(on: &dyn Machines) -> Seen {
    for design in DESIGNS {
        let threads = |fenced| {
            let first = move |m: &mut SimMem<'_>| {
                nt_store(m, FIRST);
                if fenced {
                    m.fence(Fence::Sfence);
                }
            };
            then(first, |m| {
                store(m, SECOND);
                persist(m, SECOND);
            })
        };
        let go = |fenced| slowed(on, design, "3us")?.order(threads(fenced));
        needs_its_fence(&format!("{design}, across threads"), go)?;
    }
    Ok(
        "a synchronised thread's temporal store overtakes the first thread's non-temporal one, unless that was fenced"
            .into(),
    )
}

/// Resets after so many entries of non-temporal stores, and how long they held the thread up.
fn resets(on: &dyn Machines, design: &str, bits: Option<u32>, entries: u64) -> Result<(u64, Ps), String> {
    let thread = body(move |m| (0..entries).for_each(|line| nt_store(m, line)));
    let set = bits.map(|bits| format!("design.{design}.pointer_bits={bits}"));
    let sets: Vec<&str> = set.iter().map(String::as_str).collect();
    let r = on.with(design, &sets)?.run(vec![thread])?;
    let wraps = r.design_counts[stat::WRAPS];
    Ok((wraps, r.hw_threads[0].account.stalled(Cause::WcbWrap)))
}

/// Six-bit pointers over 16 entries: forced drain and reset after exactly four full uses; the baseline never resets.
fn four_uses(on: &dyn Machines) -> Seen {
    for name in DESIGNS {
        for (entries, wanted) in [(15, 0), (63, 0), (64, 1), (127, 1), (128, 2), (640, 10)] {
            let (wraps, held_up) = resets(on, name, None, entries)?;
            // The last entry may be the one that fills the pointers: then nothing waits behind it.
            expect(wraps == wanted && (held_up == Ps::ZERO) == (entries <= 64), || {
                format!("{name}: {entries} entries reset the pointers {wraps} times, not {wanted}")
            })?;
        }
        for (bits, wanted) in [(4, 40), (8, 2), (10, 0)] {
            let (wraps, _) = resets(on, name, Some(bits), 640)?;
            expect(wraps == wanted, || {
                format!("{name}: {bits}-bit pointers were reset {wraps} times in 40 uses, not {wanted}")
            })?;
        }
    }
    match resets(on, "x86-adr", None, 640)? {
        (0, Ps::ZERO) => {
            Ok("16 entries, 6-bit pointers: one reset every 4 full uses (10 in 640 entries); 4 bits: every use".into())
        }
        (wraps, _) => Err(format!(
            "the baseline has no wrap bits, yet reset its pointers {wraps} times"
        )),
    }
}

/// Forty lines pushed through tiny caches behind one non-temporal store that stays in its buffer for 9 us, or does not.
fn evictions(on: &dyn Machines, design: &str, line: fn(u64) -> At<u32>, slow: bool) -> Result<RunReport, String> {
    let thread = body(move |m| {
        nt_store(m, 500);
        (0..40).for_each(|l| m.store(line(l), Val::lit(7)));
    });
    slowed(on, design, if slow { "9us" } else { "0ns" })?
        .with_tiny_caches()
        .run(vec![thread])
}

/// Volatile lines leave the cache at once whatever is outstanding; persistent ones wait.
fn volatile_exempt(on: &dyn Machines) -> Seen {
    let mut waited = Vec::new();
    for design in DESIGNS {
        let time = |line, slow| evictions(on, design, line, slow).map(|r| r.hw_threads[0].finished);
        let (fast, slow) = (time(dram, false)?, time(dram, true)?);
        expect(fast == slow, || {
            format!("{design}: volatile lines took {slow} behind a slow entry, {fast} otherwise")
        })?;
        let r = evictions(on, design, pm, true)?;
        let delayed = r.design_counts[stat::WRITEBACKS_DELAYED];
        let left = |r: &RunReport, l: LineAddr| r.log.records().iter().any(|w| w.line == l);
        expect(delayed > 0 && left(&r, pm(0).addr.line()), || {
            format!("{design}: no persistent line waited, so nothing was exempt")
        })?;
        waited.push(delayed);
    }
    Ok(format!(
        "40 volatile lines leave as fast behind an entry of 9 us as behind one of 0 ns; persistent lines that waited: {waited:?}"
    ))
}

/// Undo-logged transactions of three threads, one after another: each of four records of a line each is followed by its data store.
/// `keeps_up`: on a memory without write pulse, where nobody waits for a busy bank.
fn transactions(on: &dyn Machines, design: &str, keeps_up: bool) -> Result<RunReport, String> {
    let mut stage = on.with(design, &[])?;
    if keeps_up {
        stage.spec.pm.media.write_pulse = Ps::ZERO;
    }
    let dialect = (stage.info.dialect)(stage.environment());
    let thread = move |t: u64| {
        body(move |m| {
            let mut p = Pm::new(m, dialect);
            let account = |k: u64, i: u64| pm(4000 * (t + 1) + (k * 7 + i * 13) % 64);
            for k in 0..TRANSACTIONS {
                for i in 0..4 {
                    let record = pm(1000 * (t + 1) + i);
                    (0..8).for_each(|w| p.log_store(record.field(8 * w), Val::lit(k << 8 | w)));
                    p.log_to_data();
                    p.m.store(account(k, i), Val::lit(k));
                    p.m.compute(WORK);
                }
                (0..4).for_each(|i| p.persist(account(k, i), 8));
                p.order();
                p.log_store(pm(1000 * (t + 1) + 9), Val::lit(k));
                p.order();
            }
        })
    };
    let report = stage.run((0..THREADS).map(thread).collect())?;
    // What is compared is the cost of order, not of sharing: each thread has lines of its own.
    expect(report.counters.invalidations == 0, || {
        format!("threads of {design} took lines from each other")
    })?;
    Ok(report)
}
const THREADS: u64 = 3;
const TRANSACTIONS: u64 = 120;

/// Enforcing order at the L1 takes as long as at the last level, with fewer fences than the baseline.
fn at_l1(on: &dyn Machines) -> Seen {
    let near = |a: Ps, b: Ps| a.0.abs_diff(b.0) * 100 <= 3 * a.0.max(b.0);
    for keeps_up in [false, true] {
        let time = |design: &str| transactions(on, design, keeps_up).map(|r| r.time);
        let (l1, llc) = (time("themis")?, time("themis-llc")?);
        expect(near(l1, llc), || {
            format!("transactions take {l1} with order at the L1, {llc} at the last level")
        })?;
    }
    let (base, l1) = (transactions(on, "x86-adr", true)?, transactions(on, "themis", true)?);
    // Four of six fences of a transaction stand between log and data.
    let all = THREADS * TRANSACTIONS;
    let fences = [base.counters.fences, l1.counters.fences].map(|f| f / all);
    let unfenced = [&base, &l1].map(|r| r.design_counts[stat::UNFENCED] / all);
    expect((fences, unfenced) == ([6, 2], [0, 4]), || {
        format!("fences of a transaction: {fences:?}; switches without one: {unfenced:?}")
    })?;
    let delays = &l1.histograms[0];
    let waited: u64 = delays.iter().filter(|d| *d.0 > 0).map(|d| d.1).sum();
    let counted = (delays.values().sum(), waited);
    let told = [stat::WRITEBACKS, stat::WRITEBACKS_DELAYED].map(|i| l1.design_counts[i]);
    expect(counted == (told[0], told[1]), || {
        format!("write-backs and those that waited: {counted:?} in the histogram, {told:?} as counted")
    })?;
    Ok("transactions take as long with order at the L1 as at the last level".into())
}
