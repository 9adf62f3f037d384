//! A look of a channel: which direction has the buses, and what goes first.

use super::bank_queues::BankRequests;
use super::channel::ChannelScheduler;
use super::command::{Pick, pick};
use super::context::Context;
use super::turn::Fill;
use super::{Choice, FrFcfs, OpenRow, Waiting};
use crate::memory::timed::NEVER;
use crate::memory::timing::{Channel, Direction};
use crate::memory::writes::Slot;
use fencepost_kernel::Ps;

/// Every bank, for column and for row commands.
const ALL: (u64, u64) = (u64::MAX, u64::MAX);

/// The row buffer of a bank. `first`: the first bank of the channel, counted over all channels.
#[inline]
fn open_row(channel: &Channel, first: u16, bank: usize, hits_max: u16) -> OpenRow {
    let b = &channel.banks[bank];
    OpenRow {
        bank: first + bank as u16,
        row: b.row,
        hits: b.hits,
        hits_max,
    }
}

impl ChannelScheduler {
    /// The next command: of the current direction or, where that has nothing to do for longer than two turnarounds of
    /// the bus take, of the other, in banks the current direction does not need.
    #[inline]
    pub(super) fn look(&mut self, now: Ps, cx: &mut Context<'_>) -> (Direction, Pick) {
        let mode = self.turn.mode;
        if let Some(ends) = self.finishing
            && ends != mode
            && let Some(picked) = self.finish(ends, now, cx)
        {
            return picked;
        }
        let mut first = self.pick(mode, now, ALL, cx);
        let other = mode.other();
        if first.at <= now || self.queued(other).is_empty() {
            return (mode, first);
        }
        if mode == Direction::Write && first.at == NEVER {
            // No write may issue at all: reads have the channel, until one may.
            self.turn.mode = Direction::Read;
            let p = self.pick_too(Direction::Read, now, ALL, cx);
            return (Direction::Read, without_plan(p, now));
        }
        let (until, turnarounds) = (first.at, cx.delays.turnarounds);
        let slack = |t: Ps| until > t + turnarounds;
        if let Some(turn) = self.fill(cx).due(other).filter(|t| *t > now) {
            first.at = first.at.min(turn);
        }
        if !cx.spec.fill_idle || !slack(now) {
            return (mode, first);
        }
        let next = self.queued(mode).next();
        let free = !(next.hits() | next.misses());
        let fill = self.pick_too(other, now, (free, free), cx);
        if fill.at <= now {
            return (other, fill);
        }
        if fill.at < NEVER {
            let edge = cx.delays.edge(fill.at);
            if slack(edge) {
                // Whether there still is slack then has to be seen then.
                first = Pick::none_before(first.at.min(edge));
            }
        }
        (mode, first)
    }
    #[inline]
    fn fill<'a>(&'a self, cx: &Context<'a>) -> Fill<'a> {
        Fill::new(cx, &self.reads, &self.writes)
    }
    /// While the bus turns: column commands to rows that were opened for the direction that ends, and row commands of
    /// the one that begins. `None` when no such row is left.
    fn finish(&mut self, ends: Direction, now: Ps, cx: &mut Context<'_>) -> Option<(Direction, Pick)> {
        self.choose(ends, now, cx);
        let opened = self.queued(ends).opened();
        if opened == 0 {
            self.finishing = None;
            return None;
        }
        let last = self.pick_too(ends, now, (opened, 0), cx);
        if last.at <= now {
            return Some((ends, last));
        }
        let mut next = self.pick_too(ends.other(), now, (0, !opened), cx);
        if next.at > now {
            let turns_back = self.fill(cx).due(ends).filter(|t| *t > now).unwrap_or(NEVER);
            next = Pick::none_before(next.at.min(last.at).min(turns_back));
        }
        Some((ends.other(), next))
    }
    /// [`ChannelScheduler::pick`] where it is not the rule.
    #[inline(never)]
    fn pick_too(&mut self, direction: Direction, now: Ps, banks: (u64, u64), cx: &mut Context<'_>) -> Pick {
        self.pick(direction, now, banks, cx)
    }
    /// What can go first of one direction in some banks, as [`pick`] chooses.
    #[inline(always)]
    fn pick(&mut self, direction: Direction, now: Ps, banks: (u64, u64), cx: &mut Context<'_>) -> Pick {
        let again = self.choose(direction, now, cx);
        if direction == Direction::Write && cx.scheduler.is_some() {
            return self.pick_of_design(now, banks, cx, again);
        }
        let next = self.queued(direction).next();
        pick((&self.channel, cx.delays), next, direction, now, banks)
    }
    /// Brings the next requests of the banks up to date. Returns when to ask a design's scheduler again, if ever.
    #[inline(always)]
    fn choose(&mut self, direction: Direction, now: Ps, cx: &mut Context<'_>) -> Ps {
        let (channel, hits_max) = (&self.channel, cx.spec.row_hits_max);
        let open = |bank: usize| open_row(channel, 0, bank, hits_max);
        match direction {
            Direction::Read => {
                let oldest_first =
                    |bank, r: BankRequests<'_>| FrFcfs::choose(&open(bank), r.map(|r| (r.0, r.2.row, r.1)));
                self.reads.choose(channel, oldest_first);
            }
            Direction::Write if cx.scheduler.is_some() => return self.choose_of_design(now, cx),
            Direction::Write => {
                let (queues, any_row, ahead) = (cx.queues, self.writes.any_row(), self.writes.looks_ahead());
                let reads = &self.reads;
                self.writes.choose(channel, |bank, requests| {
                    let may_issue = requests.filter(|r| queues.eligible(r.2.key as Slot));
                    let mut open = open(bank);
                    if any_row {
                        // Where writes are buffered, no row is better than another.
                        open.row = None;
                    }
                    let next = FrFcfs::choose(&open, may_issue.map(|r| (r.0, r.2.row, r.1)));
                    if next.is_some() || !ahead || reads.occupied(bank) {
                        return next;
                    }
                    open_ahead(&open, requests)
                });
            }
        }
        NEVER
    }
    /// The same of writes, where the design's scheduler chooses.
    #[inline(never)]
    fn choose_of_design(&mut self, now: Ps, cx: &mut Context<'_>) -> Ps {
        let Some(scheduler) = cx.scheduler.as_mut().filter(|_| self.decided <= now) else {
            return NEVER;
        };
        let (channel, hits_max, queues) = (&self.channel, cx.spec.row_hits_max, cx.queues);
        let (banks, any_row) = (channel.banks.len() as u16, self.writes.any_row());
        let first = self.number * banks;
        if self.reconsiders && !self.writes.is_empty() {
            self.reconsiders = false;
            self.writes.changed(scheduler.concerned(now, first..first + banks));
        }
        self.writes.choose(channel, |bank, requests| {
            let may_issue = requests.filter(|r| queues.eligible(r.2.key as Slot));
            let mut offered = may_issue.map(|(handle, order, r)| Waiting::of_write(queues, handle, order, r));
            let mut open = open_row(channel, first, bank, hits_max);
            if any_row {
                open.row = None;
            }
            scheduler.next(now, &open, &mut offered)
        });
        let again = scheduler.wake(now).filter(|at| *at > now);
        self.reconsiders |= again.is_some();
        again.unwrap_or(NEVER)
    }
    /// [`ChannelScheduler::pick`] among what the design's scheduler chose.
    #[inline(never)]
    fn pick_of_design(&mut self, now: Ps, banks: (u64, u64), cx: &mut Context<'_>, again: Ps) -> Pick {
        if self.decided > now {
            return Pick::none_before(self.decided);
        }
        let medium = (&self.channel, cx.delays);
        let mut p = pick(medium, self.writes.next(), Direction::Write, now, banks);
        p = without_plan(p, now);
        p.at = p.at.min(again);
        p
    }
}

/// In a bank where nothing may issue: the oldest request, if its row is not open, for the commands that open it. With that done
/// there is no next request, until one may issue.
#[inline(never)]
fn open_ahead(open: &OpenRow, mut requests: BankRequests<'_>) -> Option<Choice> {
    let (handle, rank, request) = requests.next()?;
    (open.row != Some(request.row)).then_some(Choice { handle, rank })
}

/// What is first then may be another by then.
fn without_plan(p: Pick, now: Ps) -> Pick {
    if p.at > now { Pick::none_before(p.at) } else { p }
}
