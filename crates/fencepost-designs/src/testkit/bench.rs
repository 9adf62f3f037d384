//! A design and a mock handle; the test decides what happens next.

use super::mock::{MockCx, MockWrite, WriteState};
use fencepost_kernel::{HwThread, LineAddr, LineData, Ps, Stream, WriteCause};
use fencepost_machine::memory::{ModuleSpec, RangeRegisters};
use fencepost_machine::seam::{Access, Cx, Design, DrainScope, Gate, Hooks, Instr, Snoop, SnoopAnswer, Write, WriteId};

/// A design under test with the handle it talks to.
pub struct Bench<D: Design> {
    /// The design.
    pub design: D,
    /// The handle.
    pub cx: MockCx,
    /// What the design is asked and told besides what it must implement: what it declared.
    pub hooks: Hooks,
}

impl<D: Design> Bench<D> {
    /// A bench for `hw_threads` threads, `threads_per_core` to a core; each write queue of the design's plan has `entries`.
    pub fn new(design: D, hw_threads: u8, threads_per_core: u8, entries: usize) -> Bench<D> {
        let (parts, hooks) = (design.controller(&ModuleSpec::default()), design.hooks());
        let plan = parts.queues;
        let mut cx = MockCx::new(hw_threads, threads_per_core, plan.queues, entries);
        if plan.range_registers > 0 {
            cx.ranges = Some(RangeRegisters::new(plan.queues, plan.range_registers.into()));
        }
        Bench { design, cx, hooks }
    }

    // ---- what cores do

    /// Hardware thread `hw_thread` reaches an instruction.
    pub fn instr(&mut self, hw_thread: u8, instr: Instr) -> Gate {
        self.design.instr(&mut self.cx, HwThread(hw_thread), instr)
    }
    /// A load performs.
    pub fn load(&mut self, hw_thread: u8, line: LineAddr) {
        let mut meta = 0;
        self.design
            .performed(&mut self.cx, HwThread(hw_thread), line, Access::Load, &mut meta);
    }
    /// A store of `value` to word `word` performs; returns the design's word of the way.
    pub fn store(&mut self, hw_thread: u8, line: LineAddr, word: usize, value: u64) -> u32 {
        let mut now = self.cx.coherent(line);
        now.words[word] = value;
        self.cx.lines.insert(line, now);
        let mut meta = 0;
        self.design
            .performed(&mut self.cx, HwThread(hw_thread), line, Access::Store, &mut meta);
        meta
    }
    /// A bus request is granted.
    pub fn snoop(&mut self, by: u8, line: LineAddr, kind: Snoop) -> SnoopAnswer {
        self.design.snooped(&mut self.cx, HwThread(by), line, kind)
    }

    // ---- what time brings

