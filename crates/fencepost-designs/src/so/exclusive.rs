//! The right to commit, for the `exclusive` policy: one hart at a time, first come first served.

use fencepost_kernel::{HartId, LineAddr};
use fencepost_machine::seam::CleanKind;
use std::collections::VecDeque;

/// Who holds the right to commit, who waits for it, and the flushes each hart holds back until it has it.
#[derive(Clone, Debug, Default)]
pub(super) struct CommitRight {
    holder: Option<HartId>,
    waiting: VecDeque<HartId>,
    /// Counts holdings, so that an old expiry timer cannot end a newer one.
    generation: u32,
    /// The holder's fence has passed and its `pcommit` has not started: the right lapses when the timer fires.
    lapsing: bool,
    held_back: Vec<Vec<(LineAddr, CleanKind)>>,
}

impl CommitRight {
    pub(super) fn new(harts: u8) -> CommitRight {
        CommitRight {
            held_back: vec![Vec::new(); usize::from(harts)],
            ..CommitRight::default()
        }
    }
    pub(super) fn hold_back(&mut self, hart: HartId, line: LineAddr, kind: CleanKind) {
        let list = &mut self.held_back[hart.index()];
        if !list.contains(&(line, kind)) {
            list.push((line, kind));
        }
    }
    pub(super) fn has_held_back(&self, hart: HartId) -> bool {
        !self.held_back[hart.index()].is_empty()
    }
    pub(super) fn take_held_back(&mut self, hart: HartId) -> Vec<(LineAddr, CleanKind)> {
        std::mem::take(&mut self.held_back[hart.index()])
    }
    pub(super) fn holder(&self) -> Option<HartId> {
        self.holder
    }
    /// Takes the right if it is free or already the hart's own; otherwise queues the hart.
    pub(super) fn acquire(&mut self, hart: HartId) -> bool {
        match self.holder {
            Some(h) if h == hart => {
                self.lapsing = false;
                true
            }
            Some(_) => {
                if !self.waiting.contains(&hart) {
                    self.waiting.push_back(hart);
                }
                false
            }
            None => {
                self.holder = Some(hart);
                self.generation += 1;
                true
            }
        }
    }
    /// Passes the right on; the answer is the hart to wake, which holds it now.
    pub(super) fn release(&mut self) -> Option<HartId> {
        self.generation += 1;
        self.lapsing = false;
        self.holder = self.waiting.pop_front();
        self.holder
    }
    /// The holder's fence has passed: from now on the right may lapse. The answer identifies this holding.
    pub(super) fn start_lapsing(&mut self) -> u32 {
        self.lapsing = true;
        self.generation
    }
    /// Whether the holding that an expiry timer was set for is still lapsing.
    pub(super) fn has_lapsed(&self, generation: u32) -> bool {
        self.lapsing && self.generation == generation
    }
}
