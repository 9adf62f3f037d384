//! Hardware threads alone: a fake rest of the machine, in which every access hits or takes a fixed time.

use super::locks::Locks;
use super::outside::{Outside, Turn};
use super::shape::Shape;
use super::state::{HardwareThread, Stopped};
use super::trace_recorder::TraceRecorder;
use crate::frontend::{Journal, SimMem, Thread, ThreadBody};
use crate::hierarchy::{Lookup, Tags, Waiter, WayRef};
use crate::seam::{Access, Bound, Cause, FenceAction, FenceExecution, Gate, Hooks, Instr, TxStart};
use crate::spec::{MachineSpec, StoreOrder};
use fencepost_kernel::{
    Addr, At, Fence, HwThread, Image, LineAddr, LineData, Mem, Ps, QueueId, Site, Span, StoreId, TxId, Val,
};
use std::cell::RefCell;
use std::rc::Rc;

/// From a miss to its line.
const MISS: Ps = Ps(100_000);

enum Next {
    Turn(HwThread, Turn),
    Arrived(Waiter),
}

struct Fake {
    now: Ps,
    shape: Shape,
    agenda: Vec<(Ps, u64, Next)>,
    seq: u64,
    /// Holds what was missed: what a thread finds by itself.
    l1: Tags,
    /// Lines that are in the L1 from the start or were missed.
    present: Vec<LineAddr>,
    coherent: Image,
    locks: Locks,
    /// Stores as they performed: line and when.
    performed: Vec<(LineAddr, Ps)>,
    /// Fences as they were handed over.
    fences: Vec<(Fence, Ps)>,
    unfinished: usize,
}
impl Fake {
    fn at(&mut self, at: Ps, next: Next) {
        self.seq += 1;
        self.agenda.push((at, self.seq, next));
    }
}
impl Outside for Fake {
    fn now(&self) -> Ps {
        self.now
    }
    fn shape(&self) -> &Shape {
        &self.shape
    }
    fn hooks(&self) -> Hooks {
        Hooks::default()
    }
    fn is_last(&self, _: Ps, _: HwThread, _: Turn) -> bool {
        false
    }
    fn schedule(&mut self, at: Ps, hw_thread: HwThread, turn: Turn) {
        assert!(at >= self.now, "nothing is scheduled in the past");
        self.at(at, Next::Turn(hw_thread, turn));
    }
    fn l1(&self, _: HwThread) -> &Tags {
        &self.l1
    }
    fn host_prefetch(&self, _: Addr) {}
    fn access(&mut self, line: LineAddr, _: bool, waiter: Waiter) -> Lookup {
        if self.present.contains(&line) {
            return Lookup::Hit(WayRef::for_tests());
        }
        self.present.push(line);
        self.l1.hold_for_tests(line);
        self.at(self.now + MISS, Next::Arrived(waiter));
        Lookup::Missed
    }
    fn blocked(&self, _: HwThread) -> Option<Cause> {
        None
    }
    fn held(&self, _: LineAddr) -> bool {
        false
    }
    fn drop_copies(&mut self, _: LineAddr, _: Waiter) {}
    fn place_store(&mut self, _: HwThread, way: WayRef) -> Result<WayRef, Cause> {
        Ok(way)
    }
    fn store_in_l1(&mut self, _: HwThread, addr: Addr, _: WayRef) {
        self.performed.push((addr.line(), self.now));
    }
    fn performed(&mut self, _: HwThread, _: LineAddr, _: WayRef, _: Access) {}
    fn word(&self, addr: Addr) -> u64 {
        self.coherent.word(addr)
    }
    fn writer(&self, _: Addr) -> Option<StoreId> {
        None
    }
    fn set_word(&mut self, addr: Addr, value: u64, by: Option<StoreId>) {
        self.coherent.set_word(addr, value, by);
    }
    fn line_data(&self, line: LineAddr) -> LineData {
        self.coherent.line(line)
    }
    fn instr(&mut self, _: HwThread, instr: Instr) -> Gate {
        if let Instr::Fence(kind) = instr {
            self.fences.push((kind, self.now));
        }
        Gate::Go
    }
    fn queued(&mut self, _: HwThread, _: Instr) {}
    fn may_access(&mut self, _: HwThread, _: LineAddr, _: Access) -> Gate {
        Gate::Go
    }
    fn tx_begin(&mut self, _: HwThread) -> TxStart {
        TxStart::Go(TxId(0))
    }
    fn tx_commit(&mut self, _: HwThread, _: TxId) -> Gate {
        Gate::Go
    }
    fn tx_abort(&mut self, _: HwThread, _: TxId) -> Gate {
        Gate::Go
    }
    fn tx_flush(&mut self, _: HwThread) -> Gate {
        Gate::Go
    }
    fn bind_range(&mut self, _: HwThread, _: Span) -> Bound {
        Bound::To(QueueId::DEFAULT)
    }
    fn commit_queue(&mut self, _: HwThread, _: QueueId) -> Gate {
        Gate::Go
    }
    fn release_range(&mut self, _: HwThread, _: Span) -> Gate {
        Gate::Go
    }
    fn nt_store(&mut self, _: HwThread, _: LineAddr, _: &LineData, _: u8) -> Gate {
        Gate::Go
    }
    fn locks(&mut self) -> &mut Locks {
        &mut self.locks
    }
    fn recorder(&mut self) -> Option<&mut TraceRecorder> {
        None
    }
    fn warmed_up(&mut self, _: HwThread, _: Ps) {}
    fn finished(&mut self) {
        self.unfinished -= 1;
    }
}