    /// Fires the earliest timer or arrival, if there is one not after `until`; time moves to it.
    fn step_time(&mut self, until: Ps) -> bool {
        let timer = self.cx.timers.iter().copied().min();
        let arrival = |w: &&MockWrite| w.state == WriteState::InFlight;
        let arriving = self.cx.writes.iter().filter(arrival).map(|w| (w.arrives, w.id)).min();
        match (timer, arriving) {
            (Some((at, seq, tag)), a) if at <= until && a.is_none_or(|(t, _)| at < t) => {
                self.cx.timers.retain(|t| t.1 != seq);
                self.cx.now = self.cx.now.max(at);
                self.design.timer(&mut self.cx, tag);
                true
            }
            (_, Some((at, id))) if at <= until => {
                self.cx.now = self.cx.now.max(at);
                self.arrive(id);
                true
            }
            _ => false,
        }
    }
    /// Lets timers fire and writes arrive until `until`.
    pub fn run_until(&mut self, until: Ps) {
        while self.step_time(until) {}
        self.cx.now = self.cx.now.max(until);
    }
    /// Lets a span of time pass.
    pub fn run_for(&mut self, span: Ps) {
        self.run_until(self.cx.now + span);
    }
    fn arrive(&mut self, id: WriteId) {
        let w = &mut self.cx.writes[id.0 as usize];
        w.state = WriteState::Queued;
        let write = w.write;
        if self.hooks.writes {
            self.design.accepted(&mut self.cx, id, &write);
        }
        if self.cx.durable_on_accept {
            self.become_durable(id);
        }
    }
    fn become_durable(&mut self, id: WriteId) {
        self.cx.writes[id.0 as usize].durable = true;
        self.cx.durable_order.push(id);
        let write = self.cx.writes[id.0 as usize].write;
        if self.hooks.writes {
            self.design.durable(&mut self.cx, id, &write);
        }
    }
    /// What is on its way to the queue for a line without a delay arrives.
    pub(super) fn arrive_all_of(&mut self, line: LineAddr) {
        let here = |w: &&MockWrite| w.state == WriteState::InFlight && w.write.line == line && w.arrives <= self.cx.now;
        let ids: Vec<WriteId> = self.cx.writes.iter().filter(here).map(|w| w.id).collect();
        ids.into_iter().for_each(|id| self.arrive(id));
    }
    /// Queued writes that the device may take next: the oldest epoch of their queue, the oldest of their line.
    pub fn candidates(&self) -> Vec<WriteId> {
        let queued: Vec<&MockWrite> = self
            .cx
            .writes
            .iter()
            .filter(|w| w.state == WriteState::Queued)
            .collect();
        let first = |w: &MockWrite| {
            let earlier = |o: &&MockWrite| o.id < w.id && o.write.line == w.write.line && o.state != WriteState::Gone;
            let epoch = w.write.epoch.is_none_or(|e| e <= self.cx.active_epoch(w.write.queue));
            epoch && !self.cx.writes.iter().any(|o| earlier(&o))
        };
        queued.into_iter().filter(|w| first(w)).map(|w| w.id).collect()
    }
    /// The device takes a queued write: it is durable now (if it was not already) and its slot is free.
    pub fn write_to_device(&mut self, id: WriteId) {
        assert_eq!(self.cx.writes[id.0 as usize].state, WriteState::Queued);
        self.cx.writes[id.0 as usize].state = WriteState::Gone;
        if self.hooks.writes {
            self.design.issued(&mut self.cx, id);
        }
        if !self.cx.writes[id.0 as usize].durable {
            self.become_durable(id);
        }
        let queue = self.cx.writes[id.0 as usize].write.queue;
        if std::mem::take(&mut self.cx.queues[usize::from(queue)].refused) {
            self.design.queue_freed(&mut self.cx, queue);
        }
        self.answer_drains();
    }
    /// Answers every drain that is satisfied.
    pub fn answer_drains(&mut self) {
        while let Some(i) = (0..self.cx.drains.len()).find(|i| self.drain_satisfied(*i)) {
            let tag = self.cx.drains.remove(i).tag;
            self.design.drained(&mut self.cx, tag);
        }
    }
    fn drain_satisfied(&self, i: usize) -> bool {
        let d = &self.cx.drains[i];
        match d.scope {
            DrainScope::AcceptedSoFar(_) => d.waits_for.iter().all(|id| self.cx.writes[id.0 as usize].durable),
            DrainScope::Empty(queue) => {
                let of_queue = |w: &&MockWrite| queue.is_none_or(|q| w.write.queue == q);
                let mut here = self.cx.writes.iter().filter(of_queue);
                here.all(|w| w.durable)
            }
        }
    }

    // ---- cleans and reads

