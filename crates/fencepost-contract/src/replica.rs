//! Audit of a replica: what clients persisted over a network, against what the replica held whenever its power could have failed.
//!
//! Three things must hold. *In order, once*: every client's epochs took effect in the order of its transactions, none of them twice.
//! *A prefix*: after every durable event, of each channel the replica holds a prefix of its epochs, the last of which may be incomplete.
//! *No false belief*: what a client was told is durable, is. Bytes decide: every word that became durable is compared with what the client
//! sent, so stored values must differ from epoch to epoch.

mod acknowledged;
mod crashed;
mod violation;

pub use acknowledged::{lost_as_declared, told_as_counted};
pub use crashed::holds_prefix;
use fencepost_kernel::{Addr, EpochId, Image, PersistRecord, ReplicaEvent, Transactions};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
pub use violation::ReplicaViolation;
use violation::{name, wrong};

/// What was audited.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaReport {
    /// Epochs that took effect.
    pub epochs: u64,
    /// Points at which the power could have failed.
    pub points: u64,
    /// Times that a client was told that something is durable.
    pub beliefs: u64,
}

/// An epoch that took effect.
struct Epoch {
    id: EpochId,
    channel: u8,
    /// Words of it that are not durable.
    missing: u32,
}

/// A word of the replica: the values it took, each with its epoch, and how many of them are durable or were replaced by durable ones.
#[derive(Default)]
struct Word {
    values: Vec<(u64, u32)>,
    durable: usize,
}

/// Everything that took effect, in order.
#[derive(Default)]
struct Applied {
    epochs: Vec<Epoch>,
    words: FxHashMap<Addr, Word>,
    number: FxHashMap<EpochId, u32>,
    /// Per channel, its epochs in order and how many of them are complete.
    channels: BTreeMap<u8, (Vec<u32>, usize)>,
}

/// Whether every client's epochs took effect in their order and once.
///
/// # Errors
/// The first that did not.
pub fn in_order(journal: &[ReplicaEvent], transactions: &Transactions) -> Result<ReplicaReport, ReplicaViolation> {
    let applied = Applied::new(journal, transactions)?;
    Ok(ReplicaReport {
        epochs: applied.epochs.len() as u64,
        ..ReplicaReport::default()
    })
}

/// Whether [`in_order`] holds, and the replica whose durable events were `records` held a prefix and nobody a false belief. Nobody
/// else may store to the words that clients write. With `complete`, all that took effect must be durable at the end.
///
/// # Errors
/// The first violation, with the power failure that shows it.
pub fn audit(
    journal: &[ReplicaEvent],
    transactions: &Transactions,
    (initial, records): (&Image, &[PersistRecord]),
    complete: bool,
) -> Result<ReplicaReport, ReplicaViolation> {
    let mut applied = Applied::new(journal, transactions)?;
    let mut beliefs = journal.iter().filter_map(|e| match e {
        ReplicaEvent::Believed { id, durable_events } => Some((*id, *durable_events)),
        _ => None,
    });
    let mut belief = beliefs.next();
    let mut report = ReplicaReport {
        epochs: applied.epochs.len() as u64,
        points: records.len() as u64 + 1,
        beliefs: 0,
    };
    for (events, record) in (0u64..).zip(records.iter().map(Some).chain([None])) {
        let here = |why: String| ReplicaViolation {
            events: Some(events),
            time: (events as usize).checked_sub(1).map(|i| records[i].time),
            why,
        };
        while let Some((id, _)) = belief.filter(|b| b.1 <= events) {
            applied.believed(id).map_err(here)?;
            report.beliefs += 1;
            belief = beliefs.next();
        }
        if let Some(r) = record {
            let after = |why: String| ReplicaViolation {
                events: Some(events + 1),
                time: Some(r.time),
                why,
            };
            applied.durable(r, initial).map_err(after)?;
        }
    }
    let lost = applied.epochs.iter().find(|e| complete && e.missing > 0);
    match lost {
        None => Ok(report),
        Some(e) => Err(wrong(format!("{} took effect and never became durable", name(e.id)))),
    }
}

/// The block of a channel that is taking effect: its epoch, and the lines that have not.
struct Open {
    id: EpochId,
    left: std::collections::VecDeque<fencepost_kernel::LineAddr>,
}

