//! What is looked at when a moment is over: copies of lines, and who sleeps although it might go on.
//!
//! Whatever waits is woken by what it waits for, and nothing else asks for it again. Where a wake-up is forgotten the run is only slower, and
//! no byte is wrong. So a machine that looks for sleepers asks everyone again once a moment is over: all must still have to wait.

use super::compose::Machine;
use super::workload::RunError;
use crate::hierarchy::Side;

/// Events after which a recorded run looks at the copies of lines in its caches.
const COMPARE_EVERY: u64 = 64;

impl Machine {
    /// Looks for sleepers at the end of every moment, and ends at the first ([`RunError::Asleep`]), and for a state that cannot be
    /// ([`RunError::Unsound`]). Those who are asked in vain may count that, so that the report is not that of the same run without it.
    #[must_use]
    pub fn looking_for_sleepers(mut self) -> Machine {
        self.watch.get_or_insert_default().sleepers = true;
        self
    }

    /// Looks at a run that is watched, after so many events: if a moment is over, no copy may differ from the newest bytes, and nobody may
    /// sleep who might go on.
    #[cold]
    pub(super) fn look_around(&mut self, events: u64) -> Result<(), RunError> {
        if !self.rest.sys.events.moment_is_over() {
            return Ok(());
        }
        let Some(watch) = &mut self.watch else { return Ok(()) };
        let sleepers = watch.sleepers;
        if self.rest.sys.recorder.is_some() && events - watch.compared >= COMPARE_EVERY {
            watch.compared = events;
            self.compare_copies();
        }
        match sleepers {
            true => self.look_for_sleepers(),
            false => Ok(()),
        }
    }
    /// Compares the copies of lines in the caches with the newest bytes.
    fn compare_copies(&mut self) {
        let (now, sys) = (self.rest.sys.now(), &self.rest.sys);
        self.rest.hier.compare_all(now, |line| sys.coherent.line(line).words);
    }
    /// Nobody may sleep who might go on.
    fn look_for_sleepers(&mut self) -> Result<(), RunError> {
        let at = self.rest.sys.now();
        if let Some(what) = self.unsound() {
            return Err(RunError::Unsound { what, at });
        }
        match self.sleeper() {
            None => Ok(()),
            Some(who) => Err(RunError::Asleep { who, at }),
        }
    }
    /// What is in a state that it may not be in.
    fn unsound(&mut self) -> Option<String> {
        let mut threads = self.threads.iter();
        let of_thread = threads.find_map(|t| Some(format!("{} of thread {}", t.stores.unsound()?, t.id.0)));
        let sides = [(Side::Pm, "persistent"), (Side::Dram, "volatile")];
        let of_caches = of_thread.or_else(|| self.rest.hier.unsound());
        let of_memory = of_caches.or_else(|| {
            sides.into_iter().find_map(|(side, name)| {
                let what = self.rest.sys.port(side).controller.unsound()?;
                Some(format!("the controller of {name} memory: {what}: that"))
            })
        });
        of_memory.or_else(|| Some(format!("the design: {}: that", self.rest.design.unsound()?)))
    }
    fn sleeper(&mut self) -> Option<String> {
        for i in 0..self.threads.len() {
            let (thread, out) = (&mut self.threads[i], &mut self.rest);
            if let Some(what) = thread.asleep(out) {
                return Some(format!("{what} of thread {i}"));
            }
        }
        let (hier, mut out) = self.rest.split();
        if let Some(what) = hier.asleep(&mut out) {
            return Some(what);
        }
        let sides = [(Side::Pm, "persistent"), (Side::Dram, "volatile")];
        let asleep = sides.into_iter().find(|(side, _)| self.memory_sleeps(*side));
        asleep.map(|(_, name)| format!("the controller of {name} memory"))
    }
    /// Whether a memory controller does something when it is asked, or wants to be asked before it will be.
    fn memory_sleeps(&mut self, side: Side) -> bool {
        let (now, mut events) = (self.rest.sys.now(), std::mem::take(&mut self.mem_events));
        let port = self.rest.sys.port(side);
        let due = |wanted| port.scheduled.is_none_or(|at| wanted < at);
        let late = port.controller.next_event().is_some_and(due);
        let before = port.controller.stats().clone();
        port.controller.advance(now, &mut events);
        let acted = !events.is_empty() || before != *port.controller.stats();
        events.clear();
        self.mem_events = events;
        late || acted
    }
}
