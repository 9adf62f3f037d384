//! The memory controller: what its user calls, and the order in which things happen at one moment.

use super::drain::Drain;
use super::map::{AddressMap, Location};
use super::module::Module;
use super::schedule::{ChannelScheduler, Context, Issued, Request, RowState, Scheduler, sooner};
use super::spec::{ControllerSpec, DurableAt, MediaSpec, SlotFreed, SpecError};
use super::stats::MemStats;
use super::timing::{Direction, Timing};
use super::writes::{Arrival, Refusal, Slot, Writes};
use super::{CommandRecord, MemEvent, ReadId};
use crate::seam::{QueuePlan, Write, WriteId};
use fencepost_kernel::{LineAddr, LineData, Ps};
use std::collections::VecDeque;

/// The read queue is full.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ReadQueueFull;

/// May a queued write issue to its bank? Asked with the id the entry was pushed with, and its merged bytes.
pub type IssueFilter<'a> = &'a dyn Fn(WriteId, &Write) -> bool;

/// A controller with its channels.
///
/// The user owns time. It pushes requests, asks [`Controller::next_event`] when something can happen next, and calls
/// [`Controller::advance`] at that time (or earlier, which is harmless). Nothing is polled and nothing is drawn from a
/// random source: the same calls give the same events.
///
/// A refused push is repeated after [`MemEvent::SlotFree`] / [`MemEvent::ReadSlotFree`], which are sent only when
/// something was refused before.
#[derive(Debug)]
pub struct Controller {
    pub(super) spec: ControllerSpec,
    pub(super) timing: Timing,
    pub(super) map: AddressMap,
    pub(super) banks_per_channel: u16,
    pub(super) durable_region: bool,
    /// Accepted writes are durable; what the controller tells designs (a volatile cache below may belie it).
    pub(super) accept_is_durable: bool,
    pub(super) answers_on_accept: bool,
    pub(super) writes: Writes,
    pub(super) channels: Vec<ChannelScheduler>,
    /// The design's own scheduler of writes; first ready, first come, first served without.
    scheduler: Option<Box<dyn Scheduler>>,
    /// Pushed writes that have not arrived, by time of arrival.
    transit: VecDeque<(Ps, Slot)>,
    /// Reads whose data is on its way, and reads answered from the write queue.
    pub(super) returning: VecDeque<(Ps, (ReadId, LineAddr))>,
    pub(super) forwarded: VecDeque<(Ps, (ReadId, LineAddr))>,
    /// Writes the medium is storing.
    pub(super) storing: VecDeque<(Ps, Slot)>,
    pub(super) reads_in_use: u16,
    read_refused: bool,
    write_refused: Vec<bool>,
    /// High and low mark of every write queue.
    watermarks: Vec<(u16, u16)>,
    above_high_watermark: bool,
    below_low_watermark: bool,
    pub(super) drains: Vec<Drain>,
    pub(super) drain_check: Option<Ps>,
    /// The earliest time at which anything is due; kept up to date by everything that changes it.
    pub(super) next: Option<Ps>,
    pub(super) module: Option<Module>,
    pub(super) commands: Option<Vec<CommandRecord>>,
    pub(super) stats: MemStats,
}

