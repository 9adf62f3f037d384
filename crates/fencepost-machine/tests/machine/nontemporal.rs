//! Non-temporal stores and lines that caches hold: nothing hangs, nothing dirty is lost, nothing older overtakes.

use super::common::{Plain, body, pm, run};
use fencepost_kernel::{Addr, Fence, Flush, HwThread, LineAddr, Mem, PersistRecord, Ps, Rmw, Val};
use fencepost_machine::memory::DurableAt;
use fencepost_machine::seam::{Cause, CleanKind, Cx, Design, Gate, Hooks, Instr, Level, Way, Why};
use fencepost_machine::{MachineSpec, RunReport, StoreOrder};

fn tso() -> MachineSpec {
    let mut spec = MachineSpec::default();
    spec.core.store_order = StoreOrder::Tso;
    spec.pm.media.durable_at = DurableAt::Accept;
    spec
}
/// The values that word 0 of a line took in memory.
fn durable_values(r: &RunReport, at: Addr) -> Vec<u64> {
    let of_line = |w: &&PersistRecord| w.line == at.line();
    r.log
        .records()
        .iter()
        .filter(of_line)
        .map(|w| w.data.words[at.word_in_line()])
        .collect()
}

#[test]
fn a_non_temporal_store_to_a_dirty_line_writes_the_line_back_first() {
    let spec = tso();
    let r = run(
        &spec,
        Plain,
        vec![body(|m| {
            m.store(pm(0), Val::lit(1));
            m.nt_store(pm(8), Val::lit(2));
            m.fence(Fence::Sfence);
            m.store(pm(16), Val::lit(3));
        })],
    );
    assert_eq!(durable_values(&r, pm(0).addr), [1, 1]);
    assert_eq!(durable_values(&r, pm(8).addr), [0, 2]);
    assert_eq!(r.left_dirty, 1, "the last store stays in the cache");
    assert_eq!((r.counters.races, r.counters.stale_reads), (0, 0));
}

#[test]
fn a_non_temporal_store_takes_the_line_from_every_cache() {
    let spec = tso();
    let r = run(
        &spec,
        Plain,
        vec![
            body(|m| {
                m.store(pm(0), Val::lit(7));
                m.rmw(pm(1 << 12), Rmw::Add(1));
                while m.load_acquire(pm(1 << 12)).v < 2 {}
                assert_eq!(m.load_acquire(pm(8)).v, 9);
                assert_eq!(m.load_acquire(pm(0)).v, 7);
            }),
            body(|m| {
                while m.load_acquire(pm(1 << 12)).v < 1 {}
                m.nt_store(pm(8), Val::lit(9));
                m.fence(Fence::Sfence);
                m.rmw(pm(1 << 12), Rmw::Add(1));
            }),
        ],
    );
    assert_eq!((r.durable.word(pm(0).addr), r.durable.word(pm(8).addr)), (7, 9));
    assert_eq!(r.counters.stale_reads, 0);
}

#[test]
fn repeated_non_temporal_stores_between_ordinary_ones_end() {
    let mut spec = tso();
    spec.l1.mshrs = 1;
    spec.pm.controller.write_queue = 1;
    let r = run(
        &spec,
        Plain,
        vec![body(|m| {
            for k in 1..200u64 {
                m.store(pm(k % 3 * 64), Val::lit(k));
                m.load(pm(k % 5 * 64));
                m.nt_store(pm(k % 4 * 64 + 8), Val::lit(k));
                m.flush(pm(k % 2 * 64), Flush::Clwb);
            }
        })],
    );
    assert_eq!(r.counters.stale_reads, 0);
    for line in 0..4 {
        let values = durable_values(&r, pm(line * 64 + 8).addr);
        assert!(
            values.windows(2).all(|w| w[0] <= w[1]),
            "line {line} went back: {values:?}"
        );
    }
}

