//! Since when lines have been waiting to leave.

use fencepost_kernel::{LineAddr, Ps};
use fencepost_machine::seam::{Cx, Level};

fencepost_kernel::stats! {
    /// The histograms of the designs that hold lines back.
    pub HISTOGRAMS {
        /// Time a dirty persistent line waited before it could leave the cache where order is enforced.
        WBB_DELAY = "wbb_delay", "core cycles";
        /// Time a request of another core waited for such a line.
        TRANSFER_DELAY = "transfer_delay", "core cycles";
    }
}

/// Lines refused so far, with the time of the first refusal.
#[derive(Clone, Debug, Default)]
pub(super) struct Parked {
    waiting: Vec<(Level, LineAddr, bool, Ps)>,
    cycle: Ps,
}
impl Parked {
    pub(super) fn new(cycle: Ps) -> Parked {
        let waiting = Vec::new();
        Parked { waiting, cycle }
    }
    /// The line was refused; `transfer`: to another core.
    pub(super) fn refused(&mut self, from: Level, line: LineAddr, transfer: bool, now: Ps) {
        let known = self.waiting.iter().any(|w| (w.0, w.1, w.2) == (from, line, transfer));
        if !known {
            self.waiting.push((from, line, transfer, now));
        }
    }
    /// The line leaves: records how long it waited; returns whether it did at all.
    pub(super) fn leaves(&mut self, cx: &mut dyn Cx, from: Level, line: LineAddr, transfer: bool) -> bool {
        let at = self
            .waiting
            .iter()
            .position(|w| (w.0, w.1, w.2) == (from, line, transfer));
        let waited = at.map_or(Ps::ZERO, |i| cx.now().saturating_sub(self.waiting.swap_remove(i).3));
        let histogram = if transfer { TRANSFER_DELAY } else { WBB_DELAY };
        cx.sample(histogram, waited.0.div_ceil(self.cycle.0.max(1)));
        at.is_some()
    }
    /// The line was stored to where it is: if it had been waiting, it was taken back.
    pub(super) fn stored(&mut self, line: LineAddr) {
        if !self.waiting.is_empty() {
            self.waiting.retain(|w| w.1 != line);
        }
    }
    /// Lines waiting now.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}
