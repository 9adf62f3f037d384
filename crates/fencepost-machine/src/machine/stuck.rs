//! A stuck machine explains itself: who waits for whom, since when.

use super::compose::Machine;
use crate::core::StoreState;
use crate::network::Network;
use fencepost_kernel::{HwThread, Ps};
use std::fmt::Write as _;

/// The machine can make no progress although threads have not finished.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the machine is stuck at {at} with {unfinished} unfinished threads:\n{explanation}")]
pub struct Stuck {
    /// When.
    pub at: Ps,
    /// Threads that have not finished.
    pub unfinished: usize,
    /// One paragraph per hardware thread, then the memory side.
    pub explanation: String,
}

impl Machine {
    pub(crate) fn stuck(&self, why: &str) -> Stuck {
        let mut text = format!("{why}\n");
        for i in 0..self.threads.len() {
            let _ = writeln!(text, "  {}", self.explain_thread(HwThread(i as u8)));
        }
        text.push_str(&self.network.as_ref().map(Network::explain).unwrap_or_default());
        text.push_str(&self.rest.hier.explain(self.rest.design.statistics().causes));
        for (name, port) in [("dram", &self.rest.sys.dram), ("pm", &self.rest.sys.pm)] {
            if !port.controller.is_empty() {
                let _ = writeln!(text, "  {name}: {}", port.controller.explain());
            }
        }
        Stuck {
            at: self.rest.sys.now(),
            unfinished: self.rest.sys.unfinished,
            explanation: text,
        }
    }

    fn explain_thread(&self, hw_thread: HwThread) -> String {
        let h = &self.threads[hw_thread.index()];
        if h.finished.is_some() {
            return format!("thread {}: finished", hw_thread.0);
        }
        let mut text = format!("thread {}:", hw_thread.0);
        match h.oldest() {
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
            let _ = write!(
                text,
                "; waits for {} since {since}",
                cause.name(self.rest.design.statistics().causes)
            );
        }
        if let Some((lock, holder)) = self.rest.sys.locks.waits_for(hw_thread) {
            let _ = write!(text, "; lock {lock} is held by thread {}", holder.0);
        }
        if let Some(s) = h.stores.get(h.stores.first()) {
            let state = match s.state {
                StoreState::Refused(cause) => format!("refused: {}", cause.name(self.rest.design.statistics().causes)),
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
        if let Some(design) = self.rest.design.explain(hw_thread) {
            let _ = write!(text, "; design: {design}");
        }
        text
    }
}
