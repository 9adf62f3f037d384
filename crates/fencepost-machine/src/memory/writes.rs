//! The write queues: entries, epochs, same-line order and coalescing. Knows no banks and no clock.
//!
//! Three rules decide when a queued write may issue. *Epochs*: a write of epoch `e` waits until every write of an earlier epoch of its queue
//! is durable (or, with `ordered_issue`, has been issued; all writes take equally long from issue to durable, so none can then overtake).
//! *Same line*: a write waits until every older write to its line has been issued; they share a bank, so they become durable in order.
//! *Filter*: the design's own say, asked by the controller. [`Writes::push`] refuses the few combinations in which the first two could wait for each other.

mod sound;
use super::epochs::Queue;
use super::newest::Newest;
pub(super) use super::newest::Slot;
use super::request::{Epoch, QueuePlan, Write, WriteId};
use fencepost_kernel::{HwThread, LineAddr, LineData, WriteCause, decision, planted};

/// Why a write was not taken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum WriteRefusal {
    /// The queue has no free entry.
    Full,
    /// The queue is gated.
    Gated,
    /// An older write to the same line sits in a later epoch or in another queue; it must be durable first.
    SameLine,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// On its way to its queue.
    Transit,
    /// In the controller's queue.
    Queued,
    /// In the queues of the memory module.
    Left,
    /// In the module's volatile cache.
    Parked,
    /// On its way into the medium.
    Issued,
}

/// A write that was merged into an entry, or the entry's own.
#[derive(Copy, Clone, Debug)]
pub(super) struct Origin {
    /// Who waits for it.
    pub id: WriteId,
    /// Hardware thread it is charged to.
    pub hw_thread: Option<HwThread>,
    /// Why it is written.
    pub cause: WriteCause,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) write: Write,
    pub(super) id: WriteId,
    pub(super) state: State,
    /// Position in the order of arrival.
    accepted: u64,
    /// Neighbours among the entries of the same line, in the order in which they were pushed.
    pub(super) older: Option<Slot>,
    pub(super) newer: Option<Slot>,
    /// Writes merged into this entry, oldest first.
    pub(super) merged: Vec<Origin>,
    /// Whether the entry still counts in its epoch and in its queue's capacity.
    pub(super) in_epoch: bool,
    holds_slot: bool,
}

/// What became of an arriving write.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It waits in its own entry.
    Queued,
    /// It was merged into a queued write; its own entry is free.
    Merged,
}

/// All write queues of one controller.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    pub(super) entries: Vec<Entry>,
    free: Vec<Slot>,
    pub(super) queues: Vec<Queue>,
    newest: Newest,
    ordered_issue: bool,
    /// The design's scheduler keeps epochs in order.
    pub(super) scheduler_orders: bool,
    /// Durable on arrival: epochs end there.
    pub(super) durable_on_accept: bool,
    coalesce: bool,
    accepted: u64,
    /// Other epochs than before may issue, in these banks.
    pub(super) epochs_moved: Option<u64>,
}

impl Writes {
    /// Empty queues as `plan` asks for; `entries` is what it divides when it names no size.
    pub(super) fn new(plan: &QueuePlan, entries: u16, durable_on_accept: bool, coalesce: bool) -> Writes {
        let queues = u16::from(plan.queues.max(1));
        let capacity = plan.entries_each.unwrap_or(entries / queues).max(1);
        let mut all = vec![Queue::new(capacity); usize::from(queues)];
        if let Some(entries) = plan.default_entries {
            all[0] = Queue::new(entries.max(1));
        }
        let entries = all.iter().map(|q| usize::from(q.capacity)).sum();
        Writes {
            entries: Vec::with_capacity(entries),
            free: Vec::with_capacity(entries),
            queues: all,
            newest: Newest::new(entries),
            ordered_issue: plan.ordered_issue,
            scheduler_orders: plan.scheduler_orders,
            durable_on_accept,
            coalesce,
            accepted: 0,
            epochs_moved: None,
        }
    }

