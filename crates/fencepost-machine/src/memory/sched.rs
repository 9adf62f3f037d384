//! First-ready, first-come-first-served scheduling of one channel's commands.

use super::timing::{Channel, Direction};
use fencepost_kernel::{LineAddr, Ps};

/// What had to be done to a bank for a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Touched {
    /// Nothing: its row was open.
    Hit,
    /// The row was opened for it.
    Opened,
    /// Another row was closed for it.
    Conflict,
}

/// A queued request, located.
#[derive(Copy, Clone, Debug)]
pub struct Request {
    /// Read id, or entry of the write queue.
    pub key: u64,
    /// The line.
    pub line: LineAddr,
    /// Bank within the channel.
    pub bank: u8,
    /// Row.
    pub row: u64,
    /// When it entered the queue.
    pub since: Ps,
    /// What was done for it so far.
    pub touched: Touched,
}

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

/// The scheduler's decision.
#[derive(Clone, Debug, Default)]
pub struct Pick {
    /// Position of a request, and the command to issue for it now.
    pub now: Option<(usize, Command)>,
    /// Otherwise the earliest time at which a command becomes possible.
    pub wake: Option<Ps>,
    /// Banks (a bit each) that some eligible request needs.
    pub banks: u64,
}

/// The earlier of two optional times.
pub fn sooner(a: Option<Ps>, b: Option<Ps>) -> Option<Ps> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Chooses among `list` (oldest first): the oldest request whose row is open and ready; else the oldest that can open
/// or close a row, where no request wants the row now open. A row gives way to an older request after `hits_max` hits.
/// Banks in `avoid` are left alone.
pub fn pick(
    channel: &Channel,
    list: &[Request],
    direction: Direction,
    hits_max: u16,
    now: Ps,
    avoid: u64,
    eligible: impl Fn(&Request) -> bool,
) -> Pick {
    let mut p = Pick::default();
    // A bit per bank: an eligible hit was seen; an eligible request for another row was seen, the oldest at `oldest`.
    let (mut hit, mut other, mut oldest) = (0u64, 0u64, [0u16; 64]);
    for (i, r) in list.iter().enumerate() {
        let (bit, bank) = (1u64 << r.bank, &channel.banks[usize::from(r.bank)]);
        let gives_way = other & bit != 0 && hits_max > 0 && bank.hits >= hits_max;
        let is_hit = bank.row == Some(r.row) && !gives_way;
        let seen = if is_hit { hit } else { other };
        if (seen | avoid) & bit != 0 || !eligible(r) {
            continue;
        }
        if !is_hit {
            other |= bit;
            oldest[usize::from(r.bank)] = i as u16;
            continue;
        }
        hit |= bit;
        let at = channel.column_at(usize::from(r.bank), direction);
        if at <= now {
            p.now = Some((i, Command::Column));
            return p;
        }
        p.wake = sooner(p.wake, Some(at));
    }
    p.banks = hit | other;
    let mut rest = other & !hit;
    while rest != 0 {
        let bank = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let (command, at) = match channel.banks[bank].row {
            None => (Command::Activate, channel.activate_at(bank)),
            Some(_) => (Command::Precharge, channel.precharge_at(bank)),
        };
        let i = usize::from(oldest[bank]);
        if at > now {
            p.wake = sooner(p.wake, Some(at));
        } else if p.now.is_none_or(|(best, _)| i < best) {
            p.now = Some((i, command));
        }
    }
    p
}
