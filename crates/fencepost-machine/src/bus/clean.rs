//! Cleans: a flush instruction or the design walks the hierarchy for a dirty copy.

use super::Behind;
use crate::cache::{Evicted, State};
use crate::machine::{Ev, Machine, Side};
use crate::seam::{CleanKind, Exit, Gate, Level, Why};
use fencepost_kernel::{CoreId, HartId, LineAddr, WriteCause};

impl Machine {
    /// A clean reaches the bus.
    pub(crate) fn clean(&mut self, slot: u32) {
        let Some(c) = self.sys.cleans[slot as usize] else {
            return;
        };
        if self.sys.bus.lines.wait(c.line, Behind::Clean(slot)) {
            return;
        }
        let full = |m: &Machine, p: CoreId| {
            m.hooks.holds && m.sys.cores[p.index()].write_back.len() >= m.sys.spec.l1.writeback_buffer as usize
        };
        let mut holders = self.sys.bus.lines.holders(c.line);
        let holder = holders.find_map(|p| match self.private_state(p, c.line) {
            Some((_, true, meta)) => Some((p, meta)),
            _ => None,
        });
        if holder.is_some_and(|(p, _)| full(self, p)) {
            self.sys
                .bus
                .refused
                .push((Behind::Clean(slot), crate::seam::Cause::WbbFull));
            return;
        }
        self.sys.cleans[slot as usize] = None;
        let notify = vec![(c.hart, c.tag)];
        let llc_dirty = self.settle_copies(c.line, c.kind);
        match (holder, llc_dirty) {
            (Some((p, meta)), _) if c.kind == CleanKind::ToLlc => self.move_to_llc(p, c.line, meta, &notify),
            (Some((p, meta)), _) => {
                let gone = Evicted {
                    line: c.line,
                    state: State::Modified,
                    dirty: true,
                    meta,
                    frozen: false,
                };
                self.depart(Level::L1(p), gone, Why::Cleaned, notify);
            }
            (None, Some(_)) if c.kind == CleanKind::ToLlc => {
                let data = self.sys.line_data(c.line);
                self.cleaned_now(&notify, Some(&data));
            }
            (None, Some(meta)) => self.clean_llc(c.line, meta, notify),
            (None, None) => self.clean_in_flight(c.line, notify),
        }
    }

    /// Applies the clean to every copy; answers the shared cache's word if that copy was dirty.
    fn settle_copies(&mut self, line: LineAddr, kind: CleanKind) -> Option<u32> {
        for p in self.sys.bus.lines.holders(line) {
            let core = &mut self.sys.cores[p.index()];
            for t in std::iter::once(&mut core.l1).chain(core.l2.as_mut()) {
                let Some(w) = t.find(line) else { continue };
                match kind {
                    CleanKind::Invalidate => {
                        t.remove(w);
                    }
                    CleanKind::KeepShared => {
                        t.set_state(w, State::Shared);
                        t.set_dirty(w, false);
                    }
                    CleanKind::KeepExclusive | CleanKind::ToLlc => {
                        if t.state(w) == State::Modified {
                            t.set_state(w, State::Exclusive);
                        }
                        t.set_dirty(w, false);
                    }
                }
            }
        }
        let llc = &mut self.sys.llc.tags;
        let w = llc.find(line)?;
        let was = llc.dirty(w).then(|| llc.meta(w));
        match kind {
            CleanKind::ToLlc => {}
            CleanKind::Invalidate => {
                llc.remove(w);
            }
            _ => {
                llc.set_dirty(w, false);
                llc.set_meta(w, 0);
            }
        }
        was
    }

    fn move_to_llc(&mut self, from: CoreId, line: LineAddr, meta: u32, notify: &[(HartId, u64)]) {
        let data = self.sys.line_data(line);
        let way = crate::seam::Way {
            line,
            dirty: true,
            meta,
            frozen: false,
        };
        let exit = match self.hooks.leaving {
            true => self
                .design
                .leaving(&mut self.sys, Level::L1(from), &way, &data, Why::Cleaned),
            false => Exit::Down,
        };
        if exit != Exit::Drop {
            self.insert_llc(line, true, if exit == Exit::Down { meta } else { 0 });
        }
        self.cleaned_now(notify, Some(&data));
    }

    fn clean_llc(&mut self, line: LineAddr, meta: u32, notify: Vec<(HartId, u64)>) {
        let way = crate::seam::Way {
            line,
            dirty: true,
            meta,
            frozen: false,
        };
        let data = self.sys.line_data(line);
        if self.hooks.holds && self.design.may_leave(&mut self.sys, Level::Llc, &way, Why::Cleaned) != Gate::Go {
            let since = self.sys.now();
            let d = super::Departure {
                from: Level::Llc,
                way,
                data,
                why: Why::Cleaned,
                notify,
                since,
            };
            self.sys.llc.write_back.push_back(d);
            return;
        }
        let exit = match self.hooks.leaving {
            true => self
                .design
                .leaving(&mut self.sys, Level::Llc, &way, &data, Why::Cleaned),
            false => Exit::Down,
        };
        if exit == Exit::Drop {
            self.cleaned_now(&notify, None);
            return;
        }
        self.write_out(line, data, WriteCause::Flush, notify, true);
    }

    /// No cache holds the line dirty; a write-back may still be under way, and then the clean is its completion.
    fn clean_in_flight(&mut self, line: LineAddr, notify: Vec<(HartId, u64)>) {
        let departures = self
            .sys
            .cores
            .iter_mut()
            .flat_map(|c| c.write_back.iter_mut())
            .chain(self.sys.llc.write_back.iter_mut());
        if let Some(d) = departures.filter(|d| d.way.line == line).max_by_key(|d| d.since) {
            d.notify.extend(notify);
            return;
        }
        let port = self.sys.port(Side::of(line));
        if let Some(w) = port.outgoing.iter_mut().rfind(|w| w.write.line == line) {
            w.notify.extend(notify);
            return;
        }
        // Of several on their way the newest has the newest bytes.
        let writes = port.under_way.iter_mut().filter(|w| w.line == line);
        if let Some(w) = writes.max_by_key(|w| w.id) {
            w.notify.extend(notify);
            return;
        }
        let at = self.sys.now() + self.sys.spec.bus.snoop;
        for (hart, tag) in notify {
            self.sys.events.schedule(at, Ev::Cleaned(hart, tag));
        }
    }
}
