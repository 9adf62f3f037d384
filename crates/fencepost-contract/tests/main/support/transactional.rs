//! Hardware transactions by an abstract machine: a crash leaves memory after the first k of them, none of those missing that must be durable.

use super::states::for_each_state;
use fencepost_contract::recorded::parse;
use fencepost_contract::{Contract, ContractKind};
use fencepost_kernel::{Addr, Image, Stream};
use std::collections::BTreeSet;

const THREADS: u64 = 3;
/// Words of each thread; half of them lie on a line of its own.
const WORDS: u64 = 4;
const LINE: u64 = 64;

type Memory = Vec<u64>;

/// What has happened: memory after each commit, how many commits are durable for sure, and what each thread has.
#[derive(Clone)]
struct Machine {
    after: Vec<Memory>,
    durable: usize,
    open: Vec<Option<Memory>>,
    /// How many commits were there when each thread last committed.
    last: Vec<usize>,
}

fn word(thread: u64, n: u64) -> usize {
    (thread * WORDS + n) as usize
}
/// Two of a thread's words share a line with those of the others.
fn address(word: usize) -> u64 {
    let (thread, n) = (word as u64 / WORDS, word as u64 % WORDS);
    match n {
        0 | 1 => n * LINE + thread * 8,
        _ => (2 + thread) * LINE + (n - 2) * 8,
    }
}

/// `loc` and `kiln`: at every moment the contract allows exactly the states of the abstract machine.
pub(crate) fn transactions(rng: &mut Stream, i: u64) {
    let kind = [ContractKind::Loc, ContractKind::Kiln][rng.below(2) as usize];
    let (text, history) = random(rng, kind == ContractKind::Kiln);
    let log = parse(&text).expect("the program is well formed");
    let space = Contract::from(kind).space(&log.trace, &Image::default());
    for (point, cut) in space.cuts() {
        let mut got: BTreeSet<Memory> = BTreeSet::new();
        for_each_state(&space.graph, &cut, &mut |state| {
            let image = space.graph.smallest_image(state);
            got.insert(
                (0..word(THREADS, 0))
                    .map(|w| image.word(Addr::pm(address(w))))
                    .collect(),
            );
        });
        let machine = &history[point.event];
        let expected: BTreeSet<Memory> = machine.after[machine.durable..].iter().cloned().collect();
        assert_eq!(
            got, expected,
            "{kind}, program {i}, after event {}:\n{text}",
            point.event
        );
    }
}

/// A log of a few transactions of threads in turn, and the machine after each number of events.
fn random(rng: &mut Stream, durable_at_commit: bool) -> (String, Vec<Machine>) {
    let nothing = vec![0; word(THREADS, 0)];
    let mut m = Machine {
        after: vec![nothing],
        durable: 0,
        open: vec![None; THREADS as usize],
        last: vec![0; THREADS as usize],
    };
    let (mut text, mut history) = (String::from("fencepost-log 1\n"), vec![m.clone()]);
    let mut begun = [0; THREADS as usize];
    for value in 1..=6 + rng.below(14) {
        let thread = rng.below(THREADS) as usize;
        let event = match (&mut m.open[thread], rng.below(6)) {
            (Some(_), 0) => {
                m.open[thread] = None;
                format!("tx-abort {}", begun[thread])
            }
            (Some(own), 1 | 2) => {
                let mut memory = m.after.last().cloned().unwrap_or_default();
                let written = own.iter().enumerate().filter(|(_, v)| **v > 0);
                let empty = written.clone().next().is_none();
                written.for_each(|(w, v)| memory[w] = *v);
                m.open[thread] = None;
                if !empty {
                    m.after.push(memory);
                }
                m.last[thread] = m.after.len() - 1;
                if durable_at_commit {
                    m.durable = m.after.len() - 1;
                }
                format!("tx-commit {}", begun[thread])
            }
            (Some(own), _) => {
                let at = word(thread as u64, rng.below(WORDS));
                own[at] = value;
                format!("store pm+{:#x} {value}", address(at))
            }
            (None, 0) => {
                m.durable = m.durable.max(m.last[thread]);
                "tx-flush".into()
            }
            (None, _) => {
                begun[thread] += 1;
                m.open[thread] = Some(vec![0; word(THREADS, 0)]);
                format!("tx-begin {}", begun[thread])
            }
        };
        text.push_str(&format!("{thread} {event}\n"));
        history.push(m.clone());
    }
    (text, history)
}
