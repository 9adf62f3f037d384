//! One thread at a time: the order of recorded events is then the order in which they took effect.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A turn that threads take and hand on, first come, first served.
#[derive(Debug, Default)]
pub struct Turn {
    queue: Mutex<Queue>,
    changed: Condvar,
}
#[derive(Debug, Default)]
struct Queue {
    /// Number given to the next thread that comes.
    next: u64,
    /// Number of the thread whose turn it is, or will be when it comes.
    now: u64,
}

impl Turn {
    /// Nobody's turn.
    pub const fn new() -> Turn {
        Turn {
            queue: Mutex::new(Queue { next: 0, now: 0 }),
            changed: Condvar::new(),
        }
    }
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Waits for the turn.
    pub fn take(&self) {
        let mut queue = self.lock();
        let mine = queue.next;
        queue.next += 1;
        while queue.now != mine {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
    /// Gives it back.
    pub fn leave(&self) {
        self.lock().now += 1;
        self.changed.notify_all();
    }
    /// Lets the others have it, if anybody waits, and takes it again.
    pub fn pass(&self) {
        let waiting = {
            let queue = self.lock();
            queue.next > queue.now + 1
        };
        if waiting {
            self.leave();
            self.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Four threads each note their own number while it is their turn; nobody else is ever there.
    #[test]
    fn one_thread_at_a_time_and_nobody_starves() {
        let (turn, inside, notes) = (Turn::new(), AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|s| {
            for t in 0..4 {
                let (turn, inside, notes) = (&turn, &inside, &notes);
                s.spawn(move || {
                    turn.take();
                    for _ in 0..200 {
                        assert_eq!(inside.fetch_add(1, Relaxed), 0);
                        notes.lock().unwrap().push(t);
                        inside.fetch_sub(1, Relaxed);
                        turn.pass();
                    }
                    turn.leave();
                });
            }
        });
        let notes = notes.into_inner().unwrap();
        assert!((0..4).all(|t| notes.iter().filter(|n| **n == t).count() == 200));
    }
}
