//! Locks: who holds each, who waits, in order of arrival.
//!
//! The lock word itself is an ordinary word that is written through the caches; this table only decides who may
//! write it next, so that a waiting thread costs no events. Spinning reads of waiters are not modelled.

use fencepost_kernel::planted;
use fencepost_kernel::{Addr, HwThread};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Every lock that is held.
#[derive(Default)]
pub(crate) struct Locks {
    held: FxHashMap<Addr, (HwThread, VecDeque<HwThread>)>,
    stamps: u64,
    /// Threads to whom a lock was handed that they waited for: a bit each.
    handed: u64,
}
impl Locks {
    /// Takes the lock if it is free or was handed to `hw_thread`, which then has it until [`Locks::entered`] and the release;
    /// otherwise `hw_thread` waits in line (once).
    pub(crate) fn take(&mut self, lock: Addr, hw_thread: HwThread) -> bool {
        if self.handed >> hw_thread.0 & 1 == 1 {
            return true;
        }
        match self.held.get_mut(&lock) {
            None => {
                self.held.insert(lock, (hw_thread, VecDeque::new()));
                self.handed |= 1 << hw_thread.0;
                true
            }
            Some((_, queue)) => {
                let shared = planted!("core.lock-not-exclusive", "a lock has one holder");
                if !shared && !queue.contains(&hw_thread) {
                    queue.push_back(hw_thread);
                }
                shared
            }
        }
    }
    /// `hw_thread` has written the lock's word: it is past the acquisition.
    pub(crate) fn entered(&mut self, hw_thread: HwThread) {
        self.handed &= !(1 << hw_thread.0);
    }
    /// Releases the lock; returns who holds it now.
    pub(crate) fn release(&mut self, lock: Addr) -> Option<HwThread> {
        let (holder, queue) = self.held.get_mut(&lock)?;
        match queue.pop_front() {
            Some(next) => {
                *holder = next;
                self.handed |= 1 << next.0;
                Some(next)
            }
            None => {
                self.held.remove(&lock);
                None
            }
        }
    }
    /// Who holds the lock a thread waits for.
    pub(crate) fn waits_for(&self, hw_thread: HwThread) -> Option<(Addr, HwThread)> {
        self.held
            .iter()
            .filter(|(_, v)| v.1.contains(&hw_thread))
            .map(|(a, v)| (*a, v.0))
            .min_by_key(|x| x.0)
    }
    /// The next position in the global order of lock acquisitions.
    pub(crate) fn stamp(&mut self) -> u64 {
        self.stamps += 1;
        self.stamps
    }
}
