//! The processes among which turns go round.

use super::exclusion::{Guard, lives};
use super::shared::{IDLE, Shared, WAITING};
use rustix::process::getpid;
use std::sync::atomic::Ordering::{Relaxed, Release};

impl Shared {
    /// A process begins, perhaps in place of another program: what that one's threads held or waited for is gone.
    /// Its number, from 1.
    pub fn join(&self) -> u32 {
        let number = self.processes.fetch_add(1, Relaxed) + 1;
        let me = getpid().as_raw_nonzero().get() as u32;
        let guard = Guard::new(self);
        for (i, slot) in self.slots.iter().enumerate() {
            if slot.process.load(Relaxed) != me || slot.thread.load(Relaxed) == 0 {
                continue;
            }
            if slot.state.swap(IDLE, Relaxed) == WAITING {
                self.waiting.fetch_sub(1, Relaxed);
            }
            slot.thread.store(0, Release);
            if self.holder.load(Relaxed) == i as u32 + 1 {
                self.holder.store(0, Relaxed);
            }
        }
        drop(guard);
        number
    }
    /// Whether it is the turn of the thread with this ticket.
    pub fn is_turn_of(&self, ticket: u32) -> bool {
        self.holder.load(Relaxed) == ticket
    }
    /// Processes of the program that still live.
    pub fn living(&self) -> Vec<u32> {
        let threads = self.slots.iter().filter(|s| s.thread.load(Relaxed) != 0);
        let mut processes: Vec<u32> = threads.map(|s| s.process.load(Relaxed)).collect();
        processes.sort_unstable();
        processes.dedup();
        processes.retain(|p| lives(*p));
        processes
    }
}
