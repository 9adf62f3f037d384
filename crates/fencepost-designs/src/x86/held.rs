//! Lines that accesses wait for while they are being flushed.

use super::waiters::kick_all;
use fencepost_kernel::{HwThread, LineAddr};
use fencepost_machine::seam::{Cause, Cx, Gate};

/// Flushes under way, and the hardware threads that wait for one of their lines.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Whether accesses wait at all.
    holds: bool,
    /// A line for each flush of it: few at a time, as a fence follows.
    lines: Vec<LineAddr>,
    /// A bit each.
    waiting: u64,
}
impl Held {
    /// Nothing is flushed.
    pub(super) fn new(holds: bool) -> Held {
        Held {
            holds,
            lines: Vec::new(),
            waiting: 0,
        }
    }
    /// Whether accesses are to be asked for.
    pub(super) fn holds(&self) -> bool {
        self.holds
    }
    /// A flush of the line begins.
    pub(super) fn flushed(&mut self, line: LineAddr) {
        if self.holds {
            self.lines.push(line);
        }
    }
    /// Whether nothing is on its way; else the hardware thread is asked again when a flush is done.
    #[inline]
    pub(super) fn may_access(&mut self, hw_thread: HwThread, line: LineAddr) -> Gate {
        if !self.lines.contains(&line) {
            return Gate::Go;
        }
        self.waiting |= 1 << hw_thread.0;
        Gate::Wait(Cause::FlushPending)
    }
    /// A flush of the line is done; of other lines, and where accesses do not wait, nothing is held.
    pub(super) fn done(&mut self, cx: &mut dyn Cx, line: LineAddr) {
        if let Some(at) = self.lines.iter().position(|l| *l == line) {
            self.lines.swap_remove(at);
            kick_all(cx, &mut self.waiting);
        }
    }
}
