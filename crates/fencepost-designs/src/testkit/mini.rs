//! A few lines of coherent memory around a bench: enough of a machine to run random programs on a design and hand the
//! execution to a checker. No timing, no capacity: caches evict when the dice say so.

use super::bench::Bench;
use fencepost_kernel::log::PersistRecord;
use fencepost_kernel::{CoreId, Fence, HartId, LineAddr, Ps, StoreId, StoreInfo, Stream, Trace, TraceKind};
use fencepost_machine::seam::{Cx as _, Design, Gate, Instr, Snoop, SnoopAnswer};
use std::collections::{BTreeMap, VecDeque};
use std::panic::Location;

/// One step of a thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads a word of a line.
    Load(LineAddr, usize),
    /// Writes a unique value to a word of a line.
    Store(LineAddr, usize),
    /// A fence.
    Fence(Fence),
}

/// How far a core may run ahead of an operation that has not performed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Program order.
    InOrder,
    /// Stores may be passed by later accesses to other words; nothing passes a load (as if everything depended on it) or a fence.
    StoresLag,
    /// Accesses to different words pass one another; nothing passes a fence.
    Relaxed,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    Shared,
    Exclusive,
    Modified,
}

/// A random program, and the machine it runs on.
pub struct Mini<D: Design> {
    /// The design and its handle.
    pub bench: Bench<D>,
    /// What happened, for a checker.
    pub trace: Trace,
    /// What became durable, in order.
    pub records: Vec<PersistRecord>,
    /// Steps taken.
    pub steps: u64,
    /// What each thread has still to do, with its place in program order.
    threads: Vec<VecDeque<(usize, Op)>>,
    /// Loads of each thread: place in program order and event.
    loads: Vec<Vec<(usize, u32)>>,
    order: Order,
    copies: Vec<BTreeMap<LineAddr, State>>,
    /// Lines that prefetches may touch.
    lines: Vec<LineAddr>,
}

impl<D: Design> Mini<D> {
    /// A machine with one thread per program.
    pub fn new(bench: Bench<D>, programs: &[Vec<Op>], order: Order) -> Mini<D> {
        let mut lines: Vec<LineAddr> = programs
            .iter()
            .flatten()
            .filter_map(|op| match op {
                Op::Load(l, _) | Op::Store(l, _) => Some(*l),
                Op::Fence(_) => None,
            })
            .collect();
        lines.sort_unstable();
        lines.dedup();
        let cores = bench.cx.blocked.len();
        let trace = Trace {
            threads: programs.len() as u32,
            ..Trace::default()
        };
        Mini {
            bench,
            trace,
            records: Vec::new(),
            steps: 0,
            threads: programs
                .iter()
                .map(|p| p.iter().copied().enumerate().collect())
                .collect(),
            loads: vec![Vec::new(); programs.len()],
            order,
            copies: vec![BTreeMap::new(); cores],
            lines,
        }
    }

    /// Runs to the end under the dice; false if it got stuck.
    pub fn run(&mut self, dice: &mut Stream) -> bool {
        let mut idle = 0;
        while self.threads.iter().any(|t| !t.is_empty()) {
            self.steps += 1;
            let moved = match dice.below(8) {
                0 => self.disturb(dice),
                1 | 2 => self.bench.step_any(dice),
                _ => {
                    let t = dice.below(self.threads.len() as u64) as usize;
                    self.step_thread(t, dice)
                }
            };
            self.bench.answer_drains();
            self.note_durable();
            idle = if moved { 0 } else { idle + 1 };
            if idle > 10_000 {
                return false;
            }
        }
        let drained = self.bench.drain(dice);
        self.note_durable();
        drained
    }

    /// A core loses a line, or asks for one without using it.
    fn disturb(&mut self, dice: &mut Stream) -> bool {
        if self.lines.is_empty() {
            return false;
        }
        let hart = HartId(dice.below(u64::from(self.bench.cx.harts)) as u8);
        let core = self.bench.cx.core_of(hart);
        let line = self.lines[dice.below(self.lines.len() as u64) as usize];
        if dice.chance(2, 3) {
            return self.copies[core.index()].remove(&line).is_some();
        }
        self.obtain(hart, core, line, dice.chance(1, 2))
    }

