//! Entries of persist buffers that the controller has: what is before them is durable, or has its turn in an earlier epoch.
//!
//! Who lets entries go before they are durable leaves their order to the epochs of a queue. An entry that joins too early an epoch may be
//! durable in time all the same, because banks were free or the channel took turns so; so the epochs themselves are judged. What has left
//! for the medium needs no epoch any more: every write takes equally long from there.

use crate::order::{Entries, Entry};
use crate::run::{Breach, must};
use fencepost_kernel::LineAddr;
use fencepost_kernel::ledger::{LedgerEvent, LedgerKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Queue and epoch of a write.
type Turn = (u8, u64);

/// A write that the controller has.
struct Accepted {
    turn: Turn,
    line: LineAddr,
}

/// Entries on their way from buffer to medium.
#[derive(Default)]
pub(crate) struct Turns {
    /// Which entry a write is.
    sent: FxHashMap<u64, Entry>,
    /// Accepted entries whose data has not left for the medium.
    open: FxHashMap<Entry, Accepted>,
    /// Lines of writes that were accepted and not issued.
    lines: FxHashMap<u64, LineAddr>,
    durable: FxHashSet<Entry>,
    /// What is before entries that are not durable.
    before: FxHashMap<Entry, Entries>,
    breach: Option<Breach>,
}

impl Turns {
    /// An entry takes one more store, before which these are.
    pub(crate) fn waits(&mut self, entry: Entry, before: &Entries) {
        let all = self.before.entry(entry).or_default();
        all.extend(before);
        all.sort_unstable();
        all.dedup();
    }
    /// Whether an entry is durable.
    pub(crate) fn is_durable(&self, entry: Entry) -> bool {
        self.durable.contains(&entry)
    }
    /// The next entry of the account.
    pub(crate) fn entry(&mut self, event: &LedgerEvent) {
        match event.kind {
            LedgerKind::Sent { buffer, entry, write } => {
                self.sent.insert(write, (buffer, entry));
            }
            LedgerKind::Accepted {
                id, queue, epoch, line, ..
            } => {
                self.lines.insert(id, line);
                if let (Some(entry), Some(epoch)) = (self.sent.get(&id).copied(), epoch) {
                    let turn = (queue, epoch);
                    self.open.insert(entry, Accepted { turn, line });
                    let judged = self.judge(event.at as usize, entry, turn);
                    self.breach = self.breach.take().or(judged.err());
                }
            }
            LedgerKind::Issued { id } => {
                // Those that were merged into it went along.
                let line = self.lines.remove(&id);
                self.open.retain(|_, a| Some(a.line) != line);
            }
            LedgerKind::Durable { id, .. } => {
                if let Some(entry) = self.sent.remove(&id) {
                    self.open.remove(&entry);
                    self.before.remove(&entry);
                    self.durable.insert(entry);
                }
            }
            _ => {}
        }
    }
    fn judge(&self, event: usize, entry: Entry, (queue, epoch): Turn) -> Result<(), Breach> {
        let before = self.before.get(&entry).into_iter().flatten();
        let late = |e: &&Entry| self.open.get(e).is_some_and(|a| a.turn.0 == queue && a.turn.1 >= epoch);
        let late = before.filter(|e| **e != entry).find(late);
        must(
            late.is_none(),
            "what is before an entry is durable or of an earlier epoch",
            Some(event),
            || {
                let (buffer, n) = late.copied().unwrap_or_default();
                format!(
                    "entry {} of buffer {} joins epoch {epoch} of queue {queue}, and entry {n} of buffer {buffer}, which is before it, \
                     has not left for the medium and is of no earlier one",
                    entry.1, entry.0
                )
            },
        )
    }
    /// The first breach.
    pub(crate) fn judged(&mut self) -> Result<(), Breach> {
        self.breach.take().map_or(Ok(()), Err)
    }
}
