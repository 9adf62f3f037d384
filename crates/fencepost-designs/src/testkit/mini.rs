//! A machine without time around a bench: threads that run random programs, caches, and a record of the execution for a
//! checker. It is as strict with a design as the machine is: it asks and tells what the design declared and nothing else, and
//! what was refused it asks again after a kick only. Fences execute as the design declares.

use super::bench::Bench;
use super::hierarchy::Hierarchy;
use super::programs::Op;
use fencepost_kernel::log::PersistRecord;
use fencepost_kernel::{Addr, Fence, Flush, HwThread, LineAddr, Ps, StoreId, StoreInfo, Stream, Trace, TraceKind};
use fencepost_machine::seam::{Access, Cx as _, Design, FenceAction, Gate, Instr};
use std::collections::{BTreeSet, VecDeque};
use std::panic::Location;

/// How far a core may run ahead of an operation that has not performed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Program order.
    InOrder,
    /// Stores may be passed by later accesses to other words; nothing passes a load (as if everything depended on it), and loads pass
    /// fences that are markers in the store queue.
    StoresLag,
    /// Accesses to different words pass one another; loads pass fences that do not order loads.
    Relaxed,
}

/// Steps in a row in which nothing moved, after which a run counts as stuck.
const PATIENCE: u32 = 2_000;

/// A program for each thread, and the machine it runs on.
pub struct Mini<D: Design> {
    /// The design and its handle.
    pub bench: Bench<D>,
    /// What happened, for a checker.
    pub trace: Trace,
    /// What became durable, in order.
    pub records: Vec<PersistRecord>,
    /// Steps taken.
    pub steps: u64,
    /// The caches.
    pub hierarchy: Hierarchy,
    /// What each thread has still to do, with its place in program order.
    threads: Vec<VecDeque<(usize, Op)>>,
    /// Loads of each thread: place in program order and event.
    loads: Vec<Vec<(usize, u32)>>,
    /// Operations that the design refused: thread and place.
    refused: BTreeSet<(usize, usize)>,
    /// By thread: the first place in program order of which the design has not heard that it stands in the store queue.
    queued: Vec<usize>,
    order: Order,
    /// Every fence that waits for stores does so in the store queue, whatever the design declares: the machine's
    /// `core.fence_execution` may say so.
    pub buffered_fences: bool,
    /// Lines that prefetches and evictions touch.
    lines: Vec<LineAddr>,
}

impl<D: Design> Mini<D> {
    /// A machine with one thread per program.
    pub fn new(bench: Bench<D>, programs: &[Vec<Op>], order: Order) -> Mini<D> {
        let mut lines: Vec<LineAddr> = programs.iter().flatten().filter_map(|op| op.line()).collect();
        lines.sort_unstable();
        lines.dedup();
        let trace = Trace {
            threads: programs.len() as u32,
            ..Trace::default()
        };
        Mini {
            hierarchy: Hierarchy::new(usize::from(bench.cx.hw_threads.div_ceil(bench.cx.threads_per_core))),
            bench,
            trace,
            records: Vec::new(),
            steps: 0,
            threads: programs
                .iter()
                .map(|p| p.iter().copied().enumerate().collect())
                .collect(),
            loads: vec![Vec::new(); programs.len()],
            refused: BTreeSet::new(),
            queued: vec![0; programs.len()],
            order,
            buffered_fences: false,
            lines,
        }
    }

    /// Runs to the end under the dice; false if it got stuck.
    pub fn run(&mut self, dice: &mut Stream) -> bool {
        let mut idle = 0;
        while self.threads.iter().any(|t| !t.is_empty()) {
            self.steps += 1;
            // Lines that come and go are no progress: only memory and threads can end a wait.
            let moved = match dice.below(8) {
                0 => {
                    self.disturb(dice);
                    false
                }
                1 | 2 => self.memory_moves(dice),
                _ => {
                    let t = dice.below(self.threads.len() as u64) as usize;
                    self.step_thread(t, dice)
                }
            };
            self.bench.answer_drains();
            self.pass_kicks_on();
            self.note_durable();
            idle = if moved { 0 } else { idle + 1 };
            if idle > PATIENCE {
                return false;
            }
        }
        self.drain(dice)
    }
    /// The end of a run: the design pushes out what it holds.
    fn drain(&mut self, dice: &mut Stream) -> bool {
        for _ in 0..PATIENCE {
            let empty = self.bench.design.drain(&mut self.bench.cx);
            while self.memory_moves(dice) {
                self.bench.answer_drains();
                self.pass_kicks_on();
            }
            self.note_durable();
            if empty && self.hierarchy.idle() && self.bench.cx.writes.iter().all(|w| w.durable) {
                return true;
            }
        }
        false
    }
    /// Memory, cleans or time move on.
    fn memory_moves(&mut self, dice: &mut Stream) -> bool {
        let clean_first = dice.chance(1, 2);
        (clean_first && self.hierarchy.clean(&mut self.bench))
            || self.hierarchy.try_outgoing(&mut self.bench)
            || self.bench.step_memory(dice)
            || self.hierarchy.clean(&mut self.bench)
    }
    /// Who was kicked asks again, and lines that were released.
    fn pass_kicks_on(&mut self) {
        for (hw_thread, kicked) in self.bench.cx.kicked.iter_mut().enumerate().filter(|k| *k.1) {
            *kicked = false;
            self.refused.retain(|r| r.0 != hw_thread);
        }
        if std::mem::take(&mut self.bench.cx.released) {
            self.hierarchy.kicked();
        }
    }

