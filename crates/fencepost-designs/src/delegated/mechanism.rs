//! The hooks of delegated ordering.

use super::deps::Seq;
use super::params::DelegatedParams;
use super::tracker::{Stored, Tracker};
use crate::info::MachineShape;
use crate::persist_path::{PersistPath, Waiting};
use fencepost_kernel::{CoreId, Fence, HartId, LineAddr, LineData, Ps};
use fencepost_machine::seam::{
    Access, Cause, Cx, Design, Epoch, Exit, Gate, Hooks, Instr, Level, QueuePlan, Snoop, SnoopAnswer, StatInfo, Way,
    Why, Write, WriteId,
};

/// The one write queue of this design.
pub(super) const QUEUE: u8 = 0;
/// Timer: the persist path has a free slot.
pub(super) const SLOT: u64 = 1 << 32;
/// Timer: the answer to the explicit drain of hart (tag minus this) reaches its core.
pub(super) const DRAIN_ANSWERED: u64 = 2 << 32;

fencepost_kernel::stats! {
    /// Counters.
    COUNTERS {
        /// Persists appended to persist buffers.
        PERSISTS = "persists", "entries";
        /// Stores that joined the newest persist of their buffer.
        COALESCED = "coalesced", "stores";
        /// FENCEs appended to persist buffers.
        FENCES = "fences", "entries";
        /// Dependences returned with coherence answers.
        DEPENDENCES = "dependences", "ids";
        /// Requests for whose line a persist buffer held the newest bytes.
        SUPPLIED = "supplied", "requests";
        /// Dirty persistent lines that the last level evicted and nobody wrote.
        DROPPED = "dropped", "lines";
        /// Stores that performed although their buffer was full; must be 0.
        OVERFLOWS = "overflows", "entries";
    }
}

/// Progress of an explicit drain.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Dsb {
    #[default]
    None,
    /// Its FENCE is in the buffer.
    Buffered(Seq),
    /// The FENCE has drained and follows the persists before it; every write up to `last` must become durable, and no
    /// answer can be back before `earliest`.
    Draining { last: WriteId, earliest: Ps },
    /// Everything is durable; the answer is on its way.
    Answering,
    /// Everything before it is durable.
    Done,
}
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Hart {
    pub(super) dsb: Dsb,
}

/// Delegated ordering, with either epoch rule.
#[derive(Clone, Debug)]
pub struct Delegated {
    pub(super) params: DelegatedParams,
    /// The buffers and what they know of one another.
    pub tracker: Tracker,
    pub(super) harts: Vec<Hart>,
    waiting: Waiting,
    /// Explicit drains under way whose answer has not been sent.
    pub(super) draining: u8,
    blocked: Vec<Option<Cause>>,
    /// From the buffers to the controller.
    pub(super) path: PersistPath,
    /// Core that drained last, for taking turns.
    pub(super) last: usize,
}

impl Delegated {
    /// The mechanism for a machine of this shape; `merge` selects one epoch pointer per core.
    pub fn new(params: DelegatedParams, shape: MachineShape, merge: bool) -> Delegated {
        let cores = usize::from(shape.cores);
        Delegated {
            tracker: Tracker::new(&params, cores, merge),
            path: PersistPath::new(params.path_latency, params.path_slot),
            params,
            harts: vec![Hart::default(); usize::from(shape.harts)],
            waiting: Waiting::default(),
            draining: 0,
            blocked: vec![None; cores],
            last: cores.saturating_sub(1),
        }
    }
    /// The oldest epoch that is not durable; only merging epochs ask.
    fn active(&self, cx: &dyn Cx) -> Epoch {
        match self.tracker.merge {
            Some(_) => cx.active_epoch(QUEUE),
            None => Epoch::default(),
        }
    }

    // ---- capacity

    /// Why a buffer can take no more, if it cannot.
    fn full(&self, core: CoreId) -> Option<Cause> {
        let port = &self.tracker.ports[core.index()];
        match port {
            p if p.entries.len() >= usize::from(self.params.entries) => Some(Cause::PersistBufferFull),
            p if p.free_fences() == 0 => Some(Cause::FenceSlots),
            _ => None,
        }
    }
    /// Blocks or unblocks the L1 as the buffer's filling says.
    #[inline]
    pub(super) fn update_block(&mut self, cx: &mut dyn Cx, core: CoreId) {
        let cause = self.full(core);
        if self.blocked[core.index()] != cause {
            self.block(cx, core, cause);
        }
    }
    #[inline(never)]
    fn block(&mut self, cx: &mut dyn Cx, core: CoreId, cause: Option<Cause>) {
        self.blocked[core.index()] = cause;
        cx.block_l1(core, cause);
        if cause.is_none() {
            self.waiting.wake_core(cx, core);
        }
    }

    // ---- appending

