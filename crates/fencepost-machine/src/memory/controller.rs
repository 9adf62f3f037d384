//! The memory controller: its parts, and the requests it takes.

use super::channels::Channels;
use super::contents::Contents;
use super::drain::Drain;
use super::map::{AddressMap, Location};
use super::module::Module;
use super::partition::RangeRegisters;
use super::request::{QueuePlan, Write, WriteId};
use super::schedule::{ChannelScheduler, Request, RowState, Scheduler};
use super::spec::{ControllerSpec, DurableAt, MediaSpec, SpecError, WritePolicy};
use super::stats::MemStats;
use super::timed::{NEVER, Timed};
use super::timing::{Delays, Direction};
use super::watermarks::Watermarks;
use super::writes::{Slot, WriteRefusal, Writes};
use super::{CommandRecord, ReadId};
use fencepost_kernel::decision;
use fencepost_kernel::planted;
use fencepost_kernel::{Image, LineAddr, LineData, Ps};

/// The read queue is full.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ReadQueueFull;

/// A controller with its channels.
///
/// The user owns time. It pushes requests, asks [`Controller::next_event`] when something can happen next, and calls
/// [`Controller::advance`] at that time (or earlier, which is harmless). Nothing is polled and nothing is drawn from a
/// random source: the same calls give the same events.
///
/// A refused push is repeated after [`MemEvent::SlotFree`](super::MemEvent::SlotFree) / [`MemEvent::ReadSlotFree`](super::MemEvent::ReadSlotFree), which are sent only when
/// something was refused before.
#[derive(Debug)]
pub struct Controller {
    pub(super) spec: ControllerSpec,
    pub(super) delays: Delays,
    pub(super) map: AddressMap,
    pub(super) banks_per_channel: u16,
    pub(super) durable_region: bool,
    /// Accepted writes are durable; what the controller tells designs (a volatile cache below may belie it).
    pub(super) accept_is_durable: bool,
    pub(super) answers_on_accept: bool,
    pub(super) writes: Writes,
    /// Say what queue a write takes, where the design has them.
    pub(super) ranges: Option<RangeRegisters>,
    pub(super) channels: Channels,
    /// The design's own scheduler of writes; first ready, first come, first served without.
    pub(super) scheduler: Option<Box<dyn Scheduler>>,
    /// Pushed writes that have not arrived, by time of arrival.
    pub(super) transit: Timed<Slot>,
    /// Reads whose data is on its way, and reads answered from a write queue.
    pub(super) returning: Timed<(ReadId, LineAddr)>,
    pub(super) forwarded: Timed<(ReadId, LineAddr)>,
    /// Writes the medium is storing.
    pub(super) storing: Timed<Slot>,
    pub(super) reads_in_use: u16,
    pub(super) read_refused: bool,
    pub(super) write_refused: Vec<bool>,
    /// Queues that were opened and refused writes before.
    pub(super) opened: Vec<u8>,
    /// Queues that refused a write because of an older one to its line, in whatever queue.
    pub(super) line_refused: Vec<bool>,
    /// Whether any queue did.
    pub(super) any_line_refused: bool,
    pub(super) watermarks: Watermarks,
    pub(super) drains: Vec<Drain>,
    /// When to look at them although nothing else happens.
    pub(super) drain_check: Ps,
    /// A write has reached the medium since they were looked at.
    pub(super) drains_moved: bool,
    /// When the first of what stands in queues by time (`transit`, `returning`, `forwarded`, `storing`) is due.
    pub(super) queues_due: Ps,
    /// The earliest time at which anything is due; kept up to date by everything that changes it.
    pub(super) next: Ps,
    pub(super) module: Option<Module>,
    pub(super) commands: Option<Vec<CommandRecord>>,
    pub(super) contents: Option<Box<Contents>>,
    pub(super) stats: MemStats,
}

