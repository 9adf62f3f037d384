//! What waits in the caches although it might go on.

use super::grant::asks_for;
use super::lines::Behind;
use super::outside::Outside;
use super::state::{Hierarchy, Refused};
use crate::seam::{Gate, Level, SnoopAnswer};
use fencepost_kernel::CoreId;

impl Hierarchy {
    /// Asks the design again about everything that it holds back, without being woken.
    pub(crate) fn asleep(&mut self, out: &mut impl Outside) -> Option<String> {
        for core in 0..self.cores.len() {
            let core = CoreId(core as u8);
            if let Some(what) = self.private_asleep(out, core) {
                return Some(format!("{what} of core {}", core.0));
            }
        }
        for i in 0..self.llc.write_back.len() {
            let (way, why) = (self.llc.write_back[i].way, self.llc.write_back[i].why);
            if out.may_leave(self, Level::Llc, &way, why) == Gate::Go {
                return Some(format!("{}, which is to leave the last cache", way.line));
            }
        }
        if !self.bus.throttled.is_empty() && !self.write_path_full() {
            return Some("a request that found the way to memory full".into());
        }
        if !self.bus.starved_reads.is_empty() && self.bus.reads < self.spec.llc.mshrs {
            return Some("a read that found no register of the last cache".into());
        }
        for i in 0..self.bus.refused.len() {
            let Refused { who, cause, .. } = self.bus.refused[i];
            if let Behind::Miss(core, miss) = who
                && !self.still_refused(out, core, miss)
            {
                let line = self.cores[core.index()].misses[miss].line;
                return Some(format!(
                    "the request of core {} for {line}, refused for {cause:?},",
                    core.0
                ));
            }
        }
        None
    }
    fn private_asleep(&mut self, out: &mut impl Outside, core: CoreId) -> Option<String> {
        for i in 0..self.cores[core.index()].write_back.len() {
            let waiting = &self.cores[core.index()].write_back;
            let (from, way, why) = (waiting[i].from, waiting[i].way, waiting[i].why);
            let behind = waiting.iter().take(i).any(|d| d.way.line == way.line) || self.overtakes(&waiting[i]);
            if !behind && out.may_leave(self, from, &way, why) == Gate::Go {
                return Some(format!("{}, which is to leave the private caches,", way.line));
            }
        }
        let c = &self.cores[core.index()];
        let room = c.write_back.len() < self.spec.l1.writeback_buffer as usize;
        (room && !c.stuck_fills.is_empty()).then(|| "a fill that found the write-back buffer full".into())
    }
    /// Whether a request that was refused would be refused again.
    fn still_refused(&mut self, out: &mut impl Outside, core: CoreId, miss: u8) -> bool {
        let m = &self.cores[core.index()].misses[miss];
        let (line, at, exclusive, drop_copies) = (m.line, m.at, m.exclusive, m.drop_copies);
        let by = m.waiters[0].hw_thread();
        let held = self.bus.lines.may_hold(at, core) && self.private_state(core, line).is_some();
        let kind = asks_for(exclusive, held);
        if self.bus.lines.is_busy(at) || self.write_path_full() {
            return true;
        }
        let refused = match drop_copies {
            true => self.holders_refuse(out, line).map(|cause| (cause, None)),
            false => self.peers_refuse(out, (core, line, at), kind),
        };
        let waits = |answer| matches!(answer, SnoopAnswer::Wait(_));
        refused.is_some() || self.hooks.snoops && waits(out.snooped(self, by, line, kind))
    }
}