impl Controller {
    /// A controller in front of an idle medium. `durable_region`: whether it holds persistent memory; a controller of
    /// volatile memory never reports [`MemEvent::Durable`].
    pub fn new(
        spec: &ControllerSpec,
        media: &MediaSpec,
        plan: &QueuePlan,
        durable_region: bool,
    ) -> Result<Controller, SpecError> {
        spec.validate()?;
        media.validate()?;
        let durable_on_accept = durable_region && spec.durable_at(media) == DurableAt::Accept;
        let writes = Writes::new(plan, spec.write_queue, durable_on_accept, spec.coalesce);
        let watermarks = |queue| {
            let capacity = u32::from(writes.capacity(queue));
            let high = (capacity * u32::from(spec.drain_high)).div_ceil(100).max(1) as u16;
            let low = (capacity * u32::from(spec.drain_low) / 100) as u16;
            (high, low.min(high - 1))
        };
        Ok(Controller {
            timing: Timing::new(media),
            map: AddressMap::new(media),
            banks_per_channel: media.ranks * media.banks,
            durable_region,
            accept_is_durable: durable_on_accept,
            answers_on_accept: durable_on_accept,
            channels: (0..media.channels).map(|i| ChannelScheduler::new(media, i)).collect(),
            scheduler: None,
            transit: VecDeque::with_capacity(64),
            returning: VecDeque::with_capacity(usize::from(spec.read_queue)),
            forwarded: VecDeque::with_capacity(16),
            storing: VecDeque::with_capacity(64),
            reads_in_use: 0,
            read_refused: false,
            write_refused: vec![false; usize::from(writes.queues())],
            watermarks: (0..writes.queues()).map(watermarks).collect(),
            above_high_watermark: false,
            below_low_watermark: true,
            drains: Vec::new(),
            drain_check: None,
            next: None,
            module: None,
            commands: None,
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

    // ---- requests

    /// Asks for a line. A queued write to it answers; otherwise a read-queue entry is held until the data returns.
    pub fn push_read(&mut self, now: Ps, id: ReadId, line: LineAddr) -> Result<(), ReadQueueFull> {
        if self.writes.forward(line).is_some() {
            self.stats.forwarded += 1;
            let at = now + self.spec.static_latency;
            self.forwarded.push_back((at, (id, line)));
            self.next = sooner(self.next, Some(at));
            return Ok(());
        }
        if self.reads_in_use >= self.spec.read_queue {
            self.read_refused = true;
            self.stats.refused += 1;
            return Err(ReadQueueFull);
        }
        self.reads_in_use += 1;
        let at = self.map.locate(line);
        let channel = &mut self.channels[usize::from(at.channel)];
        if channel.reads.push(request(id.0, line, at, now), &channel.channel, true) {
            channel.wake(&self.timing, now);
            self.next = sooner(self.next, channel.wake);
        }
        Ok(())
    }
    /// Sends a write. It holds an entry of its queue, and counts in its epoch, from now on; it arrives
    /// (`MemEvent::Accepted`) after `write.delay`, but never before an older write to its line, nor, where the queue
    /// is durable, before a write of an earlier epoch. An epoch below the active one joins the active one.
    pub fn push_write(&mut self, now: Ps, id: WriteId, write: Write) -> Result<(), Refusal> {
        let (queue, delay) = (write.queue, write.delay);
        let slot = match self.writes.push(id, write) {
            Ok(slot) => slot,
            Err(refusal) => {
                self.write_refused[usize::from(queue)] = true;
                self.stats.refused += 1;
                return Err(refusal);
            }
        };
        let at = self.arrival(now + delay, slot);
        if self.transit.back().is_none_or(|t| t.0 <= at) {
            self.transit.push_back((at, slot));
        } else {
            let position = self.transit.partition_point(|t| t.0 <= at);
            self.transit.insert(position, (at, slot));
        }
        self.next = sooner(self.next, Some(at));
        self.follow_epochs(now);
        self.watermarks(now);
        Ok(())
    }
    fn arrival(&self, at: Ps, slot: Slot) -> Ps {
        let (write, older) = (self.writes.write(slot), self.writes.older(slot));
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

    /// The earliest time at which [`Controller::advance`] has something to do. `None`: only a new request, or another
    /// answer of the issue filter, can change anything.
    #[inline]
    pub fn next_event(&self) -> Option<Ps> {
        self.next
    }
    /// Works out [`Controller::next_event`]. Only time that passes can make it later; what comes in makes it at most sooner.
    pub(super) fn look_ahead(&mut self) {
        let mut next = self.drain_check;
        for channel in &self.channels {
            next = sooner(next, channel.wake);
        }
        next = sooner(next, self.transit.front().map(|x| x.0));
        next = sooner(next, self.storing.front().map(|x| x.0));
        next = sooner(next, self.returning.front().map(|x| x.0));
        next = sooner(next, self.forwarded.front().map(|x| x.0));
        if let Some(m) = &self.module {
            next = sooner(next, m.next_event());
        }
        self.next = next;
    }
    /// Does everything that is due up to `now` and appends what happened to `out`, in order. Must also be called when
    /// answers of `filter` may have changed.
    pub fn advance(&mut self, now: Ps, filter: Option<IssueFilter<'_>>, out: &mut Vec<MemEvent>) {
        if filter.is_some() {
            self.eligibility_changed(now);
            self.look_ahead();
        }
        while let Some(t) = self.next.filter(|t| *t <= now) {
            self.step(t, filter, out);
            self.look_ahead();
        }
    }
    /// One moment: data returns, writes complete, writes arrive, drains are answered, commands issue.
    fn step(&mut self, now: Ps, filter: Option<IssueFilter<'_>>, out: &mut Vec<MemEvent>) {
        self.finish_reads(now, out);
        while let Some(slot) = due(&mut self.storing, now) {
            self.stored(now, slot, out);
        }
        while let Some(slot) = due(&mut self.transit, now) {
            self.arrive(now, slot, out);
        }
        if self.module.is_some() {
            self.run_module(now, filter, out);
        }
        self.answer_drains(out);
        for channel in 0..self.channels.len() {
            if self.channels[channel].wake.is_some_and(|w| w <= now) {
                self.run_channel(channel, now, filter, out);
            }
        }
    }
    /// Issues what a channel can issue at `now` (at most one command) and finds out when to look again.
    fn run_channel(&mut self, index: usize, now: Ps, filter: Option<IssueFilter<'_>>, out: &mut Vec<MemEvent>) {
        // With a module, the filter was asked when the write left the controller.
        let filter = filter.filter(|_| self.module.is_none());
        let (channel, mut cx) = self.channel(index, filter);
        let mut busy = channel.begin(now, &mut cx);
        while busy {
            let (channel, mut cx) = self.channel(index, filter);
            let issued = channel.step(now, &mut cx);
            busy = issued.is_some();
            if let Some(Issued::Column(direction, request)) = issued {
                self.transfer(now, direction, &request, out);
            }
        }
    }
    fn channel<'a>(
        &'a mut self,
        index: usize,
        filter: Option<IssueFilter<'a>>,
    ) -> (&'a mut ChannelScheduler, Context<'a>) {
        let cx = Context {
            timing: &self.timing,
            spec: &self.spec,
            queues: &self.writes,
            above_high_watermark: self.above_high_watermark,
            below_low_watermark: self.below_low_watermark,
            scheduler: self.scheduler.as_deref_mut(),
            filter,
            commands: self.commands.as_mut(),
            stats: &mut self.stats,
        };
        (&mut self.channels[index], cx)
    }
    /// A line crosses the bus.
    fn transfer(&mut self, now: Ps, direction: Direction, r: &Request, out: &mut Vec<MemEvent>) {
        if direction == Direction::Read {
            let at = now + self.timing.read_data + self.spec.static_latency;
            self.returning.push_back((at, (ReadId(r.key), r.line)));
            return;
        }
        let slot = r.key as Slot;
        let (id, queue) = (self.writes.id(slot), self.writes.write(slot).queue);
        out.push(MemEvent::Issued { id });
        let free = self.spec.slot_freed == SlotFreed::Issue;
        self.writes.issue(slot, free);
        self.tell_scheduler(now, slot, |s, bank, id, write| s.issued(now, bank, id, write));
        self.follow_epochs(now);
        if free {
            self.slot_free(queue, out);
            self.watermarks(now);
        }
        self.storing.push_back((now + self.timing.write_done, slot));
    }
    /// Tells the design's scheduler what happened to a write; every channel waits for its decision.
    fn tell_scheduler(&mut self, now: Ps, slot: Slot, tell: impl FnOnce(&mut dyn Scheduler, u16, WriteId, &Write)) {
        let Some(scheduler) = self.scheduler.as_deref_mut() else {
            return;
        };
        let write = self.writes.write(slot);
        let at = self.map.locate(write.line);
        let bank = at.channel * self.banks_per_channel + at.bank;
        tell(scheduler, bank, self.writes.id(slot), write);
        let decided = now + scheduler.delay();
        for channel in &mut self.channels {
            channel.reconsider(&self.timing, decided);
            self.next = sooner(self.next, channel.wake);
        }
    }
    fn finish_reads(&mut self, now: Ps, out: &mut Vec<MemEvent>) {
        while let Some((id, line)) = due(&mut self.forwarded, now) {
            out.push(MemEvent::ReadDone { id, line });
        }
        while let Some((id, line)) = due(&mut self.returning, now) {
            self.reads_in_use -= 1;
            out.push(MemEvent::ReadDone { id, line });
            if std::mem::take(&mut self.read_refused) {
                out.push(MemEvent::ReadSlotFree);
            }
        }
    }
    fn arrive(&mut self, now: Ps, slot: Slot, out: &mut Vec<MemEvent>) {
        let (id, write) = (self.writes.id(slot), *self.writes.write(slot));
        out.push(MemEvent::Accepted { id, write });
        if self.accept_is_durable {
            let record = true;
            out.push(MemEvent::Durable { id, write, record });
        }
        match self.writes.arrive(slot) {
            Arrival::Merged => {
                self.stats.coalesced += 1;
                self.slot_free(write.queue, out);
                self.watermarks(now);
            }
            Arrival::Queued => {
                self.tell_scheduler(now, slot, |s, bank, id, write| s.arrived(now, bank, id, write));
                match &mut self.module {
                    Some(m) => m.wait(now, slot),
                    None => self.send_to_medium(now, slot),
                }
            }
        }
    }
    /// A write waits for its bank.
    pub(super) fn send_to_medium(&mut self, now: Ps, slot: Slot) {
        let line = self.writes.write(slot).line;
        let at = self.map.locate(line);
        let eligible = self.writes.eligible(slot);
        let channel = &mut self.channels[usize::from(at.channel)];
        let request = request(slot.into(), line, at, now);
        if channel.writes.push(request, &channel.channel, eligible) {
            channel.wake(&self.timing, now);
        }
        if self.scheduler.is_some() {
            channel.reconsider(&self.timing, now);
        }
    }
    /// The medium has stored a write: every id merged into it is released, the bytes are recorded once.
    fn stored(&mut self, now: Ps, slot: Slot, out: &mut Vec<MemEvent>) {
        self.writes.done(slot);
        let (id, write) = (self.writes.id(slot), *self.writes.write(slot));
        if self.durable_region && !self.accept_is_durable {
            let record = true;
            out.push(MemEvent::Durable { id, write, record });
            for origin in self.writes.merged(slot) {
                let (id, record) = (origin.id, false);
                let (hart, cause) = (origin.hart, origin.cause);
                let write = Write { hart, cause, ..write };
                out.push(MemEvent::Durable { id, write, record });
            }
        }
        self.tell_scheduler(now, slot, |s, bank, id, write| s.stored(now, bank, id, write));
        self.count_drains(write.queue, self.writes.accepted_at(slot));
        self.writes.finish(slot);
        self.leave_module(now, slot, write.queue);
        self.slot_free(write.queue, out);
        self.watermarks(now);
        self.follow_epochs(now);
    }
    /// After the queues changed: looks whether other epochs may issue.
    pub(super) fn follow_epochs(&mut self, now: Ps) {
        if self.writes.epochs_moved() {
            self.eligibility_changed(now);
        }
    }
    /// Other writes than before may issue.
    fn eligibility_changed(&mut self, now: Ps) {
        self.channels.iter_mut().for_each(|c| c.writes.all_changed());
        self.wake_channels(now);
        if let Some(m) = &mut self.module {
            m.look(now);
            self.next = sooner(self.next, m.next_event());
        }
    }
    fn wake_channels(&mut self, now: Ps) {
        for channel in self.channels.iter_mut().filter(|c| !c.is_empty()) {
            channel.wake(&self.timing, now);
            self.next = sooner(self.next, channel.wake);
        }
    }
    pub(super) fn slot_free(&mut self, queue: u8, out: &mut Vec<MemEvent>) {
        if std::mem::take(&mut self.write_refused[usize::from(queue)]) {
            out.push(MemEvent::SlotFree { queue });
        }
    }
    /// Recomputes the fill marks; a change may turn every channel.
    pub(super) fn watermarks(&mut self, now: Ps) {
        let (mut high, mut low) = (false, true);
        for (queue, marks) in self.watermarks.iter().enumerate() {
            let used = self.writes.used(queue as u8);
            high |= used >= marks.0;
            low &= used <= marks.1;
        }
        if (high, low) != (self.above_high_watermark, self.below_low_watermark) {
            (self.above_high_watermark, self.below_low_watermark) = (high, low);
            self.wake_channels(now);
        }
    }
}

/// The front of a queue ordered by time, if it is due.
pub(super) fn due<T>(queue: &mut VecDeque<(Ps, T)>, now: Ps) -> Option<T> {
    queue.front().filter(|x| x.0 <= now)?;
    queue.pop_front().map(|x| x.1)
}

fn request(key: u64, line: LineAddr, at: Location, since: Ps) -> Request {
    Request {
        key,
        line,
        bank: at.bank as u8,
        row: at.row,
        since,
        found: RowState::Hit,
    }
}
