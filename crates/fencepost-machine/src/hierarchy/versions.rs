//! Stores in the L1, and frozen older versions of lines beside the current one.

use super::outside::Outside;
use super::state::Hierarchy;
use super::tags::{Spot, State, WayRef};
use crate::seam::{Cause, Level, Place};
use fencepost_kernel::planted;
use fencepost_kernel::{CoreId, HwThread, LineAddr, LineData};

impl Hierarchy {
    /// Where the design wants a store when the way is dirty: in place, or beside a frozen older version.
    pub(crate) fn place_store(
        &mut self,
        out: &mut impl Outside,
        hw_thread: HwThread,
        core: CoreId,
        way: WayRef,
    ) -> Result<WayRef, Cause> {
        let Some(held) = self.cores[core.index()].l1.peek(way) else {
            return Ok(way);
        };
        let placed = out.place(self, hw_thread, &held);
        let overwritten =
            placed == Place::Fork && planted!("hierarchy.version-overwritten", "a frozen version keeps its bytes");
        match placed {
            Place::Here => Ok(way),
            Place::Fork if overwritten => Ok(way),
            Place::Wait(cause) => Err(cause),
            Place::Fork => {
                let data = self.leaving_data(out, Level::L1(core), held.line);
                let key = (level_key(Level::L1(core)), held.line, held.meta);
                self.versions.insert(key, data);
                self.cores[core.index()].l1.freeze(way);
                self.counters.versions += 1;
                let way = match self.cores[core.index()].l1.spot(held.line) {
                    Spot::Here(way) | Spot::Free(way) => way,
                    Spot::Full(victim) => {
                        if let Some(gone) = self.cores[core.index()].l1.remove(victim) {
                            self.leave_l1(out, core, gone);
                        }
                        victim
                    }
                };
                self.forget_llc_dirt(held.line); // The frozen way has those bytes.
                let l1 = &mut self.cores[core.index()].l1;
                l1.put(way, held.line, State::Modified, true, 0);
                Ok(way)
            }
        }
    }

    /// A store performs in a way of an L1 that may be written.
    #[inline]
    pub(crate) fn store(&mut self, core: CoreId, line: LineAddr, way: WayRef) {
        // Most stores are not the first to their line: the caches below know.
        if self.cores[core.index()].l1.is_settled(way) {
            return;
        }
        let forgets_below = self.cores[core.index()].l1.state(way) == State::Exclusive
            && !planted!(
                "hierarchy.older-copy-stays-dirty",
                "a dirty copy below is not written back over a newer one"
            );
        if forgets_below {
            self.forget_llc_dirt(line); // The copy below must not be written back over this one.
        }
        let private = &mut self.cores[core.index()];
        private.l1.settle(way);
        if let Some(l2) = private.l2.as_mut()
            && let Some(w) = l2.find(line)
        {
            l2.set_state(w, State::Modified);
        }
    }

    fn forget_llc_dirt(&mut self, line: LineAddr) {
        let llc = &mut self.llc.tags;
        if let Some(w) = llc.find(line) {
            llc.set_dirty(w, false);
        }
    }

    /// The bytes of a frozen version.
    pub(crate) fn version(&self, level: Level, line: LineAddr, meta: u32) -> Option<LineData> {
        self.versions.get(&(level_key(level), line, meta)).copied()
    }
    /// Forgets a frozen version and frees its way.
    pub(crate) fn drop_version(&mut self, level: Level, line: LineAddr, meta: u32) {
        self.versions.remove(&(level_key(level), line, meta));
        if let Some(tags) = self.tags(level)
            && let Some(w) = tags.find_frozen(line, meta)
        {
            tags.remove(w);
        }
    }
}

/// A cache as a key of the table of frozen versions.
pub(super) fn level_key(level: Level) -> u8 {
    match level {
        Level::L1(c) => c.0,
        Level::L2(c) => 64 + c.0,
        Level::Llc => 255,
    }
}
