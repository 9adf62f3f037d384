//! One channel at work: read or write mode, and the commands that follow.

use super::bank_queues::{BankQueues, BankRequests, Request, RowState};
use super::command::{Command, Pick, pick, sooner};
use super::{FrFcfs, Handle, OpenRow, Scheduler, Waiting};
use crate::memory::spec::{ControllerSpec, MediaSpec};
use crate::memory::stats::MemStats;
use crate::memory::timing::{Channel, Direction, Timing};
use crate::memory::writes::{Slot, Writes};
use crate::memory::{CommandKind, CommandRecord, IssueFilter};
use fencepost_kernel::Ps;
use fencepost_kernel::units::LINE_BYTES;

/// A channel with its share of the queued requests.
#[derive(Clone, Debug)]
pub struct ChannelScheduler {
    /// Banks and buses.
    pub channel: Channel,
    /// Queued reads.
    pub reads: BankQueues,
    /// Queued writes.
    pub writes: BankQueues,
    /// When to look again.
    pub wake: Option<Ps>,
    /// Position among the channels of the controller.
    number: u16,
    mode: Direction,
    /// The drain goes on although reads wait.
    forced: bool,
    /// Writes issued in this drain.
    drained: u16,
    /// Reads that ended a drain by their age and are still to be served before writes may force another.
    owed: usize,
    last: Direction,
    /// The design's scheduler decides until then.
    decided: Ps,
}

/// What a channel looks at besides its own state.
pub struct Context<'a> {
    /// Delays of the medium.
    pub timing: &'a Timing,
    /// Policies.
    pub spec: &'a ControllerSpec,
    /// The write queues.
    pub queues: &'a Writes,
    /// A write queue is at or above its high watermark.
    pub above_high_watermark: bool,
    /// Every write queue is at or below its low watermark.
    pub below_low_watermark: bool,
    /// The design's scheduler of writes.
    pub scheduler: Option<&'a mut (dyn Scheduler + 'static)>,
    /// The design's say about single writes.
    pub filter: Option<IssueFilter<'a>>,
    /// Where commands are recorded.
    pub commands: Option<&'a mut Vec<CommandRecord>>,
    /// Counters.
    pub stats: &'a mut MemStats,
}

/// What a channel did in a step.
pub enum Issued {
    /// A command that moves no data.
    RowCommand,
    /// A line crosses the bus.
    Column(Direction, Request),
}

