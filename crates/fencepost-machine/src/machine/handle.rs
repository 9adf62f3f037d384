//! The machine's side of the seam: what the handle does.

use super::agenda::Ev;
use super::system::System;
use crate::hierarchy::{Hierarchy, Side};
use crate::memory::{LineRange, RegisterWrite, WriteRefusal};
use crate::network;
use crate::seam::{Cause, CleanKind, Cx, DrainScope, Epoch, Level, Write, WriteId};
use fencepost_kernel::ledger::LedgerKind;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, CoreId, HwThread, LineAddr, LineData, PersistRecord, Ps, Span, TxId, WriteCause};

impl System {
    /// Appends a durable event: log, durable image, trace.
    pub(crate) fn make_durable(&mut self, mut record: PersistRecord) {
        let torn = fencepost_kernel::planted!("memory.torn-word", "an aligned word becomes durable whole");
        if torn {
            let before = self.durable.line(record.line).words;
            let low = u64::from(u32::MAX);
            for (word, old) in record.data.words.iter_mut().zip(before) {
                *word = old & !low | *word & low;
            }
        }
        self.durable.set_line(record.line, &record.data);
        let index = self.log.len();
        if let Some(r) = self.recorder() {
            r.durable(index);
        }
        self.log.push(record);
    }
}

/// A register write as the account has it.
fn of_register(write: RegisterWrite) -> LedgerKind {
    let bytes = |r: LineRange| Span {
        at: r.first.base(),
        len: r.count * LINE_BYTES,
    };
    match write {
        RegisterWrite::Bind(queue, range) => LedgerKind::RegisterSet {
            queue,
            range: bytes(range),
        },
        RegisterWrite::Release(queue, range) => LedgerKind::RegisterCleared {
            queue,
            range: bytes(range),
        },
    }
}

/// What a design may act on: everything but the threads and itself.
pub(crate) struct Handle<'a> {
    pub hier: &'a mut Hierarchy,
    pub sys: &'a mut System,
}

