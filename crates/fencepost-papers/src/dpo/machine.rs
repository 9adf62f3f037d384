//! Rules of delegated and synchronous ordering as handwritten programs on the paper's machine.

use crate::statements::paths::{LATER, Paths, body, dram, persist, pm, store};
use fencepost_kernel::{Fence, Flush, Mem, Ps, Val};
use fencepost_machine::RunReport;

/// A design on preset `dpo`.
fn dpo(media: &str, design: &str, sets: &[&str]) -> Result<Paths, String> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    Paths::on("dpo", Some(media), design, &sets)
}
/// What a line's first word held, in the order in which it became durable.
fn values(report: &RunReport, line: u64) -> Vec<u64> {
    let records = report.log.records().iter();
    let of_line = records.filter(|r| r.line == pm(line).addr.line());
    of_line.map(|r| r.data.words[0]).collect()
}

/// Stores of eight differing halves to one word: each value that becomes durable is one of them, whole.
pub fn whole_words() -> Result<String, String> {
    const HALF: u64 = 1 << 32 | 1;
    let mut seen = 0;
    for media in ["pcm", "ddr3-1600", "pwq"] {
        let thread = body(|m| {
            for k in 1..=8 {
                m.store(pm(0), Val::lit(k * HALF));
                m.fence(Fence::Dmb);
            }
        });
        let durable = values(
            &dpo(media, "delegated", &["design.path_slot=60ns"])?.run(vec![thread])?,
            0,
        );
        if let Some(torn) = durable.iter().find(|v| **v % HALF != 0) {
            return Err(format!("{media}: the word {torn:#x} is torn"));
        }
        seen += durable.len();
    }
    match seen {
        0 => Err("nothing became durable".into()),
        n => Ok(format!("{n} durable words of the machine, none torn")),
    }
}

/// One core stores to a line behind other persists of its buffer, a second one, told by a volatile flag, overwrites it: the
/// newer value becomes durable last.
pub fn handed_over() -> Result<String, String> {
    for design in ["delegated", "delegated-merge"] {
        let writer = body(|m| {
            (1..6).for_each(|line| store(m, line));
            store(m, 0);
            m.store_release(dram(0), Val::lit(1));
        });
        let other = body(|m| {
            while m.load_acquire(dram(0)).v == 0 {}
            m.store(pm(0), Val::lit(2));
        });
        let sets = ["design.path_slot=200ns"];
        let durable = values(&dpo("pcm", design, &sets)?.run(vec![writer, other])?, 0);
        if durable.last() != Some(&2) || durable.is_sorted_by_key(|v| *v) == (durable.len() > 1 && durable[0] == 2) {
            return Err(format!("{design}: the line held {durable:?} in turn"));
        }
    }
    Ok("a line that two cores stored to holds the newer value last".into())
}

/// When a thread's `pcommit` is over, alone and beside an unrelated program that has 16 writes to another bank accepted.
pub fn unrelated_writes() -> Result<String, String> {
    const OTHER_BANK: u64 = 128;
    let finished = |writes: u64| {
        let committing = body(|m| {
            m.compute(LATER);
            store(m, OTHER_BANK);
            m.flush(pm(OTHER_BANK), Flush::Clwb);
            for fence in [Fence::Sfence, Fence::Pcommit, Fence::Sfence] {
                m.fence(fence);
            }
        });
        // Its lines were fetched long before the other's `pcommit`, and reach the controller just before it.
        let unrelated = body(move |m| {
            (0..writes).for_each(|line| store(m, line));
            m.compute(LATER);
            (0..writes).for_each(|line| m.flush(pm(line), Flush::Clwb));
        });
        let report = dpo("pcm", "so", &["pm.media.writes=through"])?.run(vec![committing, unrelated])?;
        Ok::<Ps, String>(report.hw_threads[0].finished)
    };
    let (alone, beside) = (finished(0)?, finished(16)?);
    let stall = beside.saturating_sub(alone);
    let text = format!("a pcommit beside 16 unrelated writes of another program ends {stall} later");
    if stall >= Ps::from_ns(1000) {
        Ok(text)
    } else {
        Err(text)
    }
}

/// Bus transactions of a store that follows a `clwb` of its line: one more than where `clwb` keeps write permission.
pub fn restores() -> Result<String, String> {
    let grants = |design: &str, sets: &[&str], times: u64| {
        let thread = body(move |m| {
            for _ in 0..times {
                store(m, 0);
                persist(m, 0);
            }
        });
        dpo("pwq", design, sets)?
            .run(vec![thread])
            .map(|r| r.counters.bus_grants)
    };
    let per_store = |design: &str, sets: &[&str]| {
        let (one, many) = (grants(design, sets, 1)?, grants(design, sets, 11)?);
        Ok::<u64, String>((many - one) / 10)
    };
    let (so, keeps) = (
        per_store("so-adr", &[])?,
        per_store("x86-adr", &["design.clwb_keeps=exclusive"])?,
    );
    let text = format!("bus transactions a re-store and clwb: {so}; {keeps} where clwb keeps write permission");
    if so == keeps + 1 { Ok(text) } else { Err(text) }
}

/// Stores to lines that are in the cache, then a load of a volatile one: with entries for all the load is not held up; with fewer
/// entries or FENCE slots than there are stores or FENCEs, the L1 is blocked until one drains, and no store gets past.
pub fn full_buffer() -> Result<String, String> {
    const SLOT: Ps = Ps(5_000_000);
    let finished = |entries: u32, fences: u32, with_fences: bool| {
        let thread = body(move |m| {
            for line in 0..4 {
                let _ = m.load(pm(line));
            }
            let _ = m.load(dram(0));
            for line in 0..4 {
                store(m, line);
                if with_fences {
                    m.fence(Fence::DmbSt);
                }
            }
            m.fence(Fence::Dmb);
            let _ = m.load(dram(0));
        });
        let (entries, fences) = (format!("design.entries={entries}"), format!("design.fences={fences}"));
        let paths = dpo("pwq", "delegated", &[&entries, &fences, "design.path_slot=5us"])?;
        let report = paths.run(vec![thread])?;
        Ok::<(Ps, u64), String>((report.hw_threads[0].finished, paths.count(&report, "overflows")?))
    };
    let (free, _) = finished(64, 32, true)?;
    let (entries, over) = finished(2, 32, false)?;
    let (slots, over_slots) = finished(64, 1, true)?;
    let text = format!(
        "4 stores and a load end after {free} with a large buffer, {entries} with 2 entries, {slots} with 1 FENCE slot; \
         stores that got past a full buffer: {}",
        over + over_slots
    );
    let holds = free < SLOT && entries >= SLOT && slots >= SLOT && over + over_slots == 0;
    if holds { Ok(text) } else { Err(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::fault;
    /// What a rule's test answers.
    type Check = fn() -> Result<String, String>;

    #[test]
    fn each_rule_holds_and_its_switch_breaks_it() {
        let rules: [(Check, &str); 5] = [
            (whole_words, "memory.torn-word"),
            (handed_over, "delegated.drain-ignores-dependences"),
            (unrelated_writes, "so.pcommit-ignores-others"),
            (restores, "so.clwb-keeps-permission"),
            (full_buffer, "delegated.full-buffer-passes"),
        ];
        for (rule, switch) in rules {
            rule().unwrap_or_else(|e| panic!("{switch}: {e}"));
            let (broken, reached) = fault::with(switch, rule);
            assert!(reached && broken.is_err(), "{switch}: {broken:?}");
        }
    }
}