    fn append_persist(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, data: &LineData) {
        let core = cx.core_of(hart);
        if self.full(core).is_some() {
            cx.count(OVERFLOWS, 1);
        }
        let at = (cx.now(), self.active(cx));
        match self.tracker.persist(hart, core, line, data, at) {
            Stored::Coalesced => cx.count(COALESCED, 1),
            Stored::Appended(_) => cx.count(PERSISTS, 1),
        }
        self.update_block(cx, core);
        self.schedule(cx);
    }
    /// A FENCE completes, or waits for a free entry.
    fn append_fence(&mut self, cx: &mut dyn Cx, hart: HartId) -> Result<Seq, Gate> {
        let core = cx.core_of(hart);
        if let Some(cause) = self.full(core) {
            return Err(self.waiting.wait(hart, cause));
        }
        let Some(seq) = self.tracker.fence(core, cx.now()) else {
            return Err(self.waiting.wait(hart, Cause::FenceSlots));
        };
        cx.count(FENCES, 1);
        self.update_block(cx, core);
        self.schedule(cx);
        Ok(seq)
    }
    fn dsb(&mut self, cx: &mut dyn Cx, hart: HartId) -> Gate {
        match self.harts[hart.index()].dsb {
            Dsb::Done => {
                self.harts[hart.index()].dsb = Dsb::None;
                return Gate::Go;
            }
            Dsb::None => match self.append_fence(cx, hart) {
                Ok(seq) => {
                    self.harts[hart.index()].dsb = Dsb::Buffered(seq);
                    self.draining += 1;
                }
                Err(gate) => return gate,
            },
            Dsb::Buffered(_) | Dsb::Draining { .. } | Dsb::Answering => {}
        }
        self.waiting.wait(hart, Cause::DrainPending)
    }
}

impl Design for Delegated {
    fn hooks(&self) -> Hooks {
        Hooks {
            loads: true,
            stores: true,
            snoops: true,
            leaving: true,
            reads: true,
            writes: true,
            ..Hooks::default()
        }
    }
    fn queue_plan(&self) -> QueuePlan {
        QueuePlan {
            ordered_issue: self.params.ordered_issue,
            ..QueuePlan::default()
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hart: HartId, instr: Instr) -> Gate {
        match instr {
            Instr::Fence(Fence::Dsb) => self.dsb(cx, hart),
            Instr::Fence(Fence::Pcommit | Fence::NewStrand) => Gate::Go,
            Instr::Fence(_) => self.append_fence(cx, hart).map_or_else(|gate| gate, |_| Gate::Go),
            _ => Gate::Go,
        }
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, data: &LineData, _: u8) -> Gate {
        let core = cx.core_of(hart);
        if let Some(cause) = self.full(core) {
            return self.waiting.wait(hart, cause);
        }
        let active = self.active(cx);
        self.tracker.request(core, line, true, active);
        self.append_persist(cx, hart, line, data);
        Gate::Go
    }
    fn performed(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, a: Access, now: &LineData, _: &mut u32) {
        match a {
            Access::Store if line.is_persistent() => self.append_persist(cx, hart, line, now),
            Access::Store => {
                let active = self.active(cx);
                self.tracker.volatile_store(cx.core_of(hart), line, active);
            }
            Access::Load => {
                let active = self.active(cx);
                self.tracker.load(cx.core_of(hart), line, active);
            }
        }
    }
    fn snooped(&mut self, cx: &mut dyn Cx, by: HartId, line: LineAddr, kind: Snoop) -> SnoopAnswer {
        let active = self.active(cx);
        let before = self.tracker.received;
        let supplied = self.tracker.request(cx.core_of(by), line, kind.invalidates(), active);
        cx.count(DEPENDENCES, self.tracker.received - before);
        if !supplied {
            return SnoopAnswer::Pass;
        }
        cx.count(SUPPLIED, 1);
        SnoopAnswer::Supply
    }
    /// Every store to persistent memory went through a buffer: what would go to memory from a cache is not needed. (A
    /// private cache sends a line straight there only when it is cleaned.)
    fn leaving(&mut self, cx: &mut dyn Cx, from: Level, way: &Way, _: &LineData, why: Why) -> Exit {
        let to_memory = from == Level::Llc || why == Why::Cleaned;
        if to_memory && way.line.is_persistent() {
            cx.count(DROPPED, 1);
            return Exit::Drop;
        }
        Exit::Down
    }
    fn read_missed(&mut self, _: &mut dyn Cx, _: HartId, line: LineAddr) -> bool {
        line.is_persistent() && self.tracker.holds(line)
    }
    fn write_room(&mut self, cx: &mut dyn Cx, _: u8) {
        self.path.room();
        self.schedule(cx);
    }
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, _: &Write) {
        if self.path.durable(id) {
            self.answer_explicit_drains(cx);
        }
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        let hart = HartId(tag as u8);
        match tag >> 32 << 32 {
            SLOT => self.slot(cx),
            _ => {
                debug_assert_eq!(tag, DRAIN_ANSWERED | u64::from(hart.0));
                self.harts[hart.index()].dsb = Dsb::Done;
                self.waiting.wake(cx, hart);
            }
        }
    }
    fn drain(&mut self, cx: &mut dyn Cx) -> bool {
        self.schedule(cx);
        self.tracker.is_empty()
    }
    fn stats(&self) -> &'static [StatInfo] {
        COUNTERS
    }
    fn explain(&self, hart: HartId) -> Option<String> {
        let per_core = self.harts.len().div_ceil(self.tracker.ports.len().max(1)).max(1);
        let core = CoreId((hart.index() / per_core) as u8);
        let port = self.tracker.ports.get(core.index())?;
        let head = port.entries.front()?;
        let slot = |c: CoreId, s: Seq| format!("{}:{}", c.0, s.slot(usize::from(self.params.entries)));
        let deps: Vec<_> = head.deps.open(&self.tracker.drained).map(|(c, s)| slot(c, s)).collect();
        let why = match (deps.is_empty(), self.path.is_refused()) {
            (false, _) => format!("waits for {} to drain", deps.join(", ")),
            (true, true) => "waits for a free entry of the write queue".to_string(),
            (true, false) => "waits for its turn on the persist path".to_string(),
        };
        let (n, id) = (port.entries.len(), slot(core, head.seq));
        Some(format!(
            "persist buffer of core {} holds {n} entries; its oldest, {id} (since {}), {why}",
            core.0, head.since
        ))
    }
}
