//! The event queue: earliest time first, ties in the order in which they were scheduled.
//!
//! A timing wheel. Events within the horizon hang in the list of their slot of time, sorted, which costs nothing because
//! they are mostly scheduled in order; the few beyond the horizon lie in a heap. A bitmap finds the next slot that holds
//! anything.

use crate::units::Ps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Width of a slot: 2^9 ps, about one clock period.
const SLOT_BITS: u32 = 9;
const SLOTS: usize = 256;
const WORDS: usize = SLOTS / 64;

/// Index of a node; the one past the last is the end of a list.
type Link = u32;
const END: Link = Link::MAX;

/// An event of a slot's list. With an event of two words, two fill a line of the host's cache.
#[derive(Copy, Clone)]
#[repr(align(32))]
struct Node<E> {
    at: Ps,
    event: E,
    next: Link,
}

/// First and last event of a slot's list, which is sorted by time; meaningless while the slot is not occupied.
#[derive(Copy, Clone)]
struct Slot {
    first: Link,
    last: Link,
}

/// An event beyond the horizon. Ordered by time and order of scheduling, latest first, so that a max-heap yields the
/// earliest.
struct Far<E> {
    key: (Ps, u64),
    event: E,
}
impl<E> PartialEq for Far<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
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
        Reverse(self.key).cmp(&Reverse(other.key))
    }
}

/// Future events of one simulation. Popping advances [`EventQueue::now`]; scheduling in the past is a bug and panics.
///
/// An event should be small and, at best, one or two machine words: those travel in registers.
pub struct EventQueue<E> {
    slots: [Slot; SLOTS],
    occupied: [u64; WORDS],
    /// Events of the lists. Those that have happened form a list of their own and are used again first.
    nodes: Vec<Node<E>>,
    free: Link,
    /// Events in slots.
    near: usize,
    /// Events beyond the horizon. Whenever an event can be scheduled, every earlier-scheduled one within the horizon is in
    /// its slot; so events of one moment reach their list in the order in which they were scheduled.
    far: BinaryHeap<Far<E>>,
    /// When the horizon reaches the earliest far event; the end of time if there is none.
    draw_at: Ps,
    /// Far events ever scheduled.
    far_seq: u64,
    now: Ps,
}
impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue {
            slots: [Slot { first: END, last: END }; SLOTS],
            occupied: [0; WORDS],
            nodes: Vec::with_capacity(SLOTS),
            free: END,
            near: 0,
            far: BinaryHeap::new(),
            draw_at: Ps(u64::MAX),
            far_seq: 0,
            now: Ps::ZERO,
        }
    }
}

/// Number of slots since the beginning of time.
#[inline]
fn tick(t: Ps) -> u64 {
    t.0 >> SLOT_BITS
}

