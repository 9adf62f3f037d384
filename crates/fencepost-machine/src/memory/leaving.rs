//! Entries of the write queues that go on to a memory module, and may be parked there.

use super::writes::{Origin, Slot, State, Writes};

impl Writes {
    /// Whether epochs and same-line order let a queued write leave for the memory module, where its line's writes stay
    /// in order.
    pub(super) fn may_leave(&self, slot: Slot) -> bool {
        let e = &self.entries[slot as usize];
        let state = |o: Slot| self.entries[o as usize].state;
        let older_left = e
            .older
            .is_none_or(|o| matches!(state(o), State::Left | State::Parked | State::Issued));
        older_left && self.epoch_may_issue(e)
    }
    /// A queued write leaves for the memory module; its place in the controller's queue is free.
    pub(super) fn leave(&mut self, slot: Slot) {
        self.entries[slot as usize].state = State::Left;
        self.release_slot(slot);
    }
    /// A write that left is parked in the module's cache: merged into an older parked write to its line (false: its own
    /// entry is free), or as an entry of its own. Its epoch is over as far as the hardware knows.
    pub(super) fn park(&mut self, slot: Slot) -> bool {
        self.leave_epoch(slot, true);
        let e = &self.entries[slot as usize];
        let queue = usize::from(e.write.queue);
        let parked = e.older.filter(|o| self.entries[*o as usize].state == State::Parked);
        let Some(older) = parked else {
            self.entries[slot as usize].state = State::Parked;
            self.queues[queue].total -= 1;
            return true;
        };
        let (write, mut origins) = (e.write, std::mem::take(&mut self.entries[slot as usize].merged));
        let own = Origin {
            id: self.entries[slot as usize].id,
            hw_thread: write.hw_thread,
            cause: write.cause,
        };
        let o = &mut self.entries[older as usize];
        o.write.data = write.data;
        o.merged.push(own);
        o.merged.append(&mut origins);
        self.entries[slot as usize].merged = origins;
        self.queues[queue].arrived -= 1;
        self.forget(slot);
        false
    }
    /// A parked write is to be written to the medium.
    pub(super) fn unpark(&mut self, slot: Slot) {
        let e = &mut self.entries[slot as usize];
        e.state = State::Left;
        self.queues[usize::from(e.write.queue)].total += 1;
    }
    /// Whether a write is parked in the module's cache.
    pub(super) fn is_parked(&self, slot: Slot) -> bool {
        self.entries[slot as usize].state == State::Parked
    }
    /// Whether a newer write to the line, of a queue that passes the cache by, waits in the module.
    pub(super) fn blocks_passing(&self, slot: Slot) -> bool {
        let newer = self.entries[slot as usize].newer.map(|n| &self.entries[n as usize]);
        newer.is_some_and(|e| e.state == State::Left && e.write.queue != 0)
    }
    /// Writes are durable only in the medium, although the controller answers for accepted ones.
    pub(super) fn durable_in_medium_only(&mut self) {
        self.durable_on_accept = false;
    }
}
