//! The right to commit, for the `exclusive` policy: one hardware thread at a time, first come first served.

use fencepost_kernel::{HwThread, LineAddr};
use fencepost_machine::seam::CleanKind;
use std::collections::VecDeque;

/// Who holds the right to commit, who waits for it, and the flushes each hardware thread holds back until it has it.
#[derive(Clone, Debug, Default)]
pub(super) struct CommitRight {
    holder: Option<HwThread>,
    waiting: VecDeque<HwThread>,
    /// Counts holdings, so that an old expiry timer cannot end a newer one.
    generation: u32,
    /// The holder's fence has passed and its `pcommit` has not started: the right lapses when the timer fires.
    lapsing: bool,
    held_back: Vec<Vec<(LineAddr, CleanKind)>>,
}

impl CommitRight {
    pub(super) fn new(hw_threads: u8) -> CommitRight {
        CommitRight {
            held_back: vec![Vec::new(); usize::from(hw_threads)],
            ..CommitRight::default()
        }
    }
    pub(super) fn hold_back(&mut self, hw_thread: HwThread, line: LineAddr, kind: CleanKind) {
        let list = &mut self.held_back[hw_thread.index()];
        if !list.contains(&(line, kind)) {
            list.push((line, kind));
        }
    }
    pub(super) fn has_held_back(&self, hw_thread: HwThread) -> bool {
        !self.held_back[hw_thread.index()].is_empty()
    }
    pub(super) fn take_held_back(&mut self, hw_thread: HwThread) -> Vec<(LineAddr, CleanKind)> {
        std::mem::take(&mut self.held_back[hw_thread.index()])
    }
    pub(super) fn holder(&self) -> Option<HwThread> {
        self.holder
    }
    /// Takes the right if it is free or already the hardware thread's own; otherwise queues the hardware thread.
    pub(super) fn acquire(&mut self, hw_thread: HwThread) -> bool {
        match self.holder {
            Some(h) if h == hw_thread => {
                self.lapsing = false;
                true
            }
            Some(_) => {
                if !self.waiting.contains(&hw_thread) {
                    self.waiting.push_back(hw_thread);
                }
                false
            }
            None => {
                self.holder = Some(hw_thread);
                self.generation += 1;
                true
            }
        }
    }
    /// Passes the right on; returns the hardware thread to wake, which holds it now.
    pub(super) fn release(&mut self) -> Option<HwThread> {
        self.generation += 1;
        self.lapsing = false;
        self.holder = self.waiting.pop_front();
        self.holder
    }
    /// The holder's fence has passed: from now on the right may lapse. The result identifies this holding.
    pub(super) fn start_lapsing(&mut self) -> u32 {
        self.lapsing = true;
        self.generation
    }
    /// Whether the holding that an expiry timer was set for is still lapsing.
    pub(super) fn has_lapsed(&self, generation: u32) -> bool {
        self.lapsing && self.generation == generation
    }
}
