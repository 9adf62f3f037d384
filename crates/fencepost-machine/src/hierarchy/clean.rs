//! Cleans: a flush instruction or the design walks the hierarchy for a dirty copy.

use super::lines::{Behind, Entry};
use super::notify::Notify;
use super::outside::Outside;
use super::private::Departure;
use super::state::{CleanRequest, Hierarchy, Refused, Side, Step};
use super::tags::State;
use crate::seam::{Cause, CleanKind, Exit, Gate, Level, Why};
use fencepost_kernel::planted;
use fencepost_kernel::{CoreId, HwThread, LineAddr, Ps, WriteCause};

impl Hierarchy {
    /// A flush or the design wants a line cleaned: the step to schedule, and when.
    pub(crate) fn request_clean(
        &mut self,
        now: Ps,
        hw_thread: HwThread,
        line: LineAddr,
        kind: CleanKind,
        tag: u64,
    ) -> (Ps, Step) {
        let slot = self.cleans.iter().position(Option::is_none).unwrap_or_else(|| {
            self.cleans.push(None);
            self.cleans.len() - 1
        });
        self.cleans[slot] = Some(CleanRequest {
            hw_thread,
            line,
            kind,
            tag,
        });
        let at = self.bus_slot(now + self.spec.l1.latency + self.spec.bus.arbitration);
        (at, Step::Clean(slot as u32))
    }

    /// A clean reaches the bus.
    pub(crate) fn clean(&mut self, out: &mut impl Outside, slot: u32) {
        let Some(c) = self.cleans[slot as usize] else {
            return;
        };
        let at = self.bus.lines.entry(c.line);
        if self.bus.lines.wait(at, Behind::Clean(slot)) {
            return;
        }
        let full = |m: &Hierarchy, p: CoreId| {
            m.hooks.holds && m.cores[p.index()].write_back.len() >= m.spec.l1.writeback_buffer as usize
        };
        let mut holders = self.bus.lines.holders(at);
        let holder = holders.find_map(|p| match self.private_state(p, c.line) {
            // A victim that waits is newer than what lies below it: it is what the clean waits for.
            Some((_, true, meta)) if !self.cores[p.index()].newer_between_levels(c.line) => Some((p, meta)),
            _ => None,
        });
        let found = holder.is_some()
            && !planted!(
                "hierarchy.clean-misses-owner",
                "a flush finds a dirty copy in any cache"
            );
        let holder = holder.filter(|_| found);
        if holder.is_some_and(|(p, _)| full(self, p)) {
            self.bus.refused.push(Refused {
                who: Behind::Clean(slot),
                cause: Cause::WbbFull,
                by: None,
            });
            return;
        }
        self.cleans[slot as usize] = None;
        let who = (c.hw_thread, c.tag);
        let notify = Notify::one(c.hw_thread, c.tag);
        if let Some((p, _)) = holder {
            self.pass_down(p, c.line);
        }
        let llc_dirty = self.settle_copies((c.line, at), c.kind);
        match (holder, llc_dirty) {
            (Some((p, meta)), _) if c.kind == CleanKind::ToLlc => self.move_to_llc(out, p, c.line, meta, &notify),
            (Some((p, meta)), _) => {
                let gone = crate::seam::Way {
                    line: c.line,
                    dirty: true,
                    meta,
                    frozen: false,
                };
                self.depart(out, Level::L1(p), gone, Why::Cleaned, notify);
            }
            (None, Some(_)) if c.kind == CleanKind::ToLlc => {
                let data = self.leaving_data(out, Level::Llc, c.line);
                self.cleaned_now(out, &notify, Some(&data));
            }
            (None, Some(meta)) => self.clean_llc(out, c.line, meta, notify),
            (None, None) => self.clean_in_flight(out, c.line, who),
        }
    }

