//! Who waits in a system call, and who comes out of one: the order of threads must not depend on who is quick.

use crate::files::descriptor;
use crate::guest;
use crate::recorder::Recorder;
use fencepost_native::record::{Effect, Waits, effect, waits};

impl Recorder {
    /// Whether the thread may wait for others in a system call.
    pub fn may_wait(&self, number: i64, arguments: &[u64; 6]) -> bool {
        match waits(number, arguments) {
            Waits::Never | Waits::Wakes => false,
            Waits::Perhaps => true,
            Waits::UnlessFile => !std::fs::metadata(descriptor(arguments[0])).is_ok_and(|m| m.is_file()),
            Waits::WhileEqual => guest::value(arguments[0], 4) as u32 == arguments[2] as u32,
        }
    }
    /// Those that a call has woken or started are there before anybody goes on.
    pub fn settle(&self, number: i64, arguments: &[u64; 6], before: u32, result: i64) {
        let more = match (effect(number), waits(number, arguments)) {
            (Effect::Starts, _) => 1,
            (_, Waits::Wakes) => result as u32,
            _ => 0,
        };
        if more > 0 {
            self.turn(|t| t.settle(before, more));
        }
    }
}
