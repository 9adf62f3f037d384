//! Lines leaving caches: victims, the write-back buffer, the shared cache.

use super::Departure;
use crate::cache::{Evicted, State};
use crate::machine::{Machine, Side};
use crate::seam::{Exit, Gate, Level, Why, Write};
use fencepost_kernel::{CoreId, HartId, LineAddr, LineData, Ps, WriteCause};

impl Machine {
    /// A victim of an L1. The caller has checked that the write-back buffer has room.
    pub(crate) fn leave_l1(&mut self, core: CoreId, gone: Evicted) {
        if gone.frozen {
            self.version_overflow(Level::L1(core), gone);
        } else if gone.dirty {
            self.depart(Level::L1(core), gone, Why::Replaced, Vec::new());
        }
    }
    /// A victim of a private second level.
    pub(crate) fn leave_l2(&mut self, core: CoreId, gone: Evicted) {
        if gone.dirty {
            self.depart(Level::L2(core), gone, Why::Replaced, Vec::new());
        }
    }

    fn version_overflow(&mut self, from: Level, gone: Evicted) {
        if let Some(data) = self.sys.versions.remove(&(level_key(from), gone.line, gone.meta)) {
            self.design
                .leaving(&mut self.sys, from, &gone.way(), &data, Why::VersionOverflow);
        }
    }

    /// A dirty line wants to leave a private cache: now, or after a stay in the write-back buffer.
    pub(crate) fn depart(&mut self, from: Level, gone: Evicted, why: Why, notify: Vec<(HartId, u64)>) {
        let (way, data) = (gone.way(), self.sys.line_data(gone.line));
        let departure = Departure {
            from,
            way,
            data,
            why,
            notify,
            since: self.sys.now(),
        };
        if self.hooks.holds {
            let core = private_core(from);
            let behind = self.sys.cores[core.index()]
                .write_back
                .iter()
                .any(|d| d.way.line == way.line);
            if behind || self.design.may_leave(&mut self.sys, from, &way, why) != Gate::Go {
                self.sys.cores[core.index()].write_back.push_back(departure);
                return;
            }
        }
        self.go(departure);
    }

    /// A line leaves its private cache for good.
    fn go(&mut self, mut d: Departure) {
        let exit = match self.hooks.leaving {
            true => self.design.leaving(&mut self.sys, d.from, &d.way, &d.data, d.why),
            false => Exit::Down,
        };
        if exit == Exit::DownUnmarked {
            d.way.meta = 0;
        }
        self.sys.counters.private_writebacks += 1;
        if !d.notify.is_empty() {
            match exit {
                Exit::Drop => self.cleaned_now(&d.notify, None),
                _ => self.write_out(d.way.line, d.data, WriteCause::Flush, d.notify, false),
            }
        } else if exit != Exit::Drop {
            match d.from {
                Level::L1(core) if self.sys.cores[core.index()].l2.is_some() => {
                    let l2 = self.sys.cores[core.index()].l2.as_mut().expect("just checked");
                    // Inclusion: the line is there unless a snoop took it, and then it could not have been dirty above.
                    match l2.find(d.way.line) {
                        Some(w) => {
                            l2.set_dirty(w, true);
                            l2.set_state(w, State::Modified);
                            l2.set_meta(w, d.way.meta);
                        }
                        None => self.insert_llc(d.way.line, true, d.way.meta),
                    }
                }
                _ => self.insert_llc(d.way.line, true, d.way.meta),
            }
        }
    }

    /// Lets lines go that wait in a core's write-back buffer and may leave now, oldest first, one line in order.
    pub(crate) fn drain_write_back(&mut self, core: CoreId) {
        let mut i = 0;
        while i < self.sys.cores[core.index()].write_back.len() {
            let buffer = &self.sys.cores[core.index()].write_back;
            let (from, way, why) = (buffer[i].from, buffer[i].way, buffer[i].why);
            let behind = buffer.iter().take(i).any(|d| d.way.line == way.line);
            if behind || self.design.may_leave(&mut self.sys, from, &way, why) != Gate::Go {
                i += 1;
                continue;
            }
            let d = self.sys.cores[core.index()]
                .write_back
                .remove(i)
                .expect("index is in range");
            self.go(d);
        }
        if !self.sys.cores[core.index()].stuck_fills.is_empty() {
            self.retry_fills(core);
        }
    }

