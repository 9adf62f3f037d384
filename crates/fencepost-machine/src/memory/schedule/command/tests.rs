//! The choice of one pass is compared with a literal reading of the rule, on random states of a channel.

use super::*;
use crate::memory::schedule::bank_queues::{BankQueues, Request, RowState};
use crate::memory::schedule::choice::Choice;
use crate::memory::spec::MediaSpec;
use fencepost_kernel::LineAddr;
use fencepost_kernel::rng::Stream;

/// Every command that could go, with its bank and rank, and from when on: columns first, then precharges, then activates.
fn all(
    channel: &Channel,
    queues: &BankQueues,
    direction: Direction,
    banks: (u64, u64),
) -> Vec<(Command, usize, u64, Ps)> {
    let numbers = 0..channel.banks.len();
    let (hits, misses) = (queues.hits() & banks.0, queues.misses() & banks.1);
    let of = |mask: u64| numbers.clone().filter(move |b| mask >> b & 1 == 1);
    let rank = |bank: usize| queues.rank(bank);
    let least = match direction {
        Direction::Read => Ps::ZERO,
        Direction::Write => channel.write_buffer_free(),
    };
    let mut list: Vec<_> = of(hits)
        .map(|b| (Command::Column, b, rank(b), channel.column_at(b, direction).max(least)))
        .collect();
    for (command, closes) in [(Command::Precharge, true), (Command::Activate, false)] {
        let banks = of(misses).filter(|b| channel.precharges(*b) == closes);
        list.extend(banks.map(|b| (command, b, rank(b), channel.row_at(b))));
    }
    list
}

/// The first in rank of the columns that can go by `time`, else of the row commands.
fn first(list: &[(Command, usize, u64, Ps)], time: Ps) -> Option<(Command, usize)> {
    let ready = |column: bool| {
        let able = list
            .iter()
            .filter(move |c| (c.0 == Command::Column) == column && c.3 <= time);
        able.min_by_key(|c| c.2).map(|c| (c.0, c.1))
    };
    ready(true).or_else(|| ready(false))
}

#[test]
fn one_pass_finds_what_a_literal_reading_finds() {
    let mut rng = Stream::new(8, "pick");
    let (mut at_once, mut later) = (0, 0);
    for word in ["ddr4-2400", "pcm", "pwq", "fgc-pcm"] {
        let media = MediaSpec::preset(word).expect("known word");
        let delays = Delays::new(&media);
        let mut channel = Channel::new(&media);
        let n = channel.banks.len();
        let mut now = Ps::ZERO;
        for direction in [Direction::Read, Direction::Write] {
            let mut queues = BankQueues::new(direction, n, false);
            for step in 0..3000 {
                if queues.len() < 24 {
                    let bank = rng.below(n as u64) as u8;
                    let request = Request {
                        key: step,
                        line: LineAddr(step),
                        bank,
                        row: rng.below(3),
                        since: now,
                        found: RowState::Hit,
                    };
                    queues.push(request, &channel, true);
                }
                queues.choose(&channel, now, |_, requests| {
                    let (handle, rank, _) = requests.min_by_key(|r| r.1)?;
                    Some(Choice { handle, rank })
                });
                let banks = match rng.below(3) {
                    0 => (rng.below(u64::MAX), rng.below(u64::MAX)),
                    _ => (u64::MAX, u64::MAX),
                };
                let list = all(&channel, &queues, direction, banks);
                let picked = pick((&channel, &delays), &queues, direction, now, banks);
                let named = |(command, bank): (Command, usize)| (queues.choice(bank), command);
                let wake = list.iter().map(|c| c.3).min().filter(|_| first(&list, now).is_none());
                assert_eq!(picked.now, first(&list, now).map(named), "{word} {step}");
                assert_eq!(picked.wake, wake, "{word} {step}");
                let then = wake.and_then(|t| first(&list, delays.edge(t))).map(named);
                assert_eq!(picked.then, then, "{word} {step}");
                let Some((handle, command)) = picked.now.or(picked.then).filter(|_| rng.chance(9, 10)) else {
                    now = delays.edge(now + delays.clock);
                    continue;
                };
                at_once += u64::from(picked.now.is_some());
                later += u64::from(picked.now.is_none());
                now = picked.wake.map_or(now, |t| delays.edge(t));
                let request = *queues.request(handle);
                let bank = usize::from(request.bank);
                match command {
                    Command::Precharge => channel.precharge(&delays, now, bank),
                    Command::Activate => channel.activate(&delays, now, bank, request.row),
                    Command::Column => {
                        channel.column(&delays, now, bank, direction);
                        queues.remove(handle);
                    }
                }
                queues.bank_changed(bank);
            }
        }
    }
    assert!(at_once > 0 && later > 0, "{at_once} {later}");
}
