//! Words through which threads meet without an atomic instruction: a plain store, and a plain load of another thread that sees it.
//! On x86 these are a release and an acquire.

use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words of which the last store is known. Fewer are forgotten by accident the more there are; a power of two.
const ENTRIES: usize = 1 << 16;

/// Who stored to a word last.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LastStore {
    /// The thread, by its number in the log.
    pub thread: u32,
    /// Events that there were before it.
    pub number: u64,
    /// Where in the program; whatever the caller means by it.
    pub place: u64,
    /// Whether the log has it.
    pub told: bool,
}

#[derive(Default)]
struct Entry {
    /// The word's number; 0 for none.
    word: AtomicU64,
    /// Thread, bytes of the word, whether it was told.
    who: AtomicU64,
    number: AtomicU64,
    place: AtomicU64,
}
const BYTES: u64 = 16;
const TOLD: u64 = 1 << 24;

/// The last plain store to each of many words. Changed by one thread at a time.
pub struct LastStores(Box<[Entry]>);

impl Default for LastStores {
    fn default() -> LastStores {
        LastStores((0..ENTRIES).map(|_| Entry::default()).collect())
    }
}
impl LastStores {
    fn entry(&self, address: u64) -> &Entry {
        let place = (address / 8).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        &self.0[place as usize % ENTRIES]
    }
    /// The bytes of its word that an access touches.
    fn bytes(address: u64, bytes: u64) -> u64 {
        let first = address % 8;
        (0xff << first) & (0xff >> (8 - (first + bytes).min(8))) & 0xff
    }
    /// A store to a word: by whom, unless nobody need know.
    pub fn stored(&self, address: u64, bytes: u64, by: Option<LastStore>) {
        let entry = self.entry(address);
        let Some(store) = by else {
            if entry.word.load(Relaxed) == address / 8 {
                entry.word.store(0, Relaxed);
            }
            return;
        };
        let told = if store.told { TOLD } else { 0 };
        let who = u64::from(store.thread & 0xffff) | Self::bytes(address, bytes) << BYTES | told;
        entry.word.store(address / 8, Relaxed);
        entry.who.store(who, Relaxed);
        entry.number.store(store.number, Relaxed);
        entry.place.store(store.place, Relaxed);
    }
    /// The store of another thread that a load by this thread sees, if it is known.
    pub fn seen(&self, address: u64, bytes: u64, thread: Option<u32>) -> Option<LastStore> {
        let entry = self.entry(address);
        if entry.word.load(Relaxed) != address / 8 {
            return None;
        }
        let who = entry.who.load(Relaxed);
        let by = (who & 0xffff) as u32;
        let overlaps = who >> BYTES & Self::bytes(address, bytes) != 0;
        (overlaps && thread != Some(by)).then(|| LastStore {
            thread: by,
            number: entry.number.load(Relaxed),
            place: entry.place.load(Relaxed),
            told: who & TOLD != 0,
        })
    }
    /// The log has the last store to a word from here on.
    pub fn tell(&self, address: u64) {
        self.entry(address).who.fetch_or(TOLD, Relaxed);
    }
}

/// What each thread comes after, by the events that the log has: vector clocks of event numbers.
#[derive(Debug, Default)]
pub struct Clocks {
    /// Of each thread, the numbers below which events of each other come before it.
    threads: Vec<Vec<u64>>,
    /// The same of words at which threads meet.
    words: FxHashMap<u64, Vec<u64>>,
}
fn join(to: &mut Vec<u64>, from: &[u64]) {
    if to.len() < from.len() {
        to.resize(from.len(), 0);
    }
    to.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}
impl Clocks {
    fn thread(&mut self, thread: u32) -> &mut Vec<u64> {
        let index = thread as usize;
        if self.threads.len() <= index {
            self.threads.resize(index + 1, Vec::new());
        }
        &mut self.threads[index]
    }
    /// What a thread did up to this event comes before what those do that take over at a word.
    pub fn hands_on(&mut self, thread: u32, word: u64, number: u64) {
        self.sees(thread, thread, number);
        let clock = &self.threads[thread as usize];
        join(self.words.entry(word).or_default(), clock);
    }
    /// What a thread does from here on comes after those that have handed on at a word.
    pub fn takes_over(&mut self, thread: u32, word: u64) {
        if let Some(clock) = self.words.get(&word).cloned() {
            join(self.thread(thread), &clock);
        }
    }
    /// A thread comes after the events of another up to this number.
    pub fn sees(&mut self, thread: u32, other: u32, number: u64) {
        let clock = self.thread(thread);
        if clock.len() <= other as usize {
            clock.resize(other as usize + 1, 0);
        }
        let known = &mut clock[other as usize];
        *known = (*known).max(number + 1);
    }
    /// Whether it does.
    pub fn comes_after(&self, thread: u32, other: u32, number: u64) -> bool {
        let clock = self.threads.get(thread as usize);
        clock
            .and_then(|c| c.get(other as usize))
            .is_some_and(|known| *known > number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(thread: u32, number: u64) -> LastStore {
        LastStore {
            thread,
            number,
            place: 7,
            told: false,
        }
    }
    #[test]
    fn a_load_sees_the_last_store_of_another_thread_to_its_bytes() {
        let stores = LastStores::default();
        stores.stored(0x1004, 2, Some(store(1, 10)));
        assert_eq!(stores.seen(0x1000, 8, Some(0)), Some(store(1, 10)));
        assert_eq!(
            stores.seen(0x1005, 1, None),
            Some(store(1, 10)),
            "a thread that is not known"
        );
        assert_eq!(stores.seen(0x1004, 4, Some(1)), None, "its own");
        assert_eq!(stores.seen(0x1000, 4, Some(0)), None, "bytes before");
        assert_eq!(stores.seen(0x1006, 2, Some(0)), None, "bytes behind");
        assert_eq!(stores.seen(0x1008, 8, Some(0)), None, "another word");
        stores.tell(0x1004);
        assert!(stores.seen(0x1004, 1, Some(0)).is_some_and(|s| s.told && s.thread == 1));
        stores.stored(0x1000, 8, Some(store(2, 11)));
        assert_eq!(stores.seen(0x1007, 1, Some(1)), Some(store(2, 11)));
        // Over the end of the word: what is in it.
        stores.stored(0x1006, 8, Some(store(3, 12)));
        assert_eq!(stores.seen(0x1007, 1, Some(1)), Some(store(3, 12)));
        stores.stored(0x1001, 1, None);
        assert_eq!(stores.seen(0x1000, 8, Some(0)), None);
    }
    #[test]
    fn clocks_are_handed_on_from_thread_to_thread() {
        let mut clocks = Clocks::default();
        assert!(!clocks.comes_after(1, 0, 0));
        clocks.hands_on(0, 0x40, 5);
        clocks.takes_over(1, 0x48);
        assert!(!clocks.comes_after(1, 0, 0), "another word");
        clocks.takes_over(1, 0x40);
        assert!(clocks.comes_after(1, 0, 5) && !clocks.comes_after(1, 0, 6));
        clocks.hands_on(1, 0x50, 9);
        clocks.takes_over(2, 0x50);
        assert!(clocks.comes_after(2, 0, 5) && clocks.comes_after(2, 1, 9) && !clocks.comes_after(2, 1, 10));
        assert!(!clocks.comes_after(0, 1, 0), "who hands on does not come after");
        clocks.sees(2, 0, 8);
        assert!(clocks.comes_after(2, 0, 8) && !clocks.comes_after(2, 0, 9));
        clocks.sees(2, 0, 3);
        assert!(clocks.comes_after(2, 0, 8), "nothing is forgotten");
    }
}
