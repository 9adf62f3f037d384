//! A set-associative tag array with least-recently-used replacement.

use super::sets::{GROUP, Sets};
use crate::seam::Way;
use crate::spec::CacheSpec;
use fencepost_kernel::LineAddr;

/// Coherence state of a way that holds a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Several cores may hold it; no write permission.
    Shared,
    /// The only core's copy, clean.
    Exclusive,
    /// The only core's copy, written.
    Modified,
}
impl State {
    /// Whether a store may perform without a bus request.
    pub const fn writable(self) -> bool {
        !matches!(self, State::Shared)
    }
}

/// Index of a way in its array.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct WayRef(u32);
#[cfg(test)]
impl WayRef {
    /// Some way, for tests of those who only hand it on.
    pub fn for_tests() -> WayRef {
        WayRef(0)
    }
}

/// A line that had to leave.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// The line.
    pub line: LineAddr,
    /// Its coherence state when it left.
    pub state: State,
    /// Whether it was dirty.
    pub dirty: bool,
    /// The design's mark.
    pub meta: u32,
    /// Whether it was a frozen version.
    pub frozen: bool,
}
impl Evicted {
    /// As the design sees it.
    pub fn way(&self) -> Way {
        Way {
            line: self.line,
            dirty: self.dirty,
            meta: self.meta,
            frozen: self.frozen,
        }
    }
}

/// Where a line is in its set, or can be put.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// It is there.
    Here(WayRef),
    /// It is not, and this way is empty.
    Free(WayRef),
    /// The set is full; this way is to be emptied for it.
    Full(WayRef),
}

/// What is kept of a way's state, in a byte: its coherence state, and these bits.
const STATE: u8 = 3;
const DIRTY: u8 = 4;
/// See [`Tags::is_settled`].
const SETTLED: u8 = 8;

fn flags(state: State, dirty: bool) -> u8 {
    state as u8 | if dirty { DIRTY } else { 0 }
}
fn state(flags: u8) -> State {
    match flags & STATE {
        0 => State::Shared,
        1 => State::Exclusive,
        _ => State::Modified,
    }
}

/// The tag array of one cache.
#[derive(Clone, Debug)]
pub struct Tags {
    sets: Sets,
    /// The line of every way that holds one.
    lines: Vec<LineAddr>,
    /// The design's marks; empty until one is not zero.
    metas: Vec<u32>,
    /// `lines` and `metas` have a group in so many places, a power of two (this is its exponent): few ways do not fill one.
    places: u32,
    mask: u64,
    /// Bits of a line's number that choose its set.
    set_bits: u32,
    /// Whether any version was ever frozen.
    freezes: bool,
}

