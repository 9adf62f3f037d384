//! Lines leaving caches: victims, the write-back buffer, the shared cache.

use super::held::Words;
use super::notify::Notify;
use super::outside::Outside;
use super::private::Departure;
use super::state::{Hierarchy, Side};
use super::tags::{Spot, State};
use super::versions::level_key;
use crate::seam::{Exit, Gate, Level, Way, Why, Write};
use fencepost_kernel::decision;
use fencepost_kernel::planted;
use fencepost_kernel::{CoreId, LineAddr, LineData, WriteCause};

impl Hierarchy {
    /// A victim of an L1. The caller has checked that the write-back buffer has a free entry.
    pub(super) fn leave_l1(&mut self, out: &mut impl Outside, core: CoreId, gone: Way) {
        if decision!("hierarchy.frozen-victim", gone.frozen) {
            return self.version_overflow(out, Level::L1(core), gone);
        }
        let written_below = gone.dirty
            && !planted!(
                "hierarchy.dirty-victim-dropped",
                "a dirty line that leaves a cache is written below"
            );
        if written_below {
            self.depart(out, Level::L1(core), gone, Why::Replaced, Notify::default());
        }
    }
    /// A victim of a private second level.
    pub(super) fn leave_l2(&mut self, out: &mut impl Outside, core: CoreId, gone: Way) {
        if gone.dirty {
            self.depart(out, Level::L2(core), gone, Why::Replaced, Notify::default());
        }
    }

    fn version_overflow(&mut self, out: &mut impl Outside, from: Level, gone: Way) {
        if let Some(data) = self.versions.remove(&(level_key(from), gone.line, gone.meta)) {
            out.leaving(self, from, &gone, &data, Why::VersionOverflow);
        }
    }

    /// A dirty line wants to leave a private cache: now, or after a stay in the write-back buffer.
    pub(super) fn depart(&mut self, out: &mut impl Outside, from: Level, way: Way, why: Why, notify: Notify) {
        if notify.is_empty() && !self.hooks.holds && !self.hooks.leaving && !self.keeps_bytes() {
            // As most do: the line only changes caches, and nobody looks at its bytes.
            self.counters.private_writebacks += 1;
            return self.insert_below(out, from, &way, None);
        }
        let departure = Departure {
            from,
            way,
            data: self.leaving_data(out, from, way.line),
            why,
            notify,
            since: out.now(),
        };
        if self.hooks.holds {
            let core = private_core(from);
            let behind = self.cores[core.index()].waits_to_leave(way.line) || self.overtakes(&departure);
            if behind || out.may_leave(self, from, &way, why) != Gate::Go {
                self.park(core, departure);
                return;
            }
        }
        self.go(out, departure);
    }

    /// A line leaves its private cache for good.
    fn go(&mut self, out: &mut impl Outside, mut d: Departure) {
        let exit = match self.hooks.leaving {
            true => out.leaving(self, d.from, &d.way, &d.data, d.why),
            false => Exit::Down,
        };
        if exit == Exit::DownUnmarked {
            d.way.meta = 0;
        }
        self.counters.private_writebacks += 1;
        let words = self.keeps_bytes().then_some(d.data.words);
        if !d.notify.is_empty() {
            self.pass_shared(d.way.line, words);
            // Newer bytes that wait behind these have passed the second level already, or will.
            if let Level::L1(core) | Level::L2(core) = d.from
                && !self.cores[core.index()].waits_to_leave(d.way.line)
            {
                self.pass_second(core, d.way.line, words);
            }
            match exit {
                Exit::Drop => self.cleaned_now(out, &d.notify, None),
                _ => self.write_out(out, d.way.line, d.data, WriteCause::Flush, d.notify, false),
            }
        } else if exit != Exit::Drop {
            self.insert_below(out, d.from, &d.way, words);
        }
    }

    /// A dirty line of a private cache goes into the next level.
    fn insert_below(&mut self, out: &mut impl Outside, from: Level, way: &Way, words: Option<Words>) {
        if let Level::L1(core) = from
            && let Some(l2) = &mut self.cores[core.index()].l2
            // Inclusion: the line is there unless a snoop took it, and then it could not have been dirty above.
            && let Some(w) = l2.find(way.line)
        {
            l2.set_dirty(w, true);
            l2.set_state(w, State::Modified);
            l2.set_meta(w, way.meta);
            self.set_words(Level::L2(core), way.line, words);
        } else {
            self.insert_llc(out, way.line, (true, way.meta), words);
        }
    }

