//! Fills: a granted miss's data arrives.

use super::lines::{Behind, Entry};
use super::outside::Outside;
use super::private::Waiter;
use super::state::{Arrived, Hierarchy, Refused};
use super::tags::{Spot, State, Tags, WayRef};
use crate::seam::{Cause, Level};
use fencepost_kernel::decision;
use fencepost_kernel::planted;
use fencepost_kernel::{CoreId, LineAddr};
use std::collections::VecDeque;

/// A way, and whether the line is there already.
type Place = (WayRef, bool);

impl Hierarchy {
    /// Installs the line of a miss. `None` if the write-back buffer is full; the fill is tried again when it is not.
    pub(crate) fn fill(&mut self, out: &mut impl Outside, core: CoreId, miss: u8) -> Option<Arrived> {
        let m = &self.cores[core.index()].misses[miss];
        let (line, at, fill) = (m.line, m.at, m.fill);
        if let Some(f) = fill {
            let Some((in_l1, in_l2)) = self.free_ways(out, core, line, f.held) else {
                self.charge_miss(core, miss, Cause::WbbFull);
                self.cores[core.index()].stuck_fills.push(miss);
                return None;
            };
            if self.keeps_bytes() {
                self.fill_words(core, miss, in_l1.1);
            }
            let c = &mut self.cores[core.index()];
            if let (Some(l2), Some((way, here))) = (c.l2.as_mut(), in_l2) {
                let (was, meta) = if here {
                    (l2.dirty(way), l2.meta(way))
                } else {
                    (false, 0)
                };
                l2.put(way, line, f.state, was, meta);
            }
            let (way, here) = in_l1;
            let (was, meta) = if here {
                (c.l1.dirty(way), c.l1.meta(way))
            } else {
                (false, 0)
            };
            // Whose dirt is below, or has left since the grant: the first store must look for it, as in a line that was never stored to.
            let state = match f.state {
                _ if was || f.dirty => State::Modified,
                State::Modified => State::Exclusive,
                state => state,
            };
            c.l1.put(way, line, state, was || f.dirty, if was { meta } else { f.meta });
            self.bus.lines.add_holder(at, core);
        }
        let c = &mut self.cores[core.index()];
        let m = c.misses.close(miss);
        debug_assert!(self.acting.is_empty());
        std::mem::swap(&mut m.waiters, &mut self.acting);
        let freed = m.drop_copies;
        self.counters.miss_time += out.now() - m.since;
        if freed {
            // Nobody holds the line now, and whoever queued up behind it asks after the store has performed.
            self.line_free(out, at);
        }
        Some(Arrived { at, freed })
    }

    /// Who has waited for the line that has arrived, oldest first, by number.
    #[inline]
    pub(crate) fn waiter(&self, i: usize) -> Option<Waiter> {
        self.acting.get(i).copied()
    }

    /// The bytes of a miss arrive in the private caches. A copy that the L1 has already (`here`) may have been stored to since
    /// the request was granted, and is newer.
    fn fill_words(&mut self, core: CoreId, miss: u8, here: bool) {
        let m = &self.cores[core.index()].misses[miss];
        let (line, arrived) = (m.line, m.words.as_deref().copied());
        let words = self.words(Level::L1(core), line).filter(|_| here).or(arrived);
        self.set_words(Level::L1(core), line, words);
        self.set_words(Level::L2(core), line, words);
    }

    /// The waiters of a miss have acted: the next request for the line goes on.
    pub(crate) fn served(&mut self, out: &mut impl Outside, arrived: Arrived) {
        self.acting.clear();
        if decision!("hierarchy.fill-waits", !arrived.freed) {
            self.line_free(out, arrived.at);
        }
    }

    /// The line's data has arrived: whoever queued up behind it asks again, in order.
    #[inline]
    fn line_free(&mut self, out: &mut impl Outside, at: Entry) {
        if let Some((index, queue)) = self.bus.lines.set_free(at) {
            self.ask_in_order(out, index, queue);
        }
    }
    #[inline(never)] // few lines have someone waiting behind them
    fn ask_in_order(&mut self, out: &mut impl Outside, index: u32, mut queue: VecDeque<Behind>) {
        for b in queue.drain(..) {
            self.regrant(out, b);
        }
        self.bus.lines.put_back(index, queue);
    }

