//! What comes before what by a log: a thread goes on after another where it loads what that stored.

use std::collections::HashMap;

/// Lines of each thread that something comes after.
type Clock = HashMap<u64, u64>;

/// A word: a file's number and an offset, or an address of volatile memory under a number that no file has.
type Word = (u64, u64);

#[derive(Default)]
pub(super) struct Orders {
    threads: HashMap<u64, Clock>,
    words: HashMap<Word, Clock>,
}

fn joins(clock: &mut Clock, other: &Clock) {
    for (thread, lines) in other {
        let known = clock.entry(*thread).or_default();
        *known = (*known).max(*lines);
    }
}

impl Orders {
    /// A thread has one line more.
    pub(super) fn step(&mut self, thread: u64) {
        *self.threads.entry(thread).or_default().entry(thread).or_default() += 1;
    }
    /// Lines that a thread has.
    pub(super) fn lines(&self, thread: u64) -> u64 {
        self.known(thread, thread)
    }
    /// Lines of another thread that all comes after what this one does now.
    pub(super) fn known(&self, thread: u64, other: u64) -> u64 {
        let clock = self.threads.get(&thread);
        clock.and_then(|c| c.get(&other)).copied().unwrap_or(0)
    }
    /// An access to a word.
    pub(super) fn meets(&mut self, thread: u64, word: Word, stores: bool, loads: bool) {
        let clock = self.threads.entry(thread).or_default();
        if let Some(there) = self.words.get(&word).filter(|_| loads) {
            joins(clock, there);
        }
        if stores {
            self.words.insert(word, clock.clone());
        }
    }
}
