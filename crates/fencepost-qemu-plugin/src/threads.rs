//! Where threads and processes meet by beginning and ending: a join has no atomic that could be seen.
//!
//! Each begin and each end is a word of its own, which one of them writes and the other reads.

use crate::guest::word;
use crate::guest_recorder::Recorder;
use fencepost_record::Event;
use std::sync::atomic::Ordering::Relaxed;

/// Addresses that no guest has.
const BEGINS: u64 = 0x20_0000_0000;
const ENDS: u64 = 0x21_0000_0000;

/// This thread's number in the system.
pub(crate) fn own() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}
/// The word of a thread's or a process's begin.
fn begin_of(thread: u32) -> u64 {
    BEGINS + u64::from(thread) * 8
}
/// The word of its end.
pub(crate) fn end_of(thread: u32) -> u64 {
    ENDS + u64::from(thread) * 8
}

impl Recorder {
    /// A thread has come to a meeting and goes on.
    pub(crate) fn meet(&self, vcpu: u32, at: u64) {
        self.note(vcpu, &Event::Meet(at, 1), "the system");
    }
    /// A thread, or a process by its last thread, ends.
    pub(crate) fn ends(&self, vcpu: u32, thread: u32) {
        if self.is_known(vcpu) {
            self.meet(vcpu, end_of(thread));
        }
    }
    /// A thread comes after whoever was at a meeting.
    pub(crate) fn look(&self, vcpu: u32, at: u64) {
        self.note(vcpu, &Event::Look(at), "the system");
    }
    /// A thread's first event: it comes after what its creator did.
    pub(crate) fn begun(&self, vcpu: u32) {
        self.look(vcpu, begin_of(own()));
    }
    /// A thread or a process was started.
    pub(crate) fn started(&self, vcpu: u32, thread: u32, [flags, _, _, word, ..]: [u64; 6]) {
        const CLEAR_AT_END: u64 = 0x20_0000;
        self.meet(vcpu, begin_of(thread));
        if flags & CLEAR_AT_END != 0 && word != 0 {
            let mut inner = self.lock();
            inner.ends.insert(word & !7, thread);
            let (low, high) = (&self.ends[0], &self.ends[1]);
            low.fetch_min(word & !7, Relaxed);
            high.fetch_max(word, Relaxed);
        }
    }
    /// A thread reads a word that the system clears when another thread ends: how `pthread_join` waits.
    pub(crate) fn may_join(&self, vcpu: u32, address: u64) {
        let ended = self.lock().ends.get(&(address & !7)).copied();
        if let Some(thread) = ended.filter(|_| word(address) as u32 == 0 || word(address) >> 32 == 0) {
            self.look(vcpu, end_of(thread));
        }
    }
}
