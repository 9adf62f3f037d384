//! Whether the caches are in a state that they may be in.
//!
//! Most mistakes in moving lines show only when somebody reads the line: much later, or never in a short run. So who looks closely does not
//! wait for that: of every line only one core may write, and then nobody else has it; what the bus notes of holders, and counts of what
//! waits, are those of what is there; and a copy that a core would read has the newest bytes.

use super::held::Words;
use super::state::Hierarchy;
use super::tags::Tags;
use crate::seam::{CleanKind, Level};
use fencepost_kernel::{CoreId, LineAddr, Ps};
use rustc_hash::FxHashMap;

/// Ways of all private caches together beyond which nobody looks at all of them.
const MANY: usize = 1 << 10;
/// The same of lines whose bytes are kept.
const MANY_LINES: usize = 1 << 8;

impl Hierarchy {
    /// What is wrong with the private caches, if anything is.
    pub(crate) fn unsound(&self) -> Option<String> {
        let all = || (0..self.cores.len() as u8).map(CoreId);
        let mut waiting: FxHashMap<LineAddr, u32> = FxHashMap::default();
        let parked = self.cores.iter().flat_map(|c| &c.write_back);
        parked.for_each(|d| *waiting.entry(d.way.line).or_default() += 1);
        if waiting != self.parked_lines {
            return Some("the count of lines that wait to leave".into());
        }
        let hidden = all().find(|c| !self.cores[c.index()].write_back.is_empty() && self.parked >> c.0 & 1 == 0);
        if let Some(core) = hidden {
            return Some(format!("the note of lines that wait in core {}", core.0));
        }
        let tags = |c: CoreId| {
            let core = &self.cores[c.index()];
            std::iter::once(&core.l1).chain(&core.l2)
        };
        if let Some((core, why)) = all().find_map(|c| Some((c, self.cores[c.index()].misses.unsound()?))) {
            return Some(format!("{why} of core {}", core.0));
        }
        if let Some(line) = self.misflushed {
            return Some(format!("a copy of {line} behind its flush"));
        }
        if all().flat_map(tags).map(Tags::size).sum::<usize>() > MANY {
            return None;
        }
        all().find_map(|c| tags(c).flat_map(Tags::lines).find_map(|line| self.wrong_with(c, line)))
    }
    /// Whether the copies of a line are as a flush leaves them: gone, or clean; the shared cache may be what the line is flushed to.
    pub(super) fn is_flushed(&self, line: LineAddr, kind: CleanKind) -> bool {
        let private = self.cores.iter().flat_map(|c| std::iter::once(&c.l1).chain(&c.l2));
        let shared = Some(&self.llc.tags).filter(|_| kind != CleanKind::ToLlc);
        let mut copies = private.chain(shared).filter_map(|t| Some((t, t.find(line)?)));
        copies.all(|(t, w)| kind != CleanKind::Invalidate && !t.dirty(w))
    }
    /// What is wrong with the copy of a line that a core has.
    fn wrong_with(&self, core: CoreId, line: LineAddr) -> Option<String> {
        if !self.all_holders_are_noted(line) {
            return Some(format!("the note of who holds {line}"));
        }
        let state = |c: CoreId| self.private_state(c, line);
        let mine = state(core)?;
        let private = &self.cores[core.index()];
        if let (Some(l2), Some(above)) = (&private.l2, private.l1.find(line)) {
            let below = l2.find(line).map(|w| l2.state(w));
            if private.l1.state(above).writable() && below.is_some_and(|s| !s.writable()) {
                return Some(format!(
                    "the permission of core {} for {line} in its second level",
                    core.0
                ));
            }
        }
        let mut others = (0..self.cores.len() as u8).map(CoreId).filter(|c| *c != core);
        let shared = mine.0.writable() && others.any(|c| state(c).is_some());
        shared.then(|| format!("{line}, which core {} may write and another has,", core.0))
    }

    /// Compares every copy that a core would read with the newest bytes, in a checked run whose caches are small.
    pub(crate) fn compare_all(&mut self, now: Ps, newest: impl Fn(LineAddr) -> Words) {
        let Some(held) = self.held.as_ref().filter(|h| h.lines.len() <= MANY_LINES) else {
            return;
        };
        let lines: Vec<LineAddr> = held.lines.keys().map(|k| k.1).collect();
        for line in lines {
            for level in self.read_first(line) {
                if self.words(level, line).is_some() {
                    self.compare(now, level, line, newest(line), "a look at every copy");
                }
            }
        }
    }
    /// Caches in which a read of a line would find it now.
    fn read_first(&self, line: LineAddr) -> Vec<Level> {
        let cores = || (0..self.cores.len() as u8).map(CoreId);
        let mut found: Vec<Level> = Vec::new();
        let at = self.bus.lines.find(line);
        let mut owned = self.parked_somewhere(line) || at.is_none_or(|at| self.bus.lines.is_busy(at));
        for c in cores() {
            let core = &self.cores[c.index()];
            if core.l1.find(line).is_some() {
                found.push(Level::L1(c));
            } else if !owned && core.l2.as_ref().is_some_and(|l2| l2.find(line).is_some()) {
                found.push(Level::L2(c));
            }
            owned |= self.private_state(c, line).is_some_and(|s| s.0.writable());
        }
        if !owned && self.llc.tags.find(line).is_some() {
            found.push(Level::Llc);
        }
        found
    }
}
