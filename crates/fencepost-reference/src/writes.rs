//! Every write that the controller accepted: sent to the medium once or merged into one that had not been, and durable once, with the
//! bytes of the newest that went along.

use crate::run::{Breach, Run, must};
use fencepost_kernel::ledger::{LedgerEvent, LedgerKind};
use fencepost_kernel::{LineAddr, LineData, StoreId, TraceKind};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// How far a write has come.
struct Write {
    line: LineAddr,
    /// The stores of its words.
    by: [Option<StoreId>; 8],
    /// Position of its acceptance in the account, and of its data leaving for the medium.
    accepted: usize,
    issued: Option<usize>,
    durable: bool,
    /// Whether it belongs to a hardware log, of which several lines may become durable as one.
    log: bool,
    /// Its queue.
    queue: u8,
    /// The same, and the epoch that it joined there.
    turn: Option<(u8, u64)>,
}

/// The writes of a run.
#[derive(Default)]
pub(crate) struct Writes {
    all: FxHashMap<u64, Write>,
    /// Per line: accepted writes that were not issued, oldest first, each with whether it may have gone along with another.
    waiting: FxHashMap<LineAddr, Vec<(u64, bool)>>,
    /// By queue and epoch: accepted writes that are not durable.
    open: BTreeMap<(u8, u64), u64>,
    /// The write whose bytes became durable last: its followers were merged into it.
    carrier: Option<u64>,
    /// Writes accepted, issued, and durable.
    pub accepted: u64,
    pub issued: u64,
    pub durable: u64,
}

/// Balances the account of the controller.
pub(crate) fn judge(run: &Run<'_>) -> Result<Writes, Breach> {
    let mut writes = Writes::default();
    for (position, entry) in run.trace.ledger.iter().enumerate() {
        let event = entry.at as usize;
        match entry.kind {
            LedgerKind::Accepted { .. } => writes.accept(run, position, event, entry.kind)?,
            LedgerKind::Issued { id } => {
                writes.issue(position, event, id)?;
                writes.in_turn(run, event, id)?;
            }
            LedgerKind::Durable { id, record } => {
                writes.durable(run, event, id, record)?;
                if record && !run.hardware.volatile_below {
                    writes.bytes(run, event, id, &run.trace.ledger[position + 1..])?;
                }
            }
            _ => {}
        }
    }
    let lost = || writes.all.iter().find(|(_, w)| !w.durable);
    let kept = run.hardware.volatile_below;
    must(
        kept || lost().is_none(),
        "every accepted write becomes durable",
        None,
        || {
            let (id, w) = lost().map_or((0, None), |(id, w)| (*id, Some(w.line)));
            format!("write {id} of {w:?} was accepted and is not durable at the end")
        },
    )?;
    writes.all_have_left(run)?;
    Ok(writes)
}

impl Writes {
    /// Where nothing is left in the controller, each write has left it or went along with one that did.
    fn all_have_left(&self, run: &Run<'_>) -> Result<(), Breach> {
        if !run.report.is_some_and(|r| r.controllers[0].empty) {
            return Ok(());
        }
        let stays = self.waiting.values().flatten().filter(|w| !w.1).map(|w| w.0).min();
        must(
            stays.is_none(),
            "every accepted write leaves for the medium",
            None,
            || {
                format!(
                    "write {} was accepted and never issued, nor could it go along with another",
                    stays.unwrap_or(0)
                )
            },
        )
    }
    fn accept(&mut self, run: &Run<'_>, position: usize, event: usize, kind: LedgerKind) -> Result<(), Breach> {
        let LedgerKind::Accepted {
            id,
            line,
            cause,
            queue,
            epoch,
        } = kind
        else {
            return Ok(());
        };
        let turn = epoch.map(|e| (queue, e));
        let before = event.checked_sub(1).and_then(|e| run.trace.events.get(e));
        let by = match before.map(|e| e.kind) {
            Some(TraceKind::Accepted { line: of, by }) if of == line => by,
            other => {
                let what = format!("write {id} of {line:?} is accepted at {other:?}");
                return must(false, "every accepted write is in the trace", Some(event), || what);
            }
        };
        let write = Write {
            line,
            by,
            accepted: position,
            issued: None,
            durable: false,
            log: cause.is_log(),
            queue,
            turn,
        };
        if let Some(turn) = turn {
            *self.open.entry(turn).or_default() += 1;
        }
        must(
            self.all.insert(id, write).is_none(),
            "a write is accepted once",
            Some(event),
            || format!("write {id} of {line:?} is accepted again"),
        )?;
        self.waiting.entry(line).or_default().push((id, false));
        self.accepted += 1;
        Ok(())
    }

    /// The data of a write leaves for the medium. Those that wait on its line may have been merged into it; one that arrived after an
    /// older one had left cannot have gone with that, and must leave before any younger one.
    fn issue(&mut self, position: usize, event: usize, id: u64) -> Result<(), Breach> {
        let known = self.all.get_mut(&id).filter(|w| w.issued.is_none());
        let Some(write) = known else {
            return must(
                false,
                "a write is issued once, after it was accepted",
                Some(event),
                || format!("write {id} is issued"),
            );
        };
        write.issued = Some(position);
        let queue = write.queue;
        let waiting = self.waiting.entry(write.line).or_default();
        let at = waiting.iter().position(|w| w.0 == id).unwrap_or(0);
        let passed = waiting[..at].iter().find(|w| !w.1).map(|w| w.0);
        must(
            passed.is_none(),
            "no write is merged into one whose data has left",
            Some(event),
            || {
                format!(
                    "write {id} is issued, and the older write {} of its line never was",
                    passed.unwrap_or(0)
                )
            },
        )?;
        // What is older went along with an earlier one.
        waiting.drain(..=at);
        // A write joins the one before it, where that is of its queue.
        for w in waiting.iter_mut() {
            if self.all.get(&w.0).is_none_or(|w| w.queue != queue) {
                break;
            }
            w.1 = true;
        }
        self.issued += 1;
        Ok(())
    }

