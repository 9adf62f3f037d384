//! Fills: a granted miss's data arrives.

use super::{Behind, Waiter};
use crate::cache::State;
use crate::machine::Machine;
use crate::seam::Cause;
use fencepost_kernel::{CoreId, LineAddr};

impl Machine {
    /// Installs the line of a miss, serves its waiters and lets the next request for the line go on.
    pub(crate) fn fill(&mut self, core: CoreId, miss: u8) {
        let m = self.sys.cores[core.index()].misses[usize::from(miss)]
            .as_ref()
            .expect("a filled miss is open");
        let (line, fill) = (m.line, m.fill);
        if let Some(f) = fill {
            if !self.make_room(core, line) {
                self.charge_miss(core, miss, Cause::WbbFull);
                self.sys.cores[core.index()].stuck_fills.push(miss);
                return;
            }
            let c = &mut self.sys.cores[core.index()];
            if let Some(l2) = c.l2.as_mut() {
                let (was, meta) = l2.find(line).map_or((false, 0), |w| (l2.dirty(w), l2.meta(w)));
                l2.insert(line, f.state, was, meta);
            }
            let (was, meta) = c.l1.find(line).map_or((false, 0), |w| (c.l1.dirty(w), c.l1.meta(w)));
            let state = if was || f.dirty { State::Modified } else { f.state };
            c.l1.insert(line, state, was || f.dirty, if was { meta } else { f.meta });
            self.sys.bus.lines.add_holder(line, core);
        }
        let m = self.sys.cores[core.index()].misses[usize::from(miss)]
            .take()
            .expect("still open");
        self.sys.counters.miss_time += self.sys.now() - m.since;
        if m.drop_copies {
            // Nobody holds the line now, and whoever queued up behind it asks after the store has performed.
            self.line_free(line);
        }
        let mut waiters = m.waiters;
        for w in waiters.drain(..) {
            self.serve(w);
        }
        self.sys.cores[core.index()].spare.push(waiters);
        if !m.drop_copies {
            self.line_free(line);
        }
        self.serve_starved(core);
    }

    /// The line's data has arrived: whoever queued up behind it asks again, in order.
    pub(crate) fn line_free(&mut self, line: LineAddr) {
        let Some((index, mut queue)) = self.sys.bus.lines.set_free(line) else {
            return;
        };
        for b in queue.drain(..) {
            self.regrant(b);
        }
        self.sys.bus.lines.put_back(index, queue);
    }

    /// Frees a way for `line` in the core's private caches; false if the write-back buffer has no room for the victim.
    fn make_room(&mut self, core: CoreId, line: LineAddr) -> bool {
        let room = |m: &Machine| {
            let c = &m.sys.cores[core.index()];
            !m.hooks.holds || c.write_back.len() < m.sys.spec.l1.writeback_buffer as usize
        };
        if let Some(victim) = self.sys.cores[core.index()].l1.victim(line) {
            if !room(self) {
                return false;
            }
            if let Some(gone) = self.sys.cores[core.index()].l1.remove(victim) {
                self.leave_l1(core, gone);
            }
        }
        let victim = self.sys.cores[core.index()].l2.as_ref().and_then(|l2| l2.victim(line));
        if let Some(victim) = victim {
            if !room(self) {
                return false;
            }
            let c = &mut self.sys.cores[core.index()];
            if let Some(mut gone) = c.l2.as_mut().and_then(|l2| l2.remove(victim)) {
                // The second level includes the first.
                if let Some(above) = c.l1.take(gone.line)
                    && above.dirty
                {
                    gone.dirty = true;
                    gone.meta = above.meta;
                }
                self.leave_l2(core, gone);
            }
        }
        true
    }

    /// Tries fills again that found the write-back buffer full.
    pub(crate) fn retry_fills(&mut self, core: CoreId) {
        for miss in std::mem::take(&mut self.sys.cores[core.index()].stuck_fills) {
            self.fill(core, miss);
        }
    }

    /// Asks again for everything the design delayed on the bus.
    pub(crate) fn retry_refused(&mut self) {
        for (b, _) in std::mem::take(&mut self.sys.bus.refused) {
            if let Behind::Miss(core, miss) = b {
                self.charge_miss(core, miss, Cause::LoadCache);
            }
            self.regrant(b);
        }
    }

    /// A waiter that found no free miss register starts over.
    pub(crate) fn restart(&mut self, waiter: Waiter) {
        use crate::machine::Ev;
        let now = self.sys.now();
        match waiter {
            Waiter::Load(hart, id) => self.sys.events.schedule(now, Ev::Load(hart, id)),
            Waiter::Store(hart, id) => {
                if let Some((_, s)) = self.sys.harts[hart.index()].stores.by_id(id) {
                    s.state = crate::hart::StoreState::Committed(now);
                }
                self.sys.wake_stores(hart, now);
            }
            Waiter::Head(hart) => self.sys.events.schedule(now, Ev::Head(hart)),
        }
    }
}
