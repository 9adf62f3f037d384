//! The rules of delegated and of synchronous ordering.

use super::stage::{LATER, ONE_MISS, TWO_MISSES, body, count, dram, persist, pm, store, then, values};
use super::{Machines, Rule, Seen, expect};
use fencepost_contract::{Contract, ContractKind, Demands};
use fencepost_kernel::{Fence, Flush, Mem, Ps, Rmw, Val, WriteCause};
use fencepost_machine::SimMem;
use fencepost_machine::seam::Cause;

/// Aligned words become durable whole.
pub const PERSIST_GRAIN: Rule = Rule {
    name: "dpo-persist-grain",
    broken_by: "memory.torn-word",
    holds: whole_words,
};
/// Figure 1: what a core stores after a read persists after what the read has seen.
pub const CUMULATIVITY: Rule = Rule {
    name: "dpo-cumulativity",
    broken_by: "delegated.read-learns-nothing",
    holds: figure_one,
};
/// Stores of two cores to a line persist in coherence order.
pub const COHERENCE_ORDER: Rule = Rule {
    name: "dpo-coherence-order",
    broken_by: "delegated.owner-learns-nothing",
    holds: handed_over,
};
/// A store joins an entry only where all three conditions hold (section IV-F).
pub const COALESCING: Rule = Rule {
    name: "dpo-coalescing-rule",
    broken_by: "delegated.coalesce-with-dependences",
    holds: three_conditions,
};
/// Lines that leave the last level are not written.
pub const NO_WRITEBACK: Rule = Rule {
    name: "dpo-no-writeback-to-pm",
    broken_by: "delegated.eviction-written",
    holds: dropped,
};
/// `pcommit` waits for unrelated writes too.
pub const PCOMMIT: Rule = Rule {
    name: "dpo-pcommit-waits-for-all",
    broken_by: "so.pcommit-ignores-others",
    holds: unrelated_writes,
};
/// `clwb` gives up write permission.
pub const CLWB: Rule = Rule {
    name: "dpo-clwb-drops-permission",
    broken_by: "so.clwb-keeps-permission",
    holds: restores,
};
/// A full persist buffer blocks the L1.
pub const FULL_BUFFER: Rule = Rule {
    name: "dpo-full-buffer-blocks-l1",
    broken_by: "delegated.full-buffer-passes",
    holds: full_buffer,
};
/// Every rule of this paper that a handwritten program shows.
pub const RULES: &[Rule] = &[
    PERSIST_GRAIN,
    CUMULATIVITY,
    COHERENCE_ORDER,
    COALESCING,
    NO_WRITEBACK,
    PCOMMIT,
    CLWB,
    FULL_BUFFER,
];

const DESIGNS: [&str; 2] = ["delegated", "delegated-merge"];

