//! The event queue: earliest time first, ties in the order in which they were scheduled.
//!
//! A timing wheel. Events within the horizon lie in the slot of their time, sorted, which costs nothing because they
//! are mostly scheduled in order; the few beyond the horizon lie in a heap. A bitmap finds the next slot that holds
//! anything.

use crate::units::Ps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Width of a slot: 2^9 ps, about one clock period.
const SLOT_BITS: u32 = 9;
const SLOTS: usize = 256;
const WORDS: usize = SLOTS / 64;

#[derive(Copy, Clone)]
struct Entry<E> {
    key: (Ps, u64),
    event: E,
}

/// The events of one slot in order; those before `first` have happened.
struct Slot<E> {
    events: Vec<Entry<E>>,
    first: usize,
}
impl<E: Copy> Slot<E> {
    #[inline]
    fn insert(&mut self, entry: Entry<E>) {
        let mut at = self.events.len();
        while at > self.first && self.events[at - 1].key > entry.key {
            at -= 1;
        }
        if at == self.events.len() {
            self.events.push(entry);
        } else {
            self.events.insert(at, entry);
        }
    }
    /// The earliest event, and whether it was the last.
    #[inline]
    fn take(&mut self) -> (Entry<E>, bool) {
        let entry = self.events[self.first];
        self.first += 1;
        let last = self.first == self.events.len();
        if last {
            self.events.clear();
            self.first = 0;
        }
        (entry, last)
    }
}

/// Ordered by key only, latest first, so that a max-heap yields the earliest.
struct Far<E>(Entry<E>);
impl<E> PartialEq for Far<E> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}
impl<E> Eq for Far<E> {}
impl<E> PartialOrd for Far<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Far<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        Reverse(self.0.key).cmp(&Reverse(other.0.key))
    }
}

/// Future events of one simulation. Popping advances [`EventQueue::now`]; scheduling in the past is a bug and panics.
pub struct EventQueue<E> {
    slots: Vec<Slot<E>>,
    occupied: [u64; WORDS],
    far: BinaryHeap<Far<E>>,
    /// Slot time of the earliest far event; `u64::MAX` if there is none.
    far_from: u64,
    /// Events in slots.
    near: usize,
    now: Ps,
    seq: u64,
    len: usize,
}
impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue {
            slots: (0..SLOTS)
                .map(|_| Slot {
                    events: Vec::with_capacity(4),
                    first: 0,
                })
                .collect(),
            occupied: [0; WORDS],
            far: BinaryHeap::new(),
            far_from: u64::MAX,
            near: 0,
            now: Ps::ZERO,
            seq: 0,
            len: 0,
        }
    }
}

/// Number of slots since the beginning of time.
fn tick(t: Ps) -> u64 {
    t.0 >> SLOT_BITS
}

impl<E: Copy> EventQueue<E> {
    /// Time of the event popped last.
    pub fn now(&self) -> Ps {
        self.now
    }
    /// Schedules `event` at absolute time `at`.
    ///
    /// # Panics
    /// If `at` lies in the past.
    #[inline]
    pub fn schedule(&mut self, at: Ps, event: E) {
        assert!(at >= self.now, "event scheduled in the past");
        self.seq += 1;
        self.len += 1;
        let entry = Entry {
            key: (at, self.seq),
            event,
        };
        if tick(at) < tick(self.now) + SLOTS as u64 {
            self.place(entry);
        } else {
            self.far_from = self.far_from.min(tick(at));
            self.far.push(Far(entry));
        }
    }
    fn place(&mut self, entry: Entry<E>) {
        let slot = tick(entry.key.0) as usize % SLOTS;
        self.near += 1;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.slots[slot].insert(entry);
    }
    /// The first occupied slot at or after the present one, round the wheel.
    fn next_slot(&self) -> Option<usize> {
        let first = tick(self.now) as usize % SLOTS;
        let word = first / 64;
        let here = self.occupied[word] & (u64::MAX << (first % 64));
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        // The last step looks at the first word again, for the slots before the present one.
        (1..=WORDS).map(|i| (word + i) % WORDS).find_map(|w| {
            let bits = self.occupied[w];
            (bits != 0).then(|| w * 64 + bits.trailing_zeros() as usize)
        })
    }
    /// The earliest event; time moves to it.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ps, E)> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        if self.near == 0 || self.far_from < tick(self.now) + SLOTS as u64 {
            self.draw_near();
        }
        let slot = self.next_slot().expect("an event is left");
        let (entry, last) = self.slots[slot].take();
        self.near -= 1;
        if last {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
        self.now = entry.key.0;
        Some((self.now, entry.event))
    }
    /// Far events have come within reach, or lie alone.
    #[cold]
    fn draw_near(&mut self) {
        while let Some(f) = self.far.peek() {
            if tick(f.0.key.0) >= tick(self.now) + SLOTS as u64 && self.near > 0 {
                break;
            }
            if self.near == 0 {
                self.now = self.now.max(f.0.key.0);
            }
            let Far(entry) = self.far.pop().expect("just seen");
            self.place(entry);
        }
        self.far_from = self.far.peek().map_or(u64::MAX, |f| tick(f.0.key.0));
    }
    /// Number of events waiting.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether nothing is scheduled.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn earliest_first_and_ties_in_scheduling_order() {
        let mut q = EventQueue::default();
        for (t, e) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd')] {
            q.schedule(Ps(t), e);
        }
        let order: String = std::iter::from_fn(|| q.pop().map(|x| x.1)).collect();
        assert_eq!(order, "bdac");
        assert_eq!(q.now(), Ps(5));
    }

    #[test]
    fn a_wheel_is_a_sorted_list() {
        let mut r = Stream::new(7, "events");
        for round in 0..200 {
            let mut q = EventQueue::default();
            let mut list: Vec<(u64, u64)> = Vec::new();
            let mut id = 0;
            for _ in 0..400 {
                if r.chance(3, 5) {
                    // Near, on the edge of the horizon, and far beyond it.
                    let span = [1, 600, 1 << 20, 1 << 21, 1 << 26][r.below(5) as usize];
                    let at = q.now().0 + r.below(span);
                    q.schedule(Ps(at), id);
                    list.push((at, id));
                    id += 1;
                } else {
                    let want = list.iter().min().copied();
                    assert_eq!(q.pop().map(|(t, e)| (t.0, e)), want, "round {round}");
                    list.retain(|x| Some(*x) != want);
                    assert_eq!(q.len(), list.len());
                }
            }
        }
    }
}