impl<E: Copy> EventQueue<E> {
    /// Time of the event popped last.
    pub fn now(&self) -> Ps {
        self.now
    }
    /// The first slot time that is beyond the horizon.
    fn horizon(&self) -> u64 {
        tick(self.now) + SLOTS as u64
    }
    /// Schedules `event` at absolute time `at`.
    ///
    /// # Panics
    /// If `at` lies in the past.
    pub fn schedule(&mut self, at: Ps, event: E) {
        // One comparison for nearly all: what lies in the past is far ahead here, too.
        match at.0.wrapping_sub(self.now.0) < (SLOTS as u64 - 1) << SLOT_BITS {
            true => self.place(at, event),
            false => self.schedule_far(at, event),
        }
    }
    /// The same, where it is not clear that the event is within the horizon.
    #[cold]
    fn schedule_far(&mut self, at: Ps, event: E) {
        assert!(at >= self.now, "event scheduled in the past");
        if tick(at) < self.horizon() {
            return self.place(at, event);
        }
        self.far_seq += 1;
        let key = (at, self.far_seq);
        self.far.push(Far { key, event });
        self.look_far();
    }
    /// Works out when the horizon reaches the earliest far event: as soon as that is within so many slots.
    fn look_far(&mut self) {
        let reached = |f: &Far<E>| Ps((tick(f.key.0) - (SLOTS as u64 - 1)) << SLOT_BITS);
        self.draw_at = self.far.peek().map_or(Ps(u64::MAX), reached);
    }
    /// Puts an event into the list of its slot, behind those of the same moment.
    #[inline(never)] // from everywhere, and what it does seldom lies elsewhere: so it saves no registers
    fn place(&mut self, at: Ps, event: E) {
        let new = self.free;
        let Some(node) = self.nodes.get_mut(new as usize) else {
            return self.place_in_new(at, event);
        };
        self.free = node.next;
        (node.at, node.event, node.next) = (at, event, END);
        let index = tick(at) as usize % SLOTS;
        let (word, bit) = (index / 64, 1 << (index % 64));
        self.near += 1;
        let slot = &mut self.slots[index];
        if self.occupied[word] & bit == 0 {
            self.occupied[word] |= bit;
            *slot = Slot { first: new, last: new };
            return;
        }
        let last = &mut self.nodes[slot.last as usize];
        if last.at <= at {
            last.next = new;
            slot.last = new;
        } else {
            self.place_before_last(index, at, new);
        }
    }
    /// The same, where no node is free.
    #[cold]
    fn place_in_new(&mut self, at: Ps, event: E) {
        self.free = self.nodes.len() as Link;
        self.nodes.push(Node { at, event, next: END });
        self.place(at, event);
    }
    /// Puts a node into a list whose last event is later.
    #[cold]
    fn place_before_last(&mut self, index: usize, at: Ps, new: Link) {
        let (mut before, mut next) = (END, self.slots[index].first);
        while self.nodes[next as usize].at <= at {
            (before, next) = (next, self.nodes[next as usize].next);
        }
        self.nodes[new as usize].next = next;
        match before {
            END => self.slots[index].first = new,
            _ => self.nodes[before as usize].next = new,
        }
    }
    /// The first occupied slot at or after the present one, round the wheel. One must be occupied.
    #[inline]
    fn next_slot(&self) -> usize {
        debug_assert!(self.near > 0, "an event is left");
        let first = tick(self.now) as usize % SLOTS;
        let mut word = first / 64;
        let mut here = self.occupied[word] & (u64::MAX << (first % 64));
        // The last step looks at the first word again, for the slots before the present one.
        while here == 0 {
            word = (word + 1) % WORDS;
            here = self.occupied[word];
        }
        word * 64 + here.trailing_zeros() as usize
    }
    /// The earliest event; time moves to it.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ps, E)> {
        if self.near == 0 {
            // What comes next lies beyond the horizon.
            let next = self.far.peek()?.key.0;
            self.now = next;
            self.draw_near();
        }
        let index = self.next_slot();
        let link = self.slots[index].first;
        let node = &mut self.nodes[link as usize];
        let (at, event, next) = (node.at, node.event, node.next);
        node.next = self.free;
        self.free = link;
        self.slots[index].first = next;
        if next == END {
            self.occupied[index / 64] &= !(1 << (index % 64));
        }
        self.near -= 1;
        self.now = at;
        if at >= self.draw_at {
            self.draw_near();
        }
        Some((at, event))
    }
    /// When the earliest event happens.
    pub fn next_at(&self) -> Option<Ps> {
        if self.near == 0 {
            return self.far.peek().map(|f| f.key.0);
        }
        Some(self.nodes[self.slots[self.next_slot()].first as usize].at)
    }
    /// The event that will happen last of those at `at`, if that is easily found: nothing later is in its slot.
    #[inline]
    pub fn last_at(&self, at: Ps) -> Option<E> {
        let index = tick(at) as usize % SLOTS;
        if self.occupied[index / 64] >> (index % 64) & 1 == 0 {
            return None;
        }
        let last = &self.nodes[self.slots[index].last as usize];
        (last.at == at).then_some(last.event)
    }
    /// Puts the far events that the horizon has reached into their slots.
    #[cold]
    fn draw_near(&mut self) {
        let horizon = self.horizon();
        while self.far.peek().is_some_and(|f| tick(f.key.0) < horizon) {
            let Far { key, event } = self.far.pop().expect("just seen");
            self.place(key.0, event);
        }
        self.look_far();
    }
    /// Number of events waiting.
    pub fn len(&self) -> usize {
        self.near + self.far.len()
    }
    /// Whether nothing is scheduled.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
    fn an_event_that_waited_beyond_the_horizon_is_before_later_ones_of_its_moment() {
        let horizon = (SLOTS as u64) << SLOT_BITS;
        let mut q = EventQueue::default();
        q.schedule(Ps(horizon + 5), 'b');
        q.schedule(Ps(6), 'a');
        assert_eq!(q.pop(), Some((Ps(6), 'a')));
        q.schedule(Ps(horizon + 5), 'c');
        q.schedule(Ps(horizon + 600), 'd');
        q.schedule(Ps(horizon + 1200), 'e');
        let order: String = std::iter::from_fn(|| q.pop().map(|x| x.1)).collect();
        assert_eq!(order, "bcde");
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
                    // Multiples of 50, so that many events share a moment.
                    let at = (q.now().0 + r.below(span)).next_multiple_of(50);
                    q.schedule(Ps(at), id);
                    list.push((at, id));
                    id += 1;
                } else {
                    let want = list.iter().min().copied();
                    assert_eq!(q.next_at().map(|t| t.0), want.map(|w| w.0), "round {round}");
                    if let Some((t, _)) = want
                        && let Some(last) = q.last_at(Ps(t))
                    {
                        let latest = list.iter().filter(|x| x.0 == t).max();
                        assert_eq!(Some((t, last)), latest.copied(), "round {round}");
                    }
                    assert_eq!(q.pop().map(|(t, e)| (t.0, e)), want, "round {round}");
                    list.retain(|x| Some(*x) != want);
                    assert_eq!(q.len(), list.len());
                }
            }
        }
    }
}