impl ChannelScheduler {
    /// An idle channel.
    pub fn new(media: &MediaSpec, number: u16) -> ChannelScheduler {
        let channel = Channel::new(media);
        let queues = BankQueues::new(channel.banks.len());
        ChannelScheduler {
            channel,
            reads: queues.clone(),
            writes: queues,
            wake: None,
            number,
            mode: Direction::Read,
            forced: false,
            drained: 0,
            owed: 0,
            last: Direction::Read,
            decided: Ps::ZERO,
        }
    }
    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }
    /// Something may issue that could not before: looks at the first clock edge at which the command bus is free.
    pub fn wake(&mut self, timing: &Timing, now: Ps) {
        let at = timing.edge(now.max(self.channel.next_command));
        self.wake = sooner(self.wake, Some(at));
    }
    /// The design's scheduler has something new to consider, and has decided at `at`.
    pub fn reconsider(&mut self, timing: &Timing, at: Ps) {
        self.writes.all_changed();
        self.decided = self.decided.max(at);
        if !self.is_empty() {
            self.wake(timing, at);
        }
    }
    fn queue(&mut self, direction: Direction) -> &mut BankQueues {
        match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        }
    }
    /// Banks (a bit each) that some eligible request of a direction needs.
    fn wanted(&self, direction: Direction) -> u64 {
        let queue = match direction {
            Direction::Read => &self.reads,
            Direction::Write => &self.writes,
        };
        queue.hits() | queue.misses()
    }

    /// Whether the channel has a command slot at `now`; does the refreshes that fell due before it. To be asked before
    /// the first [`ChannelScheduler::step`] of a moment.
    pub fn begin(&mut self, now: Ps, cx: &mut Context<'_>) -> bool {
        if self.is_empty() {
            self.wake = None;
            return false;
        }
        let edge = cx.timing.edge(now.max(self.channel.next_command));
        if edge > now {
            self.wake = Some(edge);
            return false;
        }
        let (commands, channel) = (&mut cx.commands, self.number);
        let refreshed = self.channel.refresh(cx.timing, now, |time, bank| {
            if let Some(list) = commands {
                let (bank, kind) = (bank as u16, CommandKind::Refresh);
                list.push(CommandRecord {
                    time,
                    channel,
                    bank,
                    kind,
                });
            }
        });
        if refreshed > 0 {
            cx.stats.refreshes += refreshed;
            self.reads.all_changed();
            self.writes.all_changed();
        }
        true
    }
    /// Issues a command, if one can issue at `now`; else finds out when to look again.
    pub fn step(&mut self, now: Ps, cx: &mut Context<'_>) -> Option<Issued> {
        self.choose_mode(now, cx);
        let (direction, p) = self.choose(now, cx);
        let Some((handle, command)) = p.now else {
            // A refresh changes what is worth waiting for, so look again when one falls due.
            let due = self.channel.next_refresh();
            let wake = p.wake.map(|t| due.map_or(t, |d| t.min(d)));
            self.wake = wake.map(|t| cx.timing.edge(t));
            return None;
        };
        Some(self.issue(now, direction, handle, command, cx))
    }

    /// Read mode until writes force a drain or no read waits; write mode until reads may have their turn. Either side
    /// that has waited too long gets its turn however full the other's queue is, so neither starves.
    fn choose_mode(&mut self, now: Ps, cx: &Context<'_>) {
        let late = |due: Option<Ps>| due.is_some_and(|t| t <= now);
        let (write_late, read_late) = (late(self.write_due(cx)), late(self.read_due(cx)));
        let force = cx.above_high_watermark || write_late;
        let (reads, writes) = (!self.reads.is_empty(), !self.writes.is_empty());
        match self.mode {
            Direction::Read if writes && (!reads || force && self.owed == 0) => {
                self.mode = Direction::Write;
                self.forced = force;
                self.drained = 0;
                self.owed = 0;
            }
            Direction::Write if !writes => self.mode = Direction::Read,
            Direction::Write if reads => {
                self.forced |= force;
                let enough = match self.forced {
                    true => cx.below_low_watermark && !write_late,
                    false => cx.spec.read_priority || cx.below_low_watermark,
                };
                // A turn is at least one write, or nothing would have been gained by turning the bus.
                let turn = enough || read_late && self.drained > 0;
                if turn && self.drained >= cx.spec.min_writes {
                    self.mode = Direction::Read;
                    self.owed = if enough { 0 } else { self.reads.len() };
                }
            }
            _ => {}
        }
    }
    /// When the oldest write has waited long enough to go before reads.
    fn write_due(&self, cx: &Context<'_>) -> Option<Ps> {
        due(&self.writes, cx.spec.write_wait_max)
    }
    /// When the oldest read has waited long enough to end a drain.
    fn read_due(&self, cx: &Context<'_>) -> Option<Ps> {
        due(&self.reads, cx.spec.read_wait_max)
    }

    /// The next command: of the current direction or, where that has nothing to do for longer than two turnarounds of
    /// the bus take, of the other, in banks the current direction does not need.
    fn choose(&mut self, now: Ps, cx: &mut Context<'_>) -> (Direction, Pick) {
        let mode = self.mode;
        let mut first = self.pick(mode, now, 0, cx);
        if first.now.is_some() {
            return (mode, first);
        }
        let other = mode.other();
        if mode == Direction::Write && first.wake.is_none() && !self.reads.is_empty() {
            // No write may issue at all: reads have the channel.
            self.mode = Direction::Read;
            return (Direction::Read, self.pick(Direction::Read, now, 0, cx));
        }
        let turn = match mode {
            Direction::Read => self.write_due(cx),
            Direction::Write => self.read_due(cx),
        };
        let (until, turnarounds) = (first.wake, cx.timing.turnarounds);
        first.wake = sooner(first.wake, turn.filter(|t| *t > now));
        let slack = |t: Ps| until.is_none_or(|w| w > t + turnarounds);
        if !cx.spec.fill_idle || !slack(now) || self.queue(other).is_empty() {
            return (mode, first);
        }
        let fill = self.pick(other, now, self.wanted(mode), cx);
        if fill.now.is_some() {
            return (other, fill);
        }
        if let Some(t) = fill.wake.map(|t| cx.timing.edge(t)).filter(|t| slack(*t)) {
            first.wake = sooner(first.wake, Some(t));
        }
        (mode, first)
    }
    fn pick(&mut self, direction: Direction, now: Ps, avoid: u64, cx: &mut Context<'_>) -> Pick {
        let (first, channel) = (self.number * self.channel.banks.len() as u16, &self.channel);
        let fcfs = FrFcfs {
            row_hits_max: cx.spec.row_hits_max,
        };
        let open = |bank: usize| OpenRow {
            bank: first + bank as u16,
            row: channel.banks[bank].row,
            hits: channel.banks[bank].hits,
        };
        if direction == Direction::Read {
            let oldest_first = |r: BankRequests<'_>, bank| fcfs.choose(&open(bank), r.map(|r| (r.0, r.2.row, r.1)));
            self.reads
                .choose(channel, |bank, requests| oldest_first(requests, bank));
            return pick(channel, &self.reads, direction, now, avoid);
        }
        let (queues, filter) = (cx.queues, cx.filter);
        let may_issue =
            |slot: Slot| queues.eligible(slot) && filter.is_none_or(|f| f(queues.id(slot), queues.write(slot)));
        let Some(scheduler) = &mut cx.scheduler else {
            self.writes.choose(channel, |bank, requests| {
                let requests = requests.filter(|r| may_issue(r.2.key as Slot));
                fcfs.choose(&open(bank), requests.map(|r| (r.0, r.2.row, r.1)))
            });
            return pick(channel, &self.writes, direction, now, avoid);
        };
        if self.decided > now {
            let wake = Some(self.decided);
            return Pick { now: None, wake };
        }
        self.writes.choose(channel, |bank, requests| {
            let requests = requests.filter(|r| may_issue(r.2.key as Slot));
            let mut offered = requests.map(|(handle, order, r)| waiting(queues, handle, order, r));
            scheduler.next(now, &open(bank), &mut offered)
        });
        let mut p = pick(channel, &self.writes, direction, now, avoid);
        if let Some(at) = scheduler.wake(now).filter(|at| *at > now) {
            self.writes.all_changed();
            p.wake = sooner(p.wake, Some(at));
        }
        p
    }

    fn issue(
        &mut self,
        now: Ps,
        direction: Direction,
        handle: Handle,
        command: Command,
        cx: &mut Context<'_>,
    ) -> Issued {
        let r = self.queue(direction).request(handle);
        let (bank, row) = (usize::from(r.bank), r.row);
        match command {
            Command::Precharge => r.found = RowState::Conflict,
            Command::Activate if r.found == RowState::Hit => r.found = RowState::Opened,
            _ => {}
        }
        if let Some(list) = &mut cx.commands {
            let kind = match (command, direction) {
                (Command::Activate, _) => CommandKind::Activate { row },
                (Command::Precharge, _) => CommandKind::Precharge,
                (Command::Column, Direction::Read) => CommandKind::Read { row },
                (Command::Column, Direction::Write) => CommandKind::Write { row },
            };
            let (time, channel, bank) = (now, self.number, bank as u16);
            list.push(CommandRecord {
                time,
                channel,
                bank,
                kind,
            });
        }
        let issued = match command {
            Command::Precharge => {
                self.channel.precharge(cx.timing, now, bank);
                Issued::RowCommand
            }
            Command::Activate => {
                self.channel.activate(cx.timing, now, bank, row);
                Issued::RowCommand
            }
            Command::Column => {
                self.channel.column(cx.timing, now, bank, direction);
                let r = self.queue(direction).remove(handle);
                self.count(direction, &r, cx);
                Issued::Column(direction, r)
            }
        };
        self.reads.bank_changed(bank);
        self.writes.bank_changed(bank);
        issued
    }
    fn count(&mut self, direction: Direction, r: &Request, cx: &mut Context<'_>) {
        let stats = &mut *cx.stats;
        match r.found {
            RowState::Hit => stats.row_hits += 1,
            RowState::Opened => stats.row_misses += 1,
            RowState::Conflict => stats.row_conflicts += 1,
        }
        stats.bytes += LINE_BYTES;
        stats.busy += cx.timing.burst.0;
        let turned = self.last == Direction::Read && direction == Direction::Write;
        stats.drain_switches += u64::from(turned);
        self.last = direction;
        match direction {
            Direction::Read => {
                stats.reads += 1;
                self.owed = self.owed.saturating_sub(1);
            }
            Direction::Write => {
                stats.writes += 1;
                self.drained = self.drained.saturating_add(1);
            }
        }
    }
}

/// When the oldest request has waited `limit`; a limit of zero means never.
fn due(queue: &BankQueues, limit: Ps) -> Option<Ps> {
    let oldest = queue.oldest()?;
    (limit > Ps::ZERO).then(|| oldest.since + limit)
}

fn waiting<'a>(queues: &'a Writes, handle: Handle, order: u64, r: &Request) -> Waiting<'a> {
    let slot = r.key as Slot;
    Waiting {
        handle,
        line: r.line,
        row: r.row,
        since: r.since,
        order,
        write: Some((queues.id(slot), queues.write(slot))),
    }
}