    /// Reserves an entry for a write that is on its way. Its epoch holds it from now on; an epoch number below the
    /// active one joins the active one.
    pub(super) fn push(&mut self, id: WriteId, mut write: Write) -> Result<Slot, WriteRefusal> {
        if let Some(refusal) = self.takes_none(write.queue) {
            return Err(refusal);
        }
        let older = self.newest.get(write.line);
        let q = &self.queues[usize::from(write.queue)];
        if let Some(e) = &mut write.epoch {
            *e = (*e).max(q.active());
            if !self.durable_on_accept && self.could_deadlock(older, write.queue, *e) {
                return Err(WriteRefusal::SameLine);
            }
        }
        let q = &mut self.queues[usize::from(write.queue)];
        q.used += 1;
        q.total += 1;
        if let Some(e) = write.epoch {
            q.join(e);
            let moved = q.find_issuing(self.ordered_issue);
            self.note_moved(moved);
        }
        let slot = self.take_entry(id, write, older);
        if let Some(o) = older {
            self.entries[o as usize].newer = Some(slot);
            self.newest.remove(write.line, o);
        }
        self.newest.insert(write.line, slot);
        Ok(slot)
    }
    /// Why a queue takes no write at all, if it does not.
    #[inline]
    pub(super) fn takes_none(&self, queue: u8) -> Option<WriteRefusal> {
        let q = &self.queues[usize::from(queue)];
        match q.gate_open {
            false => Some(WriteRefusal::Gated),
            true => (q.used >= q.capacity).then_some(WriteRefusal::Full),
        }
    }
    /// Whether an older write to the line would wait for the new one's epoch.
    fn could_deadlock(&self, mut older: Option<Slot>, queue: u8, epoch: Epoch) -> bool {
        while let Some(s) = older {
            let e = &self.entries[s as usize];
            let waits = match e.write.queue == queue {
                true => e.write.epoch > Some(epoch),
                false => e.state != State::Issued,
            };
            if decision!("memory.same-line-waits", e.in_epoch && waits) {
                return true;
            }
            older = e.older;
        }
        false
    }
    fn take_entry(&mut self, id: WriteId, write: Write, older: Option<Slot>) -> Slot {
        let slot = self.free.pop().unwrap_or(self.entries.len() as Slot);
        let merged = match self.entries.get_mut(slot as usize) {
            Some(e) => std::mem::take(&mut e.merged),
            None => Vec::new(),
        };
        let entry = Entry {
            write,
            id,
            state: State::Transit,
            accepted: 0,
            older,
            newer: None,
            merged,
            in_epoch: write.epoch.is_some(),
            holds_slot: true,
        };
        match self.entries.get_mut(slot as usize) {
            Some(e) => *e = entry,
            None => self.entries.push(entry),
        }
        slot
    }

    /// A write on its way reaches its queue: it is accepted, and merged into an older one where that is allowed.
    pub(super) fn arrive(&mut self, slot: Slot) -> Arrival {
        self.accepted += 1;
        let accepted = self.accepted;
        let e = &mut self.entries[slot as usize];
        e.state = State::Queued;
        e.accepted = accepted;
        let queue = usize::from(e.write.queue);
        if self.durable_on_accept {
            self.leave_epoch(slot, true);
        }
        if decision!("memory.write-merged", self.try_merge(slot)) {
            return Arrival::Merged;
        }
        self.queues[queue].arrived += 1;
        Arrival::Queued
    }
    fn try_merge(&mut self, slot: Slot) -> bool {
        let e = &self.entries[slot as usize];
        let Some(older) = e.older.filter(|_| self.coalesce) else {
            return false;
        };
        let o = &self.entries[older as usize];
        let epochs_meet = self.durable_on_accept
            || o.write.epoch == e.write.epoch
            || planted!("memory.merged-across-epochs", "a write is merged only within its epoch");
        let sent = o.state == State::Issued && planted!("memory.merged-into-issued", "what was sent takes no more");
        let stays = o.state == State::Queued || sent;
        let refused = !stays || o.write.queue != e.write.queue || !epochs_meet;
        if decision!("memory.merge-refused", refused) {
            return false;
        }
        let (write, id) = (e.write, e.id);
        let o = &mut self.entries[older as usize];
        let newer_kept = !planted!("memory.merge-keeps-old-bytes", "merged writes leave the newer bytes");
        if newer_kept {
            o.write.data = write.data;
        }
        if !self.durable_on_accept {
            o.merged.push(Origin {
                id,
                hw_thread: write.hw_thread,
                cause: write.cause,
            });
        }
        self.leave_epoch(slot, true);
        self.release_slot(slot);
        self.forget(slot);
        true
    }
    /// Takes an entry out of its epoch's count, issued or not.
    pub(super) fn leave_epoch(&mut self, slot: Slot, unissued: bool) {
        let e = &mut self.entries[slot as usize];
        if std::mem::take(&mut e.in_epoch) {
            let epoch = e.write.epoch;
            let q = &mut self.queues[usize::from(e.write.queue)];
            q.leave(epoch, unissued);
            let moved = q.find_issuing(self.ordered_issue);
            self.note_moved(moved);
        }
    }
    /// Gives the entry's place in the queue back; false if that had happened before.
    pub(super) fn release_slot(&mut self, slot: Slot) -> bool {
        let e = &mut self.entries[slot as usize];
        let held = std::mem::take(&mut e.holds_slot);
        self.queues[usize::from(e.write.queue)].used -= u16::from(held);
        held
    }
    /// Unlinks and frees an entry.
    pub(super) fn forget(&mut self, slot: Slot) {
        let e = &self.entries[slot as usize];
        let (line, queue, older, newer) = (e.write.line, e.write.queue, e.older, e.newer);
        if let Some(n) = newer {
            self.entries[n as usize].older = older;
        }
        if let Some(o) = older {
            self.entries[o as usize].newer = newer;
        }
        if newer.is_none() {
            self.newest.remove(line, slot);
            if let Some(o) = older {
                self.newest.insert(line, o);
            }
        }
        self.queues[usize::from(queue)].total -= 1;
        self.free.push(slot);
    }

