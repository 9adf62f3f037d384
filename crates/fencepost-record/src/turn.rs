//! One thread at a time, of all processes: the order of recorded events is then the order in which they took effect.
//!
//! A thread that ends without giving its turn back is noticed by those that wait.

use super::exclusion::{Guard, lives, runs, sleep, state};
use super::schedule::Schedule;
use super::shared::{GRANTED, IDLE, SLOTS, Shared, Slot, WAITING};
use rustix::process::getpid;
use rustix::thread::futex::{Flags, wake};
use rustix::thread::gettid;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// Longest time that a turn is held up for a thread that runs and does not come.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two looks at such a thread.
const SHORT: Duration = Duration::from_micros(50);

/// Who is woken or started by whoever has the turn.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Woken {
    /// As many as make this many that wait for the turn.
    More(u32),
    /// A thread that has just been started, by its number in the system.
    Thread(u32),
    /// Perhaps some of those that sleep.
    Some,
}

/// A thread's place among those that take turns. Not shared between threads.
#[derive(Debug)]
pub struct Turn {
    shared: &'static Shared,
    schedule: Schedule,
    progress: fn() -> Option<u64>,
    slot: Option<usize>,
}

impl Turn {
    /// A thread without a turn. `progress` is a number that changes whenever a thread of this process works, or `None` while the
    /// holder of the turn may take its time.
    pub fn new(shared: &'static Shared, schedule: Schedule, progress: fn() -> Option<u64>) -> Turn {
        Turn {
            shared,
            schedule,
            progress,
            slot: None,
        }
    }
    /// Waits for the turn. The ticket that [`Shared::is_turn_of`] knows it by.
    pub fn take(&mut self) -> u32 {
        let ticket = self.wait();
        self.see_leaver_asleep();
        ticket
    }
    fn wait(&mut self) -> u32 {
        let index = self.slot();
        let ticket = index as u32 + 1;
        let guard = Guard::new(self.shared);
        let holder = self.shared.holder.load(Relaxed);
        if holder == 0 || holder == ticket {
            self.shared.holder.store(ticket, Relaxed);
            return ticket;
        }
        self.queue(index);
        drop(guard);
        self.sleep_until_granted(index);
        ticket
    }
    /// Counts this thread among those that wait. Under the lock.
    fn queue(&self, index: usize) {
        let slot = &self.shared.slots[index];
        slot.ticket
            .store(self.shared.tickets.fetch_add(1, Relaxed) + 1, Relaxed);
        slot.state.store(WAITING, Release);
        self.shared.waiting.fetch_add(1, Relaxed);
    }
    fn sleep_until_granted(&self, index: usize) {
        let slot = &self.shared.slots[index];
        let mut seen = None;
        while slot.state.load(Acquire) != GRANTED {
            if !sleep(&slot.state, WAITING) {
                let now = (self.progress)();
                self.relieve(now.is_some() && now == seen);
                seen = now;
            }
        }
        slot.state.store(IDLE, Relaxed);
    }
    /// Gives it back, if it was not taken away.
    pub fn leave(&self) {
        let _guard = Guard::new(self.shared);
        if self.slot.is_some_and(|s| self.shared.is_turn_of(s as u32 + 1)) {
            self.grant();
        }
    }
    /// Lets the others have it, if a thread waits that does not stand back, and takes it again.
    pub fn pass(&mut self) {
        if self.shared.waiting.load(Relaxed) == 0 {
            return;
        }
        let index = self.slot();
        let guard = Guard::new(self.shared);
        if self.shared.is_turn_of(index as u32 + 1) {
            let Some(next) = self.pick(&self.forward()) else {
                return;
            };
            // It waits before the next one begins: that one may soon pass it on, and must find who there is.
            self.queue(index);
            self.hand_to(Some(next));
            drop(guard);
            self.sleep_until_granted(index);
        } else {
            drop(guard);
            self.wait();
        }
        self.see_leaver_asleep();
    }
    /// Where a thread is about to make something durable: now and then, by the schedule, others go on before it does, until they
    /// have made something durable themselves, or have taken so many steps, or all wait.
    pub fn stand_back(&mut self, steps: u64) {
        if self.shared.waiting.load(Relaxed) == 0 {
            return;
        }
        let index = self.slot();
        if !self.shared.is_turn_of(index as u32 + 1) {
            return;
        }
        // Where all others stand back already, nobody would go on instead: it was their turn to let this one through.
        if self.forward().is_empty() {
            return;
        }
        if let Some(persists) = self.schedule.persists_to_await(self.shared) {
            self.shared.slots[index].stand_back(self.shared, persists, steps);
            let guard = Guard::new(self.shared);
            let next = self.next();
            self.queue(index);
            self.hand_to(next);
            drop(guard);
            self.sleep_until_granted(index);
            self.see_leaver_asleep();
        }
    }
    /// A thread that was just started, and waits for its first turn, lets others go on for so many steps, or until all wait.
    pub fn begin_later(&self, thread: u32, steps: u64) {
        if let Some(slot) = self.slot_of(thread).filter(|_| self.schedule.begins_together()) {
            slot.stand_back(self.shared, u64::MAX, steps);
        }
    }
    /// Gives the turn back before a call in which this thread may wait: whoever goes on sees it asleep, or back.
    pub fn leave_asleep(&self) {
        let own = self.slot.map_or(0, |s| self.shared.slots[s].thread.load(Relaxed));
        self.shared.leaver.store(own, Relaxed);
        self.leave();
    }
    /// Waits until those that this thread has woken or started wait for their turn, and says so: who comes next then depends on the
    /// schedule, and not on who is quick. Whoever is asleep all the same is not waited for.
    pub fn settle(&self, woken: Woken) {
        /// Looks at which nobody ran, until that is taken for granted: where somebody must come, and where somebody might.
        const LOOKS: [u32; 2] = [200, 3];
        let mut quiet = 0;
        let looks = match woken {
            Woken::Some => LOOKS[1],
            _ => LOOKS[0],
        };
        let begun = Instant::now();
        while quiet < looks && begun.elapsed() < PATIENCE {
            let there = match woken {
                Woken::More(count) => self.waiting() >= count,
                Woken::Thread(thread) => self.waits(thread),
                Woken::Some => false,
            };
            if there {
                return;
            }
            let started = matches!(woken, Woken::Thread(thread) if runs(thread));
            quiet = if started || self.another_runs() { 0 } else { quiet + 1 };
            std::thread::sleep(SHORT);
        }
    }
    /// Whether a thread is on its way: neither asleep nor waiting for its turn.
    fn another_runs(&self) -> bool {
        let holder = self.shared.holder.load(Relaxed);
        let out = |(i, s): &(usize, &Slot)| *i as u32 + 1 != holder && s.state.load(Relaxed) == IDLE;
        let slots = self.shared.slots.iter().enumerate().filter(out);
        slots.map(|(_, s)| s.thread.load(Relaxed)).any(|t| t != 0 && runs(t))
    }
    fn waits(&self, thread: u32) -> bool {
        let slot = self.slot_of(thread);
        slot.is_some_and(|s| s.state.load(Relaxed) == WAITING)
    }
    fn slot_of(&self, thread: u32) -> Option<&'static Slot> {
        let slots = self.shared.slots.iter();
        slots.into_iter().find(|s| s.thread.load(Relaxed) == thread)
    }
    /// Whoever had the turn before is asleep, or waits for it.
    fn see_leaver_asleep(&self) {
        let leaver = self.shared.leaver.swap(0, Relaxed);
        let own = self.slot.map_or(0, |s| self.shared.slots[s].thread.load(Relaxed));
        let begun = Instant::now();
        while leaver != 0 && leaver != own && runs(leaver) && !self.waits(leaver) && begun.elapsed() < PATIENCE {
            std::thread::sleep(SHORT);
        }
    }
    /// Threads that wait for the turn.
    pub fn waiting(&self) -> u32 {
        self.shared.waiting.load(Relaxed)
    }
    /// The thread ends, or becomes another process: it has no turn, and wants none.
    pub fn forget(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.shared.slots[slot].thread.store(0, Release);
        }
    }
    /// After a fork, in the child: the slot belongs to the parent.
    pub fn forked(&mut self) {
        self.slot = None;
    }
    /// A number below `n`, from the schedule's seed; for the holder of the turn.
    pub fn chance(&self, n: u64) -> u64 {
        self.schedule.chance(self.shared, n)
    }

    /// This thread's slot, found at its first turn.
    fn slot(&mut self) -> usize {
        if let Some(slot) = self.slot {
            return slot;
        }
        let me = gettid().as_raw_nonzero().get() as u32;
        loop {
            let free = |s: &Slot| s.thread.compare_exchange(0, me, AcqRel, Relaxed).is_ok();
            if let Some(slot) = self.shared.slots.iter().position(free) {
                self.shared.slots[slot].state.store(IDLE, Relaxed);
                self.shared.slots[slot].come_forward();
                self.shared.slots[slot]
                    .process
                    .store(getpid().as_raw_nonzero().get() as u32, Relaxed);
                self.slot = Some(slot);
                return slot;
            }
            // More threads than slots: some have ended.
            for slot in self.shared.slots.iter().filter(|s| !lives(s.thread.load(Relaxed))) {
                slot.thread.store(0, Release);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    /// Hands the turn to one that waits, or to nobody. Under the lock.
    fn grant(&self) {
        self.hand_to(self.next());
    }
    /// One that waits; those that stand back come forward where nobody else does.
    fn next(&self) -> Option<usize> {
        self.pick(&self.forward()).or_else(|| {
            let all = self.waiting_slots();
            all.iter().for_each(|i| self.shared.slots[*i].come_forward());
            self.pick(&all)
        })
    }
    fn waiting_slots(&self) -> Vec<usize> {
        let waits = |i: &usize| self.shared.slots[*i].state.load(Relaxed) == WAITING;
        match self.shared.waiting.load(Relaxed) {
            0 => Vec::new(),
            _ => (0..SLOTS).filter(waits).collect(),
        }
    }
    /// Those that wait and do not stand back.
    fn forward(&self) -> Vec<usize> {
        let mut waiting = self.waiting_slots();
        waiting.retain(|i| !self.shared.slots[*i].is_back(self.shared));
        waiting
    }
    fn pick(&self, waiting: &[usize]) -> Option<usize> {
        match self.schedule {
            Schedule::Fair => {
                let ticket = |i: &&usize| self.shared.slots[**i].ticket.load(Relaxed);
                waiting.iter().min_by_key(ticket).copied()
            }
            Schedule::Random(_) if waiting.is_empty() => None,
            Schedule::Random(_) => Some(waiting[self.chance(waiting.len() as u64) as usize]),
        }
    }
    fn hand_to(&self, next: Option<usize>) {
        self.shared.holder.store(next.map_or(0, |i| i as u32 + 1), Relaxed);
        if let Some(slot) = next.map(|i| &self.shared.slots[i]) {
            self.shared.waiting.fetch_sub(1, Relaxed);
            slot.come_forward();
            slot.state.store(GRANTED, Release);
            let _ = wake(&slot.state, Flags::empty(), 1);
        }
    }
    /// Takes the turn from a holder that has ended; or that stands still, because something waits for all threads of its process
    /// to stop, those that wait for their turn among them.
    fn relieve(&self, still: bool) {
        let _guard = Guard::new(self.shared);
        let Some(holder) = (self.shared.holder.load(Relaxed) as usize).checked_sub(1) else {
            self.grant();
            return;
        };
        let slot = &self.shared.slots[holder];
        if !lives(slot.thread.load(Relaxed)) {
            slot.state.store(IDLE, Relaxed);
            slot.thread.store(0, Release);
            self.grant();
        } else if still
            && slot.process.load(Relaxed) == getpid().as_raw_nonzero().get() as u32
            && state(slot.thread.load(Relaxed)) == Some('S')
        {
            // On a busy host it may run and have no processor.
            self.grant();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;

    fn shared(name: &str) -> &'static Shared {
        let path = std::env::temp_dir().join(format!("fencepost-turn-{}-{name}", std::process::id()));
        let shared = Shared::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        shared
    }
    /// Four threads each note their own number while it is their turn; nobody else is ever there, and all come to an end.
    #[test]
    fn one_thread_at_a_time_and_nobody_starves() {
        for schedule in [Schedule::Fair, Schedule::Random(7)] {
            let shared = shared(&format!("{schedule:?}"));
            let (inside, notes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
            std::thread::scope(|s| {
                for t in 0..4 {
                    let (inside, notes) = (&inside, &notes);
                    s.spawn(move || {
                        let mut turn = Turn::new(shared, schedule, || None);
                        turn.take();
                        for _ in 0..200 {
                            assert_eq!(inside.fetch_add(1, Relaxed), 0);
                            notes.lock().unwrap().push(t);
                            inside.fetch_sub(1, Relaxed);
                            turn.pass();
                        }
                        turn.leave();
                        turn.forget();
                    });
                }
            });
            let notes = notes.into_inner().unwrap();
            assert!((0..4).all(|t| notes.iter().filter(|n| **n == t).count() == 200));
            assert_eq!(shared.holder.load(Relaxed), 0);
        }
    }
    /// The fair schedule gives the turn to who has waited longest, in whatever slots threads are.
    #[test]
    fn the_oldest_ticket_goes_first() {
        let shared = shared("tickets");
        for (slot, ticket) in [(0, 7), (1, 5), (2, 9)] {
            shared.slots[slot].ticket.store(ticket, Relaxed);
        }
        let turn = Turn::new(shared, Schedule::Fair, || None);
        assert_eq!(turn.pick(&[0, 1, 2]), Some(1));
        assert_eq!(turn.pick(&[0, 2]), Some(0));
        assert_eq!(turn.pick(&[2]), Some(2));
        assert_eq!(turn.pick(&[]), None);
    }
    /// The holder waits for those that wait for the turn: it loses it, notices, and waits for its next one.
    #[test]
    fn a_holder_that_stands_still_is_relieved() {
        let shared = shared("still");
        let mut first = Turn::new(shared, Schedule::Fair, || Some(1));
        let ticket = first.take();
        std::thread::spawn(|| {
            let mut second = Turn::new(shared, Schedule::Fair, || Some(1));
            let ticket = second.take();
            assert!(shared.is_turn_of(ticket));
            second.leave();
        })
        .join()
        .unwrap();
        assert!(!shared.is_turn_of(ticket));
        first.leave();
        assert!(first.take() == ticket && shared.is_turn_of(ticket));
    }
    #[test]
    fn a_thread_that_ends_with_the_turn_leaves_it_to_others() {
        let shared = shared("ended");
        std::thread::spawn(|| Turn::new(shared, Schedule::Fair, || None).take())
            .join()
            .unwrap();
        let mut turn = Turn::new(shared, Schedule::Fair, || None);
        turn.take();
        turn.leave();
        assert_eq!(shared.holder.load(Relaxed), 0);
    }
}
