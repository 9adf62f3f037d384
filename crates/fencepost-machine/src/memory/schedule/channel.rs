//! One channel at work: requests come in, and commands go out one after the other.

use super::Handle;
use super::bank_queues::{BankQueues, Request};
use super::command::Command;
use super::context::{Context, Transfer};
use super::turn::{Fill, Turn};
use crate::memory::spec::{ControllerSpec, MediaSpec, WritePolicy};
use crate::memory::timed::NEVER;
use crate::memory::timing::{Channel, Delays, Direction};
use crate::memory::{CommandKind, CommandRecord};
use fencepost_kernel::Ps;

/// A command, and the request that it is for.
#[derive(Copy, Clone, Debug)]
pub(super) struct Next {
    pub(super) direction: Direction,
    pub(super) handle: Handle,
    pub(super) command: Command,
}

/// A channel with its share of the queued requests.
#[derive(Clone, Debug)]
pub(crate) struct ChannelScheduler {
    /// Banks and buses.
    pub channel: Channel,
    /// Queued reads.
    pub reads: BankQueues,
    /// Queued writes.
    pub writes: BankQueues,
    /// When to look again; `NEVER` if nothing waits.
    pub wake: Ps,
    /// Position among the channels of the controller.
    pub(super) number: u16,
    pub(super) turn: Turn,
    /// The bus turns when the rows opened for this direction have been used.
    pub(super) finishing: Option<Direction>,
    pub(super) last: Direction,
    /// The design's scheduler decides until then.
    pub(super) decided: Ps,
    /// It may give other answers than before, and is to be asked for which banks.
    pub(super) reconsiders: bool,
    /// What issues at `wake` if nothing changes until then.
    plan: Option<Next>,
}