    /// Whether epochs and same-line order let a queued write issue.
    pub(super) fn eligible(&self, slot: Slot) -> bool {
        let e = &self.entries[slot as usize];
        let reversed = (e.older.is_some() || e.newer.is_some())
            && planted!(
                "memory.same-line-order-ignored",
                "writes to one line become durable in order"
            );
        let in_order = match reversed {
            true => e.newer.is_none_or(|n| self.entries[n as usize].state != State::Queued), // the newest first
            false => e.older.is_none_or(|o| self.entries[o as usize].state == State::Issued),
        };
        self.epoch_may_issue(e) && in_order
    }
    /// The write's data goes to the medium. `free_slot`: its place in the queue is free from now on.
    pub(super) fn issue(&mut self, slot: Slot, free_slot: bool) {
        let e = &mut self.entries[slot as usize];
        e.state = State::Issued;
        let (queue, epoch, in_epoch) = (usize::from(e.write.queue), e.write.epoch, e.in_epoch);
        if free_slot {
            self.release_slot(slot);
        }
        let q = &mut self.queues[queue];
        if in_epoch {
            q.issued(epoch);
            let moved = q.find_issuing(self.ordered_issue);
            self.note_moved(moved);
        }
    }
    /// The medium has stored an issued write. The entry can still be read until [`Writes::finish`].
    pub(super) fn done(&mut self, slot: Slot) {
        let queue = usize::from(self.entries[slot as usize].write.queue);
        self.leave_epoch(slot, false);
        self.queues[queue].arrived -= 1;
    }
    /// Frees an entry after [`Writes::done`].
    pub(super) fn finish(&mut self, slot: Slot) {
        self.release_slot(slot);
        self.entries[slot as usize].merged.clear();
        self.forget(slot);
    }

    /// The write in an entry.
    pub(super) fn write(&self, slot: Slot) -> &Write {
        &self.entries[slot as usize].write
    }
    /// The id an entry was pushed with.
    pub(super) fn id(&self, slot: Slot) -> WriteId {
        self.entries[slot as usize].id
    }
    /// Position of an entry in the order of arrival, from 1.
    pub(super) fn accepted_at(&self, slot: Slot) -> u64 {
        self.entries[slot as usize].accepted
    }
    /// Position of the newest arrival.
    pub(super) fn accepted(&self) -> u64 {
        self.accepted
    }
    /// Writes merged into an entry, oldest first.
    pub(super) fn merged(&self, slot: Slot) -> &[Origin] {
        &self.entries[slot as usize].merged
    }
    /// The next older entry of the same line.
    pub(super) fn older(&self, slot: Slot) -> Option<Slot> {
        self.entries[slot as usize].older
    }
    /// The newest bytes of a line that are not in the medium yet.
    pub(super) fn forward(&self, line: LineAddr) -> Option<&LineData> {
        self.newest.get(line).map(|s| &self.entries[s as usize].write.data)
    }
    /// Every write of a line that is not in the medium yet has these bytes from now on.
    pub(super) fn restore(&mut self, line: LineAddr, data: &LineData) {
        let mut slot = self.newest.get(line);
        while let Some(s) = slot {
            let e = &mut self.entries[s as usize];
            e.write.data = *data;
            slot = e.older;
        }
    }
    /// Opens or closes a queue for new writes.
    pub(super) fn gate(&mut self, queue: u8, open: bool) {
        self.queues[usize::from(queue)].gate_open = open;
    }
    /// Number of queues.
    pub(super) fn queues(&self) -> u8 {
        self.queues.len() as u8
    }
    /// Entries a queue has.
    pub(super) fn capacity(&self, queue: u8) -> u16 {
        self.queues[usize::from(queue)].capacity
    }
    /// Entries of a queue in use.
    pub(super) fn used(&self, queue: u8) -> u16 {
        self.queues[usize::from(queue)].used
    }
    /// Writes that arrived in a queue and are not in the medium.
    pub(super) fn arrived(&self, queue: u8) -> u32 {
        self.queues[usize::from(queue)].arrived
    }
    /// Writes pushed to a queue and not in the medium.
    pub(super) fn total(&self, queue: u8) -> u32 {
        self.queues[usize::from(queue)].total
    }
    /// Closes the open epoch if any write joined it; the epoch now open.
    pub(super) fn end_epoch(&mut self, queue: u8) -> Epoch {
        self.queues[usize::from(queue)].end_epoch()
    }
    /// The epoch open for writes.
    pub(super) fn open_epoch(&self, queue: u8) -> Epoch {
        self.queues[usize::from(queue)].open
    }
    /// The oldest epoch with writes that are not durable; the open one when there is none.
    pub(super) fn active_epoch(&self, queue: u8) -> Epoch {
        self.queues[usize::from(queue)].active()
    }
}