    /// A core loses a line, or asks for one without using it.
    fn disturb(&mut self, dice: &mut Stream) {
        if self.lines.is_empty() {
            return;
        }
        let hw_thread = HwThread(dice.below(u64::from(self.bench.cx.hw_threads)) as u8);
        let core = self.bench.cx.core_of(hw_thread);
        let line = self.lines[dice.below(self.lines.len() as u64) as usize];
        if dice.chance(2, 3) {
            self.hierarchy.evict(&mut self.bench, core, line);
        } else {
            // Whether the design delays a prefetch is of no interest.
            let _ = self
                .hierarchy
                .obtain(&mut self.bench, hw_thread, line, dice.chance(1, 2));
        }
    }

    fn step_thread(&mut self, t: usize, dice: &mut Stream) -> bool {
        let Some(i) = self.choose(t, dice) else { return false };
        let (place, op) = self.threads[t][i];
        if self.refused.contains(&(t, place)) {
            return false;
        }
        let hw_thread = HwThread(t as u8);
        self.enter_queue(t, place);
        let done = match op {
            Op::Fence(f) => self.instruct(hw_thread, Instr::Fence(f), TraceKind::Fence(f)),
            Op::Flush(line, kind) => {
                self.instruct(hw_thread, Instr::Flush(line, kind), TraceKind::Flush { line, kind })
            }
            Op::Load(line, word) => self.access(hw_thread, line, word, Access::Load),
            Op::Store(line, word) => self.access(hw_thread, line, word, Access::Store),
            Op::NtStore(line, word) => self.nt_store(hw_thread, line, word),
        };
        if done {
            self.threads[t].remove(i);
            self.depend(t, place, op);
        } else {
            self.refused.insert((t, place));
        }
        done
    }
    /// Where nothing passes a load, everything depends on it: the access performed last on the newest load before it.
    fn depend(&mut self, t: usize, place: usize, op: Op) {
        let event = self.trace.next_event().saturating_sub(1);
        let is_access = !matches!(op, Op::Fence(_) | Op::Flush(..));
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
        let may = |i: usize| (0..i).all(|j| self.may_pass(ops[j].1, ops[i].1));
        let window: Vec<usize> = (0..ops.len().min(5)).filter(|i| may(*i)).collect();
        Some(window[dice.below(window.len() as u64) as usize])
    }
    /// What the core does with a fence.
    fn action(&self, kind: Fence) -> FenceAction {
        let declared = self.bench.design.fence(kind);
        match self.buffered_fences && declared.after_stores {
            true => FenceAction::MARKER,
            false => declared,
        }
    }
    /// Whether an operation may perform before an older one.
    fn may_pass(&self, older: Op, younger: Op) -> bool {
        match (older, younger) {
            (Op::Fence(older), _) => self.may_pass_fence(older, younger),
            // A fence enters the store queue, or is asked for at the head of the reorder buffer, behind older loads.
            (Op::Load(..), Op::Fence(_)) => false,
            (_, Op::Fence(younger)) => !self.action(younger).after_stores,
            (Op::Load(..), _) if self.order == Order::StoresLag => false,
            // Flushes and non-temporal stores keep their place among the accesses to their line; `clflush` among all stores.
            (Op::Flush(_, Flush::Clflush), _) | (_, Op::Flush(_, Flush::Clflush)) => false,
            (Op::Flush(..) | Op::NtStore(..), _) | (_, Op::Flush(..) | Op::NtStore(..)) => {
                older.line() != younger.line()
            }
            (Op::Load(a, v) | Op::Store(a, v), Op::Load(b, w) | Op::Store(b, w)) => (a, v) != (b, w),
        }
    }
    /// Whether an operation may perform before an older fence: loads only, where it does not order them.
    fn may_pass_fence(&self, older: Fence, younger: Op) -> bool {
        let marker = self.action(older) == FenceAction::MARKER;
        match younger {
            Op::Load(..) => {
                let orders_loads = older.properties().orders_loads;
                !orders_loads && (marker || self.order == Order::Relaxed)
            }
            Op::Fence(_) | Op::Store(..) | Op::NtStore(..) | Op::Flush(..) => false,
        }
    }
    /// The design hears of the flushes and markers of a thread up to a place in program order, each once.
    fn enter_queue(&mut self, t: usize, place: usize) {
        if !self.bench.hooks.queued {
            return;
        }
        let new = self.threads[t]
            .iter()
            .filter(|(p, _)| (self.queued[t]..=place).contains(p));
        let instrs = new.filter_map(|(_, op)| match *op {
            Op::Flush(line, kind) => Some(Instr::Flush(line, kind)),
            Op::Fence(kind) if self.action(kind) == FenceAction::MARKER => Some(Instr::Fence(kind)),
            _ => None,
        });
        let instrs: Vec<Instr> = instrs.collect();
        self.queued[t] = self.queued[t].max(place + 1);
        let bench = &mut self.bench;
        for instr in instrs {
            bench.design.queued(&mut bench.cx, HwThread(t as u8), instr);
        }
    }
    fn instruct(&mut self, hw_thread: HwThread, instr: Instr, event: TraceKind) -> bool {
        let gone = self.bench.instr(hw_thread.0, instr) == Gate::Go;
        if gone {
            // What the instruction waited for is durable before it completes.
            self.note_durable();
            self.trace.push(hw_thread, event);
        }
        gone
    }
    fn access(&mut self, hw_thread: HwThread, line: LineAddr, word: usize, access: Access) -> bool {
        let core = self.bench.cx.core_of(hw_thread);
        if self.bench.cx.blocked[hw_thread.index()].is_some() {
            return false;
        }
        let bench = &mut self.bench;
        if bench.hooks.gates(access) && bench.design.may_access(&mut bench.cx, hw_thread, line, access) != Gate::Go {
            return false;
        }
        if self
            .hierarchy
            .obtain(bench, hw_thread, line, access == Access::Store)
            .is_err()
        {
            return false;
        }
        let data = bench.cx.coherent(line);
        let told = match access {
            Access::Load => {
                let addr = address(line, word);
                self.trace.push(
                    hw_thread,
                    TraceKind::Load {
                        addr,
                        from: data.by[word],
                    },
                );
                self.bench.hooks.loads
            }
            Access::Store => {
                self.hierarchy.modified(core, line);
                self.stored(hw_thread, line, word, false);
                self.bench.hooks.stores
            }
        };
        if told {
            let meta = self.hierarchy.meta(core, line);
            let before = *meta;
            self.bench
                .design
                .performed(&mut self.bench.cx, hw_thread, line, access, meta);
            assert!(
                self.bench.hooks.marks || *meta == before,
                "a mark of a design that declares none"
            );
        }
        true
    }
    fn nt_store(&mut self, hw_thread: HwThread, line: LineAddr, word: usize) -> bool {
        if self.hierarchy.expel(&mut self.bench, hw_thread, line).is_err() {
            return false;
        }
        let id = StoreId::from_index(self.trace.stores.len()).expect("few stores");
        let mut data = self.bench.cx.coherent(line);
        (data.words[word], data.by[word]) = (self.trace.stores.len() as u64 + 1, Some(id));
        let bench = &mut self.bench;
        if bench.design.nt_store(&mut bench.cx, hw_thread, line, &data, 1 << word) != Gate::Go {
            return false;
        }
        self.stored(hw_thread, line, word, true);
        true
    }
    /// A store of a fresh value performed.
    fn stored(&mut self, thread: HwThread, line: LineAddr, word: usize, nt: bool) {
        let id = StoreId::from_index(self.trace.stores.len()).expect("few stores");
        let value = self.trace.stores.len() as u64 + 1;
        self.trace.stores.push(StoreInfo {
            thread,
            addr: address(line, word),
            value,
            nt,
            tx: None,
            source: Location::caller().into(),
        });
        self.trace.push(thread, TraceKind::Store(id));
        let mut data = self.bench.cx.coherent(line);
        (data.words[word], data.by[word]) = (value, Some(id));
        self.bench.cx.lines.insert(line, data);
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

fn address(line: LineAddr, word: usize) -> Addr {
    Addr(line.base().0 + 8 * word as u64)
}
