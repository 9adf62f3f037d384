//! A thread of a test on the machine. What it does next follows from the ways through it that what was read so far leaves open:
//! where they agree it goes on, where they differ it waits for a load.

use super::lower::{Lowered, Lowering};
use super::steps::{conflicting, step};
use super::way::{Item, Way};
use fencepost_kernel::{Addr, Rmw, Stream};
use fencepost_litmus::op::{Alu, FlushKind, Op};
use fencepost_litmus::path::{Event, Kind, Set};
use fencepost_machine::frontend::{Dataflow, Next, OpKind, Step};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Instructions of the compute sites that shift threads against one another.
const DELAYS: [u64; 6] = [1, 20, 90, 300, 900, 2500];
/// What no test compares with.
const NO_VALUE: u64 = 0x5ca1_ab1e_dead_c0de;

/// The ways through a thread that are still open, by number; shared with who wants to know how it ended.
pub(super) type Open = Rc<RefCell<Vec<usize>>>;

/// What all threads of a run share.
pub(super) struct Shared {
    /// Where words lie.
    pub place: BTreeMap<u64, Addr>,
    /// What instructions become.
    pub lowering: Lowering,
    /// Instructions that each thread computes before it begins.
    pub begins: Vec<u64>,
}

/// A running thread.
pub(super) struct LitmusThread {
    code: Rc<[Op]>,
    ways: Rc<[Way]>,
    open: Open,
    shared: Rc<Shared>,
    dice: Stream,
    /// Its number in the test.
    number: u64,
    /// Lines that no other thread and no test uses.
    filler: Addr,
    /// Accesses before the test's own: lines that lie in the cache, persists that stand before in a buffer.
    prelude: VecDeque<Step>,
    /// Item to do next.
    at: usize,
    /// How much more noise comes before that item, once that was decided.
    noise_left: Option<u64>,
    /// Loads behind the test, which drive its lines out of small caches.
    epilogue: u64,
    /// Whether the fence of a releasing atomic was handed over.
    fenced: bool,
    /// By operation: the event.
    event_of: Vec<Option<usize>>,
    /// By event: the operation.
    operation_of: Vec<u32>,
    /// By event: the reads that it waits for, directly or not.
    after: Vec<Set>,
    /// Reads handed over.
    reads: Set,
    /// Reads that have their value.
    known: Set,
    /// Reads that everything from here on waits for.
    fence: Set,
    /// Stores handed over without a value: operation and event.
    unknown: Vec<(u32, usize)>,
}

impl LitmusThread {
    /// Thread `number` of a test; every way through it is open. Before the test it reads some of the words and writes some lines.
    pub(super) fn new(
        code: Rc<[Op]>,
        ways: Rc<[Way]>,
        shared: Rc<Shared>,
        number: u64,
        mut dice: Stream,
    ) -> (Self, Open) {
        let open: Open = Rc::new(RefCell::new((0..ways.len()).collect()));
        let filler = Addr::pm(0x10_0000 * (number + 1));
        let prelude = prelude(&shared, number, filler, &mut dice);
        let epilogue = if dice.chance(1, 2) { 0 } else { dice.below(64) };
        let thread = LitmusThread {
            code,
            ways,
            open: open.clone(),
            shared,
            dice,
            number,
            filler,
            prelude,
            at: 0,
            noise_left: None,
            epilogue,
            fenced: false,
            event_of: Vec::new(),
            operation_of: Vec::new(),
            after: Vec::new(),
            reads: 0,
            known: 0,
            fence: 0,
            unknown: Vec::new(),
        };
        (thread, open)
    }

    /// The item that all open ways agree on; `Err` if it is not known what comes, or nothing does.
    fn item(&self) -> Result<Item, Next> {
        let open = self.open.borrow();
        let Some(first) = open.first().map(|w| &self.ways[*w]) else {
            return Err(Next::End);
        };
        match open.iter().all(|w| first.agrees(&self.ways[*w], self.at)) {
            true => first.items.get(self.at).copied().ok_or(Next::End),
            false => Err(Next::Wait),
        }
    }
    /// An event as the first open way has it.
    fn event(&self, n: usize) -> Event {
        self.ways[self.open.borrow()[0]].events[n]
    }
    /// What all open ways say that an event reads or writes.
    fn value(&self, n: usize) -> Option<u64> {
        let open = self.open.borrow();
        let mut values = open.iter().map(|w| self.ways[*w].events[n].value);
        let first = values.next()?;
        values.all(|v| v == first).then_some(first)
    }

