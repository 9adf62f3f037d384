//! Closed-form timing of cores and caches.

use super::common::{Plain, body, dram, pm, run};
use fencepost_kernel::{Fence, HwThread, Mem, Ps, Site, Val};
use fencepost_machine::seam::Cause;
use fencepost_machine::{Fences, MachineSpec, StoreOrder};

/// Time from a load's issue to its data when everything is idle and the line is in memory.
fn cold_read(spec: &MachineSpec) -> Ps {
    let b = &spec.bus;
    let media = &spec.dram.media;
    let to_controller = spec.l1.latency + b.arbitration + spec.llc.latency + b.to_memory;
    let media = spec.dram.controller.static_latency + media.t_rcd + media.t_cl + media.t_burst;
    to_controller + media + b.to_memory
}

#[test]
fn a_cold_load_takes_the_sum_of_its_path() {
    let spec = MachineSpec::default();
    let r = run(
        &spec,
        Plain,
        vec![body(|m| {
            m.load(dram(4096));
        })],
    );
    // One cycle of commit granularity may be lost to alignment with the core clock and the media clock.
    let (got, want) = (r.time, cold_read(&spec));
    let slack = Ps(500) + spec.dram.media.t_ck;
    assert!(got >= want && got <= want + slack, "{got} is not {want}");
    assert_eq!(r.counters.memory_reads, [1, 0]);
    // A stall is charged to what the oldest load waits for in the end: memory, although the caches were asked first.
    let media = &spec.dram.media;
    let in_memory = spec.dram.controller.static_latency + media.t_rcd + media.t_cl + media.t_burst;
    let [caches, memory] = [Cause::LoadCache, Cause::LoadMemory].map(|c| r.hw_threads[0].account.stalled(c));
    assert!(
        memory >= in_memory && caches == Ps::ZERO,
        "{memory} of {got} for memory, {caches} for caches"
    );
}

#[test]
fn dependent_loads_wait_and_independent_ones_overlap() {
    let spec = MachineSpec::default();
    let chain = |dependent: bool| {
        run(
            &spec,
            Plain,
            vec![body(move |m| {
                let mut at = dram(0);
                for i in 1..=4u64 {
                    let v = m.load(at);
                    let next = dram(i * 64);
                    at = if dependent { v.index(next.addr, 0) } else { next };
                }
            })],
        )
        .time
    };
    let (serial, parallel) = (chain(true), chain(false));
    // Three of the four reads (row hits in the open row) hide behind the first.
    let hit = spec.dram.media.t_cl + spec.dram.media.t_burst;
    assert!(
        serial >= parallel + hit * 3,
        "{serial} is not three reads of at least {hit} longer than {parallel}"
    );
    assert!(parallel < cold_read(&spec) + hit * 2, "{parallel} does not overlap");
}

/// A store fence waits for a store's miss. A load behind it overlaps that wait where fences only hold up retirement, and
/// begins after it where they serialise.
#[test]
fn instructions_behind_a_store_fence_overlap_its_wait_or_do_not() {
    let time = |fence_execution, fences: bool| {
        let mut spec = MachineSpec::default();
        spec.core.fence_execution = fence_execution;
        let r = run(
            &spec,
            Plain,
            vec![body(move |m| {
                m.store(dram(0), Val::lit(1));
                if fences {
                    m.fence(Fence::Sfence);
                }
                m.load(dram(1 << 13));
                m.compute(Site(0));
            })],
        );
        let account = &r.hw_threads[0].account;
        assert_eq!(account.total(), r.hw_threads[0].finished - r.hw_threads[0].started);
        r.time
    };
    let spec = MachineSpec::default();
    let overlapped = time(Fences::Retire, true);
    let serial = time(Fences::Serialize, true);
    assert!(serial >= cold_read(&spec) * 2, "{serial} is less than two misses");
    assert!(
        overlapped < cold_read(&spec) + Ps::from_ns(30),
        "{overlapped} does not overlap"
    );
    let without = [Fences::Retire, Fences::Serialize].map(|f| time(f, false));
    assert_eq!(without[0], without[1], "without fences the parameter means nothing");
}

#[test]
fn compute_runs_at_its_sustained_rate_and_is_busy() {
    let mut spec = MachineSpec::default();
    for ipc in [1, 2, 4] {
        spec.core.compute_ipc = ipc;
        let r = run(&spec, Plain, vec![body(|m| (0..10).for_each(|_| m.compute(Site(3))))]);
        let cycles = r.time.0 / 500;
        let want = 10_000 / u64::from(ipc);
        assert!(cycles >= want && cycles <= want + 20, "{cycles} cycles for {want}");
        assert_eq!(r.instructions(), 10_000);
        assert!(r.hw_threads[0].account.busy.0 >= r.time.0 * 9 / 10);
    }
}