    /// Finishes the oldest clean: with bytes (`dirty`), they enter the queue as a flush write; false if the queue was full.
    pub fn finish_clean(&mut self, dirty: bool) -> bool {
        let request = self.cx.cleans[0];
        if dirty {
            let data = self.cx.coherent(request.line);
            let write = Write {
                line: request.line,
                data,
                queue: 0,
                epoch: None,
                cause: WriteCause::Flush,
                hw_thread: Some(request.hw_thread),
                delay: Ps::ZERO,
            };
            let Ok(id) = self.cx.write(write) else { return false };
            self.arrive(id);
            self.cx.cleans.remove(0);
            self.design
                .cleaned(&mut self.cx, request.hw_thread, request.tag, Some(&data));
        } else {
            self.cx.cleans.remove(0);
            self.design.cleaned(&mut self.cx, request.hw_thread, request.tag, None);
        }
        true
    }
    /// Answers the oldest read of the design's own with the coherent line.
    pub fn finish_read(&mut self) {
        let (line, tag) = self.cx.reads.remove(0);
        let data = self.cx.coherent(line);
        if let Some(versions) = self.design.versions() {
            versions.read_done(&mut self.cx, tag, line, &data);
        }
    }

    // ---- running to the end

    /// One step of whatever can happen, chosen by `pick`; false when nothing can.
    pub fn step_any(&mut self, pick: &mut Stream) -> bool {
        let candidates = self.candidates();
        let time_can_pass =
            !self.cx.timers.is_empty() || self.cx.writes.iter().any(|w| w.state == WriteState::InFlight);
        if !candidates.is_empty() && (!time_can_pass || pick.chance(1, 2)) {
            let id = candidates[pick.below(candidates.len() as u64) as usize];
            self.write_to_device(id);
            return true;
        }
        if !self.cx.cleans.is_empty() && self.finish_clean(true) {
            return true;
        }
        self.step_time(Ps(u64::MAX))
    }
    /// One step of memory or of time, chosen by `pick`; false when nothing can happen there. Cleans are left alone.
    pub fn step_memory(&mut self, pick: &mut Stream) -> bool {
        let candidates = self.candidates();
        let time_can_pass =
            !self.cx.timers.is_empty() || self.cx.writes.iter().any(|w| w.state == WriteState::InFlight);
        if !candidates.is_empty() && (!time_can_pass || pick.chance(1, 2)) {
            self.write_to_device(candidates[pick.below(candidates.len() as u64) as usize]);
        } else if !self.cx.reads.is_empty() {
            self.finish_read();
        } else {
            return self.step_time(Ps(u64::MAX));
        }
        true
    }
    /// Runs until nothing can happen any more, taking queued writes in an order chosen by `pick`.
    pub fn settle(&mut self, pick: &mut Stream) {
        while self.step_any(pick) {}
        self.answer_drains();
    }
    /// The end of a run: drains the design and the queues; true if everything came out.
    pub fn drain(&mut self, pick: &mut Stream) -> bool {
        for _ in 0..10_000 {
            let empty = self.design.drain(&mut self.cx);
            self.settle(pick);
            if empty && self.cx.writes.iter().all(|w| w.durable) {
                return true;
            }
        }
        false
    }
    /// The values that word `word` of `line` took in durable order.
    pub fn durable_values(&self, line: LineAddr, word: usize) -> Vec<u64> {
        let written = self
            .cx
            .durable_order
            .iter()
            .map(|id| &self.cx.writes[id.0 as usize].write);
        written
            .filter(|w| w.line == line)
            .map(|w: &Write| w.data.words[word])
            .collect()
    }
}

/// The line with number `n` of persistent memory.
pub const fn pm_line(n: u64) -> LineAddr {
    LineAddr(fencepost_kernel::units::PM_BASE / fencepost_kernel::units::LINE_BYTES + n)
}
/// The line with number `n` of volatile memory.
pub const fn dram_line(n: u64) -> LineAddr {
    LineAddr(n)
}
/// A line whose words are all `value`, with no recorded stores.
pub const fn filled(value: u64) -> LineData {
    LineData {
        words: [value; 8],
        by: [None; 8],
    }
}
