//! Explicit drains: a thread waits until everything that its buffer held is durable.

use super::deps::Seq;
use fencepost_kernel::{HwThread, Ps};
use fencepost_machine::seam::{Cx, WriteId};

/// Progress of one hardware thread's explicit drain.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// There is none.
    #[default]
    None,
    /// Its FENCE is in the buffer.
    Buffered(Seq),
    /// The FENCE has left the buffer and follows the persists before it; every write up to `last` must become durable,
    /// and no answer can be back before `earliest`.
    Draining {
        /// The newest write that counts.
        last: WriteId,
        /// A way to the controller and back after the FENCE left.
        earliest: Ps,
    },
    /// Everything is durable; the answer is on its way.
    Answering,
    /// Everything before it is durable.
    Done,
}

/// The explicit drains of all hardware threads.
#[derive(Clone, Debug)]
pub struct ExplicitDrains {
    hw_threads: Vec<Progress>,
    /// Drains whose answer has not been sent.
    pending: u8,
    /// One way between a buffer and the controller.
    latency: Ps,
    /// Tag of the timer that brings an answer; the hardware thread is added.
    answered: u64,
}

impl ExplicitDrains {
    /// No drain under way. `answered`: tag of the design's timer, to which the hardware thread is added.
    pub fn new(hw_threads: usize, latency: Ps, answered: u64) -> ExplicitDrains {
        ExplicitDrains {
            hw_threads: vec![Progress::None; hw_threads],
            pending: 0,
            latency,
            answered,
        }
    }
    /// How far a thread's drain is.
    pub fn progress(&self, hw_thread: HwThread) -> Progress {
        self.hw_threads[hw_thread.index()]
    }
    /// The FENCE of a drain entered the buffer.
    pub fn begin(&mut self, hw_thread: HwThread, fence: Seq) {
        self.hw_threads[hw_thread.index()] = Progress::Buffered(fence);
        self.pending += 1;
    }
    /// The thread goes on.
    pub fn finish(&mut self, hw_thread: HwThread) {
        self.hw_threads[hw_thread.index()] = Progress::None;
    }
    /// A FENCE has left the buffer of these threads: it waits for every write handed over so far, of which `last` is the newest
    /// (with none outstanding, any id is durable). Whether a drain waited for it.
    pub fn fence_left(
        &mut self,
        now: Ps,
        mut hw_threads: impl Iterator<Item = HwThread>,
        fence: Seq,
        last: WriteId,
    ) -> bool {
        if self.pending == 0 {
            return false;
        }
        let Some(hw_thread) = hw_threads.find(|h| self.hw_threads[h.index()] == Progress::Buffered(fence)) else {
            return false;
        };
        let earliest = now + self.latency * 2;
        self.hw_threads[hw_thread.index()] = Progress::Draining { last, earliest };
        true
    }
    /// Sends the answer of every drain whose writes are durable; `oldest` is the oldest write that is not.
    pub fn answer(&mut self, cx: &mut dyn Cx, oldest: Option<WriteId>) {
        if self.pending == 0 {
            return;
        }
        for (k, progress) in self.hw_threads.iter_mut().enumerate() {
            if let Progress::Draining { last, earliest } = *progress
                && oldest.is_none_or(|o| o > last)
            {
                *progress = Progress::Answering;
                self.pending -= 1;
                let at = earliest.max(cx.now() + self.latency);
                cx.timer(at, self.answered | k as u64);
            }
        }
    }
    /// An answer reached its thread.
    pub fn arrived(&mut self, hw_thread: HwThread) {
        self.hw_threads[hw_thread.index()] = Progress::Done;
    }
}
