//! Accesses to the private caches, and what happens when they miss.

use super::lines::Behind;
use super::outside::Outside;
use super::state::{Hierarchy, Lookup, Miss, Step, Waiter};
use super::tags::State;
use crate::seam::{Cause, Snoop};
use fencepost_kernel::{CoreId, LineAddr, Ps};

impl Hierarchy {
    /// Looks `line` up for a load (or, `exclusive`, for a store) of a core. On a miss the waiter joins or starts one.
    #[inline]
    pub fn access(
        &mut self,
        out: &mut impl Outside,
        core: CoreId,
        line: LineAddr,
        exclusive: bool,
        waiter: Waiter,
    ) -> Lookup {
        let c = &mut self.cores[core.index()];
        if let Some(way) = c.l1.find(line)
            && (!exclusive || c.l1.state(way).writable())
        {
            c.l1.touch(way);
            self.counters.l1_hits += 1;
            return Lookup::Hit(way);
        }
        self.counters.l1_misses += 1;
        self.start_miss(out, core, line, exclusive, false, waiter);
        Lookup::Missed
    }

    /// The line's way in a core's L1, without an access.
    pub fn l1_way(&self, core: CoreId, line: LineAddr) -> Option<super::tags::WayRef> {
        self.cores[core.index()].l1.find(line)
    }

    /// Takes the line out of every cache on behalf of a non-temporal store.
    pub fn drop_copies(&mut self, out: &mut impl Outside, core: CoreId, line: LineAddr, waiter: Waiter) {
        self.start_miss(out, core, line, true, true, waiter);
    }

    fn start_miss(
        &mut self,
        out: &mut impl Outside,
        core: CoreId,
        line: LineAddr,
        exclusive: bool,
        drop_copies: bool,
        waiter: Waiter,
    ) {
        let c = &mut self.cores[core.index()];
        if let Some(m) = c.misses.of(line) {
            // A store that joins a read finds a shared line at the fill and asks again.
            if exclusive && !m.granted {
                m.exclusive = true;
            }
            m.waiters.push(waiter);
            return;
        }
        let Some(free) = c.misses.free() else {
            c.starved.push_back(waiter);
            return;
        };
        let mut waiters = c.spare.pop().unwrap_or_default();
        waiters.push(waiter);
        let miss = Miss {
            line,
            exclusive,
            drop_copies,
            waiters,
            cause: Cause::LoadCache,
            granted: false,
            kind: Snoop::Read,
            fill: None,
            since: out.now(),
            from: None,
            words: None,
        };
        c.misses.open(free, line, miss);
        self.request_bus(out, core, free);
    }

    fn request_bus(&mut self, out: &mut impl Outside, core: CoreId, miss: u8) {
        let l2 = self.spec.l2.as_ref().map_or(Ps::ZERO, |c| c.latency);
        let asked = out.now() + self.spec.l1.latency + l2;
        let c = &self.cores[core.index()];
        let m = &c.misses[miss];
        // A private second level with enough permission answers without the bus.
        let private =
            c.l2.as_ref()
                .is_some_and(|l2| l2.find(m.line).is_some_and(|w| !m.exclusive || l2.state(w).writable()));
        let at = match private {
            true => asked,
            false => self.bus_slot(asked + self.spec.bus.arbitration),
        };
        out.schedule(at, Step::Grant(core, miss));
    }

    /// The first grant that the bus can give at `ready` or later.
    pub(super) fn bus_slot(&mut self, ready: Ps) -> Ps {
        let at = ready.max(self.bus.free_at);
        self.bus.free_at = at + self.spec.bus.occupancy;
        at
    }

    /// Asks for the bus again on behalf of whatever waited.
    pub(super) fn regrant(&mut self, out: &mut impl Outside, what: Behind) {
        let now = out.now();
        match what {
            Behind::Miss(core, miss) => out.schedule(now, Step::Grant(core, miss)),
            Behind::Clean(slot) => out.schedule(now, Step::Clean(slot)),
            Behind::Remote(port) => out.schedule(now, Step::Remote(port)),
        }
    }

    /// While a miss register is free: the oldest access that found none, to start over. One that does not take the
    /// register after all (its line has arrived meanwhile, or the design refuses it) leaves it to the next, so that
    /// [`Step::Starved`] is to be scheduled after it.
    pub fn next_starved(&mut self, core: CoreId) -> Option<Waiter> {
        let c = &mut self.cores[core.index()];
        match c.misses.has_free() {
            true => c.starved.pop_front(),
            false => None,
        }
    }

    /// What the loads that wait for a miss are charged for from now on.
    pub(super) fn charge_miss(&mut self, core: CoreId, miss: u8, cause: Cause) {
        let Some(m) = self.cores[core.index()].misses.get_mut(miss) else {
            return;
        };
        m.cause = cause;
        for w in &m.waiters {
            if let Waiter::Load(hart, id) = *w {
                self.charges.push((hart, id, cause));
            }
        }
    }

    /// Whether a line is in the core's private caches, and with which permission, whether dirty, and its mark.
    #[inline]
    pub(super) fn private_state(&self, core: CoreId, line: LineAddr) -> Option<(State, bool, u32)> {
        let c = &self.cores[core.index()];
        let l1 = c.l1.find(line).map(|w| (c.l1.state(w), c.l1.dirty(w), c.l1.meta(w)));
        let Some(l2) = &c.l2 else { return l1 };
        let below = l2.find(line).map(|w| (l2.state(w), l2.dirty(w), l2.meta(w)));
        match (l1, below) {
            (Some(a), Some(b)) => Some((a.0, a.1 || b.1, if a.1 { a.2 } else { b.2 })),
            (a, b) => a.or(b),
        }
    }

    /// Whether the bus has noted every core that holds the line.
    pub(super) fn all_holders_are_noted(&self, line: LineAddr) -> bool {
        let noted = self.bus.lines.holders(line).fold(0u64, |m, c| m | 1 << c.0);
        let cores = (0..self.cores.len() as u8).map(CoreId);
        cores
            .filter(|c| noted >> c.0 & 1 == 0)
            .all(|c| self.private_state(c, line).is_none())
    }
}
