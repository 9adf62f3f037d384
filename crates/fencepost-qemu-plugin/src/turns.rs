//! The turns of this process's threads: when one begins, and how long it is.

use crate::guest_recorder::Recorder;
use crate::work::{EXECUTED, KEPT, progress};
use fencepost_record::{Schedule, Turn};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;

/// Longest turns that others have while a thread stands back: enough to see that one of them only waits for it.
const TURNS_BACK: u64 = 2;
/// Longest turns until a thread begins that begins together with others.
const TURNS_TOGETHER: u64 = 20;

thread_local! {
    static TURN: RefCell<Option<Turn>> = const { RefCell::new(None) };
    /// The ticket of this thread's turn; 0 without one.
    static MINE: Cell<u32> = const { Cell::new(0) };
    static SINCE: Cell<u64> = const { Cell::new(0) };
    static WORK: Cell<u64> = const { Cell::new(0) };
    /// Whether this thread was seen within the region of interest; unknown for a new one.
    static INSIDE: Cell<Option<bool>> = const { Cell::new(None) };
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

impl Recorder {
    /// Acts on this thread's place among those that take turns.
    pub(crate) fn turn<R>(&self, act: impl FnOnce(&mut Turn) -> R) -> R {
        TURN.with(|t| {
            act(t
                .borrow_mut()
                .get_or_insert_with(|| Turn::new(self.shared, self.options.schedule, progress)))
        })
    }
    /// Makes it this thread's turn, if it is not.
    pub(crate) fn take(&self) {
        let mine = MINE.get();
        if mine == 0 || !self.shared.is_turn_of(mine) {
            MINE.set(self.turn(Turn::take));
            SINCE.set(EXECUTED.load(Relaxed));
        }
        let inside = self.shared.inside.load(Relaxed) != 0;
        // What came before the region of interest costs no time.
        if INSIDE.replace(Some(inside)) == Some(false) && inside {
            self.work();
        }
    }
    /// Others may go on.
    pub(crate) fn leave(&self) {
        self.give(|t| t.leave());
    }
    /// The same, before a call in which this thread may sleep.
    pub(crate) fn leave_asleep(&self) {
        self.give(|t| t.leave_asleep());
    }
    fn give(&self, give: impl FnOnce(&mut Turn)) {
        if MINE.replace(0) != 0 {
            WORK.set(WORK.get() + EXECUTED.load(Relaxed).saturating_sub(SINCE.get()));
            self.turn(give);
        }
    }
    /// This program becomes another.
    pub(crate) fn forget(&self, vcpu: u32) {
        self.take();
        self.lock().forget(vcpu);
        self.leave();
        self.turn(Turn::forget);
    }
    /// A forked process begins, in its only thread.
    pub(crate) fn forked(&self) {
        MINE.set(0);
        KEPT.store(false, Relaxed);
        self.turn(Turn::forked);
        let process = self.shared.join();
        self.take();
        self.restart(process);
    }
    /// Instructions of this thread since it was last asked.
    pub(crate) fn work(&self) -> u64 {
        let now = EXECUTED.load(Relaxed);
        WORK.replace(0) + now.saturating_sub(SINCE.replace(now))
    }
    /// After an access. Where threads meet, as at locks, another one is likely to come in: what a thread does too late shows there.
    pub(crate) fn count_turn(&self, meets: bool) {
        const ONE_IN: u64 = 4;
        if meets && self.options.schedule != Schedule::Fair && self.turn(|t| t.chance(ONE_IN)) == 0 {
            LEFT.set(0);
        }
        match LEFT.get() {
            0 => {
                let turn = self.quantum();
                self.shared.stepped(turn);
                LEFT.set(turn);
                WORK.set(WORK.get() + EXECUTED.load(Relaxed).saturating_sub(SINCE.get()));
                self.turn(Turn::pass);
                SINCE.set(EXECUTED.load(Relaxed));
            }
            n => LEFT.set(n - 1),
        }
    }
    /// Before something becomes durable: what others do while it is not is where mistakes show.
    pub(crate) fn before_durable(&self) {
        if self.shared.several.load(Relaxed) != 0 {
            WORK.set(WORK.get() + EXECUTED.load(Relaxed).saturating_sub(SINCE.get()));
            self.turn(|t| t.stand_back(TURNS_BACK * self.options.quantum));
            SINCE.set(EXECUTED.load(Relaxed));
        }
    }
    /// A thread was started, and waits for its first turn.
    pub(crate) fn may_begin_later(&self, thread: u32) {
        self.turn(|t| t.begin_later(thread, TURNS_TOGETHER * self.options.quantum));
    }
    /// Memory callbacks until another thread may have its turn, by chance. With odd seeds short ones are as likely as long ones, so
    /// that threads mix; with even ones any number is, so that a thread that comes in where threads meet also gets somewhere.
    fn quantum(&self) -> u64 {
        let most = self.options.quantum.max(1);
        match self.options.schedule {
            Schedule::Fair => self.options.quantum,
            Schedule::Random(seed) if seed % 2 == 0 => self.turn(|t| 1 + t.chance(most)),
            Schedule::Random(_) => self.turn(|t| {
                let scale = 1 << t.chance(u64::from(most.ilog2()) + 1);
                1 + t.chance(scale)
            }),
        }
    }
    /// At the end of the program, or of a thread.
    pub(crate) fn end(&self) {
        self.leave();
        self.turn(Turn::forget);
    }
}
