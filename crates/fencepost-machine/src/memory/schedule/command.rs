//! First ready: which bank's next request has the command bus.

use super::candidates::Candidates;
use crate::memory::timed::NEVER;
use crate::memory::timing::{Channel, Delays, Direction};
use fencepost_kernel::Ps;

/// A command for one request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Transfer its line.
    Column,
    /// Open its row.
    Activate,
    /// Close the row in its way.
    Precharge,
}

/// What a channel can do first for the requests of one direction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Pick {
    /// The earliest time at which a command is possible, not before the time asked about; `NEVER` without candidates.
    pub at: Ps,
    /// The bank and the command that go at the clock edge of that time, if nothing changes until then and that is known.
    pub first: Option<(u8, Command)>,
}
impl Pick {
    /// Nothing can be issued before `at`.
    pub(super) fn none_before(at: Ps) -> Pick {
        Pick { at, first: None }
    }
}

/// Chooses among the next requests of some banks: the first in rank whose row is open (in banks of the first mask) and
/// ready; else the first for which a row can be opened or closed (in banks of the second).
///
/// Finds the earliest time at which something can go, which is not before the command bus is free, and who goes at its
/// clock edge.
#[inline(always)]
pub(super) fn pick(
    (channel, delays): (&Channel, &Delays),
    next: &Candidates,
    direction: Direction,
    now: Ps,
    banks: (u64, u64),
) -> Pick {
    let of = next.hits() & banks.0 | next.misses() & banks.1;
    // A module that buffers writes takes no more when it is full.
    let buffer_free = match direction {
        Direction::Read => Ps::ZERO,
        Direction::Write => channel.write_buffer_free(),
    };
    let first = |least: Ps| next.first(of, channel.shared(), [least.max(buffer_free), least]);
    let Some(mut goes) = first(now.max(channel.next_command)) else {
        return Pick::none_before(NEVER);
    };
    let (at, edge) = (goes.at, delays.edge(goes.at));
    if at < edge {
        goes = first(edge).unwrap_or(goes);
    }
    let opening = [Command::Activate, Command::Precharge, Command::Column, Command::Column];
    let command = opening[usize::from(goes.hit) << 1 | (channel.closes_first() >> goes.bank & 1) as usize];
    let first = Some((goes.bank, command));
    Pick { at, first }
}

#[cfg(test)]
mod tests;
