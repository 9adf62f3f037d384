//! Recorded executions of random programs against total store order by brute force: a memory, a queue of stores for each thread, and every
//! step tried (Sewell et al., x86-TSO). Shares nothing with the recorder.

use fencepost_contract::explore::{Granularity, Order, RecordMem, Recorder, Schedule};
use fencepost_kernel::{Addr, At, Fence, Mem, Rmw, Val};
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

/// What a thread does; words are numbers.
#[derive(Copy, Clone, Debug)]
enum Step {
    Load(usize),
    Store(usize, u64),
    Cas(usize, u64, u64),
    Swap(usize, u64),
    Add(usize, u64),
    Mfence,
    Sfence,
}
use Step::{Add, Cas, Load, Mfence, Sfence, Store, Swap};

const WORDS: [Addr; 2] = [Addr::pm(0x00), Addr::pm(0x40)];
/// After so many, what is allowed and was never shown is missing.
const SCHEDULES: u64 = 6_000;
/// So many are looked at when all that is allowed has been shown.
const AT_LEAST: u64 = 200;

type Threads = [Vec<Step>; 2];
/// What each thread read, in its order.
type Read = [Vec<u64>; 2];

/// The abstract machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Machine {
    memory: [u64; 2],
    queues: [VecDeque<(usize, u64)>; 2],
    next: [usize; 2],
    read: Read,
}

impl Machine {
    /// The oldest store of a thread's queue performs.
    fn drained(&self, t: usize) -> Option<Machine> {
        let mut then = self.clone();
        let (word, value) = then.queues[t].pop_front()?;
        then.memory[word] = value;
        Some(then)
    }
    /// The thread's next step, if it may be made; atomics and `mfence` need an empty queue.
    fn stepped(&self, t: usize, steps: &[Step]) -> Option<Machine> {
        let step = *steps.get(self.next[t])?;
        if matches!(step, Cas(..) | Swap(..) | Add(..) | Mfence) && !self.queues[t].is_empty() {
            return None;
        }
        let mut then = self.clone();
        then.next[t] += 1;
        let mut atomic = |word: usize, new: &dyn Fn(u64) -> u64| {
            let old = then.memory[word];
            then.memory[word] = new(old);
            then.read[t].push(old);
        };
        match step {
            Load(word) => {
                let own = self.queues[t].iter().rev().find(|(w, _)| *w == word);
                then.read[t].push(own.map_or(self.memory[word], |own| own.1));
            }
            Store(word, value) => then.queues[t].push_back((word, value)),
            Cas(word, expect, new) => atomic(word, &|old| if old == expect { new } else { old }),
            Swap(word, new) => atomic(word, &|_| new),
            Add(word, n) => atomic(word, &|old| old + n),
            Mfence | Sfence => {}
        }
        Some(then)
    }
}

/// All that the threads may read.
fn allowed(threads: &Threads) -> BTreeSet<Read> {
    let start = Machine {
        memory: [0; 2],
        queues: Default::default(),
        next: [0; 2],
        read: Default::default(),
    };
    let (mut seen, mut open, mut ends) = (BTreeSet::from([start.clone()]), vec![start], BTreeSet::new());
    while let Some(m) = open.pop() {
        if (0..2).all(|t| m.next[t] == threads[t].len()) {
            ends.insert(m.read.clone());
        }
        let next = (0..2).flat_map(|t| [m.drained(t), m.stepped(t, &threads[t])]);
        open.extend(next.flatten().filter(|n| seen.insert(n.clone())));
    }
    ends
}

/// One thread on the recorder.
fn perform(m: &mut RecordMem<'_>, steps: &[Step]) -> Vec<u64> {
    let at = |word: usize| At::new(WORDS[word]);
    let mut read = Vec::new();
    for step in steps {
        match *step {
            Load(word) => read.push(m.load(at(word)).v),
            Store(word, value) => m.store(at(word), Val::lit(value)),
            Cas(word, expect, new) => read.push(m.rmw(at(word), Rmw::Cas { expect, new }).v),
            Swap(word, new) => read.push(m.rmw(at(word), Rmw::Swap(new)).v),
            Add(word, n) => read.push(m.rmw(at(word), Rmw::Add(n)).v),
            Mfence => m.fence(Fence::Mfence),
            Sfence => m.fence(Fence::Sfence),
        }
    }
    read
}

fn recorded(threads: &Threads, seed: u64) -> Read {
    let read = Rc::new(RefCell::new(Read::default()));
    let mut recorder = Recorder::new(Schedule {
        seed,
        granularity: Granularity::Access,
        order: Order::StoreBuffers,
        until: None,
    });
    for (i, steps) in threads.iter().cloned().enumerate() {
        let read = Rc::clone(&read);
        recorder = recorder.thread(move |m| {
            let mine = perform(m, &steps);
            read.borrow_mut()[i] = mine;
        });
    }
    recorder.run().expect("it ends");
    read.take()
}

/// Compares; the reads that are not allowed end it, and so do allowed ones that no schedule shows.
fn hold(threads: &Threads) {
    let allowed = allowed(threads);
    let mut shown = BTreeSet::new();
    for seed in 0..SCHEDULES {
        let read = recorded(threads, seed);
        assert!(allowed.contains(&read), "{threads:?} reads {read:?}");
        shown.insert(read);
        if shown.len() == allowed.len() && seed >= AT_LEAST {
            return;
        }
    }
    panic!("{threads:?} never reads {:?}", allowed.difference(&shown).next());
}

#[test]
fn random_programs_read_what_total_store_order_allows() {
    let mut rng = fencepost_kernel::Stream::new(71, "total store order");
    let mut draw = |n: u64| rng.below(n);
    for _ in 0..400 {
        let threads: Threads = std::array::from_fn(|_| {
            let mut step = || {
                let word = draw(2) as usize;
                match draw(9) {
                    0..3 => Load(word),
                    3..6 => Store(word, 1 + draw(2)),
                    6 => Cas(word, draw(2), 3),
                    7 => [Swap(word, 4), Add(word, 1)][draw(2) as usize],
                    _ => [Mfence, Sfence][draw(2) as usize],
                }
            };
            [step(), step(), step()].to_vec()
        });
        hold(&threads);
    }
}

/// A compare-and-swap that finds another value stands behind the thread's older stores all the same: its instruction is locked.
#[test]
fn an_atomic_that_stores_nothing_waits_for_older_stores() {
    let swapped = |mine: usize| vec![Store(mine, 1), Cas(1 - mine, 9, 3)];
    hold(&[swapped(0), swapped(1)]);
    assert!(!allowed(&[swapped(0), swapped(1)]).contains(&[vec![0], vec![0]]));
}
