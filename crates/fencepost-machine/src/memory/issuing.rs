//! Which epochs of the write queues have their turn, and in which banks that changed.

use super::writes::{Entry, Slot, Writes};
use fencepost_kernel::planted;

impl Writes {
    /// Whether the epoch of an entry has its turn.
    pub(super) fn epoch_may_issue(&self, e: &Entry) -> bool {
        let passes = planted!("memory.epoch-passed", "a write waits for the writes of earlier epochs");
        if passes {
            return true;
        }
        !e.in_epoch || self.scheduler_orders || e.write.epoch == self.queues[usize::from(e.write.queue)].issuing
    }
    /// Remembers where turns changed, until [`Writes::epochs_moved`] tells.
    pub(super) fn note_moved(&mut self, banks: Option<u64>) {
        if let Some(banks) = banks {
            *self.epochs_moved.get_or_insert(0) |= banks;
        }
    }
    /// Where other epochs than at the last call may issue: the banks that it concerns, a bit each, whatever their channel.
    pub(super) fn epochs_moved(&mut self) -> Option<u64> {
        self.epochs_moved.take()
    }
    /// A write of an entry waits for a bank.
    pub(super) fn at_bank(&mut self, slot: Slot, bank: u16) {
        let e = &self.entries[slot as usize];
        if e.in_epoch {
            self.queues[usize::from(e.write.queue)].at_bank(e.write.epoch, bank);
        }
    }
}
