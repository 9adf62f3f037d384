//! First ready: which bank's next request has the command bus.

use super::{BankQueues, Handle};
use crate::memory::timing::{Channel, Delays, Direction, RowCommand};
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

/// Works out what a channel can do; keeps its scratch memory.
#[derive(Clone, Debug)]
pub struct Picker {
    at: [Ps; 64],
    command: [Command; 64],
}

impl Picker {
    /// An idle one.
    pub fn new() -> Picker {
        Picker {
            at: [Ps::ZERO; 64],
            command: [Command::Column; 64],
        }
    }
    /// Chooses among the next requests of some banks: the first in rank whose row is open (in banks of the first mask)
    /// and ready; else the first for which a row can be opened or closed (in banks of the second).
    pub fn pick(
        &mut self,
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
        let mut earliest = Ps(u64::MAX);
        each(hits, |bank| {
            let at = channel.column_at(bank, direction).max(least);
            self.at[bank] = at;
            self.command[bank] = Command::Column;
            earliest = earliest.min(at);
        });
        if earliest <= now {
            return Pick {
                now: self.first(queues, hits, now),
                ..Pick::default()
            };
        }
        each(misses, |bank| {
            let (command, at) = channel.row_command(delays, bank);
            self.at[bank] = at;
            self.command[bank] = match command {
                RowCommand::Activate => Command::Activate,
                RowCommand::Precharge => Command::Precharge,
            };
            earliest = earliest.min(at);
        });
        if earliest <= now {
            return Pick {
                now: self.first(queues, misses, now),
                ..Pick::default()
            };
        }
        if hits | misses == 0 {
            return Pick::default();
        }
        let edge = delays.edge(earliest);
        Pick {
            now: None,
            wake: Some(earliest),
            then: self
                .first(queues, hits, edge)
                .or_else(|| self.first(queues, misses, edge)),
        }
    }
    /// The first in rank of the banks that are ready at `time`.
    fn first(&self, queues: &BankQueues, banks: u64, time: Ps) -> Option<(Handle, Command)> {
        let (mut best, mut rank) = (None, u64::MAX);
        each(banks, |bank| {
            let choice = queues.choice(bank);
            if self.at[bank] <= time && (best.is_none() || choice.rank < rank) {
                rank = choice.rank;
                best = Some((choice.handle, self.command[bank]));
            }
        });
        best
    }
}
