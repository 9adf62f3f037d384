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
    let (hits, misses) = (queues.next().hits() & banks.0, queues.next().misses() & banks.1);
    let of = |mask: u64| numbers.clone().filter(move |b| mask >> b & 1 == 1);
    let rank = |bank: usize| queues.next().rank(bank);
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
                queues.choose(&channel, |_, requests| {
                    let (handle, rank, _) = requests.min_by_key(|r| r.1)?;
                    Some(Choice { handle, rank })
                });
                let banks = match rng.below(3) {
                    0 => (rng.below(u64::MAX), rng.below(u64::MAX)),
                    _ => (u64::MAX, u64::MAX),
                };
                let list = all(&channel, &queues, direction, banks);
                let picked = pick((&channel, &delays), queues.next(), direction, now, banks);
                let named = |(command, bank): (Command, usize)| (bank as u8, command);
                let (at, time) = match first(&list, now) {
                    Some(_) => (now, now),
                    None => {
                        let at = list.iter().map(|c| c.3).min().unwrap_or(NEVER);
                        (at, if at < NEVER { delays.edge(at) } else { at })
                    }
                };
                let expected = Pick {
                    at,
                    first: first(&list, time).map(named),
                };
                assert_eq!(picked, expected, "{word} {step}");
                let Some((bank, command)) = picked.first.filter(|_| rng.chance(9, 10)) else {
                    now = delays.edge(now + delays.clock);
                    continue;
                };
                at_once += u64::from(picked.at <= now);
                later += u64::from(picked.at > now);
                now = delays.edge(picked.at);
                let handle = queues.next().handle(bank.into());
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
                queues.changed(1 << bank);
            }
        }
    }
    assert!(at_once > 0 && later > 0, "{at_once} {later}");
}