    /// Reads without a value that an event needs first.
    fn pending(&self, e: &Event, n: usize) -> Set {
        let d = &e.needs;
        let mut on = d.addr | d.data | d.pick | d.isync_ctrl | d.isync_addr | d.isync_pick | self.fence;
        if e.is_read() {
            if self.shared.lowering.tso {
                on |= self.reads;
            }
            // Loads of one word perform in order, and a store that has no value yet has none to forward.
            for before in (0..n).filter(|b| self.event(*b).addr == e.addr) {
                let event = self.event(before);
                if event.is_read() {
                    on |= 1 << before;
                } else if event.is_write() {
                    on |= event.needs.data;
                }
            }
        }
        on & !self.known
    }

    /// Of what an event waits for, the operation that it names: the youngest, if that waits for the others itself.
    fn depend(&mut self, n: usize, pending: Set) -> Option<u32> {
        if pending == 0 {
            self.note(n, 0);
            return Some(0);
        }
        let youngest = 63 - pending.leading_zeros() as usize;
        let covered = self.after[youngest] | 1 << youngest;
        if pending & !covered != 0 {
            return None;
        }
        self.note(n, covered & !self.known);
        Some(self.operation_of[youngest])
    }
    fn note(&mut self, n: usize, after: Set) {
        self.after.resize(self.after.len().max(n + 1), 0);
        self.operation_of.resize(self.operation_of.len().max(n + 1), 0);
        self.after[n] = after;
    }

    fn hand_over(&mut self, event: Option<usize>) {
        self.event_of.push(event);
        if let Some(n) = event {
            self.note(n, self.after.get(n).copied().unwrap_or(0));
            self.operation_of[n] = self.event_of.len() as u32;
        }
    }
    fn plain(&mut self, step: Step) -> Next {
        self.hand_over(None);
        Next::Do(step)
    }
    /// What shifts threads against one another, or drives a line out of small caches.
    fn noise(&mut self) -> Step {
        match self.dice.below(3) {
            0 => self.filler_load(),
            1 => self.evicting_load(),
            _ => Step {
                value: Some(DELAYS[self.dice.below(DELAYS.len() as u64) as usize]),
                ..step(OpKind::Compute)
            },
        }
    }
    fn filler_load(&mut self) -> Step {
        Step {
            addr: Addr(self.filler.0 + 64 * self.dice.below(32)),
            ..step(OpKind::Load)
        }
    }
    /// Drives one of the test's own lines towards its way out.
    fn evicting_load(&mut self) -> Step {
        let words = self.shared.place.values();
        let at = self.dice.below(words.len().max(1) as u64) as usize;
        let word = words.copied().nth(at).unwrap_or(self.filler);
        Step {
            addr: conflicting(word, self.number, self.dice.below(64)),
            ..step(OpKind::Load)
        }
    }
    fn pass(&mut self) {
        (self.at, self.noise_left, self.fenced) = (self.at + 1, None, false);
    }

    fn access(&mut self, n: usize) -> Option<Next> {
        let e = self.event(n);
        let pending = self.pending(&e, n);
        let lowering = self.shared.lowering;
        let addr = self.shared.place.get(&e.addr).copied().unwrap_or(Addr(0));
        let (kind, value) = match e.kind {
            Kind::Flush(kind) => match lowering.flush(kind) {
                Some(flush) => (OpKind::Flush(flush), Some(0)),
                None => {
                    self.note(n, 0);
                    self.pass();
                    return None;
                }
            },
            Kind::Read if e.order.acquire || e.order.acquire_pc => (OpKind::LoadAcquire, Some(0)),
            Kind::Read => (OpKind::Load, Some(0)),
            Kind::Write if e.order.release => match self.value(n) {
                Some(value) => (OpKind::StoreRelease, Some(value)),
                None => return Some(Next::Wait),
            },
            Kind::Write if lowering.non_temporal(e.nt, addr) => (OpKind::NtStore, self.value(n)),
            Kind::Write => (OpKind::Store, self.value(n)),
        };
        let Some(dep) = self.depend(n, pending) else {
            return Some(Next::Wait);
        };
        self.hand_over(Some(n));
        match (e.is_read(), value) {
            (true, _) => self.reads |= 1 << n,
            (false, None) => self.unknown.push((self.event_of.len() as u32, n)),
            _ => {}
        }
        self.pass();
        Some(Next::Do(Step { kind, addr, value, dep }))
    }

