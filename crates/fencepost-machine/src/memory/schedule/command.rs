//! First ready: which bank's next request has the command bus.

use super::candidates::Candidates;
use crate::memory::timed::NEVER;
use crate::memory::timing::{Channel, Delays, Direction, Kind};
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

/// What a channel can do first for the requests of one direction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The earliest time at which a command is possible, not before the time asked about; `NEVER` without candidates.
    pub at: Ps,
    /// The bank and the command that go at the clock edge of that time, if nothing changes until then and that is known.
    pub first: Option<(u8, Command)>,
}
impl Pick {
    /// Nothing can be issued before `at`.
    pub fn none_before(at: Ps) -> Pick {
        Pick { at, first: None }
    }
}

/// Chooses among the next requests of some banks: the first in rank whose row is open (in banks of the first mask) and
/// ready; else the first for which a row can be opened or closed (in banks of the second).
///
/// Nothing can go before the command bus is free, and nearly half of the time something can go right then: that is
/// looked at first. Else finds the earliest time at which something can go, and then who goes at its clock edge.
///
/// What is ripe among `next` has been brought up to date for the time at which the bus is free.
#[inline(always)]
pub fn pick(
    (channel, delays): (&Channel, &Delays),
    next: &Candidates,
    direction: Direction,
    now: Ps,
    banks: (u64, u64),
) -> Pick {
    let free = now.max(channel.next_command);
    let (hits, misses, ripe) = (next.hits() & banks.0, next.misses() & banks.1, next.ripe());
    let closes = misses & channel.closes_first();
    let opens = misses & !closes;
    let (shared, transfer) = (channel.shared(), Kind::from(direction));
    // A module that buffers writes takes no more when it is full.
    let buffer_free = match direction {
        Direction::Read => Ps::ZERO,
        Direction::Write => channel.write_buffer_free(),
    };
    let column = |at: Ps, banks: u64| {
        let first = Some((next.first_in_rank(banks), Command::Column));
        Pick { at, first }
    };
    let row = |at: Ps, banks: u64| {
        let bank = next.first_in_rank(banks);
        let command = match closes >> bank & 1 {
            0 => Command::Activate,
            _ => Command::Precharge,
        };
        let first = Some((bank, command));
        Pick { at, first }
    };

    if hits & ripe != 0 && buffer_free <= free {
        let ready = shared.able(transfer, hits & ripe, free);
        if ready != 0 {
            return column(free, ready);
        }
    }
    let mut ready = closes & ripe;
    if opens & ripe != 0 {
        ready |= shared.able(Kind::Activate, opens & ripe, free);
    }
    if ready != 0 {
        return row(free, ready);
    }

    let mut column_at = NEVER;
    if hits != 0 {
        column_at = shared
            .earliest(transfer, hits, |banks| next.earliest(banks))
            .max(buffer_free);
    }
    let mut row_at = NEVER;
    if opens != 0 {
        row_at = shared.earliest(Kind::Activate, opens, |banks| next.earliest(banks));
    }
    if closes != 0 {
        row_at = row_at.min(next.earliest(closes));
    }
    let at = column_at.min(row_at);
    if at == NEVER {
        return Pick::none_before(NEVER);
    }
    let edge = delays.edge(at);
    if column_at <= edge {
        return column(at, shared.able(transfer, next.ready_at(hits, edge), edge));
    }
    let ready = next.ready_at(misses, edge);
    row(at, ready & closes | shared.able(Kind::Activate, ready & opens, edge))
}

#[cfg(test)]
mod tests;
