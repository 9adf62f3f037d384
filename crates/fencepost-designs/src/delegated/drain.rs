//! Draining: arbitration of the shared path, and the epoch rule.

use super::buffer::Kind;
use super::deps::Seq;
use super::mechanism::{DRAIN_ANSWERED, Delegated, Dsb, QUEUE, SLOT};
use super::params::{Arbitration, Fault};
use fencepost_kernel::{CoreId, HartId, Ps, WriteCause};
use fencepost_machine::seam::{Cx, Epoch, Write, WriteId};

impl Delegated {
    /// Cores whose oldest entry can drain, a bit each: a FENCE takes no entry of the controller.
    fn ready(&self) -> u64 {
        let free = self.tracker.free_heads();
        if !self.path.is_refused() {
            return free;
        }
        free & self.tracker.fence_heads()
    }
    /// The next core to drain.
    fn pick(&self) -> Option<CoreId> {
        let ready = self.ready();
        let lowest = |bits: u64| (bits != 0).then(|| CoreId(bits.trailing_zeros() as u8));
        match self.params.arbitration {
            Arbitration::RoundRobin => lowest(ready & (u64::MAX << self.last << 1)).or(lowest(ready)),
            Arbitration::OldestFirst => {
                let cores = (0..self.tracker.ports.len()).filter(|c| ready >> c & 1 == 1);
                let since = |c: &usize| self.tracker.ports[*c].entries.front().map(|e| (e.since, *c));
                cores.min_by_key(since).map(|c| CoreId(c as u8))
            }
        }
    }
    /// Asks for a slot on the path, if something can drain and none was asked for.
    pub(super) fn schedule(&mut self, cx: &mut dyn Cx) {
        if !self.path.is_asked() && self.ready() != 0 {
            self.path.ask(cx, SLOT);
        }
    }
    /// A slot of the path: one entry drains.
    pub(super) fn slot(&mut self, cx: &mut dyn Cx) {
        self.path.slot_came();
        while let Some(core) = self.pick() {
            if self.drain_head(cx, core) {
                self.last = core.index();
                self.path.taken(cx);
                self.update_block(cx, core);
                break;
            }
        }
        self.schedule(cx);
    }
    /// Drains the oldest entry of a core; false if the controller refused it.
    fn drain_head(&mut self, cx: &mut dyn Cx, core: CoreId) -> bool {
        let Some(head) = self.tracker.ports[core.index()].entries.front() else {
            return false;
        };
        let (seq, floor, after_fence) = (head.seq, head.deps.floor, head.deps.after_fence);
        let raise = match &head.kind {
            Kind::Persist { line, data, hart, .. } => {
                let epoch = self.persist_epoch(cx, core, floor);
                let write = Write {
                    line: *line,
                    data: *data,
                    queue: QUEUE,
                    epoch,
                    cause: WriteCause::Persist,
                    hart: Some(*hart),
                    delay: Ps::ZERO,
                };
                if self.path.send(cx, write).is_none() {
                    return false;
                }
                self.tracker.merge.as_mut().zip(epoch).map(|(merge, e)| {
                    merge.persisted(core, floor, e);
                    (e, Epoch(e.0 + 1))
                })
            }
            Kind::Fence { sets } => {
                let sets = *sets;
                self.close_epoch(cx, core, (floor, after_fence), sets)
            }
        };
        self.tracker.drop_head(core, raise);
        self.explicit_drains(cx, core, seq);
        true
    }
    fn persist_epoch(&self, cx: &dyn Cx, core: CoreId, floor: Epoch) -> Option<Epoch> {
        if cx.durable_on_accept() {
            return None;
        }
        Some(match &self.tracker.merge {
            None => cx.open_epoch(QUEUE),
            Some(merge) => merge.persist_epoch(core, floor, cx.active_epoch(QUEUE)),
        })
    }
    /// A FENCE drains: the epoch rule. Answers what its dependents learn.
    fn close_epoch(
        &mut self,
        cx: &mut dyn Cx,
        core: CoreId,
        raised: (Epoch, Epoch),
        sets: usize,
    ) -> Option<(Epoch, Epoch)> {
        if cx.durable_on_accept() || self.params.fault == Fault::EpochBoundarySkipped {
            return None;
        }
        match &mut self.tracker.merge {
            None => {
                cx.end_epoch(QUEUE);
                None
            }
            Some(merge) => {
                let active = cx.active_epoch(QUEUE);
                let sets = &self.tracker.ports[core.index()].sets[sets];
                let pointer = merge.fence(core, raised, active, sets);
                Some((pointer, pointer))
            }
        }
    }
    /// The FENCE of an explicit drain has drained: it waits for every write handed over so far.
    fn explicit_drains(&mut self, cx: &mut dyn Cx, core: CoreId, seq: Seq) {
        if self.draining == 0 {
            return;
        }
        for k in 0..self.harts.len() {
            if self.harts[k].dsb != Dsb::Buffered(seq) || cx.core_of(HartId(k as u8)) != core {
                continue;
            }
            let earliest = cx.now() + self.params.path_latency * 2;
            // With nothing outstanding, any id is durable.
            let last = self.path.outstanding().map_or(WriteId(0), |o| o.1);
            self.harts[k].dsb = Dsb::Draining { last, earliest };
            self.answer_explicit_drains(cx);
        }
    }
    /// Sends the answer of every explicit drain whose writes are durable.
    pub(super) fn answer_explicit_drains(&mut self, cx: &mut dyn Cx) {
        if self.draining == 0 {
            return;
        }
        let oldest = self.path.outstanding().map(|o| o.0);
        for k in 0..self.harts.len() {
            if let Dsb::Draining { last, earliest } = self.harts[k].dsb
                && oldest.is_none_or(|o| o > last)
            {
                self.harts[k].dsb = Dsb::Answering;
                self.draining -= 1;
                let at = earliest.max(cx.now() + self.params.path_latency);
                cx.timer(at, DRAIN_ANSWERED | k as u64);
            }
        }
    }
}
