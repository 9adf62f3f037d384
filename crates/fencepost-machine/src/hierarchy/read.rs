//! Reads of memory: through the shared cache's miss registers to a controller and back.

use super::held::Words;
use super::outside::Outside;
use super::state::{Hierarchy, ReadFor, Side, Step};
use crate::seam::{Cause, ReadAnswer};
use fencepost_kernel::planted;
use fencepost_kernel::{CoreId, HwThread, LineAddr, LineData, Ps};

impl Hierarchy {
    /// The data of a miss comes from the design if it holds the line, else from memory.
    pub(super) fn below_caches(
        &mut self,
        out: &mut impl Outside,
        core: CoreId,
        miss: u8,
        by: HwThread,
        line: LineAddr,
    ) {
        let answer = match self.hooks.reads {
            true => out.read_missed(self, by, line),
            false => ReadAnswer::Pass,
        };
        match answer {
            ReadAnswer::Pass => self.read_memory(out, core, miss, line),
            ReadAnswer::Supply => self.supplied(out, core, miss, None),
            ReadAnswer::SupplyBytes(bytes) => self.supplied(out, core, miss, Some(bytes)),
        }
    }
    /// A buffer of the design answers a miss: with the newest bytes, where it does not say with which.
    fn supplied(&mut self, out: &mut impl Outside, core: CoreId, miss: u8, bytes: Option<LineData>) {
        if self.keeps_bytes() {
            let line = self.cores[core.index()].misses[miss].line;
            let bytes = bytes.unwrap_or_else(|| out.line_data(line));
            self.set_miss_words(core, miss, Some(bytes.words));
        }
        let at = out.now() + self.spec.bus.snoop + self.spec.bus.transfer;
        out.schedule(at, Step::Fill(core, miss));
    }

    /// Reads that waited for a miss register look again for their data: the design may have taken the line since.
    fn read_starved(&mut self, out: &mut impl Outside) {
        while self.bus.reads < self.spec.llc.mshrs {
            let Some((core, miss)) = self.bus.starved_reads.pop_front() else {
                return;
            };
            let m = &self.cores[core.index()].misses[miss];
            let (by, line) = (m.waiters[0].hw_thread(), m.line);
            self.below_caches(out, core, miss, by, line);
        }
    }

    fn read_memory(&mut self, out: &mut impl Outside, core: CoreId, miss: u8, line: LineAddr) {
        self.charge_miss(core, miss, Cause::LoadMemory);
        if self.bus.reads >= self.spec.llc.mshrs {
            self.bus.starved_reads.push_back((core, miss));
            return;
        }
        self.bus.reads += 1;
        let mut from = match self.hooks.versions {
            true => out.read_from(self, line),
            false => line,
        };
        let log_missed = from != line
            && planted!(
                "hierarchy.read-misses-log",
                "a line whose newest bytes are in a log is read there"
            );
        if log_missed {
            from = line;
        }
        self.cores[core.index()].misses[miss].from = from;
        let kept_until_read = from != line
            && !planted!(
                "hierarchy.log-written-before-read",
                "what is read in place of its home is not written over before that"
            );
        if kept_until_read {
            self.interfaces[Side::of(line) as usize].redirected.push(from);
        }
        if self.keeps_bytes() {
            self.look_at_memory(out, core, miss, line, from);
        }
        let at = out.now() + self.spec.llc.latency + self.spec.bus.to_memory;
        out.schedule(at, Step::ReadSend(Side::of(line), ReadFor::Miss(core, miss)));
    }

    /// Whether a line of persistent memory is being read in place of another.
    pub(crate) fn is_read_for_another(&self, line: LineAddr) -> bool {
        self.interfaces[Side::Pm as usize].redirected.contains(&line)
    }
    /// What was read away from its home is there: it may be written over.
    fn redirected_read_done(&mut self, out: &mut impl Outside, side: Side, from: LineAddr) {
        let redirected = &mut self.interfaces[side as usize].redirected;
        if let Some(i) = redirected.iter().position(|l| *l == from) {
            redirected.swap_remove(i);
        }
        self.retry_held_up(out, side);
    }

