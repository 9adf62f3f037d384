//! The recording handle.

use fencepost_kernel::{Addr, CoreId, HwThread, LineAddr, LineData, Ps, TxId};
use fencepost_machine::memory::{RangeRegisters, RegisterWrite};
use fencepost_machine::seam::{Cause, CleanKind, Cx, DrainScope, Epoch, Level, Write, WriteId};
use std::collections::BTreeMap;

/// One call of a design on its handle (queries are not recorded).
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// `timer`
    Timer(Ps, u64),
    /// `kick`
    Kick(Option<HwThread>),
    /// `Cx::release`.
    Release(Option<CoreId>),
    /// `block_l1`
    BlockL1(HwThread, Option<Cause>),
    /// `clean`
    Clean(CleanRequest),
    /// `clear_meta`
    ClearMeta(Level),
    /// `drop_version`
    DropVersion(Level, LineAddr, u32),
    /// `write`, with the answer.
    Write(Box<Write>, Result<WriteId, Cause>),
    /// `end_epoch`, with the epoch open afterwards.
    EndEpoch(u8, Epoch),
    /// `open_queue`
    OpenQueue(u8, bool),
    /// `write_register`, with the answer.
    WriteRegister(RegisterWrite, bool),
    /// `write_back_module`
    WriteBackModule,
    /// `when_drained`
    WhenDrained(DrainScope, u64),
    /// `read`
    Read(LineAddr, u64),
    /// `durable_together`
    DurableTogether(Vec<(LineAddr, LineData)>),
    /// `roll_back`
    RollBack(HwThread, TxId),
}

/// A `clean` that the test has not finished yet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CleanRequest {
    /// Who asked.
    pub hw_thread: HwThread,
    /// Which line.
    pub line: LineAddr,
    /// How far.
    pub kind: CleanKind,
    /// The design's tag.
    pub tag: u64,
}

/// How far a write has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum WriteState {
    /// Left the design, not yet in the queue; its slot is reserved.
    InFlight,
    /// In the queue.
    Queued,
    /// Written to the device; its slot is free.
    Gone,
}
/// A write handed to the mock controller.
#[derive(Clone, Debug)]
pub struct MockWrite {
    /// Its id.
    pub id: WriteId,
    /// What is written.
    pub write: Write,
    /// When it arrives at the queue.
    pub arrives: Ps,
    /// How far it has come.
    pub state: WriteState,
    /// Whether it is durable.
    pub durable: bool,
}
#[derive(Clone, Debug)]
pub(super) struct MockQueue {
    pub entries: usize,
    pub open: Epoch,
    pub open_used: bool,
    pub refused: bool,
    pub closed: bool,
}
/// A drain that is not satisfied yet.
#[derive(Clone, Debug)]
pub(super) struct MockDrain {
    pub scope: DrainScope,
    pub waits_for: Vec<WriteId>,
    pub tag: u64,
}

/// A handle without a machine. Fields are public so that tests set the stage and read the record.
#[derive(Clone, Debug)]
pub struct MockCx {
    /// Current time.
    pub now: Ps,
    /// Hardware threads.
    pub hw_threads: u8,
    /// Hardware threads of one core; hardware thread `h` belongs to core `h / threads_per_core`.
    pub threads_per_core: u8,
    /// Every acting call, in order.
    pub calls: Vec<Call>,
    /// Timers not fired yet: time, sequence number, tag.
    pub timers: Vec<(Ps, u64, u64)>,
    /// Every write ever accepted, by id.
    pub writes: Vec<MockWrite>,
    /// Ids in the order in which they became durable.
    pub durable_order: Vec<WriteId>,
    /// Whether acceptance is durability.
    pub durable_on_accept: bool,
    /// Cleans that the test has not finished.
    pub cleans: Vec<CleanRequest>,
    /// Reads that the test has not answered.
    pub reads: Vec<(LineAddr, u64)>,
    /// The coherent image (lines not set read as zeros).
    pub lines: BTreeMap<LineAddr, LineData>,
    /// Frozen versions that the test put there, by line and design word.
    pub versions: BTreeMap<(LineAddr, u32), LineData>,
    /// Why each hardware thread is kept from its L1, if it is.
    pub blocked: Vec<Option<Cause>>,
    /// Hardware threads kicked since the test last cleared this.
    pub kicked: Vec<bool>,
    /// Whether lines were released since.
    pub released: bool,
    /// Lines of which older bytes wait to enter their queue: a write of the design's to one is refused until they have.
    pub outgoing_lines: Vec<LineAddr>,
    /// Regions of network ports reported as durable.
    pub regions: Vec<(HwThread, u32)>,
    /// The design's counters.
    pub counters: BTreeMap<usize, u64>,
    /// The design's histogram samples.
    pub samples: BTreeMap<usize, Vec<u64>>,
    pub(super) queues: Vec<MockQueue>,
    pub(super) drains: Vec<MockDrain>,
    /// Address-range registers, where the design's plan has any: they choose the queue of a write.
    pub ranges: Option<RangeRegisters>,
    seq: u64,
}

