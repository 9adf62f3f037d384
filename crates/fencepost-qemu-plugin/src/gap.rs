//! A region of interest that begins where the program leaves its files alone for a while, for programs without symbols.

use crate::guest_recorder::Recorder;
use crate::work::EXECUTED;
use fencepost_record::Event;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Instructions of this process when it last did something to a persistent file.
static TOUCHED: AtomicU64 = AtomicU64::new(0);

impl Recorder {
    /// Something is done to a persistent file.
    pub(crate) fn touches(&self, event: &Event) {
        let elsewhere = matches!(
            event,
            Event::Meet(..) | Event::Look(..) | Event::Keep(..) | Event::Operation(..)
        );
        if !elsewhere {
            self.touches_now();
        }
    }
    /// The same, where that is no event.
    pub(crate) fn touches_now(&self) {
        if self.options.region_gap.is_some() {
            TOUCHED.store(EXECUTED.load(Relaxed), Relaxed);
        }
    }
    /// Before some instructions: nothing may have been done to the files for long enough.
    pub(crate) fn may_begin(&self) {
        let Some(gap) = self.options.region_gap else { return };
        let (shared, since) = (self.shared, TOUCHED.load(Relaxed));
        let waits = shared.inside.load(Relaxed) == 0 && shared.begun.load(Relaxed) != 0;
        if waits && EXECUTED.load(Relaxed).saturating_sub(since) >= gap {
            self.take();
            self.begin_region();
        }
    }
}
