//! A run: event loop and drain.

use super::agenda::Ev;
use super::compose::Machine;
use super::run_report::RunReport;
use super::threads::Rest;
use super::workload::RunError;
use crate::core::{HardwareThread, Outside as _, Turn};
use fencepost_kernel::{HwThread, Ps, stop};
use std::time::Instant;

/// Events after which a run with a deadline looks at the host's clock.
const LOOK_EVERY: u64 = 1 << 14;

/// Events at one moment beyond which the machine is taken to be going round in circles; seen at the next look.
const LIVELOCK: u64 = 4_000_000;
/// The same for events over which no thread commits anything and nothing becomes durable.
const NO_PROGRESS: u64 = 8_000_000;
/// The same for events over which no thread commits anything although some have not finished, whatever becomes durable.
const NO_COMMIT: u64 = 16_000_000;
/// Checked runs are small, and there are many of them: they give up after so many times fewer events.
const CHECKED: u64 = 16;

/// What a look now and then saw last, to find a machine that goes round in circles.
#[derive(Default)]
struct Progress {
    now: Ps,
    moved_at: u64,
    /// Instructions committed and durable events.
    done: (u64, u64),
    done_at: u64,
    committed_at: u64,
}
impl Progress {
    /// After so many events, with so much done: why the machine is stuck, if it is.
    fn look(&mut self, now: Ps, events: u64, done: (u64, u64), unfinished: bool) -> Option<&'static str> {
        if done.0 != self.done.0 || !unfinished {
            self.committed_at = events;
        }
        if done != self.done {
            (self.done, self.done_at) = (done, events);
        }
        if now != self.now {
            (self.now, self.moved_at) = (now, events);
        }
        if events - self.moved_at > LIVELOCK {
            return Some("time stands still: the same requests are refused over and over");
        }
        if events - self.committed_at > NO_COMMIT {
            return Some("nothing commits, whatever becomes durable: the same lines are written over and over");
        }
        let circles = events - self.done_at > NO_PROGRESS;
        circles.then_some("nothing commits and nothing becomes durable: the same is asked over and over")
    }
}

/// How many events have happened.
struct Count {
    /// How many will have at the next look, and how many are left until then.
    at_look: u64,
    left: u64,
}
impl Default for Count {
    fn default() -> Count {
        Count {
            at_look: LOOK_EVERY,
            left: LOOK_EVERY,
        }
    }
}
impl Count {
    fn all(&self) -> u64 {
        self.at_look - self.left
    }
    /// Another one happens: whether that is the time for a look.
    #[inline]
    fn next_is_looked_at(&mut self) -> bool {
        self.left -= 1;
        let looks = self.left == 0;
        if looks {
            self.at_look += LOOK_EVERY;
            self.left = LOOK_EVERY;
        }
        looks
    }
}

impl Machine {
    /// Runs to the end of every thread, then drains the design.
    ///
    /// # Errors
    /// [`super::Stuck`] when nothing can happen although threads have not finished.
    pub fn run(self) -> Result<RunReport, RunError> {
        self.run_until(None)
    }

    /// The same, given up when the host's clock passes `deadline`.
    ///
    /// # Errors
    /// As [`Machine::run`]; [`RunError::OutOfTime`] at the deadline; [`RunError::OutOfWork`] when a thread has nothing left to do
    /// before the time to measure has passed.
    pub fn run_until(mut self, deadline: Option<Instant>) -> Result<RunReport, RunError> {
        for t in &self.threads {
            self.rest.schedule(Ps::ZERO, t.id, Turn::Dispatch);
        }
        self.start_network();
        let mut events = Count::default();
        let (mut drained, mut end) = (false, None);
        let mut progress = Progress::default();
        // With so many unfinished threads there is more to do between events: always, if the run is watched.
        let busy_between = if self.watch.is_some() { usize::MAX } else { 0 };
        loop {
            if self.rest.sys.unfinished <= busy_between {
                if self.watch.is_some() {
                    self.look_around(events.all())?;
                }
                if self.rest.sys.unfinished == 0 && self.network_finished() {
                    end.get_or_insert_with(|| self.threads.iter().filter_map(|h| h.finished).max().unwrap_or_default());
                    let (design, mut cx) = self.rest.ask();
                    drained = design.drain(&mut cx);
                    self.after();
                }
            }
            let Some((now, event)) = self.rest.sys.events.pop() else {
                break;
            };
            if now >= self.stop_at {
                return self.stopped(events.all());
            }
            if events.next_is_looked_at() {
                self.look(&mut progress, events.all(), deadline)?;
            }
            self.handle(event.unpack());
            self.after();
        }
        let unfinished = self.rest.sys.unfinished > 0 || !self.network_finished();
        if unfinished || !drained {
            let why = if unfinished {
                "nothing is scheduled"
            } else {
                "the design never finished draining"
            };
            return Err(self.stuck(why).into());
        }
        if self.measured.is_some() {
            return Err(RunError::OutOfWork);
        }
        Ok(self.report(end.unwrap_or_default(), events.all()))
    }
    /// Looks at the host's clock, and whether the machine goes round in circles.
    #[cold]
    fn look(&mut self, progress: &mut Progress, events: u64, deadline: Option<Instant>) -> Result<(), RunError> {
        stop::look();
        if deadline.is_some_and(|d| Instant::now() > d) {
            return Err(RunError::OutOfTime);
        }
        let (now, unfinished) = (self.rest.sys.now(), self.rest.sys.unfinished > 0);
        let counted = events * if self.rest.sys.recorder.is_some() { CHECKED } else { 1 };
        match progress.look(now, counted, self.done(), unfinished) {
            Some(why) => Err(self.stuck(why).into()),
            None => Ok(()),
        }
    }
    /// Instructions committed, and durable events.
    fn done(&self) -> (u64, u64) {
        (
            self.threads.iter().map(|t| t.instructions).sum(),
            self.rest.sys.log.len(),
        )
    }
    /// The time to measure has passed.
    fn stopped(self, events: u64) -> Result<RunReport, RunError> {
        if self.threads.iter().any(|t| t.finished.is_some()) {
            return Err(RunError::OutOfWork);
        }
        let end = self.stop_at;
        Ok(self.report(end, events))
    }