/// Holds back every line that wants to leave until a time, and completes flushes like x86.
struct HoldsBack {
    until: Ps,
    flushes: u32,
}
impl Design for HoldsBack {
    fn hooks(&self) -> Hooks {
        Hooks {
            holds: true,
            leaving: true,
            ..Hooks::default()
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        match instr {
            Instr::Flush(line, _) => {
                self.flushes += 1;
                cx.clean(hw_thread, line, CleanKind::Invalidate, 0);
                Gate::Go
            }
            Instr::Fence(_) if self.flushes > 0 => Gate::Wait(Cause::FlushPending),
            _ => Gate::Go,
        }
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, _: HwThread, _: u64, _: Option<&fencepost_kernel::LineData>) {
        self.flushes -= 1;
        cx.kick(None);
    }
    fn may_leave(&mut self, cx: &mut dyn Cx, _: Level, _: &Way, _: Why) -> Gate {
        if cx.now() < self.until {
            cx.timer(self.until, 0);
            return Gate::Wait(Cause::OrderPending);
        }
        Gate::Go
    }
    fn timer(&mut self, cx: &mut dyn Cx, _: u64) {
        cx.kick(None);
    }
}

#[test]
fn a_non_temporal_store_does_not_overtake_a_parked_write_back_of_its_line() {
    let until = Ps::from_ns(900);
    let r = run(
        &tso(),
        HoldsBack { until, flushes: 0 },
        vec![body(|m| {
            m.store(pm(0), Val::lit(1));
            m.flush(pm(0), Flush::ClflushOpt);
            m.nt_store(pm(0), Val::lit(2));
            m.fence(Fence::Sfence);
        })],
    );
    assert_eq!(durable_values(&r, pm(0).addr), [1, 2]);
    assert!(r.log.records().iter().all(|w| w.time >= until));
}

/// Counts what it is asked, and refuses locked instructions until a time.
struct Locks {
    until: Ps,
}
impl Design for Locks {
    fn instr(&mut self, cx: &mut dyn Cx, _: HwThread, instr: Instr) -> Gate {
        if instr == Instr::Locked && cx.now() < self.until {
            cx.timer(self.until, 0);
            return Gate::Wait(Cause::WcbPending);
        }
        Gate::Go
    }
    fn timer(&mut self, cx: &mut dyn Cx, _: u64) {
        cx.kick(None);
    }
}

#[test]
fn atomics_and_lock_acquisitions_wait_for_the_design() {
    for order in [StoreOrder::Tso, StoreOrder::Relaxed] {
        let mut spec = MachineSpec::default();
        spec.core.store_order = order;
        let until = Ps::from_ns(5000);
        let r = run(
            &spec,
            Locks { until },
            vec![body(|m| {
                m.rmw(pm(0), Rmw::Add(1));
                m.lock(pm(64));
                m.unlock(pm(64));
            })],
        );
        assert!(r.hw_threads[0].finished >= until, "{order:?}");
        assert!(r.hw_threads[0].account.stalled(Cause::WcbPending) > Ps::ZERO);
        assert_eq!(r.hw_threads[0].account.total(), r.hw_threads[0].finished);
    }
}

#[test]
fn a_clean_of_a_line_on_its_way_waits_until_it_has_arrived() {
    // The way to memory takes far longer than the answer "nothing dirty here".
    let mut spec = tso();
    spec.bus.to_memory = Ps::from_ns(300);
    let line = LineAddr(pm(0).line().0);
    let r = run(
        &spec,
        HoldsBack {
            until: Ps::ZERO,
            flushes: 0,
        },
        vec![body(|m| {
            m.store(pm(0), Val::lit(1));
            m.nt_store(pm(8), Val::lit(2)); // drives the dirty line out
            m.flush(pm(0), Flush::Clwb);
            m.fence(Fence::Sfence);
        })],
    );
    let arrived = r.log.records().iter().find(|w| w.line == line).map(|w| w.time);
    let trace = r.trace.as_ref().expect("recorded");
    let position =
        |found: &dyn Fn(&fencepost_kernel::TraceKind) -> bool| trace.events.iter().position(|e| found(&e.kind));
    let accepted = position(&|k| matches!(k, fencepost_kernel::TraceKind::Accepted { .. }));
    let fence = position(&|k| matches!(k, fencepost_kernel::TraceKind::Fence(_)));
    assert!(arrived.is_some() && accepted < fence, "{accepted:?} {fence:?}");
}

#[test]
fn an_access_that_needs_no_miss_register_after_all_passes_it_on() {
    let mut spec = tso();
    spec.l1.mshrs = 1;
    let loads = || {
        body(|m| {
            [0, 64, 72, 128, 136, 192].into_iter().for_each(|at| {
                let _ = m.load(pm(at));
            });
        })
    };
    let r = run(&spec, Plain, vec![loads()]);
    assert_eq!(r.counters.memory_reads, [0, 4]);
}

#[test]
fn a_load_does_not_pass_a_parked_write_back_of_its_line() {
    let until = Ps::from_ns(900);
    let r = run(
        &tso(),
        HoldsBack { until, flushes: 0 },
        vec![body(|m| {
            m.store(pm(0), Val::lit(1));
            m.flush(pm(0), Flush::ClflushOpt);
            m.compute(fencepost_kernel::Site(3));
            m.load(pm(0));
        })],
    );
    assert_eq!(r.counters.stale_reads, 0);
    assert!(r.hw_threads[0].finished >= until);
}
