//! Hardware threads that the test leaves idle: what other programs do to the lines, cache sets and banks of a test's words. They take a
//! line away, drive one out of every cache, or fill the queues in front of a bank, which delays one store and hastens another.

use super::lower::Lowering;
use super::steps::{LINES, conflicting, step};
use fencepost_kernel::{Addr, Stream};
use fencepost_litmus::op::FlushKind;
use fencepost_machine::frontend::{Dataflow, Next, OpKind, Step};
use std::collections::VecDeque;

/// What a neighbour does to a word of the test.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Habit {
    /// Reads it, and so takes a copy of its line.
    Read,
    /// Reads lines that conflict with it, one behind the other, until its line has left small caches.
    Evict,
    /// Writes such lines.
    Dirty,
    /// Writes them and flushes them, where the design has flushes.
    Push,
    /// Writes them past the caches.
    Stream,
}
const HABITS: [Habit; 5] = [Habit::Read, Habit::Evict, Habit::Dirty, Habit::Push, Habit::Stream];

/// A hardware thread beside the test.
pub(super) struct Neighbour {
    words: Vec<Addr>,
    /// What it does, to words that it draws each time.
    habits: Vec<Habit>,
    /// Instructions that it computes in between, at most.
    pause: u64,
    lowering: Lowering,
    owner: u64,
    dice: Stream,
    /// How often it does something more.
    left: u64,
    /// What it is doing.
    steps: VecDeque<Step>,
    written: u64,
}

impl Neighbour {
    /// A neighbour of a test on these words; `owner` is a number that no other has.
    pub(super) fn new(words: &[Addr], lowering: Lowering, owner: u64, mut dice: Stream) -> Neighbour {
        let habits = match dice.chance(1, 2) {
            true => vec![Habit::Evict],
            false => (0..2)
                .map(|_| HABITS[dice.below(HABITS.len() as u64) as usize])
                .collect(),
        };
        // Whatever it does, it does to one word, or to any.
        let words = match dice.chance(1, 2) {
            true => vec![words[dice.below(words.len() as u64) as usize]],
            false => words.to_vec(),
        };
        Neighbour {
            words,
            habits,
            pause: [50, 400, 3000][dice.below(3) as usize],
            lowering,
            owner,
            left: 4 + dice.below(60),
            steps: VecDeque::new(),
            written: 0,
            dice,
        }
    }
    /// Lines that conflict with a word, each written.
    fn write(&mut self, word: Addr, kind: OpKind, flush: bool) {
        let flush = self.lowering.flush(FlushKind::Weak).filter(|_| flush);
        for _ in 0..=self.dice.below(4) {
            self.written += 1;
            let addr = conflicting(word, self.owner, self.written);
            let store = Step {
                addr,
                value: Some(self.written),
                ..step(kind)
            };
            self.steps.push_back(store);
            let flush = flush.map(|flush| Step {
                addr,
                ..step(OpKind::Flush(flush))
            });
            self.steps.extend(flush);
        }
    }
    fn draw(&mut self) {
        let value = Some(1 + self.dice.below(self.pause));
        self.steps.push_back(Step {
            value,
            ..step(OpKind::Compute)
        });
        let word = self.words[self.dice.below(self.words.len() as u64) as usize];
        let load = |addr| Step {
            addr,
            ..step(OpKind::Load)
        };
        match self.habits[self.dice.below(self.habits.len() as u64) as usize] {
            Habit::Read => self.steps.push_back(load(word)),
            Habit::Evict => {
                let lines = 5 + self.dice.below(LINES - 5);
                self.steps
                    .extend((0..lines).map(|n| load(conflicting(word, self.owner, n))));
            }
            Habit::Dirty => self.write(word, OpKind::Store, false),
            Habit::Push => self.write(word, OpKind::Store, true),
            Habit::Stream if self.lowering.non_temporal(true, word) => self.write(word, OpKind::NtStore, false),
            Habit::Stream => self.write(word, OpKind::Store, false),
        }
    }
}

impl Dataflow for Neighbour {
    fn next(&mut self) -> Next {
        if self.steps.is_empty() && self.left > 0 {
            self.left -= 1;
            self.draw();
        }
        self.steps.pop_front().map_or(Next::End, Next::Do)
    }

    fn loaded(&mut self, _: u32, _: u64, _: &mut Vec<(u32, u64)>) {}
}
