//! The statements of the Themis paper about order, one test each (ids as in the table of claims).

use super::harness::{Setup, body, dram, durable_at, judge, pm, sound};
use fencepost_contract::ContractKind;
use fencepost_designs::x86::stat;
use fencepost_kernel::{Fence, Flush, Mem, Ps, Site, Val};
use fencepost_machine::seam::Cause;
use fencepost_machine::{RunReport, SimMem, ThreadBody};

const THEMIS: [&str; 2] = ["themis", "themis-llc"];
const BASELINE: [&str; 2] = ["x86-adr", "x86-ideal"];

fn nt(m: &mut SimMem<'_>, line: u64, value: u64) {
    m.nt_store(pm(line), Val::lit(value));
}
fn store(m: &mut SimMem<'_>, line: u64, value: u64) {
    m.store(pm(line), Val::lit(value));
}
fn persist(m: &mut SimMem<'_>, line: u64) {
    m.flush(pm(line), Flush::Clwb);
    m.fence(Fence::Sfence);
}
/// Which of two first words became durable first: `Less` if that of line 0, value 1.
fn order(r: &RunReport) -> std::cmp::Ordering {
    let place = |line: u64| durable_at(r, pm(line).addr, 1).unwrap_or(usize::MAX);
    place(0).cmp(&place(1))
}
/// How a line leaves, and the threads that make it do so.
type WayOut = (&'static str, fn() -> Vec<ThreadBody>);

/// Line 0 takes the non-temporal path, line 1 the temporal one, and leaves its core in one of four ways.
fn ways_out() -> Vec<WayOut> {
    fn first(m: &mut SimMem<'_>) {
        nt(m, 0, 1);
        store(m, 1, 1);
    }
    fn after_flag(rest: fn(&mut SimMem<'_>)) -> Vec<ThreadBody> {
        vec![
            body(|m| {
                first(m);
                m.store_release(dram(0), Val::lit(1));
            }),
            body(move |m| {
                while m.load_acquire(dram(0)).v == 0 {}
                rest(m);
            }),
        ]
    }
    vec![
        ("flushed", || {
            vec![body(|m| {
                first(m);
                persist(m, 1);
            })]
        }),
        ("replaced", || {
            vec![body(|m| {
                first(m);
                (2..40).for_each(|line| store(m, line, 7));
            })]
        }),
        ("flushed by another core", || after_flag(|m| persist(m, 1))),
        ("taken by another core", || {
            after_flag(|m| {
                m.store(pm(1).field(8), Val::lit(9));
                persist(m, 1);
            })
        }),
        ("read by another core and flushed", || {
            after_flag(|m| {
                m.load(pm(1));
                persist(m, 1);
            })
        }),
    ]
}

/// THM-SEM1: non-temporal, then temporal, on one thread: in order without a fence, however the line leaves.
#[test]
fn thm_sem1_non_temporal_before_temporal_without_a_fence() {
    for (how, threads) in ways_out() {
        for delay in ["0ns", "100ns", "3us"] {
            for design in THEMIS {
                let r = Setup::new(design).with("drain_delay", delay).run(threads());
                assert_eq!(order(&r), std::cmp::Ordering::Less, "{design}, {how}, {delay}");
                judge(&r, ContractKind::Themis).unwrap();
                sound(&r).unwrap();
            }
        }
        for design in BASELINE {
            let r = Setup::new(design).with("drain_delay", "3us").run(threads());
            assert_eq!(order(&r), std::cmp::Ordering::Greater, "{design}, {how}");
            judge(&r, ContractKind::Px86).unwrap();
        }
    }
}

/// THM-SEM2: the other three orderings are seen to fail without their fences, and hold with them.
#[test]
fn thm_sem2_the_other_three_orderings_still_need_fences() {
    type Body = fn(&mut SimMem<'_>, bool);
    let cases: [(&str, Body); 3] = [
        ("temporal, temporal", |m, fenced| {
            store(m, 0, 1);
            if fenced {
                persist(m, 0);
            }
            store(m, 1, 1);
            persist(m, 1);
        }),
        ("temporal, non-temporal", |m, fenced| {
            store(m, 0, 1);
            if fenced {
                persist(m, 0);
            }
            nt(m, 1, 1);
            m.fence(Fence::Sfence);
        }),
        // The second store to line 1's entry is combined with an older one that goes first.
        ("non-temporal, non-temporal", |m, fenced| {
            m.nt_store(pm(1).field(8), Val::lit(5));
            nt(m, 0, 1);
            if fenced {
                m.fence(Fence::Sfence);
            }
            nt(m, 1, 1);
        }),
    ];
    for design in THEMIS.into_iter().chain(BASELINE) {
        for (what, run) in cases {
            let go = |fenced| {
                let s = Setup::new(design).roomy().with("drain_delay", "50ns");
                order(&s.run(vec![body(move |m| run(m, fenced))]))
            };
            assert_eq!(
                go(false),
                std::cmp::Ordering::Greater,
                "{design}, {what}: never reordered"
            );
            assert_eq!(go(true), std::cmp::Ordering::Less, "{design}, {what}: fenced");
        }
    }
}

/// THM-SEM3: across threads the first one needs a fence.
#[test]
fn thm_sem3_across_threads_a_fence_is_still_needed() {
    for design in THEMIS {
        let go = |fenced: bool| {
            let writer = body(move |m| {
                nt(m, 0, 1);
                if fenced {
                    m.fence(Fence::Sfence);
                }
                m.store_release(dram(0), Val::lit(1));
            });
            let reader = body(|m| {
                while m.load_acquire(dram(0)).v == 0 {}
                store(m, 1, 1);
                persist(m, 1);
            });
            let r = Setup::new(design).with("drain_delay", "3us").run(vec![writer, reader]);
            judge(&r, ContractKind::Themis).unwrap();
            order(&r)
        };
        assert_eq!(go(false), std::cmp::Ordering::Greater, "{design}");
        assert_eq!(go(true), std::cmp::Ordering::Less, "{design}");
    }
}

/// THM-SEM4: after four full uses of the buffer's entries the pointers are reset, and stores wait meanwhile.
#[test]
fn thm_sem4_the_pointers_wrap_after_four_full_uses() {
    let run = |design: &str, entries: u64, bits: Option<&str>| {
        let s = Setup::new(design).roomy();
        let s = bits.map_or(s.clone(), |b| s.with("pointer_bits", b));
        s.run(vec![body(move |m| (0..entries).for_each(|line| nt(m, line, 1)))])
    };
    for design in THEMIS {
        for (entries, wraps) in [(63, 0), (64, 1), (127, 1), (128, 2), (200, 3)] {
            assert_eq!(
                run(design, entries, None).design_counts[stat::WRAPS],
                wraps,
                "{entries}"
            );
        }
        for (bits, wraps) in [("4", 12), ("6", 3), ("8", 0), ("10", 0)] {
            let r = run(design, 200, Some(bits));
            assert_eq!(r.design_counts[stat::WRAPS], wraps, "{bits} bits");
            assert_eq!(r.hw_threads[0].account.stalled(Cause::WcbWrap) > Ps::ZERO, wraps > 0);
        }
    }
    assert_eq!(run("x86-adr", 200, None).design_counts[stat::WRAPS], 0);
}

/// Stores over many lines through tiny caches behind one slow non-temporal store.
fn evictions(design: &str, line: fn(u64) -> fencepost_kernel::At<u32>, slow: bool) -> Ps {
    let mut s = Setup::new(design).with("drain_delay", if slow { "9us" } else { "0ns" });
    s.spec.l1.writeback_buffer = 1;
    let r = s.run(vec![body(move |m| {
        nt(m, 500, 1);
        (0..40).for_each(|l| m.store(line(l), Val::lit(7)));
    })]);
    r.hw_threads[0].finished
}

/// THM-SEM5: volatile lines leave the caches without waiting; persistent ones wait.
#[test]
fn thm_sem5_volatile_lines_leave_without_waiting() {
    assert_eq!(evictions("themis", dram, true), evictions("themis", dram, false));
    assert!(evictions("themis", pm, false) < Ps::from_ns(9000));
    assert!(evictions("themis", pm, true) >= Ps::from_ns(9000));
}

/// An undo-logged transaction after another: each of four records of a line each is followed by its data store. `keeps_up`:
/// on a memory without write pulse, where nobody waits for a busy bank.
fn transactions(design: &'static str, keeps_up: bool) -> RunReport {
    let mut s = Setup::new(design).roomy();
    if keeps_up {
        s.spec.pm.media.write_pulse = Ps::ZERO;
    }
    let dialect = (s.info.dialect)(fencepost_designs::Environment::new(true, true));
    let thread = move |t: u64| {
        body(move |m| {
            let mut pm_ = fencepost_kernel::Pm::new(m, dialect);
            for k in 0..120u64 {
                for i in 0..4u64 {
                    let record = pm(1000 * (t + 1) + i);
                    (0..8).for_each(|w| pm_.log_store(record.field(8 * w), Val::lit(k << 8 | w)));
                    pm_.log_to_data();
                    pm_.m.store(pm(4000 * (t + 1) + (k * 7 + i * 13) % 64), Val::lit(k));
                    pm_.m.compute(Site(1));
                }
                (0..4u64).for_each(|i| pm_.persist(pm(4000 * (t + 1) + (k * 7 + i * 13) % 64), 8));
                pm_.order();
                pm_.log_store(pm(1000 * (t + 1) + 9), Val::lit(k));
                pm_.order();
            }
        })
    };
    s.run((0..3).map(thread).collect())
}

/// THM-SEM6 (with O3, O4 and the fences of H3): where order is enforced matters little, Themis is close to the ideal, and
/// the baseline's fences are what both save.
#[test]
fn thm_sem6_enforcing_at_the_l1_costs_almost_nothing() {
    let near = |a: Ps, b: Ps| a.0.abs_diff(b.0) * 100 <= 3 * a.0.max(b.0);
    let family = |keeps_up| ["x86-adr", "x86-ideal", "themis", "themis-llc"].map(|w| transactions(w, keeps_up));
    for [_, ideal, l1, llc] in [family(false), family(true)] {
        assert!(near(l1.time, llc.time), "{} at the L1, {} below", l1.time, llc.time);
        assert!(near(l1.time, ideal.time), "{} against {} ideal", l1.time, ideal.time);
    }
    // What the fences cost shows where they are what a thread waits for; a saturated memory hides it.
    let [base, _, l1, _] = family(true);
    assert!(base.time.0 * 100 > l1.time.0 * 110, "{} against {}", base.time, l1.time);
    // Four of six fences of a transaction stand between log and data.
    assert_eq!((base.counters.fences, l1.counters.fences), (3 * 120 * 6, 3 * 120 * 2));
    assert_eq!(base.design_counts[stat::UNFENCED], 0);
    assert_eq!(l1.design_counts[stat::UNFENCED], 3 * 120 * 4);
    let delays = &l1.histograms[0];
    assert_eq!(delays.values().sum::<u64>(), l1.design_counts[stat::WRITEBACKS]);
    let waited: u64 = delays.iter().filter(|d| *d.0 > 0).map(|d| d.1).sum();
    assert_eq!(waited, l1.design_counts[stat::WRITEBACKS_DELAYED]);
}