impl Cx for Handle<'_> {
    fn now(&self) -> Ps {
        self.sys.events.now()
    }
    fn hw_threads(&self) -> u8 {
        self.sys.threads
    }
    fn core_of(&self, hw_thread: HwThread) -> CoreId {
        self.sys.core_of(hw_thread)
    }
    fn timer(&mut self, at: Ps, tag: u64) {
        let at = at.max(self.sys.now());
        self.sys.events.schedule(at, Ev::Timer(tag));
    }
    fn kick(&mut self, hw_thread: Option<HwThread>) {
        match hw_thread {
            Some(h) => self.sys.kicked |= 1 << h.0,
            None => (self.sys.kicked, self.sys.released) = (u64::MAX, u64::MAX),
        }
    }
    fn release(&mut self, core: Option<CoreId>) {
        self.sys.released |= core.map_or(u64::MAX, |c| 1 << c.0);
    }
    fn block_l1(&mut self, hw_thread: HwThread, cause: Option<Cause>) {
        if self.hier.block(hw_thread, cause) {
            self.sys.kicked |= 1 << hw_thread.0;
        }
    }

    fn clean(&mut self, hw_thread: HwThread, line: LineAddr, kind: CleanKind, tag: u64) {
        let (at, step) = self.hier.request_clean(self.sys.now(), hw_thread, line, kind, tag);
        self.sys.events.schedule(at, Ev::Hierarchy(step));
    }
    fn clear_meta(&mut self, level: Level) {
        self.hier.clear_meta(level);
    }
    fn version(&self, level: Level, line: LineAddr, meta: u32) -> Option<LineData> {
        self.hier.version(level, line, meta)
    }
    fn drop_version(&mut self, level: Level, line: LineAddr, meta: u32) {
        self.hier.drop_version(level, line, meta);
    }
    fn coherent(&self, line: LineAddr) -> LineData {
        self.sys.coherent.line(line)
    }

    fn write(&mut self, write: Write) -> Result<WriteId, Cause> {
        if self.hier.holds_up_write(write.line, write.queue) {
            return Err(Cause::WriteQueueFull);
        }
        let (id, now) = (self.sys.new_write_id(), self.sys.now());
        let pushed = self.sys.pm.controller.push_write(now, id, write);
        self.sys.wake_memory(Side::Pm);
        match pushed {
            Ok(()) => Ok(id),
            Err(WriteRefusal::Full | WriteRefusal::SameLine) => Err(Cause::WriteQueueFull),
            Err(WriteRefusal::Gated) => Err(Cause::CommitPending),
        }
    }
    fn newest_write(&self) -> WriteId {
        WriteId(self.sys.next_write)
    }
    fn end_epoch(&mut self, queue: u8) -> Epoch {
        self.sys.pm.controller.end_epoch(queue)
    }
    fn active_epoch(&self, queue: u8) -> Epoch {
        self.sys.pm.controller.active_epoch(queue)
    }
    fn open_epoch(&self, queue: u8) -> Epoch {
        self.sys.pm.controller.open_epoch(queue)
    }
    fn open_queue(&mut self, queue: u8, open: bool) {
        let now = self.sys.now();
        self.sys.pm.controller.gate_queue(now, queue, open);
        self.sys.wake_memory(Side::Pm);
    }
    fn queue_is_empty(&self, queue: u8) -> bool {
        self.sys.pm.controller.queue_is_empty(queue)
    }
    fn queue_is_full(&self, queue: u8) -> bool {
        self.sys.pm.controller.queue_is_full(queue)
    }
    fn write_register(&mut self, write: RegisterWrite) -> bool {
        let now = self.sys.now();
        let done = self.sys.pm.controller.write_register(now, write);
        if done {
            self.note(of_register(write));
        }
        self.sys.wake_memory(Side::Pm);
        done
    }
    fn write_back_module(&mut self) {
        let now = self.sys.now();
        self.sys.pm.controller.flush_module(now);
        self.sys.wake_memory(Side::Pm);
    }
    fn when_drained(&mut self, scope: DrainScope, tag: u64) {
        let now = self.sys.now();
        self.sys.pm.controller.when_drained(now, scope, tag);
        self.sys.wake_memory(Side::Pm);
    }
    fn read(&mut self, line: LineAddr, tag: u64) {
        let (at, step) = self.hier.read_for_design(self.sys.now(), line, tag);
        self.sys.events.schedule(at, Ev::Hierarchy(step));
    }
    fn durable_on_accept(&self) -> bool {
        self.sys.pm.controller.durable_on_accept()
    }
    fn is_read_for_another(&self, line: LineAddr) -> bool {
        self.hier.is_read_for_another(line)
    }
    fn durable_together(&mut self, lines: &[(LineAddr, LineData)]) {
        let time = self.sys.now();
        for (i, (line, data)) in lines.iter().enumerate() {
            let cause = match i + 1 == lines.len() {
                true => WriteCause::Log,
                false => WriteCause::LogPart,
            };
            self.sys.parts.remove(line);
            self.sys.pm.controller.stored_elsewhere(*line, data);
            self.sys.make_durable(PersistRecord {
                time,
                line: *line,
                data: *data,
                cause,
            });
        }
    }

    fn region_durable(&mut self, port: HwThread, region: u32, at: Ps) {
        let at = at.max(self.sys.now());
        let channel = port.0 - self.sys.spec.hw_threads();
        let step = network::Step::Durable(channel, region);
        self.sys.events.schedule(at, Ev::Network(step));
    }

    fn roll_back(&mut self, hw_thread: HwThread, tx: TxId) {
        let mut functional = self.sys.functional.borrow_mut();
        let mut journal = self.sys.journal.borrow_mut();
        let restored = journal.roll_back(hw_thread, tx, &mut functional, &mut self.sys.coherent);
        for line in restored {
            let data = self.sys.coherent.line(line);
            self.hier.refresh(line, &data);
            // Whether bytes of persistent memory may be under way is the design's business.
            if !line.is_persistent() {
                self.sys.dram.controller.restore(line, &data);
            }
        }
    }
    fn retire(&mut self, hw_thread: HwThread, tx: TxId) {
        self.sys.journal.borrow_mut().retire(hw_thread, tx);
    }
    fn log_area(&self) -> (Addr, u64) {
        self.sys.log_region()
    }

    fn keeps_account(&self) -> bool {
        self.sys.recorder.is_some()
    }
    fn note(&mut self, kind: LedgerKind) {
        if let Some(r) = &mut self.sys.recorder {
            r.note(kind);
        }
    }
    fn count(&mut self, stat: usize, n: u64) {
        self.sys.design_counts[stat] += n;
    }
    fn sample(&mut self, histogram: usize, value: u64) {
        *self.sys.histograms[histogram].entry(value).or_insert(0) += 1;
    }
}
