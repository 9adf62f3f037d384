//! A set-associative tag array with least-recently-used replacement.

use super::sets::{MOST, Set, print};
use super::wide::WideSets;
use crate::seam::Way;
use crate::spec::CacheSpec;
use fencepost_kernel::LineAddr;
use prefetch_index::prefetch_index;

/// Coherence state of a way that holds a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Several cores may hold it; no write permission.
    Shared,
    /// The only core's copy, clean.
    Exclusive,
    /// The only core's copy, written.
    Modified,
}
impl State {
    /// Whether a store may perform without a bus request.
    pub(crate) const fn writable(self) -> bool {
        !matches!(self, State::Shared)
    }
}

/// Index of a way in its array.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct WayRef(u32);
#[cfg(test)]
impl WayRef {
    /// Some way, for tests of those who only hand it on.
    pub(crate) fn for_tests() -> WayRef {
        WayRef(0)
    }
}

/// Where a line is in its set, or can be put.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// It is there.
    Here(WayRef),
    /// It is not, and this way is empty.
    Free(WayRef),
    /// The set is full; this way is to be emptied for it.
    Full(WayRef),
}

/// A way, in a word: the number of its line, and above it its coherence state (two bits) and these.
const FROZEN: u64 = 1 << 58;
const EMPTY: u64 = 1 << 59;
const STATE: u32 = 60;
const DIRTY: u64 = 1 << 62;
/// See [`Tags::is_settled`].
const SETTLED: u64 = 1 << 63;
/// The bits of the line's number.
const LINE: u64 = FROZEN - 1;
/// The bits that tell which version of which line a way holds.
const VERSION: u64 = LINE | FROZEN | EMPTY;

#[inline]
fn flags(state: State, dirty: bool) -> u64 {
    (state as u64) << STATE | if dirty { DIRTY } else { 0 }
}
#[inline]
fn state(way: u64) -> State {
    match way >> STATE & 3 {
        0 => State::Shared,
        1 => State::Exclusive,
        _ => State::Modified,
    }
}

/// The tag array of one cache.
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    /// Every way, set after set; a set has a power of two of positions.
    ways: Vec<u64>,
    sets: Vec<Set>,
    /// In place of `sets`, for sets of more ways than those have.
    wide: Option<WideSets>,
    /// The design's marks; empty until one is not zero.
    metas: Vec<u32>,
    mask: u64,
    /// Bits of a line's number that choose its set.
    set_bits: u32,
    /// Exponent of the positions of a set.
    positions: u32,
    /// Ways of a set.
    of_set: usize,
    /// Whether any version was ever frozen.
    freezes: bool,
}

