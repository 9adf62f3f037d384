//! Threads that wait for each other across processes, and what the system says of them.

use super::shared::Shared;
use rustix::thread::futex::{Flags, Timespec, wait, wake};
use rustix::thread::gettid;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

/// Time after which a thread that waits looks whether whoever it waits for still lives and works.
const LOOK: Duration = Duration::from_millis(50);

/// Exclusion for the few instructions that change the turn.
pub(super) struct Guard<'s>(&'s AtomicU32);

impl<'s> Guard<'s> {
    pub(super) fn new(shared: &'s Shared) -> Guard<'s> {
        let (lock, me) = (&shared.lock, gettid().as_raw_nonzero().get() as u32);
        while let Err(owner) = lock.compare_exchange(0, me, Acquire, Relaxed) {
            if !sleep(lock, owner) && !lives(owner) {
                let _ = lock.compare_exchange(owner, 0, Release, Relaxed);
            }
        }
        Guard(lock)
    }
}
impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(0, Release);
        let _ = wake(self.0, Flags::empty(), 1);
    }
}

/// Waits while the word has this value; false if that took long.
pub(super) fn sleep(word: &AtomicU32, value: u32) -> bool {
    let long = Timespec::try_from(LOOK).ok();
    !matches!(
        wait(word, Flags::empty(), value, long.as_ref()),
        Err(rustix::io::Errno::TIMEDOUT)
    )
}
/// Whether a thread, or a process, is there and has not ended.
pub(super) fn lives(thread: u32) -> bool {
    state(thread).is_some_and(|s| !matches!(s, 'Z' | 'X'))
}
/// Whether it runs, would if it had a processor, or waits for a disk.
pub(super) fn runs(thread: u32) -> bool {
    matches!(state(thread), Some('R' | 'D'))
}
/// The system's letter for its state.
pub(super) fn state(thread: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{thread}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}
