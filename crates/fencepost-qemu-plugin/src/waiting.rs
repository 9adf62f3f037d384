//! Who waits in a system call, and who comes out of one: the order of threads must not depend on who is quick.

use crate::files::descriptor;
use crate::guest;
use crate::guest_recorder::Recorder;
use crate::work::KEPT;
use fencepost_record::{Effect, Waits, Woken, effect, waits};
use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

/// Dropped when its thread has ended in the system: the emulator has told those that wait for it by then.
struct End(&'static Recorder);
impl Drop for End {
    fn drop(&mut self) {
        self.0.gone();
    }
}
thread_local! {
    static END: RefCell<Option<End>> = const { RefCell::new(None) };
}

impl Recorder {
    /// This thread is about to end, and gives its turn back once it has.
    pub(crate) fn at_the_end(&'static self) {
        END.with(|end| end.replace(Some(End(self))));
    }
    /// Whether the thread may wait for others in a system call.
    pub(crate) fn may_wait(&self, number: i64, arguments: &[u64; 6]) -> bool {
        match waits(number, arguments) {
            Waits::Never | Waits::Wakes | Waits::Feeds => false,
            // A thread that ends has its turn until it has told those that wait for its end.
            Waits::Perhaps => !matches!(effect(number), Effect::Ends | Effect::Exits),
            Waits::UnlessFile => !std::fs::metadata(descriptor(arguments[0])).is_ok_and(|m| m.is_file()),
            Waits::WhileEqual => guest::value(arguments[0], 4) as u32 == arguments[2] as u32,
        }
    }
    /// Those that a call has woken or started are there before any thread goes on.
    pub(crate) fn settle(&self, number: i64, arguments: &[u64; 6], before: u32, result: u64) {
        if self.shared.several.load(Relaxed) == 0 {
            return;
        }
        let woken = match (effect(number), waits(number, arguments)) {
            (Effect::Starts, _) => Woken::Thread(result as u32),
            (_, Waits::Wakes) if result > 0 => Woken::More(before.saturating_add(result as u32)),
            (_, Waits::Feeds) if !std::fs::metadata(descriptor(arguments[0])).is_ok_and(|m| m.is_file()) => Woken::Some,
            _ => return,
        };
        self.settled(woken);
    }
    /// Waits for those that are woken; nobody takes the turn away meanwhile.
    fn settled(&self, woken: Woken) {
        let kept = KEPT.swap(true, Relaxed);
        self.turn(|t| t.settle(woken));
        KEPT.store(kept, Relaxed);
    }
    /// A thread has ended, for the program too.
    pub(crate) fn gone(&self) {
        if self.shared.several.load(Relaxed) != 0 {
            self.settled(Woken::Some);
        }
        self.end();
    }
}
