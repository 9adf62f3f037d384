//! A stuck machine explains itself: who waits for whom, since when.

use super::Machine;
use crate::hart::StoreState;
use fencepost_kernel::{CoreId, HartId, Ps};
use std::fmt::Write as _;

/// The machine can make no progress although threads have not finished.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the machine is stuck at {at} with {unfinished} unfinished threads:\n{explanation}")]
pub struct Stuck {
    /// When.
    pub at: Ps,
    /// Threads that have not finished.
    pub unfinished: usize,
    /// One paragraph per hart, then the memory side.
    pub explanation: String,
}

impl Machine {
    pub(crate) fn stuck(&self, why: &str) -> Stuck {
        let mut text = format!("{why}\n");
        for i in 0..self.sys.harts.len() {
            let _ = writeln!(text, "  {}", self.explain_hart(HartId(i as u8)));
        }
        for (i, c) in self.sys.cores.iter().enumerate() {
            if let Some(cause) = c.blocked {
                let _ = writeln!(text, "  L1 of core {i} is blocked by the design: {}", cause.word());
            }
            for m in c.misses.iter().flatten() {
                let state = if m.granted {
                    "granted, waits for data"
                } else {
                    "waits for the bus"
                };
                let _ = writeln!(
                    text,
                    "  core {i} misses {} since {}: {state} ({})",
                    m.line,
                    m.since,
                    m.cause.word()
                );
            }
            if let Some((line, since)) = self.oldest_departure(CoreId(i as u8)) {
                let n = c.write_back.len();
                let _ = writeln!(
                    text,
                    "  core {i}: {n} lines in the write-back buffer, the oldest {line} since {since}"
                );
            }
        }
        for d in &self.sys.llc.write_back {
            let _ = writeln!(text, "  shared cache: {} waits to leave since {}", d.way.line, d.since);
        }
        for (name, port) in [("dram", &self.sys.dram), ("pm", &self.sys.pm)] {
            for w in &port.outgoing {
                let cause = w.refused.map_or("not tried", |c| c.word());
                let _ = writeln!(
                    text,
                    "  {name}: write of {} waits for admission since {}: {cause}",
                    w.write.line, w.since
                );
            }
            if !port.controller.is_empty() {
                let _ = writeln!(text, "  {name}: {}", port.controller.explain());
            }
        }
        Stuck {
            at: self.sys.now(),
            unfinished: self.sys.unfinished,
            explanation: text,
        }
    }

    fn explain_hart(&self, hart: HartId) -> String {
        let h = &self.sys.harts[hart.index()];
        if h.finished.is_some() {
            return format!("hart {}: finished", hart.0);
        }
        let mut text = format!("hart {}:", hart.0);
        match h.head() {
            Some(e) => {
                let _ = write!(
                    text,
                    " oldest is {:?} at {} ({}, {:?})",
                    e.op.kind, e.op.addr, e.op.source, e.progress
                );
            }
            None => text.push_str(" nothing in flight"),
        }
        if let Some((cause, since)) = h.head_wait {
            let _ = write!(text, "; waits for {} since {since}", cause.word());
        }
        if let Some((lock, holder)) = self.sys.locks.waits_for(hart) {
            let _ = write!(text, "; lock {lock} is held by hart {}", holder.0);
        }
        if let Some(s) = h.stores.get(0) {
            let state = match s.state {
                StoreState::Refused(cause) => format!("refused: {}", cause.word()),
                other => format!("{other:?}"),
            };
            let _ = write!(
                text,
                "; {} stores queued, the oldest {:?} to {} ({state})",
                h.stores.len(),
                s.op.kind,
                s.op.addr
            );
        }
        if let Some(stop) = h.stopped {
            let _ = write!(text, "; dispatch stopped: {stop:?}");
        }
        if let Some(design) = self.design.explain(hart) {
            let _ = write!(text, "; design: {design}");
        }
        text
    }
}
