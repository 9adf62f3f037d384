//! What waits in the hierarchy, for a machine that is stuck.

use super::state::Hierarchy;
use fencepost_kernel::stats::StatInfo;
use std::fmt::Write as _;

impl Hierarchy {
    /// One line for each thing that waits, on a machine whose design has these stall causes of its own.
    pub(crate) fn explain(&self, own: &'static [StatInfo]) -> String {
        let mut text = String::new();
        for (hw_thread, cause) in self.blocked.iter().enumerate() {
            if let Some(cause) = cause {
                let _ = writeln!(
                    text,
                    "  hardware thread {hw_thread} is kept from its L1 by the design: {}",
                    cause.name(own)
                );
            }
        }
        for (i, c) in self.cores.iter().enumerate() {
            for m in c.misses.iter() {
                let state = if m.granted {
                    "granted, waits for data"
                } else {
                    "waits for the bus"
                };
                let (line, since, cause) = (m.line, m.since, m.cause.name(own));
                let _ = writeln!(text, "  core {i} misses {line} since {since}: {state} ({cause})");
            }
            if let Some(d) = c.write_back.front() {
                let (n, line, since) = (c.write_back.len(), d.way.line, d.since);
                let _ = writeln!(
                    text,
                    "  core {i}: {n} lines in the write-back buffer, the oldest {line} since {since}"
                );
            }
        }
        for d in &self.llc.write_back {
            let _ = writeln!(text, "  shared cache: {} waits to leave since {}", d.way.line, d.since);
        }
        for (name, interface) in ["dram", "pm"].iter().zip(&self.interfaces) {
            for w in interface.outgoing.iter() {
                let why = if w.behind {
                    "an older write to the line goes first"
                } else {
                    "the write queue takes none"
                };
                let (line, since) = (w.write.line, w.since);
                let _ = writeln!(text, "  {name}: write of {line} waits since {since}: {why}");
            }
        }
        text
    }
}
