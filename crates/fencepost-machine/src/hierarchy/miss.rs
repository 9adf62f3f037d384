//! Accesses to the private caches, and what happens when they miss.

use super::lines::{Behind, Entry};
use super::outside::Outside;
use super::private::{Miss, Waiter};
use super::state::{Hierarchy, Lookup, Step};
use super::tags::{State, Tags};
use crate::seam::Cause;
use fencepost_kernel::{CoreId, LineAddr, Ps, decision, planted};

impl Hierarchy {
    /// The L1 of a core.
    #[inline(always)]
    pub(crate) fn l1(&self, core: CoreId) -> &Tags {
        &self.cores[core.index()].l1
    }
    /// A line will be looked up before long: has the host fetch what the bus knows of it.
    #[inline]
    pub(crate) fn host_prefetch(&self, line: LineAddr) {
        self.bus.lines.host_prefetch(line);
    }
    /// Looks `line` up for a load (or, `exclusive`, for a store) of a core that did not find it by itself ([`Tags::youngest`]). On a
    /// miss the waiter joins or starts one.
    #[inline(never)]
    pub(crate) fn access(
        &mut self,
        out: &mut impl Outside,
        core: CoreId,
        line: LineAddr,
        exclusive: bool,
        waiter: Waiter,
    ) -> Lookup {
        let at = self.bus.lines.entry(line);
        let l1 = &mut self.cores[core.index()].l1;
        let hits = |way| {
            !exclusive
                || l1.state(way).writable()
                || planted!(
                    "hierarchy.store-hits-shared",
                    "a store hits only a line that its core may write"
                )
        };
        // Most of these are misses, and of most the bus knows; a miss needs its entry anyway.
        if self.bus.lines.may_hold(at, core)
            && let Some(way) = l1.find(line)
            && hits(way)
        {
            l1.touch(way);
            self.counters.l1_hits += 1;
            return Lookup::Hit(way);
        }
        self.counters.l1_misses += 1;
        self.start_miss(out, core, (line, at), exclusive, false, waiter);
        Lookup::Missed
    }

    /// Takes the line out of every cache on behalf of a non-temporal store.
    #[inline(never)]
    pub(crate) fn drop_copies(&mut self, out: &mut impl Outside, core: CoreId, line: LineAddr, waiter: Waiter) {
        let at = self.bus.lines.entry(line);
        self.start_miss(out, core, (line, at), true, true, waiter);
    }

    #[inline(always)] // into the accesses that miss
    fn start_miss(
        &mut self,
        out: &mut impl Outside,
        core: CoreId,
        (line, at): (LineAddr, Entry),
        exclusive: bool,
        drop_copies: bool,
        waiter: Waiter,
    ) {
        let c = &mut self.cores[core.index()];
        if let Some(m) = c.misses.of(line) {
            // A store that joins a read finds a shared line at the fill and asks again.
            if decision!("hierarchy.store-joins-read-miss", exclusive && !m.granted) {
                m.exclusive = true;
            }
            m.waiters.push(waiter);
            return;
        }
        let Some(free) = c.misses.free() else {
            c.starved.push_back(waiter);
            return;
        };
        let miss = c.misses.open(free, line);
        // Empty, but for the memory that it has.
        let mut waiters = std::mem::take(&mut miss.waiters);
        waiters.push(waiter);
        *miss = Miss {
            line,
            at,
            exclusive,
            drop_copies,
            waiters,
            cause: Cause::LoadCache,
            granted: false,
            fill: None,
            since: out.now(),
            from: line,
            words: None,
        };
        self.llc.tags.host_prefetch(line);
        let granted = self.asks_bus(out.now(), core, line, exclusive);
        out.schedule(granted, Step::Grant(core, free));
    }

    /// When a request that begins now is granted, if its line is not busy then.
    fn asks_bus(&mut self, now: Ps, core: CoreId, line: LineAddr, exclusive: bool) -> Ps {
        let mut asked = now + self.spec.l1.latency;
        if let Some(spec) = &self.spec.l2 {
            asked += spec.latency;
            // A private second level with enough permission answers without the bus.
            let l2 = self.cores[core.index()].l2.as_ref();
            if l2.is_some_and(|l2| l2.find(line).is_some_and(|w| !exclusive || l2.state(w).writable())) {
                return asked;
            }
        }
        self.bus_slot(asked + self.spec.bus.arbitration)
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
    #[inline]
    pub(crate) fn next_starved(&mut self, core: CoreId) -> Option<Waiter> {
        let c = &mut self.cores[core.index()];
        match !c.starved.is_empty() && c.misses.has_free() {
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
            if let Waiter::Load(hw_thread, at) = *w {
                self.charges.push((hw_thread, at, cause));
            }
        }
    }

    /// Whether a line is in the core's private caches, and with which permission, whether dirty, and its mark.
    #[inline]
    pub(super) fn private_state(&self, core: CoreId, line: LineAddr) -> Option<(State, bool, u32)> {
        let c = &self.cores[core.index()];
        c.state(c.ways(line))
    }

    /// Whether the bus has noted every core that holds the line.
    pub(super) fn all_holders_are_noted(&self, line: LineAddr) -> bool {
        let at = self.bus.lines.find(line);
        let noted = |c: CoreId| at.is_some_and(|at| self.bus.lines.may_hold(at, c));
        let cores = (0..self.cores.len() as u8).map(CoreId);
        cores
            .filter(|c| !noted(*c))
            .all(|c| self.private_state(c, line).is_none())
    }
}