    fn step_thread(&mut self, t: usize, dice: &mut Stream) -> bool {
        let Some(i) = self.choose(t, dice) else { return false };
        let hart = HartId(t as u8);
        let (place, op) = self.threads[t][i];
        let done = match op {
            Op::Fence(f) => self.fence(hart, f),
            Op::Load(line, word) => self.access(hart, line, word, false),
            Op::Store(line, word) => self.access(hart, line, word, true),
        };
        if done {
            self.threads[t].remove(i);
            self.depend(t, place, op);
        }
        done
    }
    /// Where nothing passes a load, everything depends on it: the access performed last on the newest load before it.
    fn depend(&mut self, t: usize, place: usize, op: Op) {
        let event = self.trace.next_event().saturating_sub(1);
        let is_access = !matches!(op, Op::Fence(_));
        let before = self.loads[t].iter().filter(|l| l.0 < place).max();
        if let (true, Some((_, on))) = (is_access && self.order != Order::Relaxed, before) {
            self.trace.depends_on(*on);
        }
        if matches!(op, Op::Load(..)) {
            self.loads[t].push((place, event));
        }
    }
    /// An operation of the thread that may perform next.
    fn choose(&self, t: usize, dice: &mut Stream) -> Option<usize> {
        let ops = &self.threads[t];
        if ops.is_empty() || self.order == Order::InOrder {
            return (!ops.is_empty()).then_some(0);
        }
        let may = |i: usize| {
            (0..i).all(|j| match (ops[j].1, ops[i].1) {
                (Op::Fence(_), _) | (_, Op::Fence(_)) => false,
                (Op::Load(..), _) if self.order == Order::StoresLag => false,
                (Op::Load(a, v) | Op::Store(a, v), Op::Load(b, w) | Op::Store(b, w)) => (a, v) != (b, w),
            })
        };
        let window: Vec<usize> = (0..ops.len().min(5)).filter(|i| may(*i)).collect();
        Some(window[dice.below(window.len() as u64) as usize])
    }
    fn fence(&mut self, hart: HartId, fence: Fence) -> bool {
        let gone = self.bench.instr(hart.0, Instr::Fence(fence)) == Gate::Go;
        if gone {
            // What the fence waited for is durable before it completes.
            self.note_durable();
            self.trace.push(hart, TraceKind::Fence(fence));
        }
        gone
    }
    fn access(&mut self, hart: HartId, line: LineAddr, word: usize, is_store: bool) -> bool {
        let core = self.bench.cx.core_of(hart);
        if self.bench.cx.blocked[core.index()].is_some() || !self.obtain(hart, core, line, is_store) {
            return false;
        }
        let addr = fencepost_kernel::Addr(line.base().0 + 8 * word as u64);
        let mut data = self.bench.cx.coherent(line);
        if !is_store {
            self.trace.push(
                hart,
                TraceKind::Load {
                    addr,
                    from: data.by[word],
                },
            );
            self.bench.load(hart.0, line);
            return true;
        }
        self.copies[core.index()].insert(line, State::Modified);
        let id = StoreId::from_index(self.trace.stores.len()).expect("few stores");
        let value = self.trace.stores.len() as u64 + 1;
        self.trace.stores.push(StoreInfo {
            thread: hart,
            addr,
            value,
            nt: false,
            tx: None,
            source: Location::caller(),
        });
        self.trace.push(hart, TraceKind::Store(id));
        data.by[word] = Some(id);
        self.bench.cx.lines.insert(line, data);
        self.bench.store(hart.0, line, word, value);
        true
    }
    /// Gets the line into the core's cache, with a bus request where it takes one; false if the design delays it.
    fn obtain(&mut self, hart: HartId, core: CoreId, line: LineAddr, exclusive: bool) -> bool {
        let own = self.copies[core.index()].get(&line).copied();
        let kind = match (own, exclusive) {
            (Some(State::Exclusive | State::Modified), _) | (Some(State::Shared), false) => return true,
            (Some(State::Shared), true) => Snoop::Upgrade,
            (None, true) => Snoop::ReadExclusive,
            (None, false) => Snoop::Read,
        };
        if matches!(self.bench.snoop(hart.0, line, kind), SnoopAnswer::Wait(_)) {
            return false;
        }
        let mut alone = true;
        for (c, lines) in self.copies.iter_mut().enumerate().filter(|(c, _)| *c != core.index()) {
            let _ = c;
            if exclusive {
                lines.remove(&line);
            } else if let Some(state) = lines.get_mut(&line) {
                *state = State::Shared;
                alone = false;
            }
        }
        let state = if exclusive || alone {
            State::Exclusive
        } else {
            State::Shared
        };
        self.copies[core.index()].insert(line, state);
        true
    }
    fn note_durable(&mut self) {
        for id in self.bench.cx.durable_order.iter().skip(self.records.len()) {
            let write = &self.bench.cx.writes[id.0 as usize].write;
            let index = self.records.len() as u32;
            self.records.push(PersistRecord {
                time: Ps(u64::from(index)),
                line: write.line,
                data: write.data,
                cause: write.cause,
            });
            self.trace.push_hardware(TraceKind::Durable { index });
        }
    }
}

/// A random program for each thread: loads, stores and fences over a few persistent and volatile lines.
pub fn random_programs(dice: &mut Stream, threads: usize, ops: usize, pm_lines: u64, dram_lines: u64) -> Vec<Vec<Op>> {
    let mut one = || {
        let line = match dice.below(pm_lines + dram_lines) {
            n if n < pm_lines => super::pm_line(n),
            n => super::dram_line(n - pm_lines),
        };
        let word = dice.below(2) as usize;
        match dice.below(10) {
            0..=2 => Op::Fence(Fence::Dmb),
            3..=5 => Op::Load(line, word),
            _ => Op::Store(line, word),
        }
    };
    (0..threads).map(|_| (0..ops).map(|_| one()).collect()).collect()
}
