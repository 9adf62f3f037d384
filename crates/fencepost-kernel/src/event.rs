//! The event queue: earliest time first, ties in the order in which they were scheduled.

use crate::units::Ps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

struct Entry<E> {
    key: Reverse<(Ps, u64)>,
    event: E,
}
impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// Future events of one simulation. Popping advances [`EventQueue::now`]; scheduling in the past is a bug and panics.
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    now: Ps,
    seq: u64,
}
impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue {
            heap: BinaryHeap::with_capacity(256),
            now: Ps::ZERO,
            seq: 0,
        }
    }
}
impl<E> EventQueue<E> {
    /// Time of the event popped last.
    pub fn now(&self) -> Ps {
        self.now
    }
    /// Time of the next event, if any.
    pub fn next_time(&self) -> Option<Ps> {
        self.heap.peek().map(|e| e.key.0.0)
    }
    /// Schedules `event` at absolute time `at`.
    pub fn schedule(&mut self, at: Ps, event: E) {
        debug_assert!(at >= self.now, "event scheduled in the past");
        self.seq += 1;
        self.heap.push(Entry {
            key: Reverse((at, self.seq)),
            event,
        });
    }
    /// The earliest event; time moves to it.
    pub fn pop(&mut self) -> Option<(Ps, E)> {
        let e = self.heap.pop()?;
        self.now = e.key.0.0;
        Some((self.now, e.event))
    }
    /// Number of events waiting.
    pub fn len(&self) -> usize {
        self.heap.len()
    }
    /// Whether nothing is scheduled.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