#[test]
fn stalls_and_busy_time_add_up_for_every_thread() {
    for order in [StoreOrder::Relaxed, StoreOrder::Tso] {
        let mut spec = MachineSpec::default();
        spec.core.store_order = order;
        let threads = (0..8u64).map(|t| {
            body(move |m| {
                for k in 0..200u64 {
                    m.lock(dram(0));
                    let v = m.load(pm(64));
                    m.store(pm(64), Val { v: v.v + 1, dep: v.dep });
                    m.fence(Fence::Dmb);
                    m.unlock(dram(0));
                    let own = pm(1 << 20 | t << 16 | ((k % 300) * 64));
                    m.store(own, Val::lit(k));
                    m.compute(Site(2));
                }
            })
        });
        let r = run(&spec, Plain, threads.collect());
        assert_eq!(r.coherent.word(pm(64).addr), 1600);
        assert_eq!(r.counters.races, 0);
        for (i, h) in r.hw_threads.iter().enumerate() {
            assert_eq!(
                h.account.total(),
                h.finished.saturating_sub(h.started),
                "hardware thread {i} ({order:?})"
            );
            assert!(h.account.stalled(Cause::LockWait) > Ps::ZERO);
        }
    }
}

#[test]
fn a_line_written_by_another_core_comes_from_its_cache() {
    let spec = MachineSpec::default();
    let r = run(
        &spec,
        Plain,
        vec![
            body(|m| {
                m.store(dram(0), Val::lit(7));
                m.fence(Fence::Dmb);
                m.store_release(dram(64), Val::lit(1));
            }),
            body(|m| {
                while m.load_acquire(dram(64)).v == 0 {
                    m.compute(Site(2));
                }
                assert_eq!(m.load(dram(0)).v, 7);
            }),
        ],
    );
    assert_eq!(r.counters.races, 0);
    let reads_data = r.trace.unwrap().events.iter().any(|e| {
        e.thread == Some(HwThread(1)) && matches!(e.kind, fencepost_kernel::TraceKind::Load { from: Some(_), .. })
    });
    assert!(reads_data);
}

#[test]
fn a_restore_after_losing_write_permission_pays_an_upgrade() {
    let spec = MachineSpec::default();
    let one = |share: bool| {
        run(
            &spec,
            Plain,
            vec![
                body(move |m| {
                    m.store(dram(0), Val::lit(1));
                    m.fence(Fence::Dmb);
                    m.rmw(dram(64), fencepost_kernel::Rmw::Add(1));
                    while m.load_acquire(dram(64)).v < 2 {
                        m.compute(Site(2));
                    }
                    m.store(dram(0), Val::lit(2));
                    m.fence(Fence::Dmb);
                }),
                body(move |m| {
                    while m.load_acquire(dram(64)).v < 1 {
                        m.compute(Site(2));
                    }
                    if share {
                        m.load(dram(0));
                        m.fence(Fence::Dmb);
                    }
                    m.rmw(dram(64), fencepost_kernel::Rmw::Add(1));
                }),
            ],
        )
        .counters
        .invalidations
    };
    assert!(one(true) > one(false));
}

#[test]
fn the_same_run_gives_the_same_log_and_tiny_queues_work() {
    let mut small = MachineSpec::default();
    small.core.rob = 1;
    small.core.load_queue = 1;
    small.core.store_queue = 1;
    small.l1.mshrs = 1;
    small.l1.writeback_buffer = 1;
    small.llc.mshrs = 1;
    small.llc.writeback_buffer = 1;
    small.llc.size = fencepost_kernel::Bytes(16 * 64 * 4);
    small.l1.size = fencepost_kernel::Bytes(64 * 4 * 2);
    small.pm.controller.write_queue = 1;
    small.pm.controller.read_queue = 1;
    small.dram.controller.write_queue = 1;
    small.dram.controller.read_queue = 1;
    for spec in [MachineSpec::default(), small] {
        let go = || {
            let threads = (0..4u64).map(|t| {
                body(move |m| {
                    for k in 0..400u64 {
                        let x = fencepost_kernel::rng::hash(&[t, k]);
                        m.store(pm((x % 512) * 64 + t * 8), Val::lit(k));
                        m.load(pm((x >> 20) % 512 * 64 + t * 8));
                        if k % 16 == 0 {
                            m.fence(Fence::Dmb);
                        }
                    }
                })
            });
            run(&spec, Plain, threads.collect())
        };
        let (a, b) = (go(), go());
        assert_eq!((a.log.digest(), a.time, a.events), (b.log.digest(), b.time, b.events));
        assert_eq!((a.counters.races, a.counters.stale_reads), (0, 0));
    }
}