    /// Puts a line into the shared cache (or marks it dirty there), making room first.
    pub(crate) fn insert_llc(&mut self, line: LineAddr, dirty: bool, meta: u32) {
        let llc = &mut self.sys.llc.tags;
        if let Some(w) = llc.find(line) {
            llc.touch(w);
            if dirty {
                llc.set_dirty(w, true);
                llc.set_meta(w, meta);
            }
            return;
        }
        if let Some(gone) = llc.victim(line).and_then(|v| llc.remove(v))
            && gone.dirty
        {
            self.leave_llc(gone);
        }
        self.sys
            .llc
            .tags
            .insert(line, State::Shared, dirty, if dirty { meta } else { 0 });
    }

    fn leave_llc(&mut self, gone: Evicted) {
        let (way, data) = (gone.way(), self.sys.line_data(gone.line));
        if self.hooks.holds && self.design.may_leave(&mut self.sys, Level::Llc, &way, Why::Replaced) != Gate::Go {
            let since = self.sys.now();
            let d = Departure {
                from: Level::Llc,
                way,
                data,
                why: Why::Replaced,
                notify: Vec::new(),
                since,
            };
            self.sys.llc.write_back.push_back(d);
            return;
        }
        if self.hooks.leaving
            && self
                .design
                .leaving(&mut self.sys, Level::Llc, &way, &data, Why::Replaced)
                == Exit::Drop
        {
            return;
        }
        self.write_out(way.line, data, WriteCause::Eviction, Vec::new(), true);
    }

    /// Lets lines go that wait to leave the shared cache.
    pub(crate) fn drain_llc_write_back(&mut self) {
        let mut i = 0;
        while i < self.sys.llc.write_back.len() {
            let (way, why) = (self.sys.llc.write_back[i].way, self.sys.llc.write_back[i].why);
            if self.design.may_leave(&mut self.sys, Level::Llc, &way, why) != Gate::Go {
                i += 1;
                continue;
            }
            let d = self.sys.llc.write_back.remove(i).expect("index is in range");
            let exit = self.design.leaving(&mut self.sys, Level::Llc, &d.way, &d.data, d.why);
            match (exit, d.notify.is_empty()) {
                (Exit::Down | Exit::DownUnmarked, clean) => {
                    let cause = if clean { WriteCause::Eviction } else { WriteCause::Flush };
                    self.write_out(d.way.line, d.data, cause, d.notify, true);
                }
                (Exit::Drop, false) => self.cleaned_now(&d.notify, None),
                (Exit::Drop, true) => {}
            }
        }
    }

    /// Sends a line to memory on the machine's own account.
    pub(crate) fn write_out(
        &mut self,
        line: LineAddr,
        data: LineData,
        cause: WriteCause,
        notify: Vec<(HartId, u64)>,
        llc: bool,
    ) {
        let delay = match cause {
            WriteCause::Eviction => self.sys.spec.bus.to_memory,
            _ => self.clean_path(llc),
        };
        let hart = notify.first().map(|n| n.0);
        let write = Write {
            line,
            data,
            queue: 0,
            epoch: None,
            cause,
            hart,
            delay,
        };
        self.send_out(Side::of(line), write, notify);
    }

    /// Reports cleans that need no write.
    pub(crate) fn cleaned_now(&mut self, notify: &[(HartId, u64)], found: Option<&LineData>) {
        for (hart, tag) in notify {
            self.design.cleaned(&mut self.sys, *hart, *tag, found);
        }
    }

    /// Every dirty line of the caches, for the end of a run.
    pub fn dirty_lines(&self) -> Vec<LineAddr> {
        let private = self
            .sys
            .cores
            .iter()
            .flat_map(|c| c.l1.dirty_lines().chain(c.l2.iter().flat_map(|t| t.dirty_lines())));
        let mut all: Vec<LineAddr> = private.chain(self.sys.llc.tags.dirty_lines()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
    /// Longest time a line has been waiting in a write-back buffer; used when the machine is stuck.
    pub(crate) fn oldest_departure(&self, core: CoreId) -> Option<(LineAddr, Ps)> {
        self.sys.cores[core.index()]
            .write_back
            .front()
            .map(|d| (d.way.line, d.since))
    }
}

fn private_core(level: Level) -> CoreId {
    match level {
        Level::L1(c) | Level::L2(c) => c,
        Level::Llc => unreachable!("the shared cache has a write-back buffer of its own"),
    }
}

/// Index of a cache in the table of frozen versions.
pub(crate) fn level_key(level: Level) -> u8 {
    match level {
        Level::L1(c) => c.0,
        Level::L2(c) => 64 + c.0,
        Level::Llc => 255,
    }
}
