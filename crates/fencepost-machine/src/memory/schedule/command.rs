//! First ready: which bank's next request has the command bus.

use super::bank_queues::each;
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

/// When the first of some banks is ready, with what the banks of its group share and what all wait for.
#[inline]
fn earliest(queues: &BankQueues, wanted: u64, groups: &[u64], shared: &[Ps], all: Ps) -> Ps {
    let mut at = NEVER;
    for (banks, ready) in groups.iter().zip(shared) {
        let of_group = wanted & banks;
        if of_group != 0 {
            at = at.min(queues.earliest(of_group).max(*ready));
        }
    }
    at.max(all)
}

/// The banks of the groups that are ready at `at`.
#[inline]
fn able(groups: &[u64], shared: &[Ps], at: Ps) -> u64 {
    let ready = groups
        .iter()
        .zip(shared)
        .map(|(banks, t)| if *t <= at { *banks } else { 0 });
    ready.fold(0, |able, banks| able | banks)
}

/// The first in rank of some banks that are themselves ready at `at`.
#[inline]
fn first_in_rank(queues: &BankQueues, wanted: u64, at: Ps) -> usize {
    let (mut rank, mut first) = (u64::MAX, 0);
    for bank in each(wanted) {
        let earlier = (queues.ready(bank) <= at) & (queues.rank(bank) < rank);
        (rank, first) = if earlier {
            (queues.rank(bank), bank)
        } else {
            (rank, first)
        };
    }
    first
}

/// Chooses among the next requests of some banks: the first in rank whose row is open (in banks of the first mask) and
/// ready; else the first for which a row can be opened or closed (in banks of the second).
///
/// Finds the earliest time first, and then who goes at it (or, if nobody can go now, at its clock edge).
pub fn pick(
    (channel, delays): (&Channel, &Delays),
    queues: &BankQueues,
    direction: Direction,
    now: Ps,
    banks: (u64, u64),
) -> Pick {
    let (hits, misses) = (queues.hits() & banks.0, queues.misses() & banks.1);
    let (groups, columns) = (channel.shared().groups(), channel.shared().columns(direction));
    let first_column = |at| {
        let bank = first_in_rank(queues, hits & able(groups, columns, at), at);
        Some((queues.choice(bank), Command::Column))
    };
    let mut column = NEVER;
    if hits != 0 {
        let least = match direction {
            Direction::Read => Ps::ZERO,
            Direction::Write => channel.write_buffer_free(),
        };
        column = earliest(queues, hits, groups, columns, least.max(channel.next_command));
        if column <= now {
            return Pick {
                now: first_column(now),
                ..Pick::default()
            };
        }
    }
    let closes = misses & channel.closes_first();
    let (opens, activates) = (misses & !closes, channel.shared().activates());
    let first_row = |at| {
        let bank = first_in_rank(queues, closes | opens & able(groups, activates, at), at);
        let command = match closes >> bank & 1 {
            0 => Command::Activate,
            _ => Command::Precharge,
        };
        Some((queues.choice(bank), command))
    };
    let mut row = NEVER;
    if closes != 0 {
        row = queues.earliest(closes).max(channel.next_command);
    }
    if opens != 0 {
        row = row.min(earliest(queues, opens, groups, activates, channel.next_command));
    }
    if row <= now {
        return Pick {
            now: first_row(now),
            ..Pick::default()
        };
    }
    let at = column.min(row);
    if at == NEVER {
        return Pick::default();
    }
    let edge = delays.edge(at);
    Pick {
        now: None,
        wake: Some(at),
        then: if column <= edge {
            first_column(edge)
        } else {
            first_row(edge)
        },
    }
}

#[cfg(test)]
mod tests;