    #[inline(always)] // unpacking an event and telling what it is become one step
    fn handle(&mut self, ev: Ev) {
        match ev {
            Ev::Thread(hw_thread, turn) => self.turn(hw_thread, turn),
            Ev::LoadAgain(hw_thread, at) => {
                self.turn(hw_thread, Turn::Load(at));
                self.after();
                self.serve_starved(self.rest.sys.spec.core_of(hw_thread));
            }
            Ev::Hierarchy(step) => self.hierarchy_step(step),
            Ev::Memory(side) => {
                let now = self.rest.sys.now();
                if self.rest.sys.port(side).scheduled == Some(now) {
                    self.memory(side);
                }
            }
            Ev::Timer(tag) => {
                let (design, mut cx) = self.rest.ask();
                design.timer(&mut cx, tag);
            }
            Ev::Network(step) => self.network_step(step),
        }
    }

    /// A thread does what it scheduled.
    #[inline(always)] // what it is, is known from the event
    fn turn(&mut self, hw_thread: HwThread, turn: Turn) {
        // Asked before anything else is looked at: so it is one step with telling events apart.
        match turn {
            Turn::Dispatch => self.with_thread(hw_thread, |thread, out| thread.start(out)),
            Turn::Load(at) => self.loads(hw_thread, at),
            Turn::Stores => self.with_thread(hw_thread, |thread, out| thread.stores_turn(out)),
            Turn::Head => self.with_thread(hw_thread, |thread, out| thread.head(out)),
        }
        self.check_warm_up();
    }
    /// A load accesses the L1, and then those of its run: each as if it were an event of its own.
    #[inline(always)]
    fn loads(&mut self, hw_thread: HwThread, mut at: u32) {
        loop {
            let (thread, out) = self.thread(hw_thread);
            let behind = thread.load_turn(out, at);
            if behind == 0 {
                return;
            }
            self.check_warm_up();
            self.after();
            self.joined += 1;
            at = at.wrapping_add(behind);
        }
    }
    #[inline(always)]
    fn with_thread(&mut self, hw_thread: HwThread, act: impl FnOnce(&mut HardwareThread, &mut Rest)) {
        let (thread, out) = self.thread(hw_thread);
        act(thread, out);
    }

    /// Asks again for the threads that an event's hooks kicked.
    #[inline]
    fn after(&mut self) {
        if (self.rest.sys.kicked | self.rest.sys.released) != 0 {
            self.follow_up();
        }
    }
    #[inline(never)] // seldom needed, and large: with it inlined every event would save and restore its registers
    fn follow_up(&mut self) {
        while (self.rest.sys.kicked | self.rest.sys.released) != 0 {
            let kicked = std::mem::take(&mut self.rest.sys.kicked);
            let released = std::mem::take(&mut self.rest.sys.released);
            let threads = 1u64.checked_shl(self.threads.len() as u32);
            let mut hw_threads = kicked & threads.map_or(u64::MAX, |t| t - 1);
            while hw_threads != 0 {
                self.threads[hw_threads.trailing_zeros() as usize].ask_again(&mut self.rest);
                hw_threads &= hw_threads - 1;
                self.check_warm_up();
            }
            self.resume_ports(kicked);
            if released != 0 {
                self.retry_hierarchy(released);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a machine says at its second look, after so many events and with so much done since the first.
    fn second_look(events: u64, now: u64, done: (u64, u64), unfinished: bool) -> Option<&'static str> {
        let mut progress = Progress::default();
        assert_eq!(progress.look(Ps(1), 1, (5, 5), unfinished), None);
        progress.look(Ps(now), events, done, unfinished)
    }

    #[test]
    fn a_machine_that_goes_round_in_circles_is_stuck() {
        let found = |events, now, done| second_look(events, now, done, true).is_some();
        assert!(found(LIVELOCK + 2, 1, (6, 5)) && !found(LIVELOCK + 2, 2, (6, 5)));
        assert!(found(NO_PROGRESS + 2, 2, (5, 5)) && !found(NO_PROGRESS + 2, 2, (5, 6)));
        assert!(found(NO_COMMIT + 2, 2, (5, 900)) && !found(NO_COMMIT + 2, 2, (6, 900)));
        assert_eq!(second_look(NO_COMMIT + 2, 2, (5, 900), false), None);
    }
}