impl ChannelScheduler {
    /// An idle channel. `rows_ahead`: as in the controller's parameters.
    pub(crate) fn new(media: &MediaSpec, rows_ahead: bool, number: u16) -> ChannelScheduler {
        let channel = Channel::new(media);
        let banks = channel.banks.len();
        ChannelScheduler {
            channel,
            reads: BankQueues::new(Direction::Read, banks, false),
            writes: BankQueues::new(Direction::Write, banks, media.writes == WritePolicy::Buffered)
                .opening_ahead(rows_ahead),
            wake: NEVER,
            number,
            turn: Turn::new(),
            finishing: None,
            last: Direction::Read,
            decided: Ps::ZERO,
            reconsiders: true,
            plan: None,
        }
    }
    /// Whether no request waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }
    /// Something may issue that could not before: looks at the first clock edge at which the command bus is free.
    pub(crate) fn wake(&mut self, delays: &Delays, now: Ps) {
        self.plan = None;
        self.wake = self.wake.min(delays.edge(now.max(self.channel.next_command)));
    }
    /// Takes a request; `eligible`: whether it may issue as far as its queue is concerned.
    pub(crate) fn push(&mut self, delays: &Delays, now: Ps, direction: Direction, request: Request, eligible: bool) {
        let (bank, row) = (usize::from(request.bank), request.row);
        if direction == Direction::Read && self.writes.looks_ahead() {
            // No row is opened ahead where a read waits.
            self.writes.changed(1 << bank);
        }
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
        let Some(plan) = self.plan else {
            return false;
        };
        let queue = self.queued(direction);
        if queue.len() == 1 || self.writes.looks_ahead() || plan.direction != self.turn.mode {
            return false;
        }
        if direction != self.turn.mode {
            // It could at most fill idle time, of which there is too little.
            return self.wake <= now + delays.turnarounds;
        }
        let hit = queue.any_row() || self.channel.banks[bank].row == Some(row);
        let at = match hit {
            true => self.channel.column_at(bank, direction),
            false => self.channel.row_at(bank),
        };
        at > self.wake
    }
    /// The design's scheduler has something new to consider, and has decided at `at`.
    pub(crate) fn reconsider(&mut self, delays: &Delays, at: Ps) {
        self.reconsiders = true;
        self.decided = self.decided.max(at);
        if !self.is_empty() {
            self.wake(delays, at);
        }
    }
    /// When a read that the module answers without a bank may be thought of again, where it has to let a request go first: one that has
    /// waited its longest (`read_wait_max`, `write_wait_max`; zero: for ever), that will go, and that such reads, one as soon as the other
    /// is answered, would keep from the bus for ever.
    pub(crate) fn query_waits(&self, delays: &Delays, now: Ps, spec: &ControllerSpec) -> Option<Ps> {
        let late = |direction: Direction, limit: Ps| {
            let stopped = limit > Ps::ZERO && delays.behind_query(direction) >= delays.query_again();
            stopped && self.queued(direction).oldest().is_some_and(|o| o.since + limit <= now)
        };
        let late = late(Direction::Write, spec.write_wait_max) || late(Direction::Read, spec.read_wait_max);
        (late && self.wake < NEVER).then(|| self.wake.max(now + delays.clock))
    }
    /// Sends a read that the module answers without a bank; returns when its data has arrived.
    pub(crate) fn query(&mut self, delays: &Delays, now: Ps) -> Ps {
        let arrives = self.channel.query(delays, now);
        if !self.is_empty() {
            self.wake(delays, now);
        }
        arrives
    }
    #[inline]
    pub(super) fn queued(&self, direction: Direction) -> &BankQueues {
        match direction {
            Direction::Read => &self.reads,
            Direction::Write => &self.writes,
        }
    }
    #[inline]
    pub(super) fn queue(&mut self, direction: Direction) -> &mut BankQueues {
        match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        }
    }

    /// Issues what can issue at `now`, if the command bus is free, and finds out when to look again. After a write's data
    /// went out, that is left to [`ChannelScheduler::go_on`]: what may issue can depend on it.
    #[inline]
    pub(crate) fn begin(&mut self, now: Ps, cx: &mut Context<'_>) -> Option<Transfer> {
        let next = match self.plan.take() {
            Some(next) if self.wake == now && self.channel.bus_free(now) => next,
            _ => self.first_look(now, cx)?,
        };
        let transfer = self.issue(now, next, cx);
        if transfer.is_none_or(|t| t.direction == Direction::Read) {
            self.go_on(now, cx);
        }
        transfer
    }
    /// Finds out when to look again after a command at `now`: the command bus takes one a clock.
    pub(crate) fn go_on(&mut self, now: Ps, cx: &mut Context<'_>) {
        let next = self.next_command(now, cx);
        debug_assert!(next.is_none(), "two commands in a clock");
    }
    /// The command to issue at `now`, where nothing was planned.
    fn first_look(&mut self, now: Ps, cx: &mut Context<'_>) -> Option<Next> {
        if self.is_empty() {
            self.wake = NEVER;
            return None;
        }
        let edge = cx.delays.edge(now.max(self.channel.next_command));
        if edge > now {
            self.wake = edge;
            return None;
        }
        // A refresh that fell due before has been done.
        if self.channel.next_refresh() <= now {
            self.refresh(now, cx);
        }
        if !self.channel.bus_free(now) {
            self.wake = now + cx.delays.clock;
            return None;
        }
        self.next_command(now, cx)
    }
    #[cold]
    fn refresh(&mut self, now: Ps, cx: &mut Context<'_>) {
        let (commands, channel, delays) = (&mut cx.commands, self.number, cx.delays);
        let every = self.channel.refresh_interval();
        let refreshed = self.channel.refresh(delays, now, |r| {
            let Some(list) = commands else { return };
            let record = |time, kind| CommandRecord {
                time,
                channel,
                bank: r.bank as u16,
                kind,
            };
            list.extend(r.closed.map(|at| record(at, CommandKind::PrechargeAll)));
            list.extend(r.starts(delays, every).map(|at| record(at, CommandKind::Refresh)));
        });
        cx.stats.refreshes += refreshed;
        self.plan = None;
        self.reads.all_changed();
        self.writes.all_changed();
    }
    /// The command to issue at `now`; without one, finds out when to look again, and for what.
    fn next_command(&mut self, now: Ps, cx: &mut Context<'_>) -> Option<Next> {
        if self.is_empty() && !cx.spec.finish_open_rows {
            self.turn.mode = Direction::Read;
            self.wake = NEVER;
            return None;
        }
        let before = self.turn.mode;
        self.turn.choose(now, &Fill::new(cx, &self.reads, &self.writes));
        if before != self.turn.mode && cx.spec.finish_open_rows {
            self.finishing = Some(before);
        }
        let (direction, pick) = self.look(now, cx);
        let next = pick.first.map(|(bank, command)| {
            let handle = self.queued(direction).next().handle(bank.into());
            Next {
                direction,
                handle,
                command,
            }
        });
        if pick.at <= now {
            return next;
        }
        let due = self.channel.next_refresh();
        if pick.at == NEVER {
            // A refresh closes rows that were opened ahead.
            let ahead = self.writes.looks_ahead() && !self.writes.is_empty() && due < NEVER;
            self.wake = if ahead { cx.delays.edge(due) } else { NEVER };
            return None;
        }
        // A refresh changes what to wait for, so look again when one falls due.
        self.wake = cx.delays.edge(pick.at.min(due));
        if before == self.turn.mode && due > self.wake {
            let fill = Fill::new(cx, &self.reads, &self.writes);
            let turns = |d| fill.due(d).is_some_and(|t| now < t && t <= self.wake);
            if !turns(Direction::Read) && !turns(Direction::Write) {
                self.plan = next;
            }
        }
        None
    }
}
