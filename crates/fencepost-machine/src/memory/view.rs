//! What can be seen of a controller.

use super::CommandRecord;
use super::controller::Controller;
use super::stats::MemStats;
use super::writes::Slot;
use fencepost_kernel::{LineAddr, Ps};

impl Controller {
    /// Bank that holds a line, counted over all channels and ranks.
    pub fn bank(&self, line: LineAddr) -> u16 {
        let at = self.map.locate(line);
        at.channel * self.banks_per_channel + at.bank
    }
    /// Number of banks, over all channels and ranks.
    pub fn banks(&self) -> u16 {
        self.channels.len() as u16 * self.banks_per_channel
    }
    /// Whether a bank is opening or closing a row, or storing a write, at `now`.
    pub fn bank_busy(&self, now: Ps, bank: u16) -> bool {
        let channel = self.channels.get((bank / self.banks_per_channel).into());
        channel.channel.ready_at(usize::from(bank % self.banks_per_channel)) > now
    }
    /// Writes sent to a queue and not yet in the medium.
    pub fn queued(&self, queue: u8) -> u16 {
        self.writes.total(queue).min(u16::MAX.into()) as u16
    }
    /// Free entries of a write queue.
    pub fn free_slots(&self, queue: u8) -> u16 {
        self.writes.capacity(queue).saturating_sub(self.writes.used(queue))
    }
    /// Whether the controller answers for accepted writes (persistent write queue, ADR). With a volatile cache in the
    /// module it answers wrongly: [`MemEvent::Durable`](super::MemEvent::Durable) tells the truth.
    pub fn durable_on_accept(&self) -> bool {
        self.answers_on_accept
    }
    /// Whether no read and no write is queued or under way (lines parked in a module's cache do not count).
    pub fn is_empty(&self) -> bool {
        let writes = (0..self.writes.queues()).all(|q| self.writes.total(q) == 0);
        writes && self.reads_in_use == 0 && self.forwarded.is_empty()
    }
    /// Starts to keep every command sent to the medium, for inspection (off by default).
    pub fn record_commands(&mut self) {
        self.commands = Some(Vec::new());
    }
    /// The commands kept so far, in the order of the channels' command buses.
    pub fn commands(&self) -> &[CommandRecord] {
        self.commands.as_deref().unwrap_or(&[])
    }
    /// Takes them away, by time: those of channels follow one another then, each channel's in its own order.
    pub(crate) fn take_commands(&mut self) -> Vec<CommandRecord> {
        let mut commands = self.commands.take().unwrap_or_default();
        commands.sort_by_key(|c| c.time);
        commands
    }
    /// Counters, from the beginning of time.
    pub fn stats(&self) -> &MemStats {
        &self.stats
    }
    /// Clock period of the medium.
    pub fn clock(&self) -> Ps {
        self.delays.clock
    }
    /// For a stuck machine: who waits for whom, since when; one line for each queue and each channel with work.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        for q in (0..self.writes.queues()).filter(|q| self.writes.total(*q) > 0) {
            text += &format!(
                "write queue {q}: {} writes, epoch {} active, {} open\n",
                self.writes.total(q),
                self.writes.active_epoch(q).0,
                self.writes.open_epoch(q).0
            );
        }
        for (i, channel) in self.channels.iter().enumerate() {
            for (what, list) in [("read", &channel.reads), ("write", &channel.writes)] {
                if let Some(r) = list.oldest() {
                    let blocked = what == "write" && !self.writes.eligible(r.key as Slot);
                    let why = if blocked { ", held by epoch or line order" } else { "" };
                    text += &format!(
                        "channel {i}: {} {what}s, oldest of {} since {}{why}\n",
                        list.len(),
                        r.line,
                        r.since
                    );
                }
            }
        }
        text
    }
}
