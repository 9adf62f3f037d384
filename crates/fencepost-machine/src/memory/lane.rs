//! One channel at work: read or write mode, and the commands that follow.

use super::controller::{Controller, IssueFilter};
use super::lists::{BankLists, Node, Request, Touched};
use super::sched::{Command, Pick, pick, sooner};
use super::spec::{MediaSpec, SlotFreed};
use super::timing::{Channel, Direction, Timing};
use super::writes::Slot;
use super::{CommandKind, CommandRecord, MemEvent, ReadId};
use fencepost_kernel::Ps;
use fencepost_kernel::units::LINE_BYTES;

/// A channel with its share of the queued requests.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Banks and buses.
    pub channel: Channel,
    /// Queued reads.
    pub reads: BankLists,
    /// Queued writes.
    pub writes: BankLists,
    /// When to look again.
    pub wake: Option<Ps>,
    mode: Direction,
    /// The drain goes on although reads wait.
    forced: bool,
    /// Writes issued in this drain.
    drained: u16,
    /// Reads that ended a drain by their age and are still to be served before writes may press again.
    owed: usize,
    last: Direction,
}

impl Lane {
    /// An idle channel.
    pub fn new(media: &MediaSpec) -> Lane {
        let channel = Channel::new(media);
        let lists = BankLists::new(channel.banks.len());
        Lane {
            channel,
            reads: lists.clone(),
            writes: lists,
            wake: None,
            mode: Direction::Read,
            forced: false,
            drained: 0,
            owed: 0,
            last: Direction::Read,
        }
    }
    /// Something may issue that could not before: looks at the first clock edge at which the command bus is free.
    pub fn wake(&mut self, timing: &Timing, now: Ps) {
        let at = timing.edge(now.max(self.channel.next_command));
        self.wake = sooner(self.wake, Some(at));
    }
    /// Banks (a bit each) that some eligible request of a direction needs.
    fn wanted(&self, direction: Direction) -> u64 {
        let list = match direction {
            Direction::Read => &self.reads,
            Direction::Write => &self.writes,
        };
        list.hits() | list.misses()
    }
    fn list(&mut self, direction: Direction) -> &mut BankLists {
        match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        }
    }
}

/// When the oldest request has waited `limit`; a limit of zero means never.
fn due(list: &BankLists, limit: Ps) -> Option<Ps> {
    let oldest = list.oldest()?;
    (limit > Ps::ZERO).then(|| oldest.since + limit)
}

impl Controller {
    /// Issues what a channel can issue at `now` (at most one command) and finds out when to look again.
    pub(super) fn run_lane(&mut self, lane: usize, now: Ps, filter: Option<IssueFilter<'_>>, out: &mut Vec<MemEvent>) {
        let l = &mut self.lanes[lane];
        if l.reads.is_empty() && l.writes.is_empty() {
            l.wake = None;
            return;
        }
        let edge = self.timing.edge(now.max(l.channel.next_command));
        if edge > now {
            l.wake = Some(edge);
            return;
        }
        // With a module, the filter was asked when the write left the controller.
        let filter = filter.filter(|_| self.module.is_none());
        let l = &mut self.lanes[lane];
        let commands = &mut self.commands;
        let refreshed = l.channel.refresh(&self.timing, now, |time, bank| {
            if let Some(list) = commands {
                let (channel, bank, kind) = (lane as u16, bank as u16, CommandKind::Refresh);
                list.push(CommandRecord {
                    time,
                    channel,
                    bank,
                    kind,
                });
            }
        });
        if refreshed > 0 {
            self.stats.refreshes += refreshed;
            l.reads.all_changed();
            l.writes.all_changed();
        }
        loop {
            self.choose_mode(lane, now);
            let (direction, p) = self.choose(lane, now, filter);
            let Some((node, command)) = p.now else {
                // A refresh changes what is worth waiting for, so look again when one falls due.
                let due = self.lanes[lane].channel.next_refresh();
                let wake = p.wake.map(|t| due.map_or(t, |d| t.min(d)));
                self.lanes[lane].wake = wake.map(|t| self.timing.edge(t));
                return;
            };
            self.issue(lane, now, direction, node, command, out);
        }
    }

    /// Read mode until writes press or no read waits; write mode until reads may have their turn. Either side that has
    /// waited too long gets its turn however hard the other presses, so neither starves.
    fn choose_mode(&mut self, lane: usize, now: Ps) {
        let (pressed, relaxed) = (self.pressed, self.relaxed);
        let late = |due: Option<Ps>| due.is_some_and(|t| t <= now);
        let (write_late, read_late) = (late(self.write_due(lane)), late(self.read_due(lane)));
        let l = &mut self.lanes[lane];
        let (reads, writes) = (!l.reads.is_empty(), !l.writes.is_empty());
        match l.mode {
            Direction::Read if writes && (!reads || (pressed || write_late) && l.owed == 0) => {
                l.mode = Direction::Write;
                l.forced = pressed || write_late;
                l.drained = 0;
                l.owed = 0;
            }
            Direction::Write if !writes => l.mode = Direction::Read,
            Direction::Write if reads => {
                l.forced |= pressed || write_late;
                let enough = match l.forced {
                    true => relaxed && !write_late,
                    false => self.spec.read_priority || relaxed,
                };
                // A turn is at least one write, or nothing would have been gained by turning the bus.
                let turn = enough || read_late && l.drained > 0;
                if turn && l.drained >= self.spec.min_writes {
                    l.mode = Direction::Read;
                    l.owed = if enough { 0 } else { l.reads.len() };
                }
            }
            _ => {}
        }
    }
    /// When the oldest write of a channel has waited long enough to go before reads.
    fn write_due(&self, lane: usize) -> Option<Ps> {
        due(&self.lanes[lane].writes, self.spec.write_wait_max)
    }
    /// When the oldest read of a channel has waited long enough to end a drain.
    fn read_due(&self, lane: usize) -> Option<Ps> {
        due(&self.lanes[lane].reads, self.spec.read_wait_max)
    }

