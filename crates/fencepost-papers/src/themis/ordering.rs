//! The ordering rules of section III, each seen to hold where the paper says so and to be broken where it says that a fence is
//! needed, on the paper's machine.

use crate::statements::paths::{FIRST, Paths, SECOND, body, dram, nt_store, persist, pm, store};
use fencepost_kernel::{Fence, LineAddr, Mem, Val};
use fencepost_machine::seam::Cause;
use fencepost_machine::{RunReport, SimMem, ThreadBody};
use std::cmp::Ordering;

const DESIGNS: [&str; 2] = ["themis", "themis-llc"];

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

fn expect(order: Ordering, wanted: Ordering, what: &str) -> Result<(), String> {
    match (order == wanted, wanted) {
        (true, _) => Ok(()),
        (false, Ordering::Less) => Err(format!("{what}: persisted out of order although fenced")),
        (false, _) => Err(format!("{what}: never seen out of order without its fence")),
    }
}

/// A non-temporal store, a temporal one and its write-back, with no fence between them, behind a buffer slowed down by 3 us.
fn unfenced(design: &str) -> Result<Ordering, String> {
    let thread = body(|m| {
        nt_store(m, FIRST);
        store(m, SECOND);
        persist(m, SECOND);
    });
    Paths::slowed(design, "3us")?.order(vec![thread])
}

/// Equation 3: on Themis they persist in order; on the same hardware without its tags they do not.
pub fn free_order() -> Result<String, String> {
    for design in DESIGNS {
        if unfenced(design)? != Ordering::Less {
            return Err(format!("{design}: a temporal store overtook an older non-temporal one"));
        }
    }
    match unfenced("x86-ideal")? {
        Ordering::Greater => {
            Ok("nt-store then store persist in order with no fence; without the tags they do not".into())
        }
        _ => Err("the order is kept without any mechanism: the test cannot fail".into()),
    }
}