/// Runs threads to their end. The lines of `present` are in the L1 from the start.
fn run(
    spec: &MachineSpec,
    fence: FenceAction,
    present: &[Addr],
    bodies: Vec<ThreadBody>,
) -> (Vec<HardwareThread>, Fake) {
    let functional = Rc::new(RefCell::new(Image::default()));
    let journal = Rc::new(RefCell::new(Journal::new(bodies.len())));
    let mut out = Fake {
        now: Ps::ZERO,
        shape: Shape::new(spec, |_| fence),
        agenda: Vec::new(),
        seq: 0,
        l1: Tags::new(&spec.l1),
        present: present.iter().map(|a| a.line()).collect(),
        coherent: Image::default(),
        locks: Locks::default(),
        performed: Vec::new(),
        fences: Vec::new(),
        unfinished: bodies.len(),
    };
    let mut threads = Vec::new();
    for (i, body) in bodies.into_iter().enumerate() {
        let id = HwThread(i as u8);
        let thread = Thread::new(
            body,
            functional.clone(),
            journal.clone(),
            Rc::from([1000]),
            (id.0, None),
        );
        threads.push(HardwareThread::new(id, thread, 0, functional.clone(), journal.clone()));
        out.schedule(Ps::ZERO, id, Turn::Dispatch);
    }
    while let Some(i) = (0..out.agenda.len()).min_by_key(|i| (out.agenda[*i].0, out.agenda[*i].1)) {
        let (at, _, next) = out.agenda.swap_remove(i);
        out.now = at;
        match next {
            Next::Turn(h, Turn::Dispatch) => threads[h.index()].start(&mut out),
            Next::Turn(h, Turn::Load(at)) => threads[h.index()].load(&mut out, at),
            Next::Turn(h, Turn::Stores) => threads[h.index()].stores_turn(&mut out),
            Next::Turn(h, Turn::Head) => threads[h.index()].head(&mut out),
            Next::Arrived(Waiter::Load(h, at)) => threads[h.index()].load_arrived(&mut out, at),
            Next::Arrived(Waiter::Store(h, id)) => threads[h.index()].store_arrived(&mut out, id),
            Next::Arrived(Waiter::Head(h)) => threads[h.index()].head(&mut out),
        }
    }
    assert_eq!(out.unfinished, 0, "every thread came to its end");
    (threads, out)
}
fn body(f: impl FnOnce(&mut SimMem<'_>) + 'static) -> ThreadBody {
    Box::new(f)
}
fn at(i: u64) -> At<u32> {
    At::new(Addr::pm(i * 64))
}
fn lines(out: &Fake) -> Vec<LineAddr> {
    out.performed.iter().map(|p| p.0).collect()
}

#[test]
fn stores_perform_in_order_or_pass_a_miss_as_the_machine_says() {
    let program = || body(|m| (1..=3).for_each(|i| m.store(at(i), Val::lit(i))));
    let hit = [at(2).addr, at(3).addr];
    let order = |store_order| {
        let mut spec = MachineSpec::default();
        spec.core.store_order = store_order;
        let (_, out) = run(&spec, FenceAction::AFTER_STORES, &hit, vec![program()]);
        lines(&out)
    };
    let [a, b, c] = [1, 2, 3].map(|i| at(i).addr.line());
    assert_eq!(order(StoreOrder::Tso), [a, b, c]);
    assert_eq!(order(StoreOrder::Relaxed), [b, c, a]);
}

#[test]
fn one_store_a_cycle_leaves_the_queue() {
    let spec = MachineSpec::default();
    let present: Vec<Addr> = (0..8).map(|i| at(i).addr).collect();
    let program = body(|m| (0..8).for_each(|i| m.store(at(i), Val::lit(i))));
    let (_, out) = run(&spec, FenceAction::AFTER_STORES, &present, vec![program]);
    let period = spec.core.clock.period();
    let gaps: Vec<Ps> = out.performed.windows(2).map(|w| w[1].1 - w[0].1).collect();
    assert_eq!(gaps, [period; 7]);
}

/// A miss, a fence, 1000 instructions: a waiting fence lets a reorder buffer of them pass, a marker all of them.
#[test]
fn a_fence_waits_for_the_miss_and_a_marker_does_not_hold_up_its_thread() {
    let spec = MachineSpec::default();
    let program = || {
        body(|m| {
            m.store(at(1), Val::lit(1));
            m.fence(Fence::Sfence);
            m.compute(Site(0));
        })
    };
    let finish = |fence| {
        let (threads, out) = run(&spec, fence, &[], vec![program()]);
        assert!(
            out.fences[0].1 >= out.performed[0].1,
            "handed over when the store has performed"
        );
        let drain = threads[0].account.stalled(Cause::StoreDrain);
        (threads[0].account.until, drain, out.performed[0].1)
    };
    let period = spec.core.clock.period();
    let ipc = u64::from(spec.core.compute_ipc);
    let (compute, window) = (period * (1000 / ipc), period * (u64::from(spec.core.rob) / ipc));
    let slack = period * 8;
    let (waits, drain, stored) = finish(FenceAction::AFTER_STORES);
    assert!(drain + slack >= MISS && stored >= MISS);
    let want = stored + compute - window;
    assert!(waits + slack >= want && waits <= want + slack, "{waits} is not {want}");
    let (marker, drain, _) = finish(FenceAction::MARKER);
    assert!(
        marker + slack >= compute && marker <= compute + slack,
        "{marker} is not {compute}"
    );
    assert_eq!(drain, Ps::ZERO);
}

#[test]
fn a_lock_goes_to_the_longest_waiter_and_nobody_polls() {
    let spec = MachineSpec::default();
    let program = |_| {
        body(|m| {
            m.lock(at(0));
            let v = m.load(at(1));
            m.store(at(1), Val::lit(v.v + 1));
            m.unlock(at(0));
        })
    };
    let (threads, out) = run(
        &spec,
        FenceAction::AFTER_STORES,
        &[at(0).addr, at(1).addr],
        (0..4).map(program).collect(),
    );
    assert_eq!(out.coherent.word(at(1).addr), 4, "every increment counts");
    for t in &threads {
        assert_eq!(t.account.total(), t.account.until, "busy time and stalls add up");
    }
    assert!(out.seq < 100, "{} events for four critical sections", out.seq);
}

#[test]
fn a_dependent_load_starts_when_its_address_is_there() {
    let spec = MachineSpec::default();
    let run_chain = |dependent: bool| {
        let program = body(move |m| {
            let v = m.load(at(1));
            m.load(if dependent { v.index(at(2).addr, 0) } else { at(2) });
        });
        run(&spec, FenceAction::AFTER_STORES, &[], vec![program]).0[0]
            .account
            .until
    };
    let (serial, parallel) = (run_chain(true), run_chain(false));
    let slack = spec.core.clock.period() * 4;
    assert!(serial >= MISS * 2 && serial <= MISS * 2 + slack, "{serial}");
    assert!(parallel >= MISS && parallel <= MISS + slack, "{parallel}");
}

/// 1000 instructions behind a fence that waits for a miss: all of them execute before it ends, a reorder buffer of them, or none.
#[test]
fn what_executes_behind_a_fence_is_what_its_execution_says() {
    let spec = MachineSpec::default();
    let finish = |execution| {
        let fence = FenceAction {
            execution,
            ..FenceAction::AFTER_STORES
        };
        let program = body(|m| {
            m.store(at(1), Val::lit(1));
            m.fence(Fence::Sfence);
            m.compute(Site(0));
        });
        let (threads, out) = run(&spec, fence, &[], vec![program]);
        (threads[0].account.until, out.performed[0].1)
    };
    let period = spec.core.clock.period();
    let ipc = u64::from(spec.core.compute_ipc);
    let (compute, window) = (period * (1000 / ipc), period * (u64::from(spec.core.rob) / ipc));
    let slack = period * 8;
    let close = |is: Ps, want: Ps| is + slack >= want && is <= want + slack;
    let (serial, stored) = finish(FenceExecution::Serialize);
    assert!(close(serial, stored + compute), "{serial}");
    let (retire, stored) = finish(FenceExecution::Retire);
    assert!(close(retire, stored + compute - window), "{retire}");
    let (buffered, _) = finish(FenceExecution::Buffered);
    assert!(close(buffered, compute), "{buffered}");
}

/// Loads that hit and depend on nothing: as many a cycle as the narrower of front end and dispatch lets in.
/// A thread that says that it stopped for want of room, and has room, was not woken.
#[test]
fn dispatch_that_might_go_on_is_asleep() {
    for order in [StoreOrder::Relaxed, StoreOrder::Tso] {
        let mut spec = MachineSpec::default();
        spec.core.store_order = order;
        let store = body(|m| m.store(at(1), Val::lit(1)));
        let (mut threads, mut out) = run(&spec, FenceAction::AFTER_STORES, &[], vec![store]);
        assert_eq!(threads[0].asleep(&mut out), None);
        threads[0].stopped = Some(Stopped::StoreQueue);
        assert_eq!(threads[0].asleep(&mut out).as_deref(), Some("dispatch"), "{order:?}");
    }
}

#[test]
fn the_front_end_bounds_what_is_dispatched() {
    let finish = |front_end_width, dispatch_width| {
        let mut spec = MachineSpec::default();
        (spec.core.front_end_width, spec.core.dispatch_width) = (front_end_width, dispatch_width);
        // Queues that never fill: sixteen loads of four cycles each would allow four a cycle.
        (spec.core.load_queue, spec.core.rob) = (64, 256);
        let program = body(|m| {
            for _ in 0..600 {
                let _ = m.load(at(1));
            }
        });
        let until = run(&spec, FenceAction::AFTER_STORES, &[at(1).addr], vec![program]).0[0]
            .account
            .until;
        until.0 / spec.core.clock.period().0
    };
    for (front_end, dispatch, width) in [(3, 6, 3), (6, 3, 3), (6, 6, 6), (2, 6, 2)] {
        let (cycles, want) = (finish(front_end, dispatch), 600 / width);
        assert!(
            cycles.abs_diff(want) <= 10,
            "{front_end}/{dispatch}: {cycles} cycles, not {want}"
        );
    }
}