    /// The next command: of the current direction or, where that has nothing to do for longer than two turnarounds of
    /// the bus take, of the other, in banks the current direction does not need.
    fn choose(&mut self, lane: usize, now: Ps, filter: Option<IssueFilter<'_>>) -> (Direction, Pick) {
        let mode = self.lanes[lane].mode;
        let mut first = self.pick(lane, mode, now, 0, filter);
        if first.now.is_some() {
            return (mode, first);
        }
        let other = if mode == Direction::Read {
            Direction::Write
        } else {
            Direction::Read
        };
        if mode == Direction::Write && first.wake.is_none() && !self.lanes[lane].reads.is_empty() {
            // No write may issue at all: reads have the channel.
            self.lanes[lane].mode = Direction::Read;
            return (Direction::Read, self.pick(lane, Direction::Read, now, 0, filter));
        }
        let turn = match mode {
            Direction::Read => self.write_due(lane),
            Direction::Write => self.read_due(lane),
        };
        let (until, turnarounds) = (first.wake, self.timing.turnarounds);
        first.wake = sooner(first.wake, turn.filter(|t| *t > now));
        let slack = |t: Ps| until.is_none_or(|w| w > t + turnarounds);
        if !self.spec.fill_idle || !slack(now) || self.lanes[lane].list(other).is_empty() {
            return (mode, first);
        }
        let fill = self.pick(lane, other, now, self.lanes[lane].wanted(mode), filter);
        if fill.now.is_some() {
            return (other, fill);
        }
        if let Some(t) = fill.wake.map(|t| self.timing.edge(t)).filter(|t| slack(*t)) {
            first.wake = sooner(first.wake, Some(t));
        }
        (mode, first)
    }
    fn pick(
        &mut self,
        lane: usize,
        direction: Direction,
        now: Ps,
        avoid: u64,
        filter: Option<IssueFilter<'_>>,
    ) -> Pick {
        let hits_max = self.spec.row_hits_max;
        let (
            Lane {
                channel, reads, writes, ..
            },
            queue,
        ) = (&mut self.lanes[lane], &self.writes);
        match direction {
            Direction::Read => {
                reads.find_candidates(channel, hits_max, |_| true);
                pick(channel, reads, direction, now, avoid)
            }
            Direction::Write => {
                writes.find_candidates(channel, hits_max, |r| {
                    let slot = r.key as Slot;
                    queue.eligible(slot) && filter.is_none_or(|f| f(queue.id(slot), queue.write(slot)))
                });
                pick(channel, writes, direction, now, avoid)
            }
        }
    }

    fn issue(
        &mut self,
        lane: usize,
        now: Ps,
        direction: Direction,
        node: Node,
        command: Command,
        out: &mut Vec<MemEvent>,
    ) {
        let l = &mut self.lanes[lane];
        let r = l.list(direction).request(node);
        let (bank, row) = (usize::from(r.bank), r.row);
        if let Some(list) = &mut self.commands {
            let kind = match (command, direction) {
                (Command::Activate, _) => CommandKind::Activate { row },
                (Command::Precharge, _) => CommandKind::Precharge,
                (Command::Column, Direction::Read) => CommandKind::Read { row },
                (Command::Column, Direction::Write) => CommandKind::Write { row },
            };
            let (time, channel, bank) = (now, lane as u16, bank as u16);
            list.push(CommandRecord {
                time,
                channel,
                bank,
                kind,
            });
        }
        match command {
            Command::Precharge => {
                r.touched = Touched::Conflict;
                l.channel.precharge(&self.timing, now, bank);
            }
            Command::Activate => {
                if r.touched == Touched::Hit {
                    r.touched = Touched::Opened;
                }
                l.channel.activate(&self.timing, now, bank, row);
            }
            Command::Column => {
                l.channel.column(&self.timing, now, bank, direction);
                let r = l.list(direction).remove(node);
                self.transfer(lane, now, direction, r, out);
            }
        }
        let l = &mut self.lanes[lane];
        l.reads.bank_changed(bank);
        l.writes.bank_changed(bank);
    }
    /// A line crosses the bus.
    fn transfer(&mut self, lane: usize, now: Ps, direction: Direction, r: Request, out: &mut Vec<MemEvent>) {
        match r.touched {
            Touched::Hit => self.stats.row_hits += 1,
            Touched::Opened => self.stats.row_misses += 1,
            Touched::Conflict => self.stats.row_conflicts += 1,
        }
        self.stats.bytes += LINE_BYTES;
        self.stats.busy += self.timing.burst.0;
        let l = &mut self.lanes[lane];
        let turned = l.last == Direction::Read && direction == Direction::Write;
        self.stats.drain_switches += u64::from(turned);
        l.last = direction;
        if direction == Direction::Read {
            self.stats.reads += 1;
            l.owed = l.owed.saturating_sub(1);
            let at = now + self.timing.read_data + self.spec.static_latency;
            self.returning.push_back((at, (ReadId(r.key), r.line)));
            return;
        }
        self.stats.writes += 1;
        l.drained = l.drained.saturating_add(1);
        let slot = r.key as Slot;
        let (id, queue) = (self.writes.id(slot), self.writes.write(slot).queue);
        out.push(MemEvent::Issued { id });
        let free = self.spec.slot_freed == SlotFreed::Issue;
        self.writes.issue(slot, free);
        self.follow_epochs(now);
        if free {
            self.slot_free(queue, out);
            self.watermarks(now);
        }
        self.storing.push_back((now + self.timing.write_done, slot));
    }
}