/// Stores of eight differing halves to one word: each value that becomes durable is one of them, whole.
fn whole_words(on: &dyn Machines) -> Seen {
    const HALF: u64 = 1 << 32 | 1;
    let mut seen = 0;
    for media in ["pcm", "ddr3-1600", "pwq"] {
        let thread = body(|m| {
            for k in 1..=8 {
                m.store(pm(0), Val::lit(k * HALF));
                m.fence(Fence::Dmb);
            }
        });
        let stage = on.on(Some(media), "delegated", &["design.path_slot=60ns"])?;
        let durable = values(&stage.run(vec![thread])?, 0);
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

/// X, a FENCE and Y on one core, whose buffer drains late; another core reads Y and stores Z: Z persists after X. A third that reads
/// nothing persists before.
fn figure_one(on: &dyn Machines) -> Seen {
    const X: u64 = 1;
    const Y: u64 = 2;
    const Z: u64 = 3;
    const FREE: u64 = 4;
    for design in DESIGNS {
        let first = body(|m| {
            (10..14).for_each(|line| store(m, line));
            store(m, X);
            m.fence(Fence::Dmb);
            store(m, Y);
        });
        let reader = body(|m| {
            while m.load_acquire(pm(Y)).v == 0 {}
            store(m, Z);
        });
        let stage = on.on(Some("pcm"), design, &["design.path_slot=200ns"])?;
        let report = stage.run_free(vec![first, reader, body(|m| store(m, FREE))])?;
        let records = report.log.records();
        let place = |line: u64| records.iter().position(|r| r.line == pm(line).addr.line());
        let [x, z, free] = [X, Z, FREE].map(place);
        expect(x.is_some() && x < z, || {
            format!("{design}: X is durable as event {x:?}, Z as {z:?}")
        })?;
        expect(free.is_some() && free < x, || {
            format!("{design}: X, as event {x:?}, was not late: the test cannot fail")
        })?;
    }
    Ok("what a core stores after a read of another's store persists after what that one had ordered".into())
}

/// One core stores to a line behind other persists of its buffer, a second one, told by a volatile flag, overwrites it: the
/// newer value becomes durable last.
fn handed_over(on: &dyn Machines) -> Seen {
    for design in DESIGNS {
        let writer = |m: &mut SimMem<'_>| {
            (1..6).for_each(|line| store(m, line));
            store(m, 0);
        };
        let threads = then(writer, |m| m.store(pm(0), Val::lit(2)));
        let stage = on.on(Some("pcm"), design, &["design.path_slot=200ns"])?;
        let durable = values(&stage.run(threads)?, 0);
        expect(newer_last(&durable), || {
            format!("{design}: the line held {durable:?} in turn")
        })?;
    }
    Ok("a line that two cores stored to holds the newer value last".into())
}
/// Whether the second store to a line became durable, and the first one not after it.
fn newer_last(durable: &[u64]) -> bool {
    durable.last() == Some(&2) && durable.is_sorted()
}

/// What stands between two stores to one line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Between {
    /// Nothing: all conditions hold.
    Nothing,
    /// A store to another line: the line's entry is no longer the youngest.
    OtherLine,
    /// A read of a line that another core has just stored to: a dependence waits in AccumDP.
    Dependence,
    /// Another core asks for the line exclusively and does not store: Youngest is cleared, and nothing else.
    Taken,
}

/// Persists that the two threads append in all. The path is so slow that no entry drains meanwhile.
fn persists(on: &dyn Machines, between: Between, fault: &str) -> Result<(u64, bool), String> {
    const X: u64 = 0;
    const Y: u64 = 1;
    let storing = body(move |m| {
        store(m, X);
        if between == Between::OtherLine {
            store(m, Y);
        }
        m.compute(TWO_MISSES);
        let value = match between {
            Between::Dependence => m.load_acquire(pm(Y)).map(|v| v + 2),
            _ => Val::lit(2),
        };
        m.store(pm(X).field(8), value);
    });
    let other = body(move |m| {
        m.compute(ONE_MISS);
        match between {
            Between::Dependence => store(m, Y),
            Between::Taken => {
                let _ = m.rmw(pm(X).field(16), Rmw::Cas { expect: 9, new: 9 });
            }
            Between::Nothing | Between::OtherLine => {}
        }
    });
    let sets = [&*format!("design.fault={fault}"), "design.path_slot=200us"];
    let stage = on.with("delegated", &sets)?;
    let report = stage.run_free(vec![storing, other])?;
    let rcbsp = Contract::from(ContractKind::Rcbsp);
    let conforms = stage.keeps(&report, &rcbsp, Demands { complete: true }).is_ok();
    Ok((report.log.records().len() as u64, conforms))
}

