//! One channel at work: read or write mode, and the commands that follow.

use super::bank_queues::{BankQueues, BankRequests, Request};
use super::command::{Command, Pick, pick, sooner};
use super::context::{Context, Transfer};
use super::turn::{Fill, Turn};
use super::{FrFcfs, Handle, OpenRow, Waiting};
use crate::memory::spec::{MediaSpec, WritePolicy};
use crate::memory::timing::{Channel, Delays, Direction};
use crate::memory::writes::Slot;
use crate::memory::{CommandKind, CommandRecord};
use fencepost_kernel::Ps;

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
    pub(super) number: u16,
    pub(super) turn: Turn,
    /// The bus turns when the rows opened for this direction have been used.
    finishing: Option<Direction>,
    pub(super) last: Direction,
    /// The design's scheduler decides until then.
    decided: Ps,
    /// What issues at `wake` if nothing changes until then.
    plan: Option<(Direction, Handle, Command)>,
}

/// Every bank.
const ALL: (u64, u64) = (u64::MAX, u64::MAX);

impl ChannelScheduler {
    /// An idle channel.
    pub fn new(media: &MediaSpec, number: u16) -> ChannelScheduler {
        let channel = Channel::new(media);
        let banks = channel.banks.len();
        ChannelScheduler {
            channel,
            reads: BankQueues::new(Direction::Read, banks, false),
            writes: BankQueues::new(Direction::Write, banks, media.writes == WritePolicy::Buffered),
            wake: None,
            number,
            turn: Turn::new(),
            finishing: None,
            last: Direction::Read,
            decided: Ps::ZERO,
            plan: None,
        }
    }
    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }
    /// Something may issue that could not before: looks at the first clock edge at which the command bus is free.
    pub fn wake(&mut self, delays: &Delays, now: Ps) {
        self.plan = None;
        let at = delays.edge(now.max(self.channel.next_command));
        self.wake = sooner(self.wake, Some(at));
    }
    /// Takes a request; `eligible`: whether it may issue as far as its queue is concerned.
    pub fn push(&mut self, delays: &Delays, now: Ps, direction: Direction, request: Request, eligible: bool) {
        let (bank, row) = (usize::from(request.bank), request.row);
        let queue = match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        };
        let new_choice = !queue.has_choice(bank);
        if queue.push(request, &self.channel, eligible)
            && !(new_choice && self.plan_stays(delays, now, direction, bank, row))
        {
            self.wake(delays, now);
        }
    }
    /// Whether a request that is the only one that may go in its bank leaves the plan as it is.
    fn plan_stays(&self, delays: &Delays, now: Ps, direction: Direction, bank: usize, row: u64) -> bool {
        let (Some((planned, ..)), Some(wake)) = (self.plan, self.wake) else {
            return false;
        };
        let queue = self.queued(direction);
        if queue.len() == 1 || planned != self.turn.mode {
            return false;
        }
        if direction != self.turn.mode {
            // It could at most fill idle time, of which there is too little.
            return wake <= now + delays.turnarounds;
        }
        let hit = queue.any_row() || self.channel.banks[bank].row == Some(row);
        let at = match hit {
            true => self.channel.column_at(bank, direction),
            false => self.channel.row_at(bank),
        };
        at > wake
    }
    /// The design's scheduler has something new to consider, and has decided at `at`.
    pub fn reconsider(&mut self, delays: &Delays, at: Ps) {
        self.writes.all_changed();
        self.decided = self.decided.max(at);
        if !self.is_empty() {
            self.wake(delays, at);
        }
    }
    /// Sends a read that the module answers without a bank; answers when its data has arrived.
    pub fn query(&mut self, delays: &Delays, now: Ps) -> Ps {
        let arrives = self.channel.query(delays, now);
        if !self.is_empty() {
            self.wake(delays, now);
        }
        arrives
    }
    fn queued(&self, direction: Direction) -> &BankQueues {
        match direction {
            Direction::Read => &self.reads,
            Direction::Write => &self.writes,
        }
    }
    pub(super) fn queue(&mut self, direction: Direction) -> &mut BankQueues {
        match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        }
    }
    /// Banks (a bit each) that some eligible request of a direction needs.
    fn wanted(&self, direction: Direction) -> u64 {
        let queue = self.queued(direction);
        queue.hits() | queue.misses()
    }

    /// Issues what can issue at `now`, if the command bus is free, up to a transfer; else finds out when to look again.
    pub fn begin(&mut self, now: Ps, cx: &mut Context<'_>) -> Option<Transfer> {
        if self.is_empty() {
            self.wake = None;
            return None;
        }
        if self.plan.is_some() && self.wake == Some(now) {
            return self.go_on(now, cx);
        }
        let edge = cx.delays.edge(now.max(self.channel.next_command));
        if edge > now {
            self.wake = Some(edge);
            return None;
        }
        // A refresh that fell due before has been done.
        if self.channel.next_refresh().is_some_and(|t| t <= now) {
            self.refresh(now, cx);
        }
        self.go_on(now, cx)
    }
    /// The same after a transfer at `now`.
    pub fn go_on(&mut self, now: Ps, cx: &mut Context<'_>) -> Option<Transfer> {
        while let Some((direction, handle, command)) = self.next_command(now, cx) {
            let transfer = self.issue(now, direction, handle, command, cx);
            if transfer.is_some() {
                return transfer;
            }
        }
        None
    }
    fn refresh(&mut self, now: Ps, cx: &mut Context<'_>) {
        let (commands, channel) = (&mut cx.commands, self.number);
        let refreshed = self.channel.refresh(cx.delays, now, |time, bank| {
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
        cx.stats.refreshes += refreshed;
        self.plan = None;
        self.reads.all_changed();
        self.writes.all_changed();
    }
    /// The command to issue at `now`; without one, finds out when to look again.
    fn next_command(&mut self, now: Ps, cx: &mut Context<'_>) -> Option<(Direction, Handle, Command)> {
        let plan = self.plan.take();
        if plan.is_some() && self.wake == Some(now) {
            return plan;
        }
        let before = self.turn.mode;
        let fill = Fill {
            spec: cx.spec,
            reads: &self.reads,
            writes: &self.writes,
            above_high_watermark: cx.above_high_watermark,
            below_low_watermark: cx.below_low_watermark,
        };
        self.turn.choose(now, &fill);
        if before != self.turn.mode && cx.spec.finish_open_rows {
            self.finishing = Some(before);
        }
        let (direction, p) = self.choose(now, cx);
        if let Some((handle, command)) = p.now {
            return Some((direction, handle, command));
        }
        // A refresh changes what is worth waiting for, so look again when one falls due.
        let due = self.channel.next_refresh();
        let wake = p.wake.map(|t| due.map_or(t, |d| t.min(d)));
        self.wake = wake.map(|t| cx.delays.edge(t));
        if before == self.turn.mode
            && let (Some(at), Some((handle, command))) = (self.wake, p.then)
        {
            let fill = self.fill(cx);
            let turns = |d| fill.due(d).is_some_and(|t| now < t && t <= at);
            if due.is_none_or(|t| t > at) && !turns(Direction::Read) && !turns(Direction::Write) {
                self.plan = Some((direction, handle, command));
            }
        }
        None
    }

    fn fill<'a>(&'a self, cx: &Context<'a>) -> Fill<'a> {
        Fill {
            spec: cx.spec,
            reads: &self.reads,
            writes: &self.writes,
            above_high_watermark: cx.above_high_watermark,
            below_low_watermark: cx.below_low_watermark,
        }
    }

    /// The next command: of the current direction or, where that has nothing to do for longer than two turnarounds of
    /// the bus take, of the other, in banks the current direction does not need.
    fn choose(&mut self, now: Ps, cx: &mut Context<'_>) -> (Direction, Pick) {
        if let Some(p) = self.finish(now, cx) {
            return p;
        }
        let mode = self.turn.mode;
        let mut first = self.pick(mode, now, ALL, cx);
        if first.now.is_some() {
            return (mode, first);
        }
        let other = mode.other();
        if mode == Direction::Write && first.wake.is_none() && !self.reads.is_empty() {
            // No write may issue at all: reads have the channel, until one may.
            self.turn.mode = Direction::Read;
            let mut p = self.pick(Direction::Read, now, ALL, cx);
            p.then = None;
            return (Direction::Read, p);
        }
        let turn = self.fill(cx).due(other);
        let (until, turnarounds) = (first.wake, cx.delays.turnarounds);
        first.wake = sooner(first.wake, turn.filter(|t| *t > now));
        let slack = |t: Ps| until.is_none_or(|w| w > t + turnarounds);
        if !cx.spec.fill_idle || !slack(now) || self.queue(other).is_empty() {
            return (mode, first);
        }
        let free = !self.wanted(mode);
        let fill = self.pick(other, now, (free, free), cx);
        if fill.now.is_some() {
            return (other, fill);
        }
        if let Some(t) = fill.wake.map(|t| cx.delays.edge(t)).filter(|t| slack(*t)) {
            // Whether there still is slack then has to be seen then.
            first.then = None;
            first.wake = sooner(first.wake, Some(t));
        }
        (mode, first)
    }
    /// While the bus turns: column commands to rows that were opened for the direction that ends, and row commands of
    /// the one that begins. `None` when no such row is left.
    fn finish(&mut self, now: Ps, cx: &mut Context<'_>) -> Option<(Direction, Pick)> {
        let ends = self.finishing.filter(|d| *d != self.turn.mode)?;
        // Brings the choices up to date.
        self.pick(ends, now, (0, 0), cx);
        let opened = self.queue(ends).opened();
        self.finishing = self.finishing.filter(|_| opened != 0);
        self.finishing?;
        let last = self.pick(ends, now, (opened, 0), cx);
        if last.now.is_some() {
            return Some((ends, last));
        }
        let mut next = self.pick(ends.other(), now, (0, !opened), cx);
        let turns_back = self.fill(cx).due(ends).filter(|t| *t > now);
        next.wake = sooner(sooner(next.wake, last.wake), turns_back);
        next.then = None;
        Some((ends.other(), next))
    }
    fn pick(&mut self, direction: Direction, now: Ps, banks: (u64, u64), cx: &mut Context<'_>) -> Pick {
        let (first, channel) = (self.number * self.channel.banks.len() as u16, &self.channel);
        let medium = (channel, cx.delays);
        let hits_max = cx.spec.row_hits_max;
        let open = |bank: usize| OpenRow {
            bank: first + bank as u16,
            row: channel.banks[bank].row,
            hits: channel.banks[bank].hits,
            hits_max,
        };
        if direction == Direction::Read {
            let oldest_first = |r: BankRequests<'_>, bank| FrFcfs::choose(&open(bank), r.map(|r| (r.0, r.2.row, r.1)));
            self.reads
                .choose(channel, now, |bank, requests| oldest_first(requests, bank));
            return pick(medium, &self.reads, direction, now, banks);
        }
        let queues = cx.queues;
        let may_issue = |slot: Slot| queues.eligible(slot);
        // Where writes are buffered, no row is better than another.
        let rows_count = !self.writes.any_row();
        let open = |bank: usize| OpenRow {
            row: open(bank).row.filter(|_| rows_count),
            ..open(bank)
        };
        let Some(scheduler) = &mut cx.scheduler else {
            self.writes.choose(channel, now, |bank, requests| {
                let requests = requests.filter(|r| may_issue(r.2.key as Slot));
                FrFcfs::choose(&open(bank), requests.map(|r| (r.0, r.2.row, r.1)))
            });
            return pick(medium, &self.writes, direction, now, banks);
        };
        if self.decided > now {
            let wake = Some(self.decided);
            return Pick {
                wake,
                ..Pick::default()
            };
        }
        self.writes.choose(channel, now, |bank, requests| {
            let requests = requests.filter(|r| may_issue(r.2.key as Slot));
            let mut offered = requests.map(|(handle, order, r)| Waiting::of_write(queues, handle, order, r));
            scheduler.next(now, &open(bank), &mut offered)
        });
        let mut p = pick(medium, &self.writes, direction, now, banks);
        p.then = None;
        if let Some(at) = scheduler.wake(now).filter(|at| *at > now) {
            self.writes.all_changed();
            p.wake = sooner(p.wake, Some(at));
        }
        p
    }
}
