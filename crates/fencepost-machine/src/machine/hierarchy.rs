//! Steps of the cache hierarchy, and what follows from them for the threads.

use super::agenda::Ev;
use super::compose::Machine;
use crate::hierarchy::{Outside as _, Step, Waiter};
use fencepost_kernel::CoreId;

impl Machine {
    /// The hierarchy does what it scheduled.
    #[inline]
    pub(super) fn hierarchy_step(&mut self, step: Step) {
        let (hier, mut out) = self.rest.split();
        match step {
            Step::Grant(core, miss) => hier.grant(&mut out, core, miss),
            Step::Fill(core, miss) => return self.fill(core, miss),
            Step::Starved(core) => return self.serve_starved(core),
            Step::ReadSend(side, what) => hier.send_read(&mut out, side, what),
            Step::Clean(slot) => hier.clean(&mut out, slot),
            Step::Cleaned(hw_thread, tag) => out.cleaned(hier, hw_thread, tag, None),
            Step::CleanAnswered(slot) => hier.clean_answered(&mut out, slot),
            Step::Remote(port) => self.resume_port(port),
        }
        self.charge_loads();
    }

    /// A miss's line arrives: it is installed, its waiters act, the next request for it goes on.
    fn fill(&mut self, core: CoreId, miss: u8) {
        let (hier, mut out) = self.rest.split();
        let arrived = hier.fill(&mut out, core, miss);
        self.charge_loads();
        let Some(arrived) = arrived else { return };
        let mut i = 0;
        while let Some(waiter) = self.rest.hier.waiter(i) {
            i += 1;
            let (thread, out) = self.thread(waiter.hw_thread());
            match waiter {
                Waiter::Load(_, at) => thread.load_arrived(out, at),
                Waiter::Store(_, id) => thread.store_arrived(out, id),
                Waiter::Head(_) => thread.head(out),
            }
            self.check_warm_up();
        }
        let (hier, mut out) = self.rest.split();
        hier.served(&mut out, arrived);
        self.serve_starved(core);
    }

    /// The oldest access that found no miss register starts over, if one is free now. Where it does not take the register after
    /// all, the next one may: its turn comes behind that of the first, which may have to wait for the store port.
    pub(super) fn serve_starved(&mut self, core: CoreId) {
        let now = self.rest.sys.now();
        let Some(waiter) = self.rest.hier.next_starved(core) else {
            return;
        };
        if let Waiter::Load(hw_thread, at) = waiter {
            // Its turn comes next, and one event does for both.
            return self.rest.sys.events.schedule(now, Ev::LoadAgain(hw_thread, at));
        }
        let thread = &mut self.threads[waiter.hw_thread().index()];
        thread.start_over(&mut self.rest, waiter);
        let turn = match waiter {
            Waiter::Store(..) => thread.store_event.unwrap_or(now),
            _ => now,
        };
        self.rest.sys.events.schedule(turn, Ev::Hierarchy(Step::Starved(core)));
    }

    /// The design lets go of lines in the caches of these cores: what it held back there asks again.
    pub(super) fn retry_hierarchy(&mut self, released: u64) {
        if self.rest.hooks.holds {
            let behind_shared = self.rest.hier.behind_shared();
            self.drain_private(released);
            let (hier, mut out) = self.rest.split();
            hier.drain_llc_write_back(&mut out);
            if behind_shared != 0 {
                self.drain_private(behind_shared);
            }
            let (hier, mut out) = self.rest.split();
            hier.unthrottle(&mut out);
        }
        let (hier, mut out) = self.rest.split();
        hier.retry_refused(&mut out, released);
        self.charge_loads();
    }

    /// Lines leave the write-back buffers of these cores, and fills that found them full go on.
    fn drain_private(&mut self, released: u64) {
        let mut last = None;
        while let Some(core) = self.rest.hier.parked_after(last) {
            last = Some(core);
            if released >> core.0 & 1 == 0 {
                continue;
            }
            let (hier, mut out) = self.rest.split();
            hier.drain_write_back(&mut out, core);
            for miss in self.rest.hier.take_stuck_fills(core) {
                self.fill(core, miss);
            }
        }
    }

    /// Loads that wait in the hierarchy are charged for what it says.
    #[inline(always)]
    pub(super) fn charge_loads(&mut self) {
        if self.rest.hier.has_charges() {
            self.hand_charges_on();
        }
    }
    fn hand_charges_on(&mut self) {
        for (hw_thread, at, cause) in self.rest.hier.take_charges() {
            self.threads[hw_thread.index()].charge_load(at, cause);
        }
    }
}