impl Tags {
    /// An empty cache of this geometry. The spec must have been validated.
    pub fn new(spec: &CacheSpec) -> Tags {
        let (ways, sets) = (spec.ways as usize, spec.sets() as usize);
        let places = ways.min(GROUP).next_power_of_two();
        let all = Sets::new(ways, sets);
        Tags {
            lines: vec![LineAddr(0); all.len() / GROUP * places],
            sets: all,
            metas: Vec::new(),
            places: places.trailing_zeros(),
            mask: sets as u64 - 1,
            set_bits: sets.trailing_zeros(),
            freezes: false,
        }
    }
    /// The first way of a line's set.
    #[inline]
    fn first(&self, line: LineAddr) -> usize {
        self.sets.first((line.0 & self.mask) as usize)
    }
    #[inline]
    fn print(&self, line: LineAddr) -> u8 {
        Sets::print(line.0 >> self.set_bits)
    }
    /// Where `lines` and `metas` have a way.
    #[inline]
    fn at(&self, way: usize) -> usize {
        ((way / GROUP) << self.places) + way % GROUP
    }
    #[inline]
    fn find_in(&self, first: usize, line: LineAddr) -> Option<usize> {
        let print = self.print(line);
        self.sets.find(first, print, |way| self.lines[self.at(way)] == line)
    }
    /// The way that holds the current version of `line`.
    #[inline]
    pub fn find(&self, line: LineAddr) -> Option<WayRef> {
        let hit = self.find_in(self.first(line), line);
        hit.map(|way| WayRef(way as u32))
    }
    /// Where `line` is or can be put. What must leave for it is the version used longest ago; frozen ones leave only when the whole
    /// set is frozen.
    pub fn spot(&self, line: LineAddr) -> Spot {
        let first = self.first(line);
        let way = |way: usize| WayRef(way as u32);
        if let Some(here) = self.find_in(first, line) {
            return Spot::Here(way(here));
        }
        if let Some(free) = self.sets.empty(first) {
            return Spot::Free(way(free));
        }
        Spot::Full(way(match self.freezes {
            false => self.sets.oldest(first),
            true => self.sets.oldest_current(first),
        }))
    }
    /// The way that holds the frozen version of `line` named by `meta`.
    pub fn find_frozen(&self, line: LineAddr, meta: u32) -> Option<WayRef> {
        let first = self.first(line);
        let mut ways = first..first + self.sets.ways();
        let is = |w: &usize| self.sets.is_frozen(*w) && self.lines[self.at(*w)] == line && self.mark(*w) == meta;
        ways.find(is).map(|w| WayRef(w as u32))
    }
    /// Marks a way as used now.
    #[inline]
    pub fn touch(&mut self, way: WayRef) {
        self.sets.touch(way.0 as usize);
    }
    /// Coherence state of a way.
    #[inline]
    pub fn state(&self, way: WayRef) -> State {
        state(self.sets.flags(way.0 as usize))
    }
    /// Changes the coherence state of a way.
    #[inline]
    pub fn set_state(&mut self, way: WayRef, state: State) {
        let flags = self.sets.flags_mut(way.0 as usize);
        *flags = *flags & DIRTY | state as u8;
    }
    /// Whether a way is dirty.
    #[inline]
    pub fn dirty(&self, way: WayRef) -> bool {
        self.sets.flags(way.0 as usize) & DIRTY != 0
    }
    /// Marks a way dirty or clean.
    #[inline]
    pub fn set_dirty(&mut self, way: WayRef, dirty: bool) {
        let flags = self.sets.flags_mut(way.0 as usize);
        *flags = *flags & STATE | if dirty { DIRTY } else { 0 };
    }
    /// Whether the way is modified, dirty and has been settled ([`Tags::settle`]) since it was not.
    #[inline]
    pub fn is_settled(&self, way: WayRef) -> bool {
        self.sets.flags(way.0 as usize) & SETTLED != 0
    }
    /// A modified, dirty way: whatever a store in it means for other caches has been done, until its state changes again.
    #[inline]
    pub fn settle(&mut self, way: WayRef) {
        *self.sets.flags_mut(way.0 as usize) = flags(State::Modified, true) | SETTLED;
    }
    #[inline]
    fn mark(&self, way: usize) -> u32 {
        self.metas.get(self.at(way)).copied().unwrap_or(0)
    }
    /// The design's mark of a way.
    #[inline]
    pub fn meta(&self, way: WayRef) -> u32 {
        self.mark(way.0 as usize)
    }
    /// Changes the design's mark of a way.
    #[inline]
    pub fn set_meta(&mut self, way: WayRef, meta: u32) {
        if self.metas.is_empty() {
            if meta == 0 {
                return;
            }
            self.metas = vec![0; self.lines.len()];
        }
        let at = self.at(way.0 as usize);
        self.metas[at] = meta;
    }
    /// Sets the design's mark of every way to zero.
    pub fn clear_meta(&mut self) {
        self.metas.fill(0);
    }
    /// Turns a way into a frozen version; loads no longer see it.
    pub fn freeze(&mut self, way: WayRef) {
        self.freezes = true;
        self.sets.freeze(way.0 as usize);
    }
    /// What a way holds.
    #[inline]
    pub fn peek(&self, way: WayRef) -> Option<Evicted> {
        let i = way.0 as usize;
        self.sets.is_full(i).then(|| Evicted {
            line: self.lines[self.at(i)],
            state: self.state(way),
            dirty: self.dirty(way),
            meta: self.mark(i),
            frozen: self.sets.is_frozen(i),
        })
    }
    /// Empties a way.
    #[inline]
    pub fn remove(&mut self, way: WayRef) -> Option<Evicted> {
        let gone = self.peek(way);
        self.sets.clear(way.0 as usize);
        gone
    }
    /// Empties the way that holds `line`, if any.
    pub fn take(&mut self, line: LineAddr) -> Option<Evicted> {
        self.find(line).and_then(|w| self.remove(w))
    }
    /// Puts `line` into a way of its set that is empty or holds it.
    #[inline]
    pub fn put(&mut self, way: WayRef, line: LineAddr, state: State, dirty: bool, meta: u32) {
        let (i, print) = (way.0 as usize, self.print(line));
        self.sets.fill(i, print, flags(state, dirty));
        self.sets.touch(i);
        let at = self.at(i);
        self.lines[at] = line;
        self.set_meta(way, meta);
    }
    /// Every dirty line, in array order.
    pub fn dirty_lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let ways = self.sets.full().map(|w| WayRef(w as u32));
        ways.filter(|w| self.dirty(*w))
            .map(|w| self.lines[self.at(w.0 as usize)])
    }
}

#[cfg(test)]
mod tests;