/// Two stores to a line make one persist where all conditions hold, and two where one is missing; the planted fault that
/// forgets AccumDP makes them one there too.
fn three_conditions(on: &dyn Machines) -> Seen {
    for (between, fault, wanted) in [
        (Between::Nothing, "none", 1),
        (Between::OtherLine, "none", 3),
        (Between::Dependence, "none", 3),
        (Between::Taken, "none", 2),
        (Between::Dependence, "coalesce-with-dependences", 2),
        (Between::Taken, "coalesce-with-dependences", 2),
    ] {
        let (appended, conforms) = persists(on, between, fault)?;
        expect(appended == wanted && conforms, || {
            format!(
                "{between:?} between the stores, fault {fault}: {appended} persists, expected {wanted}; conforms: {conforms}"
            )
        })?;
    }
    Ok("two stores to a line join only with the same line youngest, AccumDP empty and Youngest set: 1 persist, else 2; \
        with the planted fault AccumDP is not asked"
        .into())
}

/// Forty lines through caches of eight: the persist buffers write each, and nothing else does.
fn dropped(on: &dyn Machines) -> Seen {
    const LINES: u64 = 40;
    for design in DESIGNS {
        let thread = body(|m| (0..LINES).for_each(|line| store(m, line)));
        let report = on.with(design, &[])?.with_tiny_caches().run(vec![thread])?;
        let with = |cause| report.log.records().iter().filter(|r| r.cause == cause).count() as u64;
        let (evicted, persists) = (with(WriteCause::Eviction), with(WriteCause::Persist));
        let (dropped, stale) = (count(&report, "dropped")?, report.counters.stale_reads);
        expect((evicted, persists, stale) == (0, LINES, 0) && dropped > 0, || {
            format!(
                "{design}: {evicted} evicted lines written, {persists} persists, {dropped} dropped, {stale} stale reads"
            )
        })?;
    }
    Ok("lines that the last level evicts are dropped, and nothing is lost by it".into())
}

/// When a thread's `pcommit` is over, alone and beside an unrelated program that has 16 writes to another bank accepted.
fn unrelated_writes(on: &dyn Machines) -> Seen {
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
        let stage = on.on(Some("pcm"), "so", &["pm.media.writes=through"])?;
        let report = stage.run(vec![committing, unrelated])?;
        let first = &report.hw_threads[0];
        Ok::<(Ps, Ps), String>((first.finished, first.account.stalled(Cause::PcommitPending)))
    };
    let ((alone, waits_alone), (beside, waits)) = (finished(0)?, finished(16)?);
    let stall = beside.saturating_sub(alone);
    let text = format!("a pcommit beside 16 unrelated writes of another program ends {stall} later");
    match stall >= Ps::from_ns(1000) && waits > waits_alone {
        true => Ok(text),
        false => Err(text),
    }
}

/// Bus transactions of a store that follows a `clwb` of its line: one more than where `clwb` keeps write permission.
fn restores(on: &dyn Machines) -> Seen {
    let grants = |design: &str, sets: &[&str], times: u64| {
        let thread = body(move |m| {
            for _ in 0..times {
                store(m, 0);
                persist(m, 0);
            }
        });
        on.on(Some("pwq"), design, sets)?
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
    let delegated = per_store("delegated", &[])?;
    match so == keeps + 1 && delegated == 0 {
        true => Ok(text),
        false => Err(format!("{text}; delegated {delegated}")),
    }
}

/// Stores to lines that are in the cache, then a load of a volatile one: with entries for all the load is not held up; with fewer
/// entries or FENCE slots than there are stores or FENCEs, the L1 is blocked until one drains, and no store gets past.
fn full_buffer(on: &dyn Machines) -> Seen {
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
        let sets = [format!("design.entries={entries}"), format!("design.fences={fences}")];
        let stage = on.on(Some("pwq"), "delegated", &[&sets[0], &sets[1], "design.path_slot=5us"])?;
        let report = stage.run(vec![thread])?;
        Ok::<(Ps, u64), String>((report.hw_threads[0].finished, count(&report, "overflows")?))
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

#[test]
fn the_newer_store_is_the_last_one_and_nothing_older_follows() {
    let lists: [&[u64]; 5] = [&[1, 2], &[2], &[2, 1, 2], &[1], &[]];
    assert_eq!(lists.map(newer_last), [true, true, false, false, false]);
}
