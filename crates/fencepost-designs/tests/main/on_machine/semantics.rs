//! The hardware statements of the delegated-ordering paper, on the machine.

use super::harness::{Setup, Statement, programs, writes_with};
use fencepost_designs::{DesignInfo, all};
use fencepost_kernel::{Addr, At, Fence, Flush, Mem, Stream, Val, WriteCause};
use fencepost_machine::seam::Cause;
use fencepost_machine::{SimMem, ThreadBody};

fn body(f: impl FnOnce(&mut SimMem<'_>) + 'static) -> ThreadBody {
    Box::new(f)
}
fn pm(line: u64) -> At<u32> {
    At::new(Addr::pm(64 * line))
}

/// DPO-SEM9: persistent lines evicted from the last level are dropped, and nothing is lost by it.
#[test]
fn delegated_never_writes_evicted_lines() {
    for design in ["delegated", "delegated-merge"] {
        let s = Setup::new(design);
        // 200 lines through a last level of 32.
        let stores = (0..200).map(|l| Statement::Store(Addr::pm(64 * l))).collect();
        let r = s.run(&[stores]);
        assert_eq!(writes_with(&r, WriteCause::Eviction), 0);
        assert_eq!(writes_with(&r, WriteCause::Persist), 200);
        assert!(r.design_count("dropped") > Some(0), "lines were evicted");
        assert_eq!(r.counters.stale_reads, 0);
    }
}

/// A store never performs into a full buffer, however small that is.
#[test]
fn no_store_performs_into_a_full_persist_buffer() {
    for (word, seed) in ["delegated", "delegated-merge"]
        .into_iter()
        .flat_map(|w| (0..40).map(move |s| (w, s)))
    {
        let s = Setup::new(word).with("entries", ["1", "2", "8"][seed as usize % 3]);
        let r = s.run(&programs(seed, 3, 50, 5));
        assert_eq!(r.design_count("overflows"), Some(0), "{word}, seed {seed}");
    }
}

/// DPO-SEM11: after clwb a store pays a bus transaction again; delegated ordering pays none.
#[test]
fn clwb_costs_every_store_that_follows_a_coherence_transaction() {
    let grants = |design: &str, flushes: bool| {
        let s = Setup::new(design);
        let rounds = 10;
        let r = s.run_bodies(vec![body(move |m| {
            for i in 0..rounds {
                m.store(pm(0), Val::lit(i + 1));
                if flushes {
                    m.flush(pm(0), Flush::Clwb);
                    m.fence(Fence::Sfence);
                }
            }
        })]);
        r.counters.bus_grants
    };
    assert_eq!(grants("so", false), 1);
    assert_eq!(grants("so", true), 10);
    assert_eq!(grants("delegated", false), 1);
}

/// DPO-SEM10: two programs that share nothing; one's pcommit waits for the other's writes.
#[test]
fn pcommit_stalls_for_an_unrelated_thread() {
    let waiting = |others: bool| {
        let s = Setup::new("so");
        let committer = body(|m| {
            for i in 0..20 {
                m.store(pm(0), Val::lit(i + 1));
                m.flush(pm(0), Flush::Clwb);
                for f in [Fence::Sfence, Fence::Pcommit, Fence::Sfence] {
                    m.fence(f);
                }
            }
        });
        let writer = body(move |m| {
            for i in 0..if others { 400 } else { 0 } {
                m.store(pm(1000 + i), Val::lit(i + 1));
                m.flush(pm(1000 + i), Flush::Clwb);
            }
        });
        let r = s.run_bodies(vec![committer, writer]);
        r.hw_threads[0].account.stalled(Cause::PcommitPending)
    };
    let (alone, together) = (waiting(false), waiting(true));
    assert!(
        together.0 > alone.0 * 3 / 2,
        "{alone} alone, {together} beside an unrelated writer"
    );
}

/// DPO-SEM12: on a persistent write queue clwb and sfence suffice; without the durable queue they do not.
#[test]
fn a_durable_queue_needs_no_pcommit() {
    let s = Setup::new("so").durable_on_accept(true);
    let r = s.run(&programs(3, 3, 60, 4));
    s.judge(&r).expect("px86");
    assert_eq!(r.design_count("pcommits"), Some(0), "no pcommit was sent");
    assert!(r.design_count("flushes") > Some(0));
}

/// DPO-SEM13: a full persist buffer blocks the L1, which shows as a stall; with free entries it does not.
#[test]
fn a_full_persist_buffer_stalls_the_core() {
    let stalled = |entries: &str| {
        let s = Setup::new("delegated")
            .with("entries", entries)
            .with("path_slot", "50ns");
        let stores = (0..60).map(|l| Statement::Store(Addr::pm(64 * l))).collect();
        let r = s.run(&[stores]);
        let account = &r.hw_threads[0].account;
        let causes = [Cause::L1Blocked, Cause::PersistBufferFull, Cause::StoreQueueFull];
        (causes.iter().map(|c| account.stalled(*c).0).sum::<u64>(), r.time)
    };
    let (small, small_time) = stalled("2");
    let (large, large_time) = stalled("128");
    assert!(small > large, "{small} against {large}");
    assert!(small_time > large_time);
}

/// Several `clflush` of one hardware thread are under way at a time where cores do not keep program order. With a `sfence` behind
/// them, whatever they cover is durable before what follows.
#[test]
fn overlapping_synchronous_flushes_each_flush_their_line() {
    let flushes = |d: &&DesignInfo| d.promise.honours.flushes.contains(&Flush::Clflush);
    let sound = |d: &&DesignInfo| (d.sound)(Setup::new(d.name).durable_on_accept(true).tso(false).environment());
    let words = all().iter().filter(flushes).filter(sound).map(|d| d.name);
    for (word, seed) in words.flat_map(|w| (0..200).map(move |s| (w, s))) {
        let s = Setup::new(word).durable_on_accept(true).tso(false);
        let thread = |t: u64| {
            let mut dice = Stream::new(seed * 3 + t, "synchronous-flushes");
            body(move |m| {
                for k in 0..30 {
                    let line = dice.below(5);
                    match dice.below(8) {
                        0..=2 => m.store(pm(line), Val::lit(t << 32 | (k + 1))),
                        3..=6 => m.flush(pm(line), Flush::Clflush),
                        _ => m.fence(Fence::Sfence),
                    }
                }
            })
        };
        let r = s.run_bodies((0..3).map(thread).collect());
        s.judge(&r).unwrap_or_else(|e| panic!("{word}, seed {seed}: {e}"));
    }
}

/// The paper's point: the same ordered work takes longer when execution waits for it.
#[test]
fn ordering_does_not_stall_delegated_execution() {
    let time = |design: &str| {
        let s = Setup::new(design);
        let program = (0..60).flat_map(|i| [Statement::Persist(Addr::pm(64 * (i % 5))), Statement::Order]);
        s.run(&[program.collect()]).time
    };
    assert!(
        time("so") > time("delegated") * 2,
        "{} against {}",
        time("so"),
        time("delegated")
    );
}
