//! Bytes where the mechanism holds them: kept in checked runs, and compared with the newest ones whenever they are read.
//!
//! Tags say which copies of a line are valid, and a valid copy holds the newest bytes. That is what a coherence protocol is
//! for, so a run that checks nothing takes bytes from the coherent image. A checked run moves them along: from memory or
//! another cache into the miss register, from there into the ways, from a way into the write-back buffer and on. A load, and
//! a dirty line that leaves its cache, must find the newest bytes; anything else is a defect of the simulator or of the
//! design, and the first one is kept. Frozen versions and lines under way carry bytes of their own in every run.

use super::held::{StaleBytes, Words};
use super::outside::Outside;
use super::state::Hierarchy;
use super::versions::level_key;
use crate::seam::Level;
use fencepost_kernel::{Addr, CoreId, LineAddr, LineData, Ps};

impl Hierarchy {
    /// Bytes are kept and compared from now on; for a hierarchy that is still empty.
    pub(crate) fn keep_bytes(&mut self) {
        self.held = Some(Box::default());
    }
    /// Whether bytes are kept.
    #[inline]
    pub(crate) fn keeps_bytes(&self) -> bool {
        self.held.is_some()
    }
    /// The first stale bytes that were read.
    pub(crate) fn stale(&self) -> Option<&StaleBytes> {
        self.held.as_ref()?.stale.as_ref()
    }
    /// What a cache holds of a line, as far as its bytes are kept.
    #[inline]
    pub(super) fn words(&self, level: Level, line: LineAddr) -> Option<Words> {
        self.held.as_ref()?.lines.get(&(level_key(level), line)).copied()
    }
    /// What a core's private caches hold of a line: the L1 before the L2.
    #[inline]
    pub(super) fn private_words(&self, core: CoreId, line: LineAddr) -> Option<Words> {
        if !self.keeps_bytes() {
            return None;
        }
        let in_l1 = self.cores[core.index()].l1.find(line).is_some();
        self.words(if in_l1 { Level::L1(core) } else { Level::L2(core) }, line)
    }
    /// Bytes arrive in a cache. Does nothing while none are kept.
    #[inline]
    pub(super) fn set_words(&mut self, level: Level, line: LineAddr, words: Option<Words>) {
        if let (Some(held), Some(words)) = (&mut self.held, words) {
            held.lines.insert((level_key(level), line), words);
        }
    }
    /// A core's private caches agree on the bytes of a line: the first level's.
    pub(super) fn agree(&mut self, core: CoreId, line: LineAddr) -> Option<Words> {
        if !self.keeps_bytes() {
            return None;
        }
        let words = self.private_words(core, line);
        self.set_words(Level::L1(core), line, words);
        self.set_words(Level::L2(core), line, words);
        words
    }
    /// The bytes of a private copy are on their way to memory: copies that they pass take them over.
    pub(super) fn pass_down(&mut self, core: CoreId, line: LineAddr) {
        let words = self.agree(core, line);
        self.pass_shared(line, words);
    }
    /// Bytes on their way to memory pass the second level, where the first holds nothing newer.
    pub(super) fn pass_second(&mut self, core: CoreId, line: LineAddr, words: Option<Words>) {
        if self.keeps_bytes() && self.cores[core.index()].l1.find(line).is_none() {
            self.set_words(Level::L2(core), line, words);
        }
    }
    /// Bytes on their way to memory pass the shared cache: a copy there takes them over.
    pub(super) fn pass_shared(&mut self, line: LineAddr, words: Option<Words>) {
        if self.keeps_bytes() && self.llc.tags.find(line).is_some() {
            self.set_words(Level::Llc, line, words);
        }
    }
    /// A store performs in an L1.
    pub(crate) fn stored(&mut self, core: CoreId, addr: Addr, value: u64) {
        let key = (level_key(Level::L1(core)), addr.line());
        if let Some(words) = self.held.as_mut().and_then(|h| h.lines.get_mut(&key)) {
            words[addr.word_in_line()] = value;
        }
    }
    /// A load performs in an L1, where the newest bytes must be.
    pub(crate) fn loaded(&mut self, now: Ps, core: CoreId, line: LineAddr, newest: Words) {
        self.compare(now, Level::L1(core), line, newest, "a load");
    }
    /// A dirty line leaves a cache: its bytes, which must be the newest.
    pub(super) fn leaving_data(&mut self, out: &impl Outside, from: Level, line: LineAddr) -> LineData {
        let mut data = out.line_data(line);
        if self.keeps_bytes()
            && let Some(found) = self.compare(out.now(), from, line, data.words, "a write-back")
        {
            data.words = found;
        }
        data
    }
    pub(super) fn compare(
        &mut self,
        time: Ps,
        place: Level,
        line: LineAddr,
        newest: Words,
        reader: &'static str,
    ) -> Option<Words> {
        let held = self.held.as_mut()?;
        let found = *held.lines.get(&(level_key(place), line))?;
        if found != newest {
            held.stale.get_or_insert(StaleBytes {
                time,
                line,
                reader,
                place,
                found,
                newest,
            });
        }
        Some(found)
    }
    /// After a roll-back: every copy of the line goes back with memory.
    pub(super) fn refresh_words(&mut self, line: LineAddr, newest: &LineData) {
        let Some(held) = &mut self.held else { return };
        let cores = (0..self.cores.len() as u8).map(CoreId);
        let private = cores.flat_map(|c| [Level::L1(c), Level::L2(c)]);
        for level in private.chain([Level::Llc]) {
            if let Some(words) = held.lines.get_mut(&(level_key(level), line)) {
                *words = newest.words;
            }
        }
        let misses = self.cores.iter_mut().flat_map(|c| c.misses.iter_mut());
        for m in misses.filter(|m| m.line == line) {
            // Also what memory is still being asked for: a roll-back takes effect everywhere at once.
            m.words = m.fill.map(|_| Box::new(newest.words));
        }
    }
}