    /// In a checked run: what a read of memory will find at `from`. Anything but the newest bytes is a design that lost a write.
    fn look_at_memory(&mut self, out: &mut impl Outside, core: CoreId, miss: u8, line: LineAddr, from: LineAddr) {
        let outgoing = &mut self.interfaces[Side::of(line) as usize].outgoing;
        let waiting = outgoing.newest(from).map(|w| w.write.data);
        self.set_miss_words(core, miss, waiting.map(|d| d.words));
        if line.is_persistent() {
            self.counters.stale_reads += u64::from(!out.memory_is_current(line, from, waiting.as_ref()));
        }
    }

    /// What will arrive for a miss, where bytes are kept.
    #[inline]
    pub(super) fn set_miss_words(&mut self, core: CoreId, miss: u8, words: Option<Words>) {
        if self.keeps_bytes() {
            self.cores[core.index()].misses[miss].words = words.map(Box::new);
        }
    }

    /// Reads a line from persistent memory for the design: the step to schedule, and when.
    pub(crate) fn read_for_design(&mut self, now: Ps, line: LineAddr, tag: u64) -> (Ps, Step) {
        let free = self.design_reads.iter().position(Option::is_none);
        let slot = free.unwrap_or_else(|| {
            self.design_reads.push(None);
            self.design_reads.len() - 1
        });
        self.design_reads[slot] = Some((line, tag));
        let step = Step::ReadSend(Side::Pm, ReadFor::Design(slot as u32));
        (now + self.spec.bus.to_memory, step)
    }

    /// Sends a read to its controller, or lets it wait until the controller's queue has a free entry.
    pub(crate) fn send_read(&mut self, out: &mut impl Outside, side: Side, what: ReadFor) {
        let line = match what {
            ReadFor::Miss(core, miss) => self.cores[core.index()].misses[miss].from,
            ReadFor::Design(slot) => self.design_reads[slot as usize].expect("a read under way is known").0,
        };
        let interface = &mut self.interfaces[side as usize];
        let id = interface.free_reads.pop().unwrap_or_else(|| {
            interface.reads.push(None);
            interface.reads.len() as u32 - 1
        });
        if out.push_read(side, id.into(), line) {
            interface.reads[id as usize] = Some(what);
        } else {
            interface.free_reads.push(id);
            interface.waiting_reads.push_back(what);
        }
        out.wake_memory(side);
    }

    /// A controller's read queue has a free entry: every read that waits for one asks again.
    pub(crate) fn retry_reads(&mut self, out: &mut impl Outside, side: Side) {
        for what in std::mem::take(&mut self.interfaces[side as usize].waiting_reads) {
            self.send_read(out, side, what);
        }
    }

    /// A read's data left the controller.
    pub(crate) fn read_done(&mut self, out: &mut impl Outside, side: Side, id: u64) {
        let back = out.now() + self.spec.bus.to_memory;
        let interface = &mut self.interfaces[side as usize];
        let Some(what) = interface.reads[id as usize].take() else {
            return;
        };
        interface.free_reads.push(id as u32);
        // Taken for whomever it was: the next read of this number must not find it.
        let answer = out.answer(side, id);
        match what {
            ReadFor::Miss(core, miss) => {
                self.bus.reads -= 1;
                self.counters.memory_reads[side as usize] += 1;
                out.schedule(back, Step::Fill(core, miss));
                let m = &mut self.cores[core.index()].misses[miss];
                m.words = m.words.take().or(answer.map(Box::new));
                let (line, from, words) = (m.line, m.from, m.words.as_deref().copied());
                self.insert_llc(out, line, (false, 0), words);
                self.read_starved(out);
                if from != line {
                    self.redirected_read_done(out, side, from);
                }
            }
            ReadFor::Design(slot) => {
                if let Some((line, tag)) = self.design_reads[slot as usize].take() {
                    out.design_read_done(self, tag, line);
                }
            }
        }
        // Where the answer frees an entry, the first that waits need not hear of it from the controller.
        let waiting = &mut self.interfaces[side as usize].waiting_reads;
        let told = !waiting.is_empty()
            && !planted!(
                "memory.free-read-entry-not-told",
                "a read that was refused hears of a free entry"
            );
        if told && let Some(next) = waiting.pop_front() {
            self.send_read(out, side, next);
        }
    }
}