impl Tags {
    /// An empty cache of this geometry. The spec must have been validated.
    pub(crate) fn new(spec: &CacheSpec) -> Tags {
        let (of_set, sets) = (spec.ways as usize, spec.sets() as usize);
        let positions = of_set.next_power_of_two();
        Tags {
            ways: vec![EMPTY; sets * positions],
            sets: vec![Set::new(of_set.min(MOST)); sets],
            wide: (of_set > MOST).then(|| WideSets::new(of_set, sets)),
            metas: Vec::new(),
            mask: sets as u64 - 1,
            set_bits: sets.trailing_zeros(),
            positions: positions.trailing_zeros(),
            of_set,
            freezes: false,
        }
    }
    /// Number of ways.
    pub(crate) fn size(&self) -> usize {
        self.ways.len()
    }
    /// Lines of which it has the current version.
    pub(crate) fn lines(&self) -> impl Iterator<Item = LineAddr> {
        let current = self.ways.iter().filter(|w| **w & (EMPTY | FROZEN) == 0);
        current.map(|w| LineAddr(*w & LINE))
    }
    /// The set of a line.
    #[inline]
    fn set(&self, line: LineAddr) -> usize {
        (line.0 & self.mask) as usize
    }
    /// The way at a position of a set.
    #[inline]
    fn way(&self, set: usize, position: usize) -> WayRef {
        WayRef(((set << self.positions) + position) as u32)
    }
    /// The set of a way, and its position there.
    #[inline]
    fn place(&self, way: WayRef) -> (usize, usize) {
        let way = way.0 as usize;
        (way >> self.positions, way & ((1 << self.positions) - 1))
    }
    #[inline]
    fn word(&self, way: WayRef) -> u64 {
        self.ways[way.0 as usize]
    }
    /// Whether a way holds the current version of `line`.
    #[inline]
    fn holds(&self, way: WayRef, line: LineAddr) -> bool {
        self.word(way) & VERSION == line.0
    }
    #[inline]
    fn print(&self, line: LineAddr) -> u8 {
        print(line.0 >> self.set_bits)
    }
    /// A line will be looked up before long: has the host fetch its set.
    #[inline]
    pub(crate) fn host_prefetch(&self, line: LineAddr) {
        let set = self.set(line);
        prefetch_index(&self.sets, set);
        // A cache line of the host has eight ways.
        (0..1 << self.positions)
            .step_by(8)
            .for_each(|p| prefetch_index(&self.ways, (set << self.positions) + p));
    }
    /// The way that holds the current version of `line`.
    #[inline(never)] // from many places, and large
    pub(crate) fn find(&self, line: LineAddr) -> Option<WayRef> {
        if self.wide.is_some() {
            return self.find_wide(line);
        }
        let set = self.set(line);
        let is = |position: usize| self.holds(self.way(set, position), line);
        let position = self.sets[set].find(self.print(line), is);
        position.map(|p| self.way(set, p))
    }
    #[cold]
    fn find_wide(&self, line: LineAddr) -> Option<WayRef> {
        let set = self.set(line);
        let mut ways = (0..self.of_set).map(|p| self.way(set, p));
        ways.find(|w| self.holds(*w, line))
    }
    /// The way that holds `line` (with permission to write, if `exclusive`) where it was used last of its set, as most are that
    /// are accessed: then an access changes nothing.
    #[inline(always)]
    pub(crate) fn youngest(&self, line: LineAddr, exclusive: bool) -> Option<WayRef> {
        let set = self.set(line);
        let way = self.way(set, self.sets[set].youngest());
        let permitted = !exclusive || self.state(way).writable();
        (self.holds(way, line) && permitted && self.wide.is_none()).then_some(way)
    }
    /// As [`Tags::find`], where most look-ups are for the line that was used last of its set.
    #[inline(always)]
    pub(crate) fn find_recent(&self, line: LineAddr) -> Option<WayRef> {
        let set = self.set(line);
        let way = self.way(set, self.sets[set].youngest());
        match self.holds(way, line) {
            true => Some(way),
            false => self.find(line),
        }
    }
    /// Where `line` is or can be put. What must leave for it is the version used longest ago; frozen ones leave only when the whole
    /// set is frozen.
    pub(crate) fn spot(&self, line: LineAddr) -> Spot {
        match self.find(line) {
            Some(here) => Spot::Here(here),
            None => self.spot_of_absent(line),
        }
    }
    /// The same for a line that is known not to be there.
    #[inline]
    pub(crate) fn spot_of_absent(&self, line: LineAddr) -> Spot {
        debug_assert!(self.find(line).is_none());
        let set = self.set(line);
        let empty = match self.wide {
            None => self.sets[set].empty(),
            Some(_) => (0..self.of_set).find(|p| self.word(self.way(set, *p)) == EMPTY),
        };
        match empty {
            Some(position) => Spot::Free(self.way(set, position)),
            None if self.freezes => Spot::Full(self.oldest_current(set)),
            None => Spot::Full(self.way(set, self.age(set, self.of_set - 1))),
        }
    }
    /// The position of a set that was used `age` uses of other positions ago.
    #[inline]
    fn age(&self, set: usize, age: usize) -> usize {
        match &self.wide {
            None => self.sets[set].age(age),
            Some(wide) => wide.age(set, age),
        }
    }
    /// What must leave where versions may be frozen.
    #[cold]
    fn oldest_current(&self, set: usize) -> WayRef {
        let mut by_age = (0..self.of_set).rev().map(|a| self.way(set, self.age(set, a)));
        let oldest = by_age.clone().next().expect("a set has ways");
        by_age.find(|w| self.word(*w) & FROZEN == 0).unwrap_or(oldest)
    }
    /// The way that holds the frozen version of `line` named by `meta`.
    pub(crate) fn find_frozen(&self, line: LineAddr, meta: u32) -> Option<WayRef> {
        let set = self.set(line);
        let mut ways = (0..self.of_set).map(|p| self.way(set, p));
        ways.find(|w| self.word(*w) & VERSION == line.0 | FROZEN && self.meta(*w) == meta)
    }
    /// Marks a way as used now.
    #[inline]
    pub(crate) fn touch(&mut self, way: WayRef) {
        let (set, position) = self.place(way);
        if self.sets[set].youngest() != position || self.wide.is_some() {
            self.use_again(set, position);
        }
    }
    #[inline(never)]
    fn use_again(&mut self, set: usize, position: usize) {
        self.make_youngest(set, position);
    }
    #[inline]
    fn make_youngest(&mut self, set: usize, position: usize) {
        match &mut self.wide {
            None => self.sets[set].touch(position),
            Some(wide) => wide.touch(set, position),
        }
    }
    /// Coherence state of a way.
    #[inline]
    pub(crate) fn state(&self, way: WayRef) -> State {
        state(self.word(way))
    }
    /// Changes the coherence state of a way.
    #[inline]
    pub(crate) fn set_state(&mut self, way: WayRef, state: State) {
        let way = &mut self.ways[way.0 as usize];
        *way = *way & (VERSION | DIRTY) | flags(state, false);
    }
    /// Whether a way is dirty.
    #[inline]
    pub(crate) fn dirty(&self, way: WayRef) -> bool {
        self.word(way) & DIRTY != 0
    }
    /// Whether a way holds nothing that would be lost with it: neither a dirty nor a frozen version.
    #[inline]
    pub(crate) fn is_clean(&self, way: WayRef) -> bool {
        self.word(way) & (DIRTY | FROZEN) == 0
    }
    /// Marks a way dirty or clean.
    #[inline]
    pub(crate) fn set_dirty(&mut self, way: WayRef, dirty: bool) {
        let way = &mut self.ways[way.0 as usize];
        *way = *way & !(DIRTY | SETTLED) | if dirty { DIRTY } else { 0 };
    }
    /// Whether the way is modified, dirty and has been settled ([`Tags::settle`]) since it was not.
    #[inline]
    pub(crate) fn is_settled(&self, way: WayRef) -> bool {
        self.word(way) & SETTLED != 0
    }
    /// A modified, dirty way: whatever a store in it means for other caches has been done, until its state changes again.
    #[inline]
    pub(crate) fn settle(&mut self, way: WayRef) {
        let way = &mut self.ways[way.0 as usize];
        *way = *way & VERSION | flags(State::Modified, true) | SETTLED;
    }
    /// The design's mark of a way.
    #[inline]
    pub(crate) fn meta(&self, way: WayRef) -> u32 {
        self.metas.get(way.0 as usize).copied().unwrap_or(0)
    }
    /// Changes the design's mark of a way.
    #[inline]
    pub(crate) fn set_meta(&mut self, way: WayRef, meta: u32) {
        if self.metas.is_empty() {
            if meta == 0 {
                return;
            }
            self.metas = vec![0; self.ways.len()];
        }
        self.metas[way.0 as usize] = meta;
    }
    /// Sets the design's mark of every way to zero.
    pub(crate) fn clear_meta(&mut self) {
        self.metas.fill(0);
    }
    /// Turns a way into a frozen version; loads no longer see it.
    pub(crate) fn freeze(&mut self, way: WayRef) {
        let (set, position) = self.place(way);
        self.freezes = true;
        self.ways[way.0 as usize] |= FROZEN;
        self.sets[set].freeze(position);
    }
    /// What a way holds.
    #[inline]
    pub(crate) fn peek(&self, way: WayRef) -> Option<Way> {
        let word = self.word(way);
        (word != EMPTY).then(|| Way {
            line: LineAddr(word & LINE),
            dirty: word & DIRTY != 0,
            meta: self.meta(way),
            frozen: word & FROZEN != 0,
        })
    }
    /// Empties a way.
    #[inline]
    pub(crate) fn remove(&mut self, way: WayRef) -> Option<Way> {
        let gone = self.peek(way);
        self.drop_way(way);
        gone
    }
    /// Empties a way whose contents nobody wants.
    #[inline]
    pub(crate) fn drop_way(&mut self, way: WayRef) {
        let (set, position) = self.place(way);
        self.ways[way.0 as usize] = EMPTY;
        self.sets[set].clear(position);
    }
    /// Empties the way that holds `line`, if any.
    pub(crate) fn take(&mut self, line: LineAddr) -> Option<Way> {
        self.find(line).and_then(|w| self.remove(w))
    }
    /// Puts `line` into a way of its set that is empty or holds it.
    #[inline]
    pub(crate) fn put(&mut self, way: WayRef, line: LineAddr, state: State, dirty: bool, meta: u32) {
        debug_assert!(line.0 <= LINE);
        let (print, (set, position)) = (self.print(line), self.place(way));
        self.ways[way.0 as usize] = line.0 | flags(state, dirty);
        self.sets[set].fill(position, print);
        self.make_youngest(set, position);
        self.set_meta(way, meta);
    }
    /// Every dirty line, in array order.
    pub(crate) fn dirty_lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let dirty = self.ways.iter().filter(|w| **w & DIRTY != 0);
        dirty.map(|w| LineAddr(w & LINE))
    }
}

#[cfg(test)]
impl Tags {
    /// Holds a line, exclusive and clean, for tests of those who look it up.
    pub(crate) fn hold_for_tests(&mut self, line: LineAddr) {
        let (Spot::Here(way) | Spot::Free(way) | Spot::Full(way)) = self.spot(line);
        self.put(way, line, State::Exclusive, false, 0);
    }
}

#[cfg(test)]
mod tests;
