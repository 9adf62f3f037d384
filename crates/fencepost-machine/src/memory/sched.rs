//! First-ready, first-come-first-served scheduling of one channel's commands.

use super::lists::{BankLists, Node};
use super::timing::{Channel, Direction};
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

/// The scheduler's decision.
#[derive(Clone, Debug, Default)]
pub struct Pick {
    /// A request, and the command to issue for it now.
    pub now: Option<(Node, Command)>,
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

/// Chooses among the candidates of all banks but `avoid`: the oldest request whose row is open and ready; else the
/// oldest for which a row can be opened or, where no request wants the row now open, closed.
pub fn pick(channel: &Channel, lists: &BankLists, direction: Direction, now: Ps, avoid: u64) -> Pick {
    let mut p = Pick::default();
    let mut best = u64::MAX;
    let mut offer = |p: &mut Pick, at: Ps, node: Node, command: Command| {
        if at > now {
            p.wake = sooner(p.wake, Some(at));
        } else if lists.age(node) < best {
            best = lists.age(node);
            p.now = Some((node, command));
        }
    };
    for bank in each(lists.hits() & !avoid) {
        offer(
            &mut p,
            channel.column_at(bank, direction),
            lists.hit(bank),
            Command::Column,
        );
    }
    if p.now.is_some() {
        return p;
    }
    for bank in each(lists.misses() & !avoid) {
        let (command, at) = match channel.banks[bank].row {
            None => (Command::Activate, channel.activate_at(bank)),
            Some(_) => (Command::Precharge, channel.precharge_at(bank)),
        };
        offer(&mut p, at, lists.miss(bank), command);
    }
    p
}