    /// The next core, in order, in whose write-back buffer something may wait. Only there a fill can be stuck.
    #[inline]
    pub(crate) fn parked_after(&self, core: Option<CoreId>) -> Option<CoreId> {
        let behind = core.map_or(u64::MAX, |c| (u64::MAX << c.0) << 1);
        CoreId::all_in(self.parked & behind).next()
    }
    /// A line waits in a core's write-back buffer.
    fn park(&mut self, core: CoreId, departure: Departure) {
        *self.parked_lines.entry(departure.way.line).or_default() += 1;
        self.cores[core.index()].write_back.push_back(departure);
        self.parked |= 1 << core.0;
    }
    /// The line at a position of a core's write-back buffer waits there no longer.
    pub(super) fn unpark(&mut self, core: CoreId, at: usize) -> Departure {
        let d = self.cores[core.index()]
            .write_back
            .remove(at)
            .expect("index is in range");
        if let Some(n) = self.parked_lines.get_mut(&d.way.line) {
            *n -= 1;
            if *n == 0 {
                self.parked_lines.remove(&d.way.line);
            }
        }
        d
    }
    /// Whether a write-back of the line waits in some core's buffer.
    #[inline]
    pub(super) fn parked_somewhere(&self, line: LineAddr) -> bool {
        self.parked != 0 && self.parked_lines.contains_key(&line)
    }
    /// Whether a line that goes on to memory would pass older bytes of it that wait to leave the shared cache.
    pub(super) fn overtakes(&self, d: &Departure) -> bool {
        !d.notify.is_empty() && self.llc.write_back.iter().any(|o| o.way.line == d.way.line)
    }
    /// Cores where a line waits for that, a bit each.
    pub(crate) fn behind_shared(&self) -> u64 {
        if self.llc.write_back.is_empty() {
            return 0;
        }
        let waits = |c: &CoreId| self.cores[c.index()].write_back.iter().any(|d| self.overtakes(d));
        CoreId::all_in(self.parked).filter(waits).fold(0, |m, c| m | 1 << c.0)
    }
    /// Lets lines go that wait in a core's write-back buffer and may leave now, oldest first, one line in order.
    pub(crate) fn drain_write_back(&mut self, out: &mut impl Outside, core: CoreId) {
        let mut i = 0;
        while i < self.cores[core.index()].write_back.len() {
            let buffer = &self.cores[core.index()].write_back;
            let (from, way, why) = (buffer[i].from, buffer[i].way, buffer[i].why);
            let behind = buffer.iter().take(i).any(|d| d.way.line == way.line) || self.overtakes(&buffer[i]);
            if behind || out.may_leave(self, from, &way, why) != Gate::Go {
                i += 1;
                continue;
            }
            let d = self.unpark(core, i);
            self.go(out, d);
        }
        if self.cores[core.index()].write_back.is_empty() {
            self.parked &= !(1 << core.0);
        }
    }

    /// Puts a line into the shared cache (or marks it dirty there), making its way free first.
    pub(super) fn insert_llc(
        &mut self,
        out: &mut impl Outside,
        line: LineAddr,
        (dirty, meta): (bool, u32),
        words: Option<Words>,
    ) {
        let llc = &mut self.llc.tags;
        let way = match llc.spot(line) {
            Spot::Here(w) => {
                llc.touch(w);
                if dirty {
                    llc.set_dirty(w, true);
                    llc.set_meta(w, meta);
                    self.set_words(Level::Llc, line, words);
                }
                return;
            }
            Spot::Free(w) => w,
            Spot::Full(victim) => {
                // One that is clean just gives way to the line.
                if !llc.is_clean(victim)
                    && let Some(gone) = llc.remove(victim)
                {
                    self.leave_llc(out, gone);
                }
                victim
            }
        };
        let meta = if dirty { meta } else { 0 };
        self.llc.tags.put(way, line, State::Shared, dirty, meta);
        self.set_words(Level::Llc, line, words);
    }

    fn leave_llc(&mut self, out: &mut impl Outside, way: Way) {
        let data = self.leaving_data(out, Level::Llc, way.line);
        if self.hooks.holds && out.may_leave(self, Level::Llc, &way, Why::Replaced) != Gate::Go {
            let since = out.now();
            let d = Departure {
                from: Level::Llc,
                way,
                data,
                why: Why::Replaced,
                notify: Notify::default(),
                since,
            };
            self.llc.write_back.push_back(d);
            return;
        }
        if self.hooks.leaving && out.leaving(self, Level::Llc, &way, &data, Why::Replaced) == Exit::Drop {
            return;
        }
        let written = !planted!(
            "hierarchy.shared-victim-dropped",
            "a dirty line that leaves the shared cache is written to memory"
        );
        if written {
            self.write_out(out, way.line, data, WriteCause::Eviction, Notify::default(), true);
        }
    }

    /// Lets lines go that wait to leave the shared cache.
    pub(crate) fn drain_llc_write_back(&mut self, out: &mut impl Outside) {
        let mut i = 0;
        while i < self.llc.write_back.len() {
            let (way, why) = (self.llc.write_back[i].way, self.llc.write_back[i].why);
            if out.may_leave(self, Level::Llc, &way, why) != Gate::Go {
                i += 1;
                continue;
            }
            let d = self.llc.write_back.remove(i).expect("index is in range");
            let exit = out.leaving(self, Level::Llc, &d.way, &d.data, d.why);
            match (exit, d.notify.is_empty()) {
                (Exit::Down | Exit::DownUnmarked, clean) => {
                    let cause = if clean { WriteCause::Eviction } else { WriteCause::Flush };
                    self.write_out(out, d.way.line, d.data, cause, d.notify, true);
                }
                (Exit::Drop, false) => self.cleaned_now(out, &d.notify, None),
                (Exit::Drop, true) => {}
            }
        }
    }

    /// Sends a line to memory on the machine's own account.
    pub(super) fn write_out(
        &mut self,
        out: &mut impl Outside,
        line: LineAddr,
        data: LineData,
        cause: WriteCause,
        notify: Notify,
        llc: bool,
    ) {
        let delay = match cause {
            WriteCause::Eviction => self.spec.bus.to_memory,
            _ => self.clean_path(llc),
        };
        let hw_thread = notify.first();
        let write = Write {
            line,
            data,
            queue: 0,
            epoch: None,
            cause,
            hw_thread,
            delay,
        };
        self.send_out(out, Side::of(line), write, notify);
    }

    /// Reports cleans that need no write.
    pub(super) fn cleaned_now(&mut self, out: &mut impl Outside, notify: &Notify, found: Option<&LineData>) {
        for (hw_thread, tag) in notify.iter() {
            out.cleaned(self, hw_thread, tag, found);
        }
    }
}

fn private_core(level: Level) -> CoreId {
    match level {
        Level::L1(c) | Level::L2(c) => c,
        Level::Llc => unreachable!("the shared cache has a write-back buffer of its own"),
    }
}