/// Equations 1, 2 and 4 still need what they need on x86: without it the reordering is seen, with it never.
pub fn other_orderings() -> Result<String, String> {
    for design in DESIGNS {
        for (what, run) in PAIRS {
            let go = |fenced| Paths::slowed(design, "50ns")?.order(vec![body(move |m| run(m, fenced))]);
            expect(go(false)?, Ordering::Greater, &format!("{design}, {what}"))?;
            expect(go(true)?, Ordering::Less, &format!("{design}, {what}"))?;
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
fn across(fenced: bool) -> Vec<ThreadBody> {
    let writer = body(move |m| {
        nt_store(m, FIRST);
        if fenced {
            m.fence(Fence::Sfence);
        }
        m.store_release(dram(0), Val::lit(1));
    });
    let reader = body(|m| {
        while m.load_acquire(dram(0)).v == 0 {}
        store(m, SECOND);
        persist(m, SECOND);
    });
    vec![writer, reader]
}

/// Between threads, non-temporal to temporal needs a fence on the first one.
pub fn across_threads() -> Result<String, String> {
    for design in DESIGNS {
        let go = |fenced| Paths::slowed(design, "3us")?.order(across(fenced));
        expect(go(false)?, Ordering::Greater, &format!("{design}, across threads"))?;
        expect(go(true)?, Ordering::Less, &format!("{design}, across threads"))?;
    }
    Ok(
        "a synchronised thread's temporal store overtakes the first thread's non-temporal one, unless that was fenced"
            .into(),
    )
}

/// Resets after so many entries of non-temporal stores, and how long they held the thread up.
fn resets(design: &str, sets: &[String], entries: u64) -> Result<(u64, u64), String> {
    let thread = body(move |m| (0..entries).for_each(|line| nt_store(m, line)));
    let r = Paths::new(design, sets)?.run(vec![thread])?;
    let wraps = r.design_counts[fencepost_designs::x86::stat::WRAPS];
    Ok((wraps, r.hw_threads[0].account.stalled(Cause::WcbWrap).0))
}

/// Six-bit pointers over 16 entries: forced drain and reset after exactly four full uses; the baseline never resets.
pub fn four_uses() -> Result<String, String> {
    for name in DESIGNS {
        for (entries, wanted) in [(15, 0), (63, 0), (64, 1), (127, 1), (128, 2), (640, 10)] {
            let (wraps, held_up) = resets(name, &[], entries)?;
            // The last entry may be the one that fills the pointers: then nothing waits behind it.
            if wraps != wanted || (held_up == 0) != (entries <= 64) {
                return Err(format!(
                    "{name}: {entries} entries reset the pointers {wraps} times, not {wanted}"
                ));
            }
        }
        let (wraps, _) = resets(name, &[format!("design.{name}.pointer_bits=4")], 640)?;
        if wraps != 40 {
            return Err(format!("{name}: four-bit pointers were reset {wraps} times in 40 uses"));
        }
    }
    match resets("x86-adr", &[], 640)? {
        (0, 0) => {
            Ok("16 entries, 6-bit pointers: one reset every 4 full uses (10 in 640 entries); 4 bits: every use".into())
        }
        (wraps, _) => Err(format!(
            "the baseline has no wrap bits, yet reset its pointers {wraps} times"
        )),
    }
}

/// Forty lines pushed through tiny caches behind one non-temporal store that stays in its buffer for 9 us, or does not.
fn evictions(design: &str, line: fn(u64) -> fencepost_kernel::At<u32>, slow: bool) -> Result<RunReport, String> {
    let thread = body(move |m| {
        nt_store(m, 500);
        (0..40).for_each(|l| m.store(line(l), Val::lit(7)));
    });
    Paths::slowed(design, if slow { "9us" } else { "0ns" })?
        .with_tiny_caches()
        .run(vec![thread])
}

/// Volatile lines leave the cache at once whatever is outstanding; persistent ones wait.
pub fn volatile_exempt() -> Result<String, String> {
    let mut waited = Vec::new();
    for design in DESIGNS {
        let time = |line, slow| evictions(design, line, slow).map(|r| r.hw_threads[0].finished);
        let (fast, slow) = (time(dram, false)?, time(dram, true)?);
        if fast != slow {
            return Err(format!(
                "{design}: volatile lines took {slow} behind a slow entry, {fast} otherwise"
            ));
        }
        let r = evictions(design, pm, true)?;
        let delayed = r.design_counts[fencepost_designs::x86::stat::WRITEBACKS_DELAYED];
        let left = |r: &RunReport, l: LineAddr| r.log.records().iter().any(|w| w.line == l);
        if delayed == 0 || !left(&r, pm(0).line()) {
            return Err(format!("{design}: no persistent line waited, so nothing was exempt"));
        }
        waited.push(delayed);
    }
    Ok(format!(
        "40 volatile lines leave as fast behind an entry of 9 us as behind one of 0 ns; persistent lines that waited: {waited:?}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_rules_hold() {
        for check in [other_orderings, across_threads, four_uses, volatile_exempt] {
            check().unwrap();
        }
    }
    /// On the baseline's hardware the rule that Themis adds is broken by the very programs that show it.
    #[test]
    fn the_checks_can_fail() {
        assert_eq!(unfenced("themis"), Ok(Ordering::Less));
        assert_eq!(unfenced("x86-ideal"), Ok(Ordering::Greater));
        assert!(expect(Ordering::Less, Ordering::Greater, "x").is_err());
        assert!(expect(Ordering::Greater, Ordering::Less, "x").is_err());
        // The fault that forgets waiting lines breaks the contract in the run that counts them.
        let faulty = Paths::new(
            "themis",
            &[
                "design.themis.fault=overflow-forgets-wbb".into(),
                "design.themis.drain_delay=9us".into(),
            ],
        );
        let thread = body(|m| {
            (0..63).for_each(|l| nt_store(m, 500 + l));
            (0..3).for_each(|l| store(m, l));
            nt_store(m, 600);
            // Stores would wait for the reset; loads push the dirty lines out, once everything before has performed.
            m.store_release(dram(0), Val::lit(1));
            (20..40).for_each(|l| {
                let _ = m.load(pm(l));
            });
        });
        assert!(faulty.unwrap().with_tiny_caches().run(vec![thread]).is_err());
    }
}
