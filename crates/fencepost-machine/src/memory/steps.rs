//! What happens in a controller at one moment, in order.

use super::controller::{Controller, request};
use super::request::{Write, WriteId};
use super::schedule::{ChannelScheduler, Context, Scheduler};
use super::spec::SlotFreed;
use super::timed::NEVER;
use super::timing::Direction;
use super::writes::{Arrival, Slot};
use super::{MemEvent, ReadId};
use fencepost_kernel::Ps;
use fencepost_kernel::planted;

impl Controller {
    /// Does everything that is due up to `now` and appends what happened to `out`, in order.
    pub fn advance(&mut self, now: Ps, out: &mut Vec<MemEvent>) {
        while self.next <= now && self.next < NEVER {
            self.step(self.next, now, out);
            self.look_ahead();
        }
    }
    /// Goes on until something is reported to `out`, which is empty; returns when that was. `None`: nothing ever will be
    /// before another request.
    pub(super) fn advance_to_report(&mut self, out: &mut Vec<MemEvent>) -> Option<Ps> {
        let mut at = None;
        while out.is_empty() && self.next < NEVER {
            at = Some(self.step(self.next, Ps(NEVER.0 - 1), out));
            self.look_ahead();
        }
        at.filter(|_| !out.is_empty())
    }
    /// One moment: data returns, writes complete, writes arrive, drains are answered, commands issue. Where nothing but one channel
    /// has anything to do for a while, that goes on up to `until`, or until something is reported; returns how far it went.
    fn step(&mut self, now: Ps, until: Ps, out: &mut Vec<MemEvent>) -> Ps {
        if self.queues_due <= now || self.module.is_some() {
            self.step_queues(now, out);
            self.look_at_queues();
        }
        if self.drain_check < NEVER || self.drains_moved && !self.drains.is_empty() {
            self.answer_drains(out);
        }
        let (mut from, mut reached) = (0, now);
        while let Some(channel) = self.channels.due(from, now) {
            reached = self.run_channel(channel, now, until, out);
            from = channel + 1;
        }
        reached
    }
    /// What stands in queues by time, and the module.
    fn step_queues(&mut self, now: Ps, out: &mut Vec<MemEvent>) {
        self.finish_reads(now, out);
        while let Some(queue) = self.opened.pop() {
            self.slot_free(queue, out);
        }
        while let Some(slot) = self.storing.due(now) {
            self.stored(now, slot, out);
        }
        while let Some(slot) = self.transit.due(now) {
            self.arrive(now, slot, out);
        }
        if self.module.is_some() {
            self.run_module(now, out);
        }
    }
    /// Issues what a channel can issue at `now` (at most one command) and finds out when to look again; and goes on with that up to
    /// `until` while it is all that there is to do. Returns when it looked last.
    fn run_channel(&mut self, index: usize, mut now: Ps, until: Ps, out: &mut Vec<MemEvent>) -> Ps {
        loop {
            self.issue(index, now, out);
            let wake = self.channels.get(index).wake;
            if wake > until || wake >= self.others_due(index) || !out.is_empty() {
                self.channels.acted(index);
                return now;
            }
            now = wake;
        }
    }
    /// When something may be due that is not this channel's; at once, where that is not easily said.
    fn others_due(&self, index: usize) -> Ps {
        if self.module.is_some() || !self.drains.is_empty() {
            return Ps::ZERO;
        }
        let queues = self.queues_due.min(self.drain_check);
        queues.min(self.channels.next_without(index))
    }
    /// Issues what a channel can issue at `now`, and takes note of the line that crosses the bus.
    fn issue(&mut self, index: usize, now: Ps, out: &mut Vec<MemEvent>) {
        let Some(t) = self.channel(index, |channel, cx| channel.begin(now, cx)) else {
            return;
        };
        match t.direction {
            Direction::Read => {
                let (at, id) = (t.done + self.spec.static_latency, ReadId(t.key));
                self.returning.insert(at, (id, t.line));
                self.queue_due_by(at);
                self.read_reached_module(now, t.done);
            }
            Direction::Write => {
                self.write_issued(now, t.key as Slot, t.done, out);
                self.channel(index, |channel, cx| channel.go_on(now, cx));
            }
        }
    }
    /// Lets a channel act, with what it looks at besides its own state.
    #[inline]
    fn channel<R>(&mut self, index: usize, act: impl FnOnce(&mut ChannelScheduler, &mut Context<'_>) -> R) -> R {
        let mut cx = Context {
            delays: &self.delays,
            map: &self.map,
            spec: &self.spec,
            queues: &self.writes,
            above_high_watermark: self.watermarks.above_high(),
            below_low_watermark: self.watermarks.below_low(),
            scheduler: self.scheduler.as_deref_mut(),
            commands: self.commands.as_mut(),
            stats: &mut self.stats,
        };
        act(self.channels.acting(index), &mut cx)
    }
    /// The data of a write goes to the medium, which has stored it at `stored`.
    fn write_issued(&mut self, now: Ps, slot: Slot, stored: Ps, out: &mut Vec<MemEvent>) {
        let (id, queue) = (self.writes.id(slot), self.writes.write(slot).queue);
        out.push(MemEvent::Issued { id });
        // A module that buffers writes holds the data from now on.
        let free = self.spec.slot_freed == SlotFreed::Issue || self.delays.buffered;
        self.writes.issue(slot, free);
        self.tell_scheduler(now, slot, |s, bank, id, write| s.issued(now, bank, id, write));
        self.follow_epochs(now);
        if free {
            self.slot_free(queue, out);
            self.follow_fill(now, queue);
        }
        self.storing.insert(stored, slot);
        self.queue_due_by(stored);
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
        for channel in 0..self.channels.len() {
            let ((), wake) = self.channels.act(channel, |c| c.reconsider(&self.delays, decided));
            self.act_by(wake);
        }
    }
    fn finish_reads(&mut self, now: Ps, out: &mut Vec<MemEvent>) {
        while let Some((id, line)) = self.forwarded.due(now) {
            out.push(MemEvent::ReadDone { id, line });
        }
        while let Some((id, line)) = self.returning.due(now) {
            self.reads_in_use -= 1;
            if let Some(c) = &mut self.contents {
                c.read(id, line);
            }
            out.push(MemEvent::ReadDone { id, line });
            let told = std::mem::take(&mut self.read_refused)
                && !planted!(
                    "memory.free-read-entry-not-told",
                    "a read that was refused hears of a free entry"
                );
            if told {
                out.push(MemEvent::ReadSlotFree);
            }
        }
    }
    fn arrive(&mut self, now: Ps, slot: Slot, out: &mut Vec<MemEvent>) {
        let (id, write) = (self.writes.id(slot), self.writes.write(slot));
        let queue = write.queue;
        out.push(MemEvent::Accepted { id, write: *write });
        if self.accept_is_durable {
            self.report_durable(slot, out);
        }
        match self.writes.arrive(slot) {
            Arrival::Merged => {
                self.stats.coalesced += 1;
                self.slot_free(queue, out);
                self.follow_fill(now, queue);
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
        self.writes.at_bank(slot, at.bank);
        let (delays, asked, decides) = (
            &self.delays,
            request(slot.into(), line, at, now),
            self.scheduler.is_some(),
        );
        self.channels.act(at.channel.into(), |channel| {
            channel.push(delays, now, Direction::Write, asked, eligible);
            if decides {
                channel.writes.changed(1 << at.bank);
                channel.reconsider(delays, now);
            }
        });
    }
    /// The medium has stored a write: every id merged into it is released, the bytes are recorded once.
    fn stored(&mut self, now: Ps, slot: Slot, out: &mut Vec<MemEvent>) {
        self.writes.done(slot);
        if let Some(c) = &mut self.contents {
            let write = self.writes.write(slot);
            c.stored(write.line, &write.data);
        }
        let queue = self.writes.write(slot).queue;
        let reported = self.durable_region
            && !self.accept_is_durable
            && !planted!(
                "memory.durable-not-reported",
                "a write that the medium has stored is reported as durable"
            );
        if reported {
            self.report_durable(slot, out);
            if !self.writes.merged(slot).is_empty() {
                self.report_merged(slot, out);
            }
        }
        self.tell_scheduler(now, slot, |s, bank, id, write| s.stored(now, bank, id, write));
        self.count_drains(queue, self.writes.accepted_at(slot));
        self.writes.finish(slot);
        self.leave_module(now, slot, queue);
        self.slot_free(queue, out);
        self.line_free(out);
        self.follow_fill(now, queue);
        self.follow_epochs(now);
    }
    /// A write is durable.
    #[inline(never)] // it is copied once, and not before it is known that it is reported
    fn report_durable(&self, slot: Slot, out: &mut Vec<MemEvent>) {
        let (id, write) = (self.writes.id(slot), *self.writes.write(slot));
        let record = true;
        out.push(MemEvent::Durable { id, write, record });
    }
    /// So are those that were merged into it.
    #[cold]
    fn report_merged(&self, slot: Slot, out: &mut Vec<MemEvent>) {
        for origin in self.writes.merged(slot) {
            let (id, record) = (origin.id, false);
            let write = Write {
                cause: origin.cause,
                hw_thread: origin.hw_thread,
                ..*self.writes.write(slot)
            };
            out.push(MemEvent::Durable { id, write, record });
        }
    }
    /// After the queues changed: looks whether other epochs may issue.
    pub(super) fn follow_epochs(&mut self, now: Ps) {
        if let Some(banks) = self.writes.epochs_moved() {
            // A scheduler that keeps epochs in order is offered every write, whatever its epoch.
            let none = self.writes.scheduler_orders;
            self.eligibility_changed(now, if none { 0 } else { banks });
        }
    }
    /// Has every channel look again at `now`. Nothing follows from it: what can happen then was due then anyway.
    pub fn look_again(&mut self, now: Ps) {
        self.eligibility_changed(now, u64::MAX);
        self.look_ahead();
    }
    /// Other writes than before may issue in these banks.
    fn eligibility_changed(&mut self, now: Ps, banks: u64) {
        self.channels.writes_changed(banks);
        self.wake_channels(now);
        if let Some(m) = &mut self.module {
            m.look(now);
            let at = m.next_event();
            self.act_by(at);
        }
    }
    fn wake_channels(&mut self, now: Ps) {
        let wake = self.channels.wake(&self.delays, now);
        self.act_by(wake);
    }
    pub(super) fn slot_free(&mut self, queue: u8, out: &mut Vec<MemEvent>) {
        let told = std::mem::take(&mut self.write_refused[usize::from(queue)])
            && !planted!(
                "memory.free-entry-not-told",
                "a writer that was refused hears of a free entry"
            );
        if told {
            out.push(MemEvent::SlotFree { queue });
        }
    }
    /// A write is in the medium: a queue that refused a younger one to its line may take it.
    fn line_free(&mut self, out: &mut Vec<MemEvent>) {
        if !std::mem::take(&mut self.any_line_refused) {
            return;
        }
        for queue in 0..self.writes.queues() {
            if std::mem::take(&mut self.line_refused[usize::from(queue)]) {
                self.slot_free(queue, out);
            }
        }
    }
    /// An entry of a queue was taken or freed: where that changes what the fill marks say, it may turn every channel.
    pub(super) fn follow_fill(&mut self, now: Ps, queue: u8) {
        if self.watermarks.set(queue, self.writes.used(queue)) {
            self.wake_channels(now);
        }
    }
}