    /// A write of an epoch issues when every write of earlier epochs of its queue is durable, whether or not it could complete first.
    fn in_turn(&mut self, run: &Run<'_>, event: usize, id: u64) -> Result<(), Breach> {
        let turn = self.all.get(&id).and_then(|w| w.turn);
        let Some((queue, epoch)) = turn.filter(|_| run.hardware.epochs_in_turn) else {
            return Ok(());
        };
        self.open.retain(|_, n| *n > 0);
        let earlier = self.open.range((queue, 0)..(queue, epoch)).next();
        must(
            earlier.is_none(),
            "a write issues when all of earlier epochs are durable",
            Some(event),
            || {
                let (before, n) = earlier.map_or((0, 0), |(t, n)| (t.1, *n));
                format!(
                    "write {id} of epoch {epoch} of queue {queue} is issued, and {n} writes of epoch {before} are not durable"
                )
            },
        )
    }

    fn durable(&mut self, run: &Run<'_>, event: usize, id: u64, record: bool) -> Result<(), Breach> {
        let Some(write) = self.all.get_mut(&id).filter(|w| !w.durable) else {
            return must(false, "an accepted write becomes durable once", Some(event), || {
                format!("write {id} becomes durable")
            });
        };
        write.durable = true;
        if let Some(open) = write.turn.and_then(|t| self.open.get_mut(&t)) {
            *open -= 1;
        }
        self.durable += 1;
        let (line, accepted, queue, turn) = (write.line, write.accepted, write.queue, write.turn);
        let sent = write.issued.is_some();
        if record {
            self.carrier = Some(id);
        }
        let carrier = self.carrier.and_then(|c| self.all.get(&c));
        let Some(carrier) = carrier.filter(|c| c.line == line) else {
            return must(false, "merged writes are of one line", Some(event), || {
                format!("write {id} of {line:?} becomes durable with {:?}", self.carrier)
            });
        };
        // Below the controller, where it has been sent then, there are no queues.
        must(
            carrier.queue == queue || sent,
            "merged writes are of one queue",
            Some(event),
            || {
                format!(
                    "write {id} of {line:?} in queue {queue} becomes durable with one of queue {}",
                    carrier.queue
                )
            },
        )?;
        if !run.hardware.durable_on_accept {
            let left = carrier.issued;
            must(
                left.is_some_and(|left| accepted < left),
                "no write is merged into one whose data has left",
                Some(event),
                || {
                    format!(
                        "write {id} of {line:?} becomes durable with data that left for the medium before it arrived"
                    )
                },
            )?;
        }
        match record {
            true => Ok(()),
            false => self.merged_in_turn(run, event, id, turn),
        }
    }

    /// A write that goes along with one of an earlier epoch must not pass what else there is of that.
    fn merged_in_turn(&self, run: &Run<'_>, event: usize, id: u64, turn: Option<(u8, u64)>) -> Result<(), Breach> {
        let Some((queue, epoch)) = turn.filter(|_| run.hardware.epochs_in_turn) else {
            return Ok(());
        };
        let mut earlier = self.open.range((queue, 0)..(queue, epoch)).filter(|(_, n)| **n > 0);
        let passed = earlier.next();
        must(
            passed.is_none(),
            "a merged write is durable after all of earlier epochs",
            Some(event),
            || format!("write {id} of epoch {epoch} of queue {queue} becomes durable before writes of {passed:?}"),
        )
    }

    /// Of writes that were merged the newest has the bytes; of one alone it is its own. `rest` is what follows in the account.
    fn bytes(&self, run: &Run<'_>, event: usize, id: u64, rest: &[LedgerEvent]) -> Result<(), Breach> {
        let log = self.all.get(&id).is_none_or(|w| w.log);
        let Some(held) = recorded(run, event).filter(|_| !log) else {
            return Ok(());
        };
        // What a design notes of its own when it hears of them stands between.
        let of_writes = rest.iter().map(|e| e.kind).filter(|k| {
            use LedgerKind::{Accepted, Durable, Issued};
            matches!(k, Accepted { .. } | Issued { .. } | Durable { .. })
        });
        let merged = of_writes.map_while(|k| match k {
            LedgerKind::Durable { id, record: false } => Some(id),
            _ => None,
        });
        let group = std::iter::once(id).chain(merged).filter_map(|id| self.all.get(&id));
        let newest = group.max_by_key(|w| w.accepted).map(|w| w.by);
        must(
            newest == Some(held.by),
            "merged writes leave the bytes of the newest",
            Some(event),
            || {
                format!(
                    "write {id} becomes durable with {:?}, and was accepted with {newest:?}",
                    held.by
                )
            },
        )
    }
}

/// The bytes of the durable event that comes next in the trace, if it is there.
fn recorded<'r>(run: &Run<'r>, event: usize) -> Option<&'r LineData> {
    match run.trace.events.get(event)?.kind {
        TraceKind::Durable { index } => run.records.get(index as usize).map(|r| &r.data),
        _ => None,
    }
}
