//! A set-associative tag array with least-recently-used replacement.

use super::prints::Prints;
use crate::seam::Way;
use crate::spec::CacheSpec;
use fencepost_kernel::LineAddr;
use std::num::NonZeroU64;

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

/// What a way holds: a line, and whether it is a frozen version of it. One integer, because a look-up compares every way of
/// a set with the one that names the line's current version.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Key(NonZeroU64);
impl Key {
    #[inline]
    fn new(line: LineAddr, frozen: bool) -> Key {
        let key = line.0 << 2 | u64::from(frozen) << 1 | 1;
        Key(NonZeroU64::new(key).expect("the lowest bit is set"))
    }
    fn line(self) -> LineAddr {
        LineAddr(self.0.get() >> 2)
    }
    fn frozen(self) -> bool {
        self.0.get() & 2 != 0
    }
}

#[derive(Copy, Clone, Debug)]
struct Slot {
    key: Option<Key>,
    /// When it was used last, counted in uses.
    used: u64,
    meta: u32,
    state: State,
    dirty: bool,
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

/// Ways of a set that are compared one by one.
const FEW: usize = 4;

/// The tag array of one cache.
#[derive(Clone, Debug)]
pub struct Tags {
    prints: Prints,
    slots: Vec<Slot>,
    ways: usize,
    mask: u64,
    /// Bits of a line's number that choose its set.
    set_bits: u32,
    clock: u64,
}

impl Tags {
    /// An empty cache of this geometry. The spec must have been validated.
    pub fn new(spec: &CacheSpec) -> Tags {
        let (ways, sets) = (spec.ways as usize, spec.sets() as usize);
        let empty = Slot {
            key: None,
            used: 0,
            meta: 0,
            state: State::Shared,
            dirty: false,
        };
        Tags {
            prints: Prints::new(ways, sets),
            slots: vec![empty; ways * sets],
            ways,
            mask: sets as u64 - 1,
            set_bits: sets.trailing_zeros(),
            clock: 0,
        }
    }
    /// The first way of a line's set.
    #[inline]
    fn first(&self, line: LineAddr) -> usize {
        (line.0 & self.mask) as usize * self.ways
    }
    #[inline]
    fn print(&self, line: LineAddr) -> u8 {
        Prints::of(line.0 >> self.set_bits)
    }
    /// The way that holds the current version of `line`.
    #[inline]
    pub fn find(&self, line: LineAddr) -> Option<WayRef> {
        let (first, key) = (self.first(line), Some(Key::new(line, false)));
        let hit = match self.ways {
            // Of so few ways the tags themselves are quicker to compare.
            ..=FEW => {
                let set = &self.slots[first..first + self.ways];
                set.iter().position(|s| s.key == key).map(|way| first + way)
            }
            _ => {
                let print = self.print(line);
                self.prints.find(first, print, |way| self.slots[way].key == key)
            }
        };
        hit.map(|way| WayRef(way as u32))
    }
    /// The way that holds the frozen version of `line` named by `meta`.
    pub fn find_frozen(&self, line: LineAddr, meta: u32) -> Option<WayRef> {
        let (first, key) = (self.first(line), Some(Key::new(line, true)));
        let found = (first..first + self.ways).find(|i| self.slots[*i].key == key && self.slots[*i].meta == meta);
        found.map(|i| WayRef(i as u32))
    }
    /// Marks a way as used now.
    pub fn touch(&mut self, way: WayRef) {
        self.clock += 1;
        self.slots[way.0 as usize].used = self.clock;
    }
    /// Coherence state of a way.
    pub fn state(&self, way: WayRef) -> State {
        self.slots[way.0 as usize].state
    }
    /// Changes the coherence state of a way.
    pub fn set_state(&mut self, way: WayRef, state: State) {
        self.slots[way.0 as usize].state = state;
    }
    /// Whether a way is dirty.
    pub fn dirty(&self, way: WayRef) -> bool {
        self.slots[way.0 as usize].dirty
    }
    /// Marks a way dirty or clean.
    pub fn set_dirty(&mut self, way: WayRef, dirty: bool) {
        self.slots[way.0 as usize].dirty = dirty;
    }
    /// The design's mark of a way.
    pub fn meta(&self, way: WayRef) -> u32 {
        self.slots[way.0 as usize].meta
    }
    /// Changes the design's mark of a way.
    pub fn set_meta(&mut self, way: WayRef, meta: u32) {
        self.slots[way.0 as usize].meta = meta;
    }
    /// Sets the design's mark of every way to zero.
    pub fn clear_meta(&mut self) {
        self.slots.iter_mut().for_each(|s| s.meta = 0);
    }
    /// Turns a way into a frozen version; loads no longer see it.
    pub fn freeze(&mut self, way: WayRef) {
        let key = &mut self.slots[way.0 as usize].key;
        *key = key.map(|k| Key::new(k.line(), true));
        self.prints.freeze(way.0 as usize);
    }
    fn taken(&self, i: usize) -> Option<Evicted> {
        let s = &self.slots[i];
        s.key.map(|k| Evicted {
            line: k.line(),
            state: s.state,
            dirty: s.dirty,
            meta: s.meta,
            frozen: k.frozen(),
        })
    }
    /// What a way holds.
    pub fn peek(&self, way: WayRef) -> Option<Evicted> {
        self.taken(way.0 as usize)
    }
    /// Empties a way.
    pub fn remove(&mut self, way: WayRef) -> Option<Evicted> {
        let gone = self.taken(way.0 as usize);
        self.slots[way.0 as usize].key = None;
        self.prints.clear(way.0 as usize);
        gone
    }
    /// Empties the way that holds `line`, if any.
    pub fn take(&mut self, line: LineAddr) -> Option<Evicted> {
        self.find(line).and_then(|w| self.remove(w))
    }
    /// What must leave before `line` can be inserted: nothing if it is present or its set has a free way.
    pub fn victim(&self, line: LineAddr) -> Option<WayRef> {
        let first = self.first(line);
        if self.prints.empty(first).is_some() || self.find(line).is_some() {
            return None;
        }
        let set = self.slots[first..first + self.ways].iter().enumerate();
        let oldest = match self.prints.any_frozen(first) {
            false => set.min_by_key(|(_, s)| s.used),
            // Frozen versions leave only when the whole set is frozen.
            true => set.min_by_key(|(_, s)| (s.key.is_some_and(Key::frozen), s.used)),
        };
        oldest.map(|(i, _)| WayRef((first + i) as u32))
    }
    /// Inserts `line` into a free way of its set (or its present way) and returns the way. The caller has freed one.
    pub fn insert(&mut self, line: LineAddr, state: State, dirty: bool, meta: u32) -> WayRef {
        let present = self.find(line).map(|w| w.0 as usize);
        let way = present
            .or_else(|| self.prints.empty(self.first(line)))
            .expect("the caller frees a way before inserting");
        self.prints.fill(way, self.print(line));
        self.clock += 1;
        self.slots[way] = Slot {
            key: Some(Key::new(line, false)),
            used: self.clock,
            meta,
            state,
            dirty,
        };
        WayRef(way as u32)
    }
    /// Every dirty line, in array order.
    pub fn dirty_lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let dirty = self.slots.iter().filter(|s| s.dirty);
        dirty.filter_map(|s| s.key.map(Key::line))
    }
}

#[cfg(test)]
mod tests;
