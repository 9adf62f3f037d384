//! Rules of the core by which a time follows from other times: closed forms on warm caches, exact to the cycle.
//!
//! All lines are in the L1 and exclusive. A load's hit takes [`L`] cycles, which nothing else here comes near; a store's hit takes
//! none. In a cycle the core dispatches 6 memory operations or 2 instructions of a compute site, and commits 8 instructions unless a test
//! says otherwise. What is no load has its result one cycle after dispatch. The buffer has 40 entries.

use super::common::{Plain, body, dram};
use fencepost_kernel::{At, Fence, HwThread, Image, LineAddr, Mem, Outcome, Ps, Site, Val};
use fencepost_machine::seam::{Access, Cause, Cx, Design, Gate, Hooks};
use fencepost_machine::{Machine, MachineSpec, RunReport, SimMem, ThreadBody, Workload};
use std::rc::Rc;

/// Latency of a hit, in cycles.
const L: u64 = 200;
/// A clock cycle.
const CYCLE: Ps = Ps(500);
/// Instructions of the compute sites: site `i` stands for `SITES[i]`.
const SITES: [u32; 7] = [1, 7, 10, 38, 39, 100, 1000];

fn spec() -> MachineSpec {
    let mut spec = MachineSpec::default();
    spec.l1.latency = CYCLE * L;
    let core = &spec.core;
    let narrower = core.dispatch_width.min(core.front_end_width);
    assert_eq!((core.clock.period(), core.rob, core.load_queue), (CYCLE, 40, 16));
    assert_eq!((narrower, core.compute_ipc, core.commit_width), (6, 2, 8));
    spec
}
fn compute(m: &mut impl Mem, instructions: u32) {
    let site = SITES.iter().position(|s| *s == instructions).expect("a site");
    m.compute(Site(site as u16));
}
/// Runs threads; the first 16 lines of each thread's 4 KiB of volatile memory are in its L1.
fn run(spec: &MachineSpec, design: impl Design + 'static, warm_up: u64, threads: Vec<ThreadBody>) -> RunReport {
    let lines = |t: usize| (0..16).map(move |i| (HwThread(t as u8), LineAddr(dram(t as u64 * 4096).addr.line().0 + i)));
    let work = Workload {
        initial: Image::default(),
        resident: (0..threads.len()).flat_map(lines).collect(),
        threads,
        sites: Rc::from(SITES),
        warm_up,
        record: false,
    };
    let machine = Machine::new(spec, Box::new(design), work).expect("a machine");
    machine.run().unwrap_or_else(|e| panic!("{e}"))
}
/// The cycle in which the last instruction of the only thread commits.
fn last_cycle(spec: &MachineSpec, f: impl FnOnce(&mut SimMem<'_>) + 'static) -> u64 {
    run(spec, Plain, 0, vec![body(f)]).time.0 / CYCLE.0
}

/// Behind a load whose result is not known, instructions enter up to the free entries. What finds none waits.
#[test]
fn compute_behind_an_unfinished_load_takes_the_free_entries() {
    let load_behind = |n| {
        last_cycle(&spec(), move |m| {
            m.load(dram(0));
            compute(m, n);
            m.load(dram(64));
        })
    };
    // The second load is dispatched behind one load and n instructions, and needs an entry of its own. In twelfths of a cycle:
    assert_eq!(load_behind(10), (2 + 10 * 6 + 2) / 12 + L);
    assert_eq!(load_behind(38), (2 + 38 * 6 + 2) / 12 + L);
    // With 39 instructions there is none until the first load commits.
    assert_eq!(load_behind(39), L + L);
    // Of 100, 39 enter at once and commit behind the load in cycles L to L + 4. The buffer is then free for 40, which commit in the
    // cycle after the last of them is dispatched, and the last 21 take their entries.
    assert_eq!(load_behind(100), L + 4 + 40 / 2 + 1 + 21 / 2 + L);
}

/// The same where the older result is known but not there yet: instructions do not stream past it.
#[test]
fn compute_does_not_stream_past_a_result_that_is_yet_to_come() {
    let cycles = last_cycle(&spec(), |m| {
        m.load(dram(0));
        (0..39).for_each(|_| compute(m, 1));
        compute(m, 100);
        m.load(dram(64));
    });
    // The load and the 39 commit in cycles L to L + 4, and free the 40 entries that the first of the 100 take; the other 60 take
    // those of the 40, a cycle after these are dispatched. Streaming, all would begin when the first ten entries are free.
    assert_eq!(cycles, L + 4 + 40 / 2 + 1 + 60 / 2 + L);
}

/// Nothing older is under way: all instructions enter one behind the other, however slowly they commit, and a load behind them finds
/// an entry. The instruction before them has its result in the cycle after their dispatch, which is early enough.
#[test]
fn compute_streams_through_an_idle_buffer() {
    let mut slow = spec();
    slow.core.commit_width = 1;
    let cycles = last_cycle(&slow, |m| {
        compute(m, 1);
        compute(m, 100);
        m.load(dram(64));
    });
    assert_eq!(cycles, (6 + 100 * 6 + 2) / 12 + L);
}

/// Stores wait until the given time.
struct StoresWait(Ps);
impl Design for StoresWait {
    fn hooks(&self) -> Hooks {
        Hooks {
            gate_loads: true,
            gate_stores: true,
            ..Hooks::default()
        }
    }
    fn may_access(&mut self, cx: &mut dyn Cx, _: HwThread, _: LineAddr, access: Access) -> Gate {
        if access == Access::Load || cx.now() >= self.0 {
            return Gate::Go;
        }
        cx.timer(self.0, 0);
        Gate::Wait(Cause::OrderPending)
    }
    fn timer(&mut self, cx: &mut dyn Cx, _: u64) {
        cx.kick(None);
    }
}

/// A store that finds the store queue full is dispatched in the cycle in which an entry became free, and what follows it behind it.
#[test]
fn dispatch_goes_on_in_the_cycle_in_which_a_store_left_the_full_queue() {
    let mut one = spec();
    one.core.store_queue = 1;
    // A store commits and performs in the cycle after its dispatch, and the next is dispatched in that cycle.
    for n in [1, 2, 10] {
        let cycles = last_cycle(&one, move |m| (0..n).for_each(|i| m.store(dram(i * 64), Val::lit(1))));
        assert_eq!(cycles, n, "{n} stores");
    }
    // An entry that became free before the store was reached holds nothing up.
    let cycles = last_cycle(&one, |m| {
        m.store(dram(0), Val::lit(1));
        compute(m, 100);
        m.store(dram(64), Val::lit(1));
        m.load(dram(128));
    });
    assert_eq!(cycles, (2 + 100 * 6 + 2 + 2) / 12 + L);
    // The first store performs in cycle 500. Loads complete meanwhile, in cycles L and 2 L, and let nothing pass.
    let wait = StoresWait(CYCLE * 500);
    let thread = body(|m| {
        m.store(dram(0), Val::lit(1));
        let first = m.load(dram(64));
        m.load(At {
            dep: first.dep,
            ..dram(128)
        });
        m.store(dram(192), Val::lit(1));
        compute(m, 1000);
        m.load(dram(256));
    });
    let r = run(&one, wait, 0, vec![thread]);
    assert_eq!(r.time, CYCLE * (500 + 1000 / 2 + L));
}

/// One operation that loads `chain` lines, each at an address that the one before gave.
fn loads(m: &mut SimMem<'_>, thread: u64, op: u32, chain: u64) {
    m.op_begin(op);
    (0..chain).fold(0, |dep, i| {
        let at = dram(thread * 4096 + i * 64);
        m.load(At { dep, ..at }).dep
    });
    m.op_end(op, Outcome::default());
}

/// The measured part begins when the last operation of the warm-up commits, not when that becomes known, and has everything that
/// commits later.
#[test]
fn measurement_begins_when_the_last_operation_of_the_warm_up_commits() {
    let thread = |t: u64, chain: u64| {
        body(move |m| {
            loads(m, t, 0, chain);
            compute(m, 7);
            loads(m, t, 1, 3);
        })
    };
    let end = |chain: u64| CYCLE * ((chain * 2 + 7 * 6 + 2) / 12 + 3 * L);
    // The result of a load is known when it finds its line, L cycles before it commits. So is that of the 7 instructions behind it.
    // The loads of the second operation wait for none of the first: only for their dispatch, here in twelfths of a cycle.
    for chain in [1, 2] {
        let r = run(&spec(), Plain, 1, vec![thread(0, chain)]);
        let h = &r.hw_threads[0];
        assert_eq!((h.started, h.finished), (CYCLE * (chain * L), end(chain)), "{chain}");
        assert_eq!((h.instructions, h.ops), (7 + 3, 1), "{chain}");
        assert_eq!((r.time, h.account.total()), (h.finished - h.started, r.time), "{chain}");
    }
    // The last of two threads counts: the one that commits last, and not the one of which it becomes known last. A fence acts in cycle
    // 300, when the store before it performs; the two loads of the other thread are known in cycle L and commit in 2 L.
    let fenced = body(|m| {
        m.op_begin(0);
        m.store(dram(4096), Val::lit(1));
        m.fence(Fence::Sfence);
        m.op_end(0, Outcome::default());
        loads(m, 1, 1, 1);
    });
    let r = run(&spec(), StoresWait(CYCLE * 300), 1, vec![thread(0, 2), fenced]);
    assert_eq!(r.time, end(2) - CYCLE * (2 * L));
    assert_eq!(
        (r.hw_threads[0].started, r.hw_threads[0].instructions),
        (CYCLE * (2 * L), 7 + 3)
    );
    // Of two threads that are known in the same cycle, too.
    let r = run(&spec(), Plain, 1, vec![thread(0, 1), thread(1, 2)]);
    assert_eq!(r.time, end(2) - CYCLE * (2 * L));
    assert_eq!((r.hw_threads[1].instructions, r.hw_threads[1].ops), (7 + 3, 1));
}
