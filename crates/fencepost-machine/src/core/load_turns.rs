//! Loads that access the L1 at one moment, one directly after the other: one event stands for all of them.
//!
//! A thread issues many loads by the batch. Where nothing else was scheduled between two of them for their moment, nothing can happen
//! between them then either, and the second needs no place of its own in the queue of events.

use super::load_run::LoadRun;
use super::outside::{Outside, Turn};
use super::state::HardwareThread;
use crate::frontend::OpKind;

impl HardwareThread {
    /// Schedules the access to the L1 of the load at a position: in this cycle or, if that lies in the past, the next.
    #[inline(always)] // into dispatch
    pub(super) fn load_at(&mut self, out: &mut impl Outside, at: usize, cycle: u64) {
        let shape = out.shape();
        let mut time = shape.period * cycle;
        if time < out.now() {
            time = shape.align(out.now());
        }
        if self.drawn {
            self.issues(out, self.window[at].id, time);
        }
        if time == self.run.at && out.is_last(time, self.id, Turn::Load(self.run.first as u32)) {
            // A load has no result yet: in its place stands how many entries behind it the next one of its run lies (0: none). It may lie
            // before it: whoever waits for a result is issued when that is there.
            let last = std::mem::replace(&mut self.run.last, at);
            self.window[last].result = u64::from((at as u32).wrapping_sub(last as u32));
            return;
        }
        self.run = LoadRun {
            at: time,
            first: at,
            last: at,
        };
        out.schedule(time, self.id, Turn::Load(at as u32));
    }

    /// The load at a position accesses the L1. Returns how many entries behind it the load lies whose turn is next, without an event of its
    /// own (0: there is none).
    pub(crate) fn load_turn(&mut self, out: &mut impl Outside, position: u32) -> u32 {
        let Some((at, _)) = self.window.find(position).filter(|(_, e)| !e.done()) else {
            return 0;
        };
        debug_assert_eq!(self.window[at].op.kind, OpKind::Load);
        let behind = std::mem::take(&mut self.window[at].result) as u32;
        self.look_up(out, at);
        behind
    }
    /// The load at a position, which is in no run, accesses the L1 once more.
    pub(crate) fn load(&mut self, out: &mut impl Outside, position: u32) {
        let behind = self.load_turn(out, position);
        debug_assert_eq!(behind, 0, "the turn of a run is asked for only once");
    }
}