impl Applied {
    fn new(journal: &[ReplicaEvent], transactions: &Transactions) -> Result<Applied, ReplicaViolation> {
        acknowledged::judge(journal)?;
        let mut applied = Applied::default();
        let mut last: BTreeMap<u8, (EpochId, bool)> = BTreeMap::new();
        let mut open: BTreeMap<u8, Open> = BTreeMap::new();
        for event in journal {
            let ReplicaEvent::Applied { id, channel, line } = *event else {
                continue;
            };
            let block = || {
                (transactions)(id.client, id.tx)
                    .epochs
                    .into_iter()
                    .nth(id.epoch as usize)
            };
            let Some(epoch) = block() else {
                return Err(wrong(format!("{} was never sent", name(id))));
            };
            let current = open.get_mut(&channel).filter(|o| !o.left.is_empty());
            match current {
                Some(o) if o.id == id && o.left.front() == Some(&line) => drop(o.left.pop_front()),
                Some(o) => {
                    return Err(wrong(format!(
                        "{} took effect in the middle of {}",
                        name(id),
                        name(o.id)
                    )));
                }
                None => {
                    follows(id, last.get(&id.client).copied())?;
                    let ends = (transactions)(id.client, id.tx).epochs.len() as u32 == id.epoch + 1;
                    last.insert(id.client, (id, ends));
                    let left = epoch.lines().skip(1).collect();
                    if epoch.lines().next() != Some(line) {
                        return Err(wrong(format!("{} does not begin at {line:?}", name(id))));
                    }
                    open.insert(channel, Open { id, left });
                    applied.begin(id, channel, epoch.words.len() as u32);
                }
            }
            let number = applied.number[&id];
            for (at, value) in epoch.words_in(line) {
                applied.words.entry(at).or_default().values.push((value, number));
            }
        }
        Ok(applied)
    }
    fn begin(&mut self, id: EpochId, channel: u8, missing: u32) {
        let number = self.epochs.len() as u32;
        self.number.insert(id, number);
        self.channels.entry(channel).or_default().0.push(number);
        self.epochs.push(Epoch { id, channel, missing });
    }
    /// A line became durable: what of it is new must leave every channel a prefix.
    fn durable(&mut self, r: &PersistRecord, initial: &Image) -> Result<(), String> {
        let mut touched: Vec<u32> = Vec::new();
        for (i, value) in (0u64..).zip(r.data.words) {
            let at = Addr(r.line.base().0 + 8 * i);
            let Some(word) = self.words.get_mut(&at) else { continue };
            let Some(n) = word.values.iter().rposition(|v| v.0 == value) else {
                if word.durable == 0 && value == initial.word(at) {
                    continue;
                }
                return Err(format!("{at} holds {value:#x}, which no client sent there"));
            };
            if n + 1 < word.durable {
                let id = self.epochs[word.values[n].1 as usize].id;
                return Err(format!("{at} went back to what {} stored there", name(id)));
            }
            for (_, epoch) in &word.values[word.durable..=n] {
                self.epochs[*epoch as usize].missing -= 1;
                touched.push(*epoch);
            }
            word.durable = n + 1;
        }
        touched.dedup();
        for epoch in touched {
            self.prefix_up_to(epoch)?;
        }
        Ok(())
    }
    /// Every epoch of the channel before this one must be complete.
    fn prefix_up_to(&mut self, epoch: u32) -> Result<(), String> {
        let Epoch { id, channel, .. } = self.epochs[epoch as usize];
        let (order, complete) = self.channels.get_mut(&channel).expect("a channel of its epochs");
        while order
            .get(*complete)
            .is_some_and(|e| self.epochs[*e as usize].missing == 0)
        {
            *complete += 1;
        }
        match order.get(*complete) {
            Some(first) if *first < epoch => {
                let first = &self.epochs[*first as usize];
                let (missing, before, after) = (first.missing, name(first.id), name(id));
                Err(format!(
                    "channel {channel}: {after} is durable and {missing} words of {before} are not"
                ))
            }
            _ => Ok(()),
        }
    }
    /// A client takes everything of it up to an epoch to be durable.
    fn believed(&self, id: EpochId) -> Result<(), String> {
        let mut own = self.epochs.iter().filter(|e| e.id.client == id.client && e.id <= id);
        let missing = own.rfind(|e| e.missing > 0);
        match (self.number.contains_key(&id), missing) {
            (true, None) => Ok(()),
            (_, Some(e)) => Err(format!(
                "client {} was told that {} is durable, and {} words of {} are not",
                id.client,
                name(id),
                e.missing,
                name(e.id)
            )),
            (false, None) => Err(format!(
                "client {} was told that {} is durable, which never arrived",
                id.client,
                name(id)
            )),
        }
    }
}

/// An epoch begins to take effect: it must be the successor of the client's last.
fn follows(id: EpochId, last: Option<(EpochId, bool)>) -> Result<(), ReplicaViolation> {
    let why = match last {
        Some((before, _)) if id <= before => format!("{} took effect again", name(id)),
        Some((before, false)) if (id.tx, id.epoch) != (before.tx, before.epoch + 1) => {
            format!("{} took effect after {}", name(id), name(before))
        }
        Some((_, true)) | None if id.epoch != 0 => format!("{} took effect before the one it follows", name(id)),
        _ => return Ok(()),
    };
    Err(wrong(why))
}

#[cfg(test)]
mod tests;
