//! First ready: which bank's next request has the command bus.

use super::{BankQueues, Handle};
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

/// When the earliest bank of a mask is itself ready.
#[inline]
fn earliest(queues: &BankQueues, banks: u64) -> Ps {
    let mut earliest = Ps(u64::MAX);
    each(banks, |bank| earliest = earliest.min(queues.ready(bank)));
    earliest
}

/// The first in rank so far.
#[derive(Copy, Clone)]
struct First {
    rank: u64,
    bank: Option<usize>,
}
impl First {
    const NONE: First = First {
        rank: u64::MAX,
        bank: None,
    };
    /// Considers the banks of a mask that are themselves ready at `time`.
    #[inline]
    fn consider(&mut self, queues: &BankQueues, banks: u64, time: Ps) {
        each(banks, |bank| {
            if queues.ready(bank) <= time {
                let rank = queues.choice(bank).rank;
                if self.bank.is_none() || rank < self.rank {
                    *self = First { rank, bank: Some(bank) };
                }
            }
        });
    }
}

/// Chooses among the next requests of some banks: the first in rank whose row is open (in banks of the first mask) and
/// ready; else the first for which a row can be opened or closed (in banks of the second).
pub fn pick(
    (channel, delays): (&Channel, &Delays),
    queues: &BankQueues,
    direction: Direction,
    now: Ps,
    banks: (u64, u64),
) -> Pick {
    let (hits, misses) = (queues.hits() & banks.0, queues.misses() & banks.1);
    let least = match direction {
        Direction::Read => Ps::ZERO,
        Direction::Write => channel.write_buffer_free(),
    };
    let column_at = |group| channel.columns_at(group, direction).max(least);
    let column = |time: Ps| {
        let mut first = First::NONE;
        for (g, banks) in channel.groups().enumerate() {
            if hits & banks != 0 && column_at(g) <= time {
                first.consider(queues, hits & banks, time);
            }
        }
        first.bank.map(|bank| (queues.choice(bank).handle, Command::Column))
    };
    let mut at = Ps(u64::MAX);
    for (g, banks) in channel.groups().enumerate() {
        if hits & banks != 0 {
            at = at.min(earliest(queues, hits & banks).max(column_at(g)));
        }
    }
    if at <= now {
        let now = column(now);
        return Pick { now, ..Pick::default() };
    }
    let mut precharges = 0;
    each(misses, |bank| precharges |= u64::from(channel.precharges(bank)) << bank);
    let activates = misses & !precharges;
    let row = |time: Ps| {
        let mut first = First::NONE;
        if channel.next_command <= time {
            first.consider(queues, precharges, time);
        }
        for (g, banks) in channel.groups().enumerate() {
            if activates & banks != 0 && channel.activates_at(g) <= time {
                first.consider(queues, activates & banks, time);
            }
        }
        let command = |bank: usize| match precharges >> bank & 1 {
            0 => Command::Activate,
            _ => Command::Precharge,
        };
        first.bank.map(|bank| (queues.choice(bank).handle, command(bank)))
    };
    if precharges != 0 {
        at = at.min(earliest(queues, precharges).max(channel.next_command));
    }
    for (g, banks) in channel.groups().enumerate() {
        if activates & banks != 0 {
            at = at.min(earliest(queues, activates & banks).max(channel.activates_at(g)));
        }
    }
    if at <= now {
        let now = row(now);
        return Pick { now, ..Pick::default() };
    }
    if hits | misses == 0 {
        return Pick::default();
    }
    let edge = delays.edge(at);
    Pick {
        now: None,
        wake: Some(at),
        then: column(edge).or_else(|| row(edge)),
    }
}
