//! Non-temporal stores to lines that some cache holds: the line goes home to memory first.

use super::notify::Notify;
use super::outside::Outside;
use super::private::Departure;
use super::state::Hierarchy;
use crate::seam::{Cause, Exit, Gate, Level, Way, Why};
use fencepost_kernel::planted;
use fencepost_kernel::{LineAddr, WriteCause};

impl Hierarchy {
    /// Whether any cache or write-back buffer holds the line, or its data is under way between them.
    pub(crate) fn held(&self, line: LineAddr) -> bool {
        let lines = &self.bus.lines;
        let known = lines
            .find(line)
            .is_some_and(|at| lines.is_busy(at) || lines.holders(at).any(|p| self.private_state(p, line).is_some()));
        known || self.llc.tags.find(line).is_some() || waits(&self.llc.write_back, line) || self.parked_somewhere(line)
    }

    /// Whether some holder of the line may not write it to memory yet. A copy that already waits in a write-back buffer
    /// goes first: were the non-temporal store to overtake it, older bytes would end up over newer ones.
    pub(super) fn holders_refuse(&mut self, out: &mut impl Outside, line: LineAddr) -> Option<Cause> {
        if self.parked_somewhere(line) || waits(&self.llc.write_back, line) {
            return Some(Cause::OrderPending);
        }
        if !self.hooks.holds {
            return None;
        }
        for (level, way) in self.dirty_holders(line) {
            if let Gate::Wait(cause) = out.may_leave(self, level, &way, Why::Cleaned) {
                return Some(cause);
            }
        }
        None
    }

    /// Takes the line out of every cache; what was dirty is written to memory.
    pub(super) fn expel(&mut self, out: &mut impl Outside, line: LineAddr) {
        let holders = self.dirty_holders(line);
        for (level, _) in &holders {
            if let Level::L1(core) = level {
                self.pass_down(*core, line);
            }
        }
        let data = match holders.first() {
            Some((level, _)) => self.leaving_data(out, *level, line),
            None => out.line_data(line),
        };
        let mut dirty = false;
        for (level, way) in holders {
            dirty |= match self.hooks.leaving {
                true => out.leaving(self, level, &way, &data, Why::Cleaned) != Exit::Drop,
                false => true,
            };
        }
        let at = self.bus.lines.entry(line);
        for p in self.bus.lines.holders(at) {
            let survives = planted!(
                "hierarchy.copies-survive-bypass",
                "a non-temporal store takes its line out of every cache"
            );
            if survives {
                continue;
            }
            let core = &mut self.cores[p.index()];
            let ways = core.ways(line);
            let mut copies = 0;
            core.copies(ways).for_each(|(tags, way)| {
                tags.drop_way(way);
                copies += 1;
            });
            self.counters.invalidations += u64::from(copies > 0);
        }
        self.llc.tags.take(line);
        if dirty {
            self.write_out(out, line, data, WriteCause::Eviction, Notify::default(), true);
        }
    }

    fn dirty_holders(&self, line: LineAddr) -> Vec<(Level, Way)> {
        let way = |meta| Way {
            line,
            dirty: true,
            meta,
            frozen: false,
        };
        let at = self.bus.lines.find(line);
        let holders = at.into_iter().flat_map(|at| self.bus.lines.holders(at));
        let private = holders.filter_map(|core| {
            let (_, dirty, meta) = self.private_state(core, line)?;
            dirty.then(|| (Level::L1(core), way(meta)))
        });
        let llc = &self.llc.tags;
        let shared = llc
            .find(line)
            .filter(|w| llc.dirty(*w))
            .map(|w| (Level::Llc, way(llc.meta(w))));
        private.chain(shared).collect()
    }
}

fn waits(buffer: &std::collections::VecDeque<Departure>, line: LineAddr) -> bool {
    buffer.iter().any(|d| d.way.line == line)
}
