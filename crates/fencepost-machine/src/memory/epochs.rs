//! One write queue: its fill, and its epochs.

use super::request::Epoch;
use std::collections::VecDeque;

#[derive(Copy, Clone, Debug)]
struct EpochState {
    epoch: Epoch,
    pending: u32,
    unissued: u32,
    /// Banks that its writes go to, a bit each, whatever their channel.
    banks: u64,
}

/// A write queue. Entries themselves are kept by [`Writes`](super::writes::Writes).
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// Entries it has.
    pub capacity: u16,
    /// Entries in use.
    pub used: u16,
    /// Writes that arrived and are not in the medium.
    pub arrived: u32,
    /// Writes pushed and not in the medium, without those parked in a module's cache.
    pub total: u32,
    /// Whether it takes new writes.
    pub gate_open: bool,
    /// The epoch open for writes.
    pub open: Epoch,
    /// Whether any write joined it.
    open_used: bool,
    /// Epochs with writes that are not durable, oldest first.
    epochs: VecDeque<EpochState>,
    /// The epoch whose writes may issue.
    pub issuing: Option<Epoch>,
    /// With ordered issue: nothing has changed on which that depends.
    settled: bool,
}

impl Queue {
    /// An empty queue.
    pub(super) fn new(capacity: u16) -> Queue {
        Queue {
            capacity,
            used: 0,
            arrived: 0,
            total: 0,
            gate_open: true,
            open: Epoch::default(),
            open_used: false,
            epochs: VecDeque::with_capacity(usize::from(capacity)),
            issuing: None,
            settled: false,
        }
    }
    /// Closes the open epoch if any write joined it; the epoch now open.
    pub(super) fn end_epoch(&mut self) -> Epoch {
        if std::mem::take(&mut self.open_used) {
            self.open.0 += 1;
        }
        self.open
    }
    /// The oldest epoch with writes that are not durable; the open one when there is none.
    pub(super) fn active(&self) -> Epoch {
        self.epochs.front().map_or(self.open, |e| e.epoch)
    }
    /// A write joins an epoch, issuable in its turn.
    pub(super) fn join(&mut self, epoch: Epoch) {
        if epoch >= self.open {
            self.open = epoch;
            self.open_used = true;
        }
        self.settled &= self.issuing.is_some_and(|issuing| issuing <= epoch);
        let at = self.place(epoch);
        match self.epochs.get_mut(at).filter(|e| e.epoch == epoch) {
            Some(e) => {
                e.pending += 1;
                e.unissued += 1;
            }
            None => self.epochs.insert(
                at,
                EpochState {
                    epoch,
                    pending: 1,
                    unissued: 1,
                    banks: 0,
                },
            ),
        }
    }
    /// Where an epoch is or would be listed; nearly always it is the newest or the oldest.
    #[inline]
    fn place(&self, epoch: Epoch) -> usize {
        match (self.epochs.front(), self.epochs.back()) {
            (_, Some(newest)) if newest.epoch < epoch => self.epochs.len(),
            (_, Some(newest)) if newest.epoch == epoch => self.epochs.len() - 1,
            (Some(oldest), _) if oldest.epoch >= epoch => 0,
            _ => self.epochs.partition_point(|e| e.epoch < epoch),
        }
    }
    fn state(&mut self, epoch: Option<Epoch>) -> Option<&mut EpochState> {
        let epoch = epoch?;
        let at = self.place(epoch);
        self.epochs.get_mut(at).filter(|e| e.epoch == epoch)
    }
    /// A write of this epoch waits for a bank.
    pub(super) fn at_bank(&mut self, epoch: Option<Epoch>, bank: u16) {
        if let Some(e) = self.state(epoch) {
            e.banks |= 1 << bank;
        }
    }
    /// A write of this epoch was issued.
    pub(super) fn issued(&mut self, epoch: Option<Epoch>) {
        if let Some(e) = self.state(epoch) {
            e.unissued -= 1;
            let last = e.unissued == 0;
            self.settled &= !last;
        }
    }
    /// A write of this epoch is durable, or was merged into another, `unissued` if it never was issued itself.
    pub(super) fn leave(&mut self, epoch: Option<Epoch>, unissued: bool) {
        if let Some(e) = self.state(epoch) {
            e.pending -= 1;
            e.unissued -= u32::from(unissued);
            let last = unissued && e.unissued == 0;
            self.settled &= !last;
        }
        while self.epochs.front().is_some_and(|e| e.pending == 0) {
            self.epochs.pop_front();
        }
    }
    /// Epochs with writes that are not durable: how many they have, and how many of those were not issued.
    pub(super) fn counts(&self) -> impl Iterator<Item = (Epoch, (u32, u32))> {
        let epochs = self.epochs.iter().filter(|e| e.pending > 0);
        epochs.map(|e| (e.epoch, (e.pending, e.unissued)))
    }
    /// Works out whose turn it is: the oldest epoch or, with ordered issue, the oldest with unissued writes. Where that changed, the
    /// banks of the epochs concerned: no other bank's writes gain or lose their turn.
    #[inline]
    pub(super) fn find_issuing(&mut self, ordered_issue: bool) -> Option<u64> {
        if self.settled {
            return None;
        }
        self.settled = ordered_issue;
        self.look_for_issuing(ordered_issue)
    }
    fn look_for_issuing(&mut self, ordered_issue: bool) -> Option<u64> {
        let oldest = match ordered_issue {
            true => self.epochs.iter().find(|e| e.unissued > 0),
            false => self.epochs.front(),
        };
        let (oldest, banks) = (oldest.map(|e| e.epoch), oldest.map_or(0, |e| e.banks));
        if oldest == self.issuing {
            return None;
        }
        let before = std::mem::replace(&mut self.issuing, oldest);
        Some(banks | self.state(before).map_or(0, |e| e.banks))
    }
}