impl Controller {
    /// A controller in front of an idle medium. `durable_region`: whether it holds persistent memory; a controller of
    /// volatile memory never reports [`MemEvent::Durable`](super::MemEvent::Durable).
    pub fn new(
        spec: &ControllerSpec,
        media: &MediaSpec,
        plan: &QueuePlan,
        durable_region: bool,
    ) -> Result<Controller, SpecError> {
        spec.validate()?;
        media.validate()?;
        let durable_on_accept = durable_region && spec.durable_at(media) == DurableAt::Accept;
        // Where banks work off buffered writes at their own pace, a later epoch's write could be stored first.
        let ordered_issue = plan.ordered_issue && media.writes != WritePolicy::Buffered;
        let plan = &QueuePlan { ordered_issue, ..*plan };
        let writes = Writes::new(plan, spec.write_queue, durable_on_accept, spec.coalesce);
        Ok(Controller {
            delays: Delays::new(media),
            map: AddressMap::new(media),
            banks_per_channel: media.ranks * media.banks,
            durable_region,
            accept_is_durable: durable_on_accept,
            answers_on_accept: durable_on_accept,
            channels: Channels::new(media, spec.rows_ahead),
            scheduler: None,
            transit: Timed::with_capacity(64),
            returning: Timed::with_capacity(usize::from(spec.read_queue)),
            forwarded: Timed::with_capacity(16),
            storing: Timed::with_capacity(64),
            reads_in_use: 0,
            read_refused: false,
            ranges: (plan.range_registers > 0).then(|| RangeRegisters::new(plan.queues, plan.range_registers.into())),
            write_refused: vec![false; usize::from(writes.queues())],
            opened: Vec::new(),
            line_refused: vec![false; usize::from(writes.queues())],
            any_line_refused: false,
            watermarks: Watermarks::new(spec, (0..writes.queues()).map(|q| writes.capacity(q))),
            drains: Vec::new(),
            drain_check: NEVER,
            drains_moved: false,
            queues_due: NEVER,
            next: NEVER,
            module: None,
            commands: None,
            contents: None,
            stats: MemStats::default(),
            spec: spec.clone(),
            writes,
        })
    }

    /// Has a scheduler of the design's own choose among writes; for a controller still unused.
    pub fn with_scheduler(mut self, scheduler: Box<dyn Scheduler>) -> Controller {
        self.scheduler = Some(scheduler);
        self
    }

    /// Keeps bytes from now on: the medium holds `medium`; for a controller still unused.
    pub(crate) fn keep_bytes(&mut self, medium: Image) {
        self.contents = Some(Box::new(Contents::new(medium)));
    }
    /// Bytes became durable at an address without passing the queues (a non-volatile cache): reads of it find them.
    pub(crate) fn stored_elsewhere(&mut self, line: LineAddr, data: &LineData) {
        if let Some(c) = &mut self.contents {
            c.cached(line, data);
        }
    }
    /// A roll-back restored a line of volatile memory: queued writes of it, and the medium, have its bytes from now on.
    pub(crate) fn restore(&mut self, line: LineAddr, data: &LineData) {
        self.writes.restore(line, data);
        if let Some(c) = &mut self.contents {
            c.stored(line, data);
        }
    }
    /// The bytes that a read returned, where bytes are kept.
    pub(crate) fn answer(&mut self, id: ReadId) -> Option<[u64; 8]> {
        self.contents.as_mut()?.take(id)
    }

    // ---- requests

