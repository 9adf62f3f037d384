//! Accesses to the private caches, and what happens when they miss.

use super::{Behind, Miss, Waiter};
use crate::cache::{State, WayRef};
use crate::machine::{Ev, Machine};
use crate::seam::{Cause, Snoop};
use fencepost_kernel::{CoreId, HartId, LineAddr, Ps};

/// Result of an access to a core's private caches.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// In the L1 with enough permission.
    Hit(WayRef),
    /// The waiter will be called back.
    Missed,
}

impl Machine {
    /// Looks `line` up for a load (or, `exclusive`, for a store). On a miss the waiter joins or starts one.
    pub(crate) fn access(&mut self, line: LineAddr, exclusive: bool, waiter: Waiter) -> Lookup {
        let core = self.sys.spec.core_of(waiter.hart());
        let c = &mut self.sys.cores[core.index()];
        if let Some(way) = c.l1.find(line)
            && (!exclusive || c.l1.state(way).writable())
        {
            c.l1.touch(way);
            self.sys.counters.l1_hits += 1;
            return Lookup::Hit(way);
        }
        self.sys.counters.l1_misses += 1;
        self.start_miss(core, line, exclusive, false, waiter);
        Lookup::Missed
    }

    pub(crate) fn start_miss(
        &mut self,
        core: CoreId,
        line: LineAddr,
        exclusive: bool,
        drop_copies: bool,
        waiter: Waiter,
    ) {
        let now = self.sys.now();
        let c = &mut self.sys.cores[core.index()];
        if let Some(m) = c.misses.iter_mut().flatten().find(|m| m.line == line) {
            // A store that joins a read finds a shared line at the fill and asks again.
            if exclusive && !m.granted {
                m.exclusive = true;
            }
            m.waiters.push(waiter);
            return;
        }
        let Some(free) = c.misses.iter().position(Option::is_none) else {
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
            since: now,
            from: None,
        };
        c.misses[free] = Some(miss);
        self.request_bus(core, free as u8);
    }

    fn request_bus(&mut self, core: CoreId, miss: u8) {
        let l1 = self.sys.spec.l1.latency;
        let asked = self.sys.now() + l1 + self.sys.spec.l2.as_ref().map_or(Ps::ZERO, |c| c.latency);
        let m = self.sys.cores[core.index()].misses[usize::from(miss)]
            .as_ref()
            .expect("a requested miss is open");
        // A private second level with enough permission answers without the bus.
        let private = self.sys.cores[core.index()]
            .l2
            .as_ref()
            .is_some_and(|l2| l2.find(m.line).is_some_and(|w| !m.exclusive || l2.state(w).writable()));
        let at = if private {
            asked
        } else {
            let ready = asked + self.sys.spec.bus.arbitration;
            let at = ready.max(self.sys.bus.free_at);
            self.sys.bus.free_at = at + self.sys.spec.bus.occupancy;
            at
        };
        self.sys.events.schedule(at, Ev::Grant(core, miss));
    }

    /// Asks for the bus again on behalf of whatever waited.
    pub(crate) fn regrant(&mut self, what: Behind) {
        let now = self.sys.now();
        match what {
            Behind::Miss(core, miss) => self.sys.events.schedule(now, Ev::Grant(core, miss)),
            Behind::Clean(slot) => self.sys.events.schedule(now, Ev::Clean(slot)),
        }
    }

    /// Calls a waiter back: its line arrived, or a miss register became free.
    pub(crate) fn serve(&mut self, waiter: Waiter) {
        match waiter {
            Waiter::Load(hart, id) => self.load_arrived(hart, id),
            Waiter::Store(hart, id) => self.store_arrived(hart, id),
            Waiter::Head(hart) => self.head(hart),
        }
    }

    /// While a miss register is free, lets the accesses that found none start over, oldest first. One that does not take
    /// the register after all (its line has arrived meanwhile, or the design refuses it) leaves it to the next.
    pub(crate) fn serve_starved(&mut self, core: CoreId) {
        let c = &mut self.sys.cores[core.index()];
        if !c.misses.iter().any(Option::is_none) {
            return;
        }
        if let Some(w) = c.starved.pop_front() {
            self.restart(w);
            let now = self.sys.now();
            self.sys.events.schedule(now, Ev::Starved(core));
        }
    }

    /// What the waiters of a miss are charged for from now on.
    pub(crate) fn charge_miss(&mut self, core: CoreId, miss: u8, cause: Cause) {
        let Some(m) = self.sys.cores[core.index()].misses[usize::from(miss)].as_mut() else {
            return;
        };
        m.cause = cause;
        let waiters = std::mem::take(&mut m.waiters);
        for w in &waiters {
            if let Waiter::Load(hart, id) = *w {
                let h = &mut self.sys.harts[hart.index()];
                if let Some(p) = h.position(id) {
                    h.window[p].cause = cause;
                }
            }
        }
        if let Some(m) = self.sys.cores[core.index()].misses[usize::from(miss)].as_mut() {
            m.waiters = waiters;
        }
    }

    /// Whether a line is in the core's private caches, and with which permission.
    #[inline]
    pub(crate) fn private_state(&self, core: CoreId, line: LineAddr) -> Option<(State, bool, u32)> {
        let c = &self.sys.cores[core.index()];
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
        let noted = self.sys.bus.lines.holders(line).fold(0u64, |m, c| m | 1 << c.0);
        let cores = (0..self.sys.cores.len() as u8).map(CoreId);
        cores
            .filter(|c| noted >> c.0 & 1 == 0)
            .all(|c| self.private_state(c, line).is_none())
    }

    /// Whether the hart's L1 is blocked by the design.
    pub(crate) fn blocked(&self, hart: HartId) -> Option<Cause> {
        self.sys.cores[self.sys.core_index(hart)].blocked
    }
}