    /// The ways for `line` in the core's private caches, first and second level, made free where the line is not there yet (the
    /// second word says whether it is; without `held` it cannot be). `None` if the write-back buffer has no entry for a victim.
    fn free_ways(
        &mut self,
        out: &mut impl Outside,
        core: CoreId,
        line: LineAddr,
        held: bool,
    ) -> Option<(Place, Option<Place>)> {
        let spot = |tags: &Tags| match held {
            true => tags.spot(line),
            false => tags.spot_of_absent(line),
        };
        let free = |m: &Hierarchy| {
            let c = &m.cores[core.index()];
            !m.hooks.holds || c.write_back.len() < m.spec.l1.writeback_buffer as usize
        };
        let in_l1 = match spot(&self.cores[core.index()].l1) {
            Spot::Here(way) => (way, true),
            Spot::Free(way) => (way, false),
            Spot::Full(victim) => {
                if !free(self) {
                    return None;
                }
                // One that is clean just gives way to the line.
                let l1 = &mut self.cores[core.index()].l1;
                if !l1.is_clean(victim)
                    && let Some(gone) = l1.remove(victim)
                {
                    self.leave_l1(out, core, gone);
                }
                (victim, false)
            }
        };
        let in_l2 = match self.cores[core.index()].l2.as_ref().map(spot) {
            None => return Some((in_l1, None)),
            Some(Spot::Here(way)) => (way, true),
            Some(Spot::Free(way)) => (way, false),
            Some(Spot::Full(victim)) => {
                if !free(self) {
                    return None;
                }
                self.expel_l2(out, core, victim);
                (victim, false)
            }
        };
        Some((in_l1, Some(in_l2)))
    }
    /// A way of the second level is emptied, and with it the first level's copy: the second level includes the first.
    fn expel_l2(&mut self, out: &mut impl Outside, core: CoreId, victim: WayRef) {
        let c = &mut self.cores[core.index()];
        let Some(mut gone) = c.l2.as_mut().and_then(|l2| l2.remove(victim)) else {
            return;
        };
        let newer = c.newer_between_levels(gone.line);
        let above = c.l1.take(gone.line).filter(|above| above.dirty);
        if newer && above.is_none() {
            // Were it written back, it would go behind what is newer.
            return;
        }
        let taken_along = above.is_some()
            && !planted!(
                "hierarchy.second-level-forgets-first",
                "a victim of the second level takes newer bytes of the first along"
            );
        if taken_along && let Some(above) = above {
            gone.dirty = true;
            gone.meta = above.meta;
            let words = self.words(Level::L1(core), gone.line);
            self.set_words(Level::L2(core), gone.line, words);
        }
        self.leave_l2(out, core, gone);
    }

    /// Fills that found the write-back buffer full, to be tried again.
    pub(crate) fn take_stuck_fills(&mut self, core: CoreId) -> Vec<u8> {
        std::mem::take(&mut self.cores[core.index()].stuck_fills)
    }

    /// Asks again for what the design delayed on the bus, but for requests that wait for a line in the caches of other cores than these.
    pub(crate) fn retry_refused(&mut self, out: &mut impl Outside, released: u64) {
        let waits = |r: &Refused| r.by.is_some_and(|core| released >> core.0 & 1 == 0);
        let mut all = std::mem::take(&mut self.bus.refused);
        for r in all.extract_if(.., |r| !waits(r)) {
            if let Behind::Miss(core, miss) = r.who {
                self.charge_miss(core, miss, Cause::LoadCache);
            }
            self.regrant(out, r.who);
        }
        debug_assert!(
            self.bus.refused.is_empty(),
            "what asks again asks at an event of its own"
        );
        self.bus.refused = all;
    }
}