    /// Asks for a line. A queued write to it answers; otherwise a read-queue entry is held until the data returns.
    pub fn push_read(&mut self, now: Ps, id: ReadId, line: LineAddr) -> Result<(), ReadQueueFull> {
        let skips = planted!("memory.forwarding-left-out", "a queued write answers reads of its line");
        if let Some(data) = self.writes.forward(line).filter(|_| !skips) {
            if let Some(c) = &mut self.contents {
                c.forwarded(id, data.words);
            }
            self.stats.forwarded += 1;
            let at = now + self.spec.static_latency;
            self.forwarded.insert(at, (id, line));
            self.queue_due_by(at);
            return Ok(());
        }
        if decision!("memory.read-queue-full", self.reads_in_use >= self.spec.read_queue) {
            self.read_refused = true;
            self.stats.refused += 1;
            return Err(ReadQueueFull);
        }
        self.reads_in_use += 1;
        if let Some(c) = &mut self.contents {
            c.asked(id, line);
        }
        let at = self.map.locate(line);
        let asked = request(id.0, line, at, now);
        let pushed = |c: &mut ChannelScheduler| c.push(&self.delays, now, Direction::Read, asked, true);
        let ((), wake) = self.channels.act(at.channel.into(), pushed);
        self.act_by(wake);
        Ok(())
    }
    /// Sends a write. It holds an entry of its queue, and counts in its epoch, from now on; it arrives
    /// (`MemEvent::Accepted`) after `write.delay`, but never before an older write to its line, nor, where the queue
    /// is durable, before a write of an earlier epoch. An epoch below the active one joins the active one.
    /// Where there are address-range registers, they choose the queue.
    pub fn push_write(&mut self, now: Ps, id: WriteId, mut write: Write) -> Result<(), WriteRefusal> {
        if let Some(ranges) = &self.ranges {
            write.queue = ranges.route(write.line);
        }
        let (queue, delay) = (write.queue, write.delay);
        let slot = match self.writes.push(id, write) {
            Ok(slot) => slot,
            Err(refusal) => return Err(self.refuse(queue, refusal)),
        };
        let at = self.arrival(now + delay, slot);
        self.transit.insert(at, slot);
        self.queue_due_by(at);
        self.follow_epochs(now);
        self.follow_fill(now, queue);
        Ok(())
    }
    /// Whether the queue of a line takes no write at all now. If so this is a refusal, as that of a write would be.
    pub fn takes_none(&mut self, line: LineAddr, queue: u8) -> bool {
        let queue = self.ranges.as_ref().map_or(queue, |r| r.route(line));
        let Some(refusal) = self.writes.takes_none(queue) else {
            return false;
        };
        self.refuse(queue, refusal);
        true
    }
    /// Whether a queue takes no write at all now.
    pub fn queue_is_full(&self, queue: u8) -> bool {
        self.writes.takes_none(queue).is_some()
    }
    /// Whether the queue of a write is chosen by its line, and not by its sender.
    pub fn routes(&self) -> bool {
        self.ranges.is_some()
    }
    fn refuse(&mut self, queue: u8, refusal: WriteRefusal) -> WriteRefusal {
        self.write_refused[usize::from(queue)] = true;
        if decision!("memory.refused-for-line", refusal == WriteRefusal::SameLine) {
            self.line_refused[usize::from(queue)] = true;
            self.any_line_refused = true;
        }
        self.stats.refused += 1;
        refusal
    }
    fn arrival(&self, at: Ps, slot: Slot) -> Ps {
        let (write, older) = (self.writes.write(slot), self.writes.older(slot));
        let overtakes = planted!(
            "memory.arrival-out-of-order",
            "a write never arrives before an older one to its line"
        );
        if overtakes {
            return at;
        }
        if older.is_none() && (write.epoch.is_none() || !self.accept_is_durable) {
            return at;
        }
        let before = |other: Slot| {
            let w = self.writes.write(other);
            let epochs = self.accept_is_durable && w.queue == write.queue && w.epoch.is_some() && w.epoch < write.epoch;
            Some(other) == older || epochs
        };
        let waits_for = self.transit.iter().filter(|t| before(t.1)).map(|t| t.0);
        waits_for.fold(at, Ps::max)
    }
    /// The newest bytes of a line that a read would be answered with, if a write to it is queued or under way.
    pub fn forward(&self, line: LineAddr) -> Option<&LineData> {
        self.writes.forward(line)
    }

    // ---- time

    /// The earliest time at which [`Controller::advance`] has something to do. `None`: only a new request can
    /// change anything.
    #[inline]
    pub fn next_event(&self) -> Option<Ps> {
        (self.next < NEVER).then_some(self.next)
    }
    /// Something is due at `at`.
    #[inline]
    pub(super) fn act_by(&mut self, at: Ps) {
        self.next = self.next.min(at);
    }
    /// Something in a queue by time is due at `at`.
    #[inline]
    pub(super) fn queue_due_by(&mut self, at: Ps) {
        self.queues_due = self.queues_due.min(at);
        self.act_by(at);
    }
    /// Works out when the first of what stands in queues by time is due, after some of it was.
    #[inline]
    pub(super) fn look_at_queues(&mut self) {
        let writes = self.transit.first().min(self.storing.first());
        let reads = self.returning.first().min(self.forwarded.first());
        self.queues_due = writes.min(reads);
    }
    /// Works out [`Controller::next_event`]. Only time that passes can make it later; what comes in makes it at most sooner.
    pub(super) fn look_ahead(&mut self) {
        let mut next = self.queues_due.min(self.drain_check);
        next = next.min(self.channels.next());
        if let Some(m) = &self.module {
            next = next.min(m.next_event());
        }
        self.next = next;
    }
}

/// A located request that has not touched its bank.
pub(super) fn request(key: u64, line: LineAddr, at: Location, since: Ps) -> Request {
    Request {
        key,
        line,
        bank: at.bank as u8,
        row: at.row,
        since,
        found: RowState::Hit,
    }
}
