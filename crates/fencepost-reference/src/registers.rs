//! Address-range registers in step with what programs bind and release.

use crate::run::{Breach, Run, must};
use fencepost_kernel::ledger::LedgerKind;
use fencepost_kernel::{Addr, HwThread, LineAddr, QueueId, Span, TraceKind};
use rustc_hash::FxHashMap;

/// A bound range, how often, and to which queue.
struct Bound {
    range: Span,
    times: u32,
    queue: QueueId,
}

/// The registers in use and the ranges that programs have bound.
#[derive(Default)]
struct Tables {
    registers: Vec<(u8, Span)>,
    bound: Vec<Bound>,
    /// Registers that were cleared, and the event at which they were.
    cleared: Vec<(usize, Span)>,
    /// The last event at which no register was free.
    full: Option<usize>,
    /// When each thread bound or released last: it may have been answered any time since, as its older stores may perform after that.
    asked: FxHashMap<HwThread, usize>,
    /// Writes that are accepted and not durable.
    open: FxHashMap<u64, LineAddr>,
}

/// Replays bindings and register writes side by side.
pub(crate) fn judge(run: &Run<'_>) -> Result<(), Breach> {
    let mut tables = Tables::default();
    let mut ledger = run.trace.ledger.iter().peekable();
    let uses = |k: &LedgerKind| matches!(k, LedgerKind::RegisterSet { .. });
    if run.hardware.range_registers == 0 && !run.trace.ledger.iter().any(|e| uses(&e.kind)) {
        return Ok(());
    }
    for (i, event) in run.trace.events.iter().enumerate() {
        while let Some(entry) = ledger.next_if(|e| e.at as usize <= i) {
            tables.entry(run, i, &entry.kind)?;
        }
        if let TraceKind::Bind { base, len, queue } = event.kind {
            let since = event.thread.and_then(|t| tables.asked.get(&t)).copied().unwrap_or(0);
            tables.bind(run, (since, i), Span { at: base, len }, queue)?;
        }
        if let (Some(thread), TraceKind::Bind { .. } | TraceKind::Release { .. }) = (event.thread, event.kind) {
            tables.asked.insert(thread, i);
        }
        if let TraceKind::Release { base, len } = event.kind {
            tables.release(Span { at: base, len });
        }
    }
    for entry in ledger {
        tables.entry(run, run.trace.events.len(), &entry.kind)?;
    }
    let (used, bound) = (tables.registers.len(), tables.bound.len());
    must(used == bound, "registers in use are ranges bound", None, || {
        format!("{used} registers are in use at the end, and {bound} ranges are bound")
    })
}

/// First and last byte of the lines that a range touches.
fn lines(range: Span) -> (LineAddr, LineAddr) {
    (range.at.line(), Addr(range.at.0 + range.len.max(1) - 1).line())
}
fn meet(a: Span, b: Span) -> bool {
    let ((first, last), (from, to)) = (lines(a), lines(b));
    first <= to && from <= last
}

impl Tables {
    fn entry(&mut self, run: &Run<'_>, event: usize, kind: &LedgerKind) -> Result<(), Breach> {
        match *kind {
            LedgerKind::RegisterSet { queue, range } => {
                self.is_still(run, event, range)?;
                let held = self.registers.iter().find(|r| meet(r.1, range));
                must(held.is_none(), "a line is in one register", Some(event), || {
                    format!("{range:?} is written into a register of queue {queue} beside {held:?}")
                })?;
                self.registers.push((queue, range));
                self.look_for_free(run, event);
            }
            LedgerKind::RegisterCleared { queue, range } => {
                self.is_still(run, event, range)?;
                self.look_for_free(run, event);
                self.cleared.push((event, range));
                let before = self.registers.len();
                self.registers.retain(|r| *r != (queue, range));
                must(
                    self.registers.len() + 1 == before,
                    "a register that is cleared held the range",
                    Some(event),
                    || format!("the register of queue {queue} for {range:?} is cleared"),
                )?;
            }
            LedgerKind::Durable { id, .. } => {
                self.open.remove(&id);
            }
            LedgerKind::Accepted { id, line, queue, .. } => {
                self.open.insert(id, line);
                let holds = |r: &&(u8, Span)| lines(r.1).0 <= line && line <= lines(r.1).1;
                let expected = self.registers.iter().find(holds).map_or(0, |r| r.0);
                must(
                    queue == expected,
                    "a write goes to the queue of its range",
                    Some(event),
                    || {
                        format!(
                            "write {id} of {line:?} is accepted by queue {queue}, and its register is of queue {expected}"
                        )
                    },
                )?;
            }
            _ => {}
        }
        Ok(())
    }
    /// A range changes its queue when no write to it is under way: what is left in the old queue and what arrives in the new one would
    /// have no order. What a cache below has left the queue.
    fn is_still(&self, run: &Run<'_>, event: usize, range: Span) -> Result<(), Breach> {
        let (first, last) = lines(range);
        let moving = self.open.iter().find(|w| first <= *w.1 && *w.1 <= last);
        must(
            moving.is_none() || run.hardware.volatile_below,
            "a range changes its queue when no write to it is under way",
            Some(event),
            || format!("{range:?} changes its queue, and write {moving:?} is not durable"),
        )
    }
    /// Notes whether every register is in use.
    fn look_for_free(&mut self, run: &Run<'_>, event: usize) {
        if self.registers.len() >= usize::from(run.hardware.range_registers) {
            self.full = Some(event);
        }
    }
    /// A thread that was last concerned with ranges at event `since` has bound one.
    fn bind(
        &mut self,
        run: &Run<'_>,
        (since, event): (usize, usize),
        range: Span,
        queue: QueueId,
    ) -> Result<(), Breach> {
        let known = self.bound.iter_mut().find(|b| b.range == range);
        if let Some(b) = known {
            b.times += 1;
            let was = b.queue;
            return must(was == queue, "a bound range stays in its queue", Some(event), || {
                format!("{range:?} is bound to {queue:?} again, and was bound to {was:?}")
            });
        }
        if queue == QueueId::DEFAULT {
            self.look_for_free(run, event);
            let shares = self.registers.iter().any(|r| meet(r.1, range));
            let shared = self.cleared.iter().any(|c| c.0 >= since && meet(c.1, range));
            let full = self.full.is_some_and(|f| f >= since);
            return must(
                range.len == 0 || shares || shared || full,
                "a range gets a register unless none is free or another range has a line of it",
                Some(event),
                || format!("{range:?} is not bound"),
            );
        }
        let register = self
            .registers
            .iter()
            .find(|r| r.0 == queue.0 && lines(r.1) == lines(range));
        must(
            register.is_some(),
            "a bound range is in a register",
            Some(event),
            || format!("{range:?} is bound to {queue:?}, of which no register holds its lines"),
        )?;
        self.bound.push(Bound { range, times: 1, queue });
        Ok(())
    }
    /// Undoes one binding. Whether the register was cleared shows at the end: the hardware may have taken a binding already of which
    /// the thread does not know.
    fn release(&mut self, range: Span) {
        if let Some(b) = self.bound.iter_mut().find(|b| b.range == range) {
            b.times -= 1;
        }
        self.bound.retain(|b| b.times > 0);
    }
}
