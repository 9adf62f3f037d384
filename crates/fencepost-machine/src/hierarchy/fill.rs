//! Fills: a granted miss's data arrives.

use super::lines::Behind;
use super::outside::Outside;
use super::state::{Arrived, Hierarchy};
use super::tags::State;
use crate::seam::{Cause, Level};
use fencepost_kernel::planted;
use fencepost_kernel::{CoreId, LineAddr};

impl Hierarchy {
    /// Installs the line of a miss. `None` if the write-back buffer is full; the fill is tried again when it is not.
    pub fn fill(&mut self, out: &mut impl Outside, core: CoreId, miss: u8) -> Option<Arrived> {
        let m = &self.cores[core.index()].misses[miss];
        let (line, fill, words) = (m.line, m.fill, m.words.as_deref().copied());
        if let Some(f) = fill {
            if !self.free_ways(out, core, line) {
                self.charge_miss(core, miss, Cause::WbbFull);
                self.cores[core.index()].stuck_fills.push(miss);
                return None;
            }
            // A copy that the L1 has already may have been stored to since the request was granted.
            let here = self.keeps_bytes() && self.cores[core.index()].l1.find(line).is_some();
            let words = self.words(Level::L1(core), line).filter(|_| here).or(words);
            let c = &mut self.cores[core.index()];
            if let Some(l2) = c.l2.as_mut() {
                let (was, meta) = l2.find(line).map_or((false, 0), |w| (l2.dirty(w), l2.meta(w)));
                l2.insert(line, f.state, was, meta);
            }
            let (was, meta) = c.l1.find(line).map_or((false, 0), |w| (c.l1.dirty(w), c.l1.meta(w)));
            let state = if was || f.dirty { State::Modified } else { f.state };
            c.l1.insert(line, state, was || f.dirty, if was { meta } else { f.meta });
            self.bus.lines.add_holder(line, core);
            self.set_words(Level::L1(core), line, words);
            self.set_words(Level::L2(core), line, words);
        }
        let m = self.cores[core.index()].misses.close(miss);
        self.counters.miss_time += out.now() - m.since;
        if m.drop_copies {
            // Nobody holds the line now, and whoever queued up behind it asks after the store has performed.
            self.line_free(out, line);
        }
        Some(Arrived {
            core,
            line,
            waiters: m.waiters,
            freed: m.drop_copies,
        })
    }

    /// The waiters of a miss have acted: the next request for the line goes on.
    pub fn served(&mut self, out: &mut impl Outside, mut arrived: Arrived) {
        arrived.waiters.clear();
        self.cores[arrived.core.index()].spare.push(arrived.waiters);
        if !arrived.freed {
            self.line_free(out, arrived.line);
        }
    }

    /// The line's data has arrived: whoever queued up behind it asks again, in order.
    fn line_free(&mut self, out: &mut impl Outside, line: LineAddr) {
        let Some((index, mut queue)) = self.bus.lines.set_free(line) else {
            return;
        };
        for b in queue.drain(..) {
            self.regrant(out, b);
        }
        self.bus.lines.put_back(index, queue);
    }

    /// Frees a way for `line` in the core's private caches; false if the write-back buffer has no entry for a victim.
    fn free_ways(&mut self, out: &mut impl Outside, core: CoreId, line: LineAddr) -> bool {
        let free = |m: &Hierarchy| {
            let c = &m.cores[core.index()];
            !m.hooks.holds || c.write_back.len() < m.spec.l1.writeback_buffer as usize
        };
        if let Some(victim) = self.cores[core.index()].l1.victim(line) {
            if !free(self) {
                return false;
            }
            if let Some(gone) = self.cores[core.index()].l1.remove(victim) {
                self.leave_l1(out, core, gone);
            }
        }
        let victim = self.cores[core.index()].l2.as_ref().and_then(|l2| l2.victim(line));
        if let Some(victim) = victim {
            if !free(self) {
                return false;
            }
            let c = &mut self.cores[core.index()];
            if let Some(mut gone) = c.l2.as_mut().and_then(|l2| l2.remove(victim)) {
                // The second level includes the first.
                if let Some(above) = c.l1.take(gone.line)
                    && above.dirty
                    && !planted!(
                        "hierarchy.second-level-forgets-first",
                        "a victim of the second level takes newer bytes of the first along"
                    )
                {
                    gone.dirty = true;
                    gone.meta = above.meta;
                    let words = self.words(Level::L1(core), gone.line);
                    self.set_words(Level::L2(core), gone.line, words);
                }
                self.leave_l2(out, core, gone);
            }
        }
        true
    }

    /// Fills that found the write-back buffer full, to be tried again.
    pub fn take_stuck_fills(&mut self, core: CoreId) -> Vec<u8> {
        std::mem::take(&mut self.cores[core.index()].stuck_fills)
    }

    /// Asks again for everything the design delayed on the bus.
    pub fn retry_refused(&mut self, out: &mut impl Outside) {
        for (b, _) in std::mem::take(&mut self.bus.refused) {
            if let Behind::Miss(core, miss) = b {
                self.charge_miss(core, miss, Cause::LoadCache);
            }
            self.regrant(out, b);
        }
    }
}
