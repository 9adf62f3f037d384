//! Queues ordered by time.

use fencepost_kernel::Ps;
use std::collections::VecDeque;

/// Adds to a queue, behind what has the same time.
pub fn insert<T>(queue: &mut VecDeque<(Ps, T)>, at: Ps, what: T) {
    if queue.back().is_none_or(|x| x.0 <= at) {
        queue.push_back((at, what));
    } else {
        let position = queue.partition_point(|x| x.0 <= at);
        queue.insert(position, (at, what));
    }
}

/// Takes the front, if it is due.
pub fn due<T>(queue: &mut VecDeque<(Ps, T)>, now: Ps) -> Option<T> {
    queue.front().filter(|x| x.0 <= now)?;
    queue.pop_front().map(|x| x.1)
}
