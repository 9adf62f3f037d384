//! First ready: which bank's next request has the command bus.

use super::{BankQueues, Handle};
use crate::memory::timed::NEVER;
use crate::memory::timing::{Channel, Delays, Direction};
use fencepost_kernel::Ps;

/// A command for one request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Transfer its line.
    Column,
    /// Open its row.
    Activate,
    /// Close the row in its way.
    Precharge,
}

/// What a channel can do for the requests of one direction.
#[derive(Copy, Clone, Debug, Default)]
pub struct Pick {
    /// A request, and the command to issue for it now.
    pub now: Option<(Handle, Command)>,
    /// Otherwise the earliest time at which a command becomes possible.
    pub wake: Option<Ps>,
    /// The request and command that are first at the clock edge of that time, if nothing changes until then.
    pub then: Option<(Handle, Command)>,
}

/// The earlier of two optional times.
#[inline]
pub fn sooner(a: Option<Ps>, b: Option<Ps>) -> Option<Ps> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Calls `f` with every bank of a mask.
#[inline]
fn each(mut mask: u64, mut f: impl FnMut(usize)) {
    while mask != 0 {
        f(mask.trailing_zeros() as usize & 63);
        mask &= mask - 1;
    }
}

/// The candidate that is first at the earliest clock edge at which there is one.
struct Candidate {
    now: Ps,
    /// When the first candidates can go, and the clock edge at which they do.
    at: Ps,
    edge: Ps,
    /// The first in rank of those that can go at that edge.
    rank: u64,
    bank: usize,
}
impl Candidate {
    fn none(now: Ps) -> Candidate {
        Candidate {
            now,
            at: NEVER,
            edge: NEVER,
            rank: u64::MAX,
            bank: 0,
        }
    }
    fn is_due(&self) -> bool {
        self.at <= self.now
    }
    /// A bank whose command can go at `time`; what could have gone before can go now.
    #[inline]
    fn consider(&mut self, delays: &Delays, time: Ps, bank: usize, rank: u64) {
        let time = time.max(self.now);
        if time < self.at {
            self.at = time;
            let edge = if time > self.now { delays.edge(time) } else { time };
            if edge < self.edge {
                (self.edge, self.rank, self.bank) = (edge, rank, bank);
                return;
            }
        }
        if time <= self.edge && rank < self.rank {
            (self.rank, self.bank) = (rank, bank);
        }
    }
    /// Considers the banks of a mask, for which buses, group and rank are ready at `shared`.
    #[inline]
    fn consider_all(&mut self, delays: &Delays, queues: &BankQueues, banks: u64, shared: Ps) {
        each(banks, |bank| {
            self.consider(delays, queues.ready(bank).max(shared), bank, queues.choice(bank).rank);
        });
    }
}

/// Chooses among the next requests of some banks: the first in rank whose row is open (in banks of the first mask) and
/// ready; else the first for which a row can be opened or closed (in banks of the second).
///
/// One pass over the banks finds who goes now or, if nobody can, who does at the earliest clock edge.
pub fn pick(
    (channel, delays): (&Channel, &Delays),
    queues: &BankQueues,
    direction: Direction,
    now: Ps,
    banks: (u64, u64),
) -> Pick {
    let (hits, misses) = (queues.hits() & banks.0, queues.misses() & banks.1);
    let mut column = Candidate::none(now);
    if hits != 0 {
        let least = match direction {
            Direction::Read => Ps::ZERO,
            Direction::Write => channel.write_buffer_free(),
        };
        for (g, banks) in channel.groups().enumerate() {
            if hits & banks != 0 {
                let shared = channel.columns_at(g, direction).max(least);
                column.consider_all(delays, queues, hits & banks, shared);
            }
        }
    }
    let order = |bank: usize, command| Some((queues.choice(bank).handle, command));
    if column.is_due() {
        let now = order(column.bank, Command::Column);
        return Pick { now, ..Pick::default() };
    }
    let mut row = Candidate::none(now);
    let precharges = misses & channel.closes_first();
    row.consider_all(delays, queues, precharges, channel.next_command);
    let activates = misses & !precharges;
    if activates != 0 {
        for (g, banks) in channel.groups().enumerate() {
            if activates & banks != 0 {
                row.consider_all(delays, queues, activates & banks, channel.activates_at(g));
            }
        }
    }
    let for_row = match precharges >> row.bank & 1 {
        0 => Command::Activate,
        _ => Command::Precharge,
    };
    if row.is_due() {
        let now = order(row.bank, for_row);
        return Pick { now, ..Pick::default() };
    }
    let at = column.at.min(row.at);
    if at == NEVER {
        return Pick::default();
    }
    Pick {
        now: None,
        wake: Some(at),
        then: match column.edge <= row.edge {
            true => order(column.bank, Command::Column),
            false => order(row.bank, for_row),
        },
    }
}

#[cfg(test)]
mod tests;
