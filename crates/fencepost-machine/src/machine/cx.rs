//! The machine's side of the seam: what the handle does.

use super::agenda::Ev;
use super::system::{ReadFor, Side, System};
use crate::bus::{CleanRequest, level_key};
use crate::memory::Refusal;
use crate::seam::{Cause, CleanKind, Cx, DrainScope, Epoch, Level, Write, WriteId};
use fencepost_kernel::{Addr, CoreId, HartId, LineAddr, LineData, PersistRecord, Ps, TxId, WriteCause};

impl System {
    /// Appends a durable event: log, durable image, trace.
    pub(crate) fn make_durable(&mut self, record: PersistRecord) {
        self.durable.set_line(record.line, &record.data);
        if let Some(r) = &mut self.recorder {
            r.durable(self.log.len());
        }
        self.log.push(record);
    }
    fn tags(&mut self, level: Level) -> Option<&mut crate::cache::Tags> {
        match level {
            Level::L1(c) => self.cores.get_mut(c.index()).map(|c| &mut c.l1),
            Level::L2(c) => self.cores.get_mut(c.index()).and_then(|c| c.l2.as_mut()),
            Level::Llc => Some(&mut self.llc.tags),
        }
    }
}

impl Cx for System {
    fn now(&self) -> Ps {
        self.events.now()
    }
    fn harts(&self) -> u8 {
        self.harts.len() as u8
    }
    fn core_of(&self, hart: HartId) -> CoreId {
        self.spec.core_of(hart)
    }
    fn timer(&mut self, at: Ps, tag: u64) {
        let at = at.max(self.now());
        self.events.schedule(at, Ev::Timer(tag));
    }
    fn kick(&mut self, hart: Option<HartId>) {
        match hart {
            Some(h) => self.kicked |= 1 << h.0,
            None => self.kicked = u64::MAX,
        }
    }
    fn block_l1(&mut self, core: CoreId, cause: Option<Cause>) {
        let was = std::mem::replace(&mut self.cores[core.index()].blocked, cause);
        if was.is_some() && cause.is_none() {
            let siblings = (0..self.harts.len()).filter(|h| self.spec.core_of(HartId(*h as u8)) == core);
            self.kicked |= siblings.fold(0, |m, h| m | 1 << h);
        }
    }

    fn clean(&mut self, hart: HartId, line: LineAddr, kind: CleanKind, tag: u64) {
        let slot = self.cleans.iter().position(Option::is_none).unwrap_or_else(|| {
            self.cleans.push(None);
            self.cleans.len() - 1
        });
        self.cleans[slot] = Some(CleanRequest { hart, line, kind, tag });
        let ready = self.now() + self.spec.l1.latency + self.spec.bus.arbitration;
        let at = ready.max(self.bus.free_at);
        self.bus.free_at = at + self.spec.bus.occupancy;
        self.events.schedule(at, Ev::Clean(slot as u32));
    }
    fn clear_meta(&mut self, level: Level) {
        if let Some(tags) = self.tags(level) {
            tags.clear_meta();
        }
    }
    fn version(&self, level: Level, line: LineAddr, meta: u32) -> Option<LineData> {
        self.versions.get(&(level_key(level), line, meta)).copied()
    }
    fn drop_version(&mut self, level: Level, line: LineAddr, meta: u32) {
        self.versions.remove(&(level_key(level), line, meta));
        if let Some(tags) = self.tags(level)
            && let Some(w) = tags.find_frozen(line, meta)
        {
            tags.remove(w);
        }
    }
    fn coherent(&self, line: LineAddr) -> LineData {
        self.coherent.line(line)
    }

    fn write(&mut self, write: Write) -> Result<WriteId, Cause> {
        if self.pm.outgoing.iter().any(|w| w.write.line == write.line) {
            // Older bytes of the line still wait for admission; they must not arrive over these.
            self.pm.line_refused.push(write.queue);
            return Err(Cause::WriteQueueFull);
        }
        let (id, now) = (self.new_write_id(), self.now());
        let pushed = self.pm.controller.push_write(now, id, write);
        self.wake_memory(Side::Pm);
        match pushed {
            Ok(()) => Ok(id),
            Err(Refusal::Full | Refusal::SameLine) => Err(Cause::WriteQueueFull),
            Err(Refusal::Gated) => Err(Cause::CommitPending),
        }
    }
    fn end_epoch(&mut self, queue: u8) -> Epoch {
        self.pm.controller.end_epoch(queue)
    }
    fn active_epoch(&self, queue: u8) -> Epoch {
        self.pm.controller.active_epoch(queue)
    }
    fn open_epoch(&self, queue: u8) -> Epoch {
        self.pm.controller.open_epoch(queue)
    }
    fn when_drained(&mut self, scope: DrainScope, tag: u64) {
        let now = self.now();
        self.pm.controller.when_drained(now, scope, tag);
        self.wake_memory(Side::Pm);
    }
    fn read(&mut self, line: LineAddr, tag: u64) {
        let at = self.now() + self.spec.bus.to_memory;
        let free = self.design_reads.iter().position(Option::is_none);
        let slot = free.unwrap_or_else(|| {
            self.design_reads.push(None);
            self.design_reads.len() - 1
        });
        self.design_reads[slot] = Some((line, tag));
        let what = ReadFor::Design(slot as u32);
        self.events.schedule(at, Ev::ReadSend(Side::Pm, what));
    }
    fn durable_on_accept(&self) -> bool {
        self.pm.controller.durable_on_accept()
    }
    fn durable_elsewhere(&mut self, line: LineAddr, data: &LineData) {
        let record = PersistRecord {
            time: self.now(),
            line,
            data: *data,
            cause: WriteCause::Persist,
        };
        self.make_durable(record);
    }
    fn durable_together(&mut self, lines: &[(LineAddr, LineData)]) {
        let time = self.now();
        for (i, (line, data)) in lines.iter().enumerate() {
            let cause = match i + 1 == lines.len() {
                true => WriteCause::Log,
                false => WriteCause::LogPart,
            };
            self.parts.remove(line);
            self.make_durable(PersistRecord {
                time,
                line: *line,
                data: *data,
                cause,
            });
        }
    }

    fn roll_back(&mut self, hart: HartId, tx: TxId) {
        let mut functional = self.functional.borrow_mut();
        self.journal
            .borrow_mut()
            .roll_back(hart, tx, &mut functional, &mut self.coherent);
        // Lines on their way between caches carry bytes of their own.
        let buffers = self.cores.iter_mut().map(|c| &mut c.write_back);
        for d in buffers.chain([&mut self.llc.write_back]).flatten() {
            d.data = self.coherent.line(d.way.line);
        }
    }
    fn retire(&mut self, hart: HartId, tx: TxId) {
        self.journal.borrow_mut().retire(hart, tx);
    }
    fn log_area(&self) -> (Addr, u64) {
        self.log_region()
    }

    fn count(&mut self, stat: usize, n: u64) {
        self.design_counts[stat] += n;
    }
    fn sample(&mut self, histogram: usize, value: u64) {
        *self.histograms[histogram].entry(value).or_insert(0) += 1;
    }
}
