//! Where threads and processes meet by beginning and ending: a join has no atomic that could be seen.
//!
//! Each begin and each end is a word of its own, which one of them writes and the other reads.

use crate::guest::value;
use crate::guest_recorder::Recorder;
use fencepost_record::Event;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

/// Addresses that no guest has.
const BEGINS: u64 = 0x20_0000_0000;
const ENDS: u64 = 0x21_0000_0000;

/// Forks have numbers of their own, behind all that threads have in the system.
const FORKS: u64 = 1 << 22;

thread_local! {
    /// The word of the fork that this thread makes, or in whose child it begins; 0 without one.
    static FORK: Cell<u64> = const { Cell::new(0) };
}

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
        let at = match FORK.take() {
            0 => begin_of(own()),
            fork => fork,
        };
        self.look(vcpu, at);
    }
    /// Before a fork: its child may go on before it has returned here, where other threads of the process are to be stopped.
    pub(crate) fn forks(&self, vcpu: u32) {
        let at = BEGINS + (FORKS + self.shared.events.load(Relaxed)) * 8;
        self.meet(vcpu, at);
        self.shared.forked.store(1, Relaxed);
        FORK.set(at);
    }
    /// After it, where it was made.
    pub(crate) fn has_forked(&self) {
        FORK.set(0);
    }
    /// A thread was started.
    pub(crate) fn started(&self, vcpu: u32, thread: u32, [flags, _, _, word, ..]: [u64; 6]) {
        const CLEAR_AT_END: u64 = 0x20_0000;
        self.meet(vcpu, begin_of(thread));
        if flags & CLEAR_AT_END != 0 && word != 0 {
            self.lock().ends.insert(word, thread);
            self.ends[0].fetch_min(word, Relaxed);
            self.ends[1].fetch_max(word, Relaxed);
        }
    }
    /// A thread may read a word that the system clears when another thread ends, which is how `pthread_join` waits: it comes after that one
    /// if it has ended.
    pub(crate) fn may_join(&self, vcpu: u32, address: u64) {
        if address < self.ends[0].load(Relaxed) || address > self.ends[1].load(Relaxed) {
            return;
        }
        let ended = self.lock().ends.get(&address).copied();
        if let Some(thread) = ended.filter(|_| value(address, 4) == 0) {
            self.look(vcpu, end_of(thread));
        }
    }
}