impl MockCx {
    /// A handle for `hw_threads` threads on `hw_threads / threads_per_core` cores, with `queues` write queues of `entries` each.
    pub fn new(hw_threads: u8, threads_per_core: u8, queues: u8, entries: usize) -> MockCx {
        let queue = MockQueue {
            entries,
            open: Epoch(0),
            open_used: false,
            refused: false,
            closed: false,
        };
        MockCx {
            now: Ps::ZERO,
            hw_threads,
            threads_per_core,
            calls: Vec::new(),
            timers: Vec::new(),
            writes: Vec::new(),
            durable_order: Vec::new(),
            durable_on_accept: false,
            cleans: Vec::new(),
            reads: Vec::new(),
            lines: BTreeMap::new(),
            versions: BTreeMap::new(),
            blocked: vec![None; usize::from(hw_threads)],
            kicked: vec![false; usize::from(hw_threads)],
            released: false,
            outgoing_lines: Vec::new(),
            regions: Vec::new(),
            counters: BTreeMap::new(),
            samples: BTreeMap::new(),
            queues: vec![queue; usize::from(queues)],
            drains: Vec::new(),
            ranges: None,
            seq: 0,
        }
    }
    /// Slots in use in a queue, reserved ones included.
    pub fn occupied(&self, queue: u8) -> usize {
        let live = |w: &&MockWrite| w.write.queue == queue && w.state != WriteState::Gone;
        self.writes.iter().filter(live).count()
    }
    /// Shrinks or grows a queue (0 makes it refuse everything).
    pub fn set_queue_entries(&mut self, queue: u8, entries: usize) {
        self.queues[usize::from(queue)].entries = entries;
    }
    /// The lines of all writes in the order they were handed over.
    pub fn written_lines(&self) -> Vec<LineAddr> {
        self.writes.iter().map(|w| w.write.line).collect()
    }
    fn not_durable(&self, queue: Option<u8>) -> impl Iterator<Item = &MockWrite> {
        let of_queue = move |w: &&MockWrite| queue.is_none_or(|q| w.write.queue == q);
        self.writes.iter().filter(of_queue).filter(|w| !w.durable)
    }
}

impl MockCx {
    /// A write leaves for its queue, if that is open and has a free entry.
    pub(super) fn enqueue(&mut self, mut write: Write) -> Result<WriteId, Cause> {
        if let Some(ranges) = &self.ranges {
            write.queue = ranges.route(write.line);
        }
        if self.queues[usize::from(write.queue)].closed {
            self.queues[usize::from(write.queue)].refused = true;
            return Err(Cause::CommitPending);
        }
        let free = self.occupied(write.queue) < self.queues[usize::from(write.queue)].entries;
        let queue = &mut self.queues[usize::from(write.queue)];
        if !free {
            queue.refused = true;
            return Err(Cause::WriteQueueFull);
        }
        queue.open_used |= write.epoch == Some(queue.open);
        let id = WriteId(self.writes.len() as u64);
        self.writes.push(MockWrite {
            id,
            write,
            arrives: self.now + write.delay,
            state: WriteState::InFlight,
            durable: false,
        });
        Ok(id)
    }
    /// What memory answers a read with: the newest bytes handed to the controller.
    pub fn in_memory(&self, line: LineAddr) -> LineData {
        let newest = self.writes.iter().rfind(|w| w.write.line == line);
        newest.map(|w| w.write.data).unwrap_or_default()
    }
    /// The newest durable bytes of a line.
    pub fn durable_line(&self, line: LineAddr) -> LineData {
        let mut written = self
            .durable_order
            .iter()
            .rev()
            .map(|id| &self.writes[id.0 as usize].write);
        written.find(|w| w.line == line).map(|w| w.data).unwrap_or_default()
    }
}