    /// An atomic, once every read before it has its value.
    fn atomic(&mut self, n: usize) -> Next {
        if self.reads & !self.known != 0 {
            return Next::Wait;
        }
        let e = self.event(n);
        let open = self.open.borrow().clone();
        let write = |way: &usize| match self.ways[*way].items.get(self.at) {
            Some(Item::Atomic(_, Some(w))) => Some(self.ways[*way].events[*w]),
            _ => None,
        };
        let writes: Vec<(u64, Event)> = (open.iter())
            .filter_map(|w| Some((self.ways[*w].events[n].value, write(w)?)))
            .collect();
        if writes.iter().any(|w| w.1.order.release) && !self.fenced {
            self.fenced = true;
            if let Lowered::Fence(fence) = self.shared.lowering.barrier(fencepost_litmus::op::Barrier::Full) {
                return self.plain(step(OpKind::Fence(fence)));
            }
        }
        let rmw = match (self.code.get(usize::from(e.op)), writes.first()) {
            (Some(Op::Rmw { alu: Alu::Move, .. }), Some((_, w))) => Rmw::Swap(w.value),
            (Some(Op::Rmw { .. }), Some((old, w))) => Rmw::Add(w.value.wrapping_sub(*old)),
            (_, Some((old, w))) => Rmw::Cas {
                expect: *old,
                new: w.value,
            },
            (_, None) => Rmw::Cas {
                expect: NO_VALUE,
                new: NO_VALUE,
            },
        };
        self.note(n, 0);
        self.hand_over(Some(n));
        self.reads |= 1 << n;
        self.pass();
        let addr = self.shared.place.get(&e.addr).copied().unwrap_or(Addr(0));
        Next::Atomic(
            Step {
                addr,
                ..step(OpKind::Rmw)
            },
            rmw,
        )
    }
}

impl Dataflow for LitmusThread {
    fn next(&mut self) -> Next {
        if let Some(step) = self.prelude.pop_front() {
            return self.plain(step);
        }
        loop {
            let item = match self.item() {
                Ok(item) => item,
                Err(Next::End) if self.epilogue > 0 => {
                    self.epilogue -= 1;
                    let load = self.filler_load();
                    return self.plain(load);
                }
                Err(none) => return none,
            };
            let left = match self.noise_left {
                Some(left) => left,
                None if self.dice.chance(1, 2) => self.dice.below(6),
                None => 0,
            };
            self.noise_left = Some(left.saturating_sub(1));
            if left > 0 {
                let noise = self.noise();
                return self.plain(noise);
            }
            match item {
                Item::Fence(barrier) => {
                    self.pass();
                    match self.shared.lowering.barrier(barrier) {
                        Lowered::Fence(fence) => return self.plain(step(OpKind::Fence(fence))),
                        Lowered::Loads => self.fence |= self.reads,
                        Lowered::Nothing => {}
                    }
                }
                Item::Atomic(n, _) => return self.atomic(n),
                Item::Event(n) => {
                    if let Some(next) = self.access(n) {
                        return next;
                    }
                }
            }
        }
    }

    fn loaded(&mut self, id: u32, value: u64, known: &mut Vec<(u32, u64)>) {
        let Some(Some(n)) = self.event_of.get(id as usize - 1).copied() else {
            return;
        };
        if self.reads >> n & 1 == 0 {
            return;
        }
        self.known |= 1 << n;
        let ways = &self.ways;
        (self.open.borrow_mut()).retain(|w| ways[*w].events.get(n).is_some_and(|e| e.width.cut(value) == e.value));
        let unknown = std::mem::take(&mut self.unknown);
        for (store, event) in unknown {
            match self.value(event) {
                Some(value) => known.push((store, value)),
                None => self.unknown.push((store, event)),
            }
        }
    }
}

fn prelude(shared: &Shared, number: u64, filler: Addr, dice: &mut Stream) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    let begins = shared.begins.get(number as usize).copied().unwrap_or(0);
    let wait = Step {
        value: Some(begins),
        ..step(OpKind::Compute)
    };
    steps.extend((begins > 0).then_some(wait));
    let load = |addr: Addr| Step {
        addr,
        ..step(OpKind::Load)
    };
    let store = |addr: Addr| Step {
        addr,
        value: Some(1),
        ..step(OpKind::Store)
    };
    steps.extend((shared.place.values()).filter(|_| dice.chance(1, 4)).map(|a| load(*a)));
    let fillers = dice.below(12).saturating_sub(5);
    steps.extend((0..fillers).map(|i| store(Addr(filler.0 + 64 * i))));
    // What stands in the queue of one word's bank.
    let crowded = dice.below(4 * shared.place.len().max(1) as u64) as usize;
    if let Some(word) = shared.place.values().nth(crowded) {
        for n in 0..dice.below(12) {
            let line = conflicting(*word, number, n);
            steps.push_back(store(line));
            if let Some(flush) = shared.lowering.flush(FlushKind::Weak) {
                steps.push_back(Step {
                    addr: line,
                    ..step(OpKind::Flush(flush))
                });
            }
        }
    }
    steps
}