    /// Applies the clean to every copy; returns the shared cache's mark if that copy was dirty.
    fn settle_copies(&mut self, (line, at): (LineAddr, Entry), kind: CleanKind) -> Option<u32> {
        for p in self.bus.lines.holders(at) {
            let core = &mut self.cores[p.index()];
            let ways = core.ways(line);
            for (t, w) in core.copies(ways) {
                match kind {
                    CleanKind::Invalidate => t.drop_way(w),
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
        let was = self.settle_shared(line, kind);
        if self.keeps_bytes() && !self.is_flushed(line, kind) {
            self.misflushed.get_or_insert(line);
        }
        was
    }
    /// The same of the shared cache's copy.
    fn settle_shared(&mut self, line: LineAddr, kind: CleanKind) -> Option<u32> {
        let llc = &mut self.llc.tags;
        let w = llc.find(line)?;
        let was = llc.dirty(w).then(|| llc.meta(w));
        match kind {
            CleanKind::ToLlc => {}
            CleanKind::Invalidate => llc.drop_way(w),
            _ => {
                llc.set_dirty(w, false);
                llc.set_meta(w, 0);
            }
        }
        was
    }

    fn move_to_llc(&mut self, out: &mut impl Outside, from: CoreId, line: LineAddr, meta: u32, notify: &Notify) {
        let data = self.leaving_data(out, Level::L1(from), line);
        let way = crate::seam::Way {
            line,
            dirty: true,
            meta,
            frozen: false,
        };
        let exit = match self.hooks.leaving {
            true => out.leaving(self, Level::L1(from), &way, &data, Why::Cleaned),
            false => Exit::Down,
        };
        if exit != Exit::Drop {
            let meta = if exit == Exit::Down { meta } else { 0 };
            let words = self.words(Level::L1(from), line);
            self.insert_llc(out, line, (true, meta), words);
        }
        self.cleaned_now(out, notify, Some(&data));
    }

    fn clean_llc(&mut self, out: &mut impl Outside, line: LineAddr, meta: u32, notify: Notify) {
        let way = crate::seam::Way {
            line,
            dirty: true,
            meta,
            frozen: false,
        };
        let data = self.leaving_data(out, Level::Llc, line);
        if self.hooks.holds && out.may_leave(self, Level::Llc, &way, Why::Cleaned) != Gate::Go {
            let since = out.now();
            let d = Departure {
                from: Level::Llc,
                way,
                data,
                why: Why::Cleaned,
                notify,
                since,
            };
            self.llc.write_back.push_back(d);
            return;
        }
        let exit = match self.hooks.leaving {
            true => out.leaving(self, Level::Llc, &way, &data, Why::Cleaned),
            false => Exit::Down,
        };
        if exit == Exit::Drop {
            self.cleaned_now(out, &notify, None);
            return;
        }
        self.write_out(out, line, data, WriteCause::Flush, notify, true);
    }

    /// No cache holds the line dirty; a write-back may still be under way, and then the clean is its completion.
    fn clean_in_flight(&mut self, out: &mut impl Outside, line: LineAddr, (hw_thread, tag): (HwThread, u64)) {
        let forgotten = planted!(
            "hierarchy.clean-forgets-write",
            "a flush waits for a write of its line that is under way"
        );
        if forgotten {
            let at = out.now() + self.spec.bus.snoop;
            out.schedule(at, Step::Cleaned(hw_thread, tag));
            return;
        }
        let departures = self
            .cores
            .iter_mut()
            .flat_map(|c| c.write_back.iter_mut())
            .chain(self.llc.write_back.iter_mut());
        if let Some(d) = departures.filter(|d| d.way.line == line).max_by_key(|d| d.since) {
            d.notify.add(hw_thread, tag);
            let (from, words) = (d.from, d.data.words);
            if let Level::L1(core) | Level::L2(core) = from {
                // Its core takes it back no longer and reads on from the copy that it passes.
                self.pass_second(core, line, Some(words));
            }
            return;
        }
        let port = &mut self.interfaces[Side::of(line) as usize];
        if let Some(w) = port.outgoing.newest(line) {
            w.notify.add(hw_thread, tag);
            return;
        }
        // Of several on their way the newest has the newest bytes.
        let writes = port.under_way.iter_mut().filter(|w| w.line == line);
        if let Some(w) = writes.max_by_key(|w| w.id) {
            w.notify.add(hw_thread, tag);
            return;
        }
        let at = out.now() + self.clean_in_vain();
        out.schedule(at, Step::Cleaned(hw_thread, tag));
    }
}
