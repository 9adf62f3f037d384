//! Queues ordered by time.

use fencepost_kernel::Ps;
use std::collections::VecDeque;

/// Later than everything that happens.
pub(super) const NEVER: Ps = Ps(u64::MAX);

/// What happens at known times, earliest first; what has the same time in the order in which it was added.
#[derive(Clone, Debug)]
pub(super) struct Timed<T> {
    /// When the front is due: asked far more often than the queue changes.
    first: Ps,
    /// The latest time that anything was ever added for.
    last: Ps,
    queue: VecDeque<(Ps, T)>,
}

impl<T> Timed<T> {
    /// An empty queue.
    pub(super) fn with_capacity(capacity: usize) -> Timed<T> {
        Timed {
            first: NEVER,
            last: Ps::ZERO,
            queue: VecDeque::with_capacity(capacity),
        }
    }
    /// Adds what happens at `at`.
    #[inline]
    pub(super) fn insert(&mut self, at: Ps, what: T) {
        if at >= self.last {
            self.last = at;
            self.queue.push_back((at, what));
        } else {
            let position = self.queue.partition_point(|x| x.0 <= at);
            self.queue.insert(position, (at, what));
        }
        self.first = self.first.min(at);
    }
    /// When the front is due; `NEVER` if nothing is.
    #[inline]
    pub(super) fn first(&self) -> Ps {
        self.first
    }
    /// Takes the front, if it is due.
    #[inline]
    pub(super) fn due(&mut self, now: Ps) -> Option<T> {
        if self.first > now {
            return None;
        }
        let (_, what) = self.queue.pop_front()?;
        self.first = self.queue.front().map_or(NEVER, |x| x.0);
        Some(what)
    }
    /// Whether nothing is to happen.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
    /// Everything that is to happen, with its time.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Ps, T)> {
        self.queue.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_by_time_and_then_in_the_order_in_which_it_was_added() {
        let mut queue = Timed::with_capacity(2);
        for (i, at) in [5, 3, 9, 3, 5].into_iter().enumerate() {
            queue.insert(Ps(at), i);
        }
        assert_eq!((queue.first(), queue.due(Ps(2))), (Ps(3), None));
        let mut taken = Vec::new();
        while let Some(i) = queue.due(Ps(5)) {
            taken.push(i);
        }
        assert_eq!((taken, queue.first()), (vec![1, 3, 0, 4], Ps(9)));
        assert_eq!(
            (queue.due(Ps(9)), queue.first(), queue.is_empty()),
            (Some(2), NEVER, true)
        );
    }
}
