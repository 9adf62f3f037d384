//! Queues ordered by time.

use fencepost_kernel::Ps;
use std::collections::VecDeque;

/// Later than everything that happens.
pub const NEVER: Ps = Ps(u64::MAX);

/// Adds to a queue, behind what has the same time.
pub fn insert<T>(queue: &mut VecDeque<(Ps, T)>, at: Ps, what: T) {
    if queue.back().is_none_or(|x| x.0 <= at) {
        queue.push_back((at, what));
    } else {
        let position = queue.partition_point(|x| x.0 <= at);
        queue.insert(position, (at, what));
    }
}

/// When the front is due.
#[inline]
pub fn first<T>(queue: &VecDeque<(Ps, T)>) -> Ps {
    queue.front().map_or(NEVER, |x| x.0)
}

/// Takes the front, if it is due.
#[inline]
pub fn due<T>(queue: &mut VecDeque<(Ps, T)>, now: Ps) -> Option<T> {
    if first(queue) > now {
        return None;
    }
    queue.pop_front().map(|x| x.1)
}
