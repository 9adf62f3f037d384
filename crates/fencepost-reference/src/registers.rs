//! Address-range registers in step with what programs bind and release.

use crate::run::{Breach, Run, must};
use fencepost_kernel::ledger::LedgerKind;
use fencepost_kernel::{Addr, LineAddr, QueueId, Span, TraceKind};

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
}

/// Replays bindings and register writes side by side.
pub(crate) fn judge(run: &Run<'_>) -> Result<(), Breach> {
    let mut tables = Tables::default();
    let mut ledger = run.trace.ledger.iter().peekable();
    let uses = |k: &LedgerKind| matches!(k, LedgerKind::RegisterSet { .. });
    if !run.trace.ledger.iter().any(|e| uses(&e.kind)) {
        return Ok(());
    }
    for (i, event) in run.trace.events.iter().enumerate() {
        while let Some(entry) = ledger.next_if(|e| e.at as usize <= i) {
            tables.entry(i, &entry.kind)?;
        }
        match event.kind {
            TraceKind::Bind { base, len, queue } => tables.bind(i, Span { at: base, len }, queue)?,
            TraceKind::Release { base, len } => tables.release(Span { at: base, len }),
            _ => {}
        }
    }
    for entry in ledger {
        tables.entry(run.trace.events.len(), &entry.kind)?;
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
    fn entry(&mut self, event: usize, kind: &LedgerKind) -> Result<(), Breach> {
        match *kind {
            LedgerKind::RegisterSet { queue, range } => {
                let held = self.registers.iter().find(|r| meet(r.1, range));
                must(held.is_none(), "a line is in one register", Some(event), || {
                    format!("{range:?} is written into a register of queue {queue} beside {held:?}")
                })?;
                self.registers.push((queue, range));
            }
            LedgerKind::RegisterCleared { queue, range } => {
                let before = self.registers.len();
                self.registers.retain(|r| *r != (queue, range));
                must(
                    self.registers.len() + 1 == before,
                    "a register that is cleared held the range",
                    Some(event),
                    || format!("the register of queue {queue} for {range:?} is cleared"),
                )?;
            }
            LedgerKind::Accepted { id, line, queue, .. } => {
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
    fn bind(&mut self, event: usize, range: Span, queue: QueueId) -> Result<(), Breach> {
        let known = self.bound.iter_mut().find(|b| b.range == range);
        if let Some(b) = known {
            b.times += 1;
            let was = b.queue;
            return must(was == queue, "a bound range stays in its queue", Some(event), || {
                format!("{range:?} is bound to {queue:?} again, and was bound to {was:?}")
            });
        }
        if queue == QueueId::DEFAULT {
            return Ok(());
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