impl Cx for MockCx {
    fn now(&self) -> Ps {
        self.now
    }
    fn hw_threads(&self) -> u8 {
        self.hw_threads
    }
    fn core_of(&self, hw_thread: HwThread) -> CoreId {
        CoreId(hw_thread.0 / self.threads_per_core)
    }
    fn timer(&mut self, at: Ps, tag: u64) {
        assert!(at >= self.now, "timer in the past");
        self.seq += 1;
        self.timers.push((at, self.seq, tag));
        self.calls.push(Call::Timer(at, tag));
    }
    fn kick(&mut self, hw_thread: Option<HwThread>) {
        match hw_thread {
            // Ports of the network stand behind the threads; tests offer again what was refused.
            Some(h) => self.kicked.iter_mut().skip(h.index()).take(1).for_each(|k| *k = true),
            None => {
                self.kicked.fill(true);
                self.released = true;
            }
        }
        self.calls.push(Call::Kick(hw_thread));
    }
    fn release(&mut self, core: Option<CoreId>) {
        self.released = true;
        self.calls.push(Call::Release(core));
    }
    fn block_l1(&mut self, hw_thread: HwThread, cause: Option<Cause>) {
        let was = std::mem::replace(&mut self.blocked[hw_thread.index()], cause);
        self.kicked[hw_thread.index()] |= was.is_some() && cause.is_none();
        self.calls.push(Call::BlockL1(hw_thread, cause));
    }
    fn region_durable(&mut self, port: HwThread, region: u32, _: Ps) {
        self.regions.push((port, region));
    }
    fn clean(&mut self, hw_thread: HwThread, line: LineAddr, kind: CleanKind, tag: u64) {
        let request = CleanRequest {
            hw_thread,
            line,
            kind,
            tag,
        };
        self.cleans.push(request);
        self.calls.push(Call::Clean(request));
    }
    fn clear_meta(&mut self, level: Level) {
        self.calls.push(Call::ClearMeta(level));
    }
    fn is_read_for_another(&self, _: LineAddr) -> bool {
        false
    }
    fn version(&self, _: Level, line: LineAddr, meta: u32) -> Option<LineData> {
        self.versions.get(&(line, meta)).copied()
    }
    fn drop_version(&mut self, level: Level, line: LineAddr, meta: u32) {
        self.versions.remove(&(line, meta));
        self.calls.push(Call::DropVersion(level, line, meta));
    }
    fn coherent(&self, line: LineAddr) -> LineData {
        self.lines.get(&line).copied().unwrap_or_default()
    }
    fn write(&mut self, write: Write) -> Result<WriteId, Cause> {
        let answer = match self.outgoing_lines.contains(&write.line) {
            true => {
                self.queues[usize::from(write.queue)].refused = true;
                Err(Cause::WriteQueueFull)
            }
            false => self.enqueue(write),
        };
        self.calls.push(Call::Write(Box::new(write), answer));
        answer
    }
    fn newest_write(&self) -> WriteId {
        WriteId((self.writes.len() as u64).saturating_sub(1))
    }
    fn end_epoch(&mut self, queue: u8) -> Epoch {
        let q = &mut self.queues[usize::from(queue)];
        if q.open_used {
            q.open = Epoch(q.open.0 + 1);
            q.open_used = false;
        }
        let open = q.open;
        self.calls.push(Call::EndEpoch(queue, open));
        open
    }
    fn active_epoch(&self, queue: u8) -> Epoch {
        let oldest = self.not_durable(Some(queue)).filter_map(|w| w.write.epoch).min();
        oldest.unwrap_or(self.open_epoch(queue))
    }
    fn open_epoch(&self, queue: u8) -> Epoch {
        self.queues[usize::from(queue)].open
    }
    fn open_queue(&mut self, queue: u8, open: bool) {
        self.queues[usize::from(queue)].closed = !open;
        self.calls.push(Call::OpenQueue(queue, open));
    }
    fn queue_is_empty(&self, queue: u8) -> bool {
        self.occupied(queue) == 0
    }
    fn queue_is_full(&self, queue: u8) -> bool {
        self.queues[usize::from(queue)].closed || self.occupied(queue) >= self.queues[usize::from(queue)].entries
    }
    fn write_register(&mut self, write: RegisterWrite) -> bool {
        let done = self.ranges.as_mut().is_some_and(|r| r.write(write));
        self.calls.push(Call::WriteRegister(write, done));
        done
    }
    fn write_back_module(&mut self) {
        self.calls.push(Call::WriteBackModule);
    }
    fn when_drained(&mut self, scope: DrainScope, tag: u64) {
        let waits_for = match scope {
            DrainScope::AcceptedSoFar(queue) => self.not_durable(queue).map(|w| w.id).collect(),
            DrainScope::Empty(_) => Vec::new(),
        };
        self.drains.push(MockDrain { scope, waits_for, tag });
        self.calls.push(Call::WhenDrained(scope, tag));
    }
    fn read(&mut self, line: LineAddr, tag: u64) {
        self.reads.push((line, tag));
        self.calls.push(Call::Read(line, tag));
    }
    fn durable_on_accept(&self) -> bool {
        self.durable_on_accept
    }
    fn durable_together(&mut self, lines: &[(LineAddr, LineData)]) {
        self.calls.push(Call::DurableTogether(lines.to_vec()));
    }
    fn roll_back(&mut self, hw_thread: HwThread, tx: TxId) {
        self.calls.push(Call::RollBack(hw_thread, tx));
    }
    fn log_area(&self) -> (Addr, u64) {
        (fencepost_kernel::units::LOG_BASE, 32 << 20)
    }
    fn count(&mut self, stat: usize, n: u64) {
        *self.counters.entry(stat).or_default() += n;
    }
    fn sample(&mut self, histogram: usize, value: u64) {
        self.samples.entry(histogram).or_default().push(value);
    }
}
