//! First ready: which bank's next request has the command bus.

use super::{BankQueues, Handle};
use crate::memory::timing::{Channel, Direction};
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
#[derive(Clone, Debug, Default)]
pub struct Pick {
    /// A request, and the command to issue for it now.
    pub now: Option<(Handle, Command)>,
    /// Otherwise the earliest time at which a command becomes possible.
    pub wake: Option<Ps>,
}

/// The earlier of two optional times.
pub fn sooner(a: Option<Ps>, b: Option<Ps>) -> Option<Ps> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The banks of a mask.
fn each(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bank = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            bank
        })
    })
}

/// Chooses among the next requests of all banks but `avoid`: the first in rank whose row is open and ready; else the
/// first for which a row can be opened or closed.
pub fn pick(channel: &Channel, queues: &BankQueues, direction: Direction, now: Ps, avoid: u64) -> Pick {
    let mut p = Pick::default();
    let mut best = u64::MAX;
    let mut offer = |p: &mut Pick, at: Ps, bank: usize, command: Command| {
        let choice = queues.choice(bank);
        if at > now {
            p.wake = sooner(p.wake, Some(at));
        } else if p.now.is_none() || choice.rank < best {
            best = choice.rank;
            p.now = Some((choice.handle, command));
        }
    };
    for bank in each(queues.hits() & !avoid) {
        offer(&mut p, channel.column_at(bank, direction), bank, Command::Column);
    }
    if p.now.is_some() {
        return p;
    }
    for bank in each(queues.misses() & !avoid) {
        let (command, at) = match channel.banks[bank].row {
            None => (Command::Activate, channel.activate_at(bank)),
            Some(_) => (Command::Precharge, channel.precharge_at(bank)),
        };
        offer(&mut p, at, bank, command);
    }
    p
}
