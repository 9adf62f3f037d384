//! A set-associative tag array with least-recently-used replacement.

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

/// The tag array of one cache.
#[derive(Clone, Debug)]
pub struct Tags {
    keys: Vec<Option<Key>>,
    slots: Vec<Slot>,
    ways: usize,
    mask: u64,
    clock: u64,
}

impl Tags {
    /// An empty cache of this geometry. The spec must have been validated.
    pub fn new(spec: &CacheSpec) -> Tags {
        let (ways, sets) = (spec.ways as usize, spec.sets() as usize);
        let empty = Slot {
            used: 0,
            meta: 0,
            state: State::Shared,
            dirty: false,
        };
        Tags {
            keys: vec![None; ways * sets],
            slots: vec![empty; ways * sets],
            ways,
            mask: sets as u64 - 1,
            clock: 0,
        }
    }
    fn set(&self, line: LineAddr) -> std::ops::Range<usize> {
        let first = (line.0 & self.mask) as usize * self.ways;
        first..first + self.ways
    }
    /// The way that holds the current version of `line`.
    #[inline]
    pub fn find(&self, line: LineAddr) -> Option<WayRef> {
        let (set, key) = (self.set(line), Some(Key::new(line, false)));
        let first = set.start;
        let hit = self.keys[set].iter().position(|k| *k == key);
        hit.map(|i| WayRef((first + i) as u32))
    }
    /// The way that holds the frozen version of `line` named by `meta`.
    pub fn find_frozen(&self, line: LineAddr, meta: u32) -> Option<WayRef> {
        let (mut set, key) = (self.set(line), Some(Key::new(line, true)));
        let found = set.find(|i| self.keys[*i] == key && self.slots[*i].meta == meta);
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
        let key = &mut self.keys[way.0 as usize];
        *key = key.map(|k| Key::new(k.line(), true));
    }
    fn taken(&self, i: usize) -> Option<Evicted> {
        let s = &self.slots[i];
        self.keys[i].map(|k| Evicted {
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
        self.keys[way.0 as usize] = None;
        gone
    }
    /// Empties the way that holds `line`, if any.
    pub fn take(&mut self, line: LineAddr) -> Option<Evicted> {
        self.find(line).and_then(|w| self.remove(w))
    }
    /// What must leave before `line` can be inserted: nothing if it is present or its set has a free way.
    pub fn victim(&self, line: LineAddr) -> Option<WayRef> {
        let set = self.set(line);
        if self.keys[set.clone()].contains(&None) || self.find(line).is_some() {
            return None;
        }
        // Frozen versions leave only when the whole set is frozen.
        set.min_by_key(|i| (self.keys[*i].is_some_and(Key::frozen), self.slots[*i].used))
            .map(|i| WayRef(i as u32))
    }
    /// Inserts `line` into a free way of its set (or its present way) and returns the way. The caller has freed one.
    pub fn insert(&mut self, line: LineAddr, state: State, dirty: bool, meta: u32) -> WayRef {
        let free = || {
            self.set(line)
                .find(|i| self.keys[*i].is_none())
                .map(|i| WayRef(i as u32))
        };
        let way = self
            .find(line)
            .or_else(free)
            .expect("the caller frees a way before inserting");
        self.keys[way.0 as usize] = Some(Key::new(line, false));
        self.clock += 1;
        self.slots[way.0 as usize] = Slot {
            used: self.clock,
            meta,
            state,
            dirty,
        };
        way
    }
    /// Every dirty line, in array order.
    pub fn dirty_lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        (0..self.keys.len())
            .filter(|i| self.slots[*i].dirty)
            .filter_map(|i| self.keys[i].map(Key::line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::{Bytes, Ps};
    fn two_way() -> Tags {
        Tags::new(&CacheSpec {
            size: Bytes(64 * 2 * 4),
            ways: 2,
            latency: Ps(1),
            mshrs: 1,
            writeback_buffer: 1,
        })
    }
    #[test]
    fn the_least_recently_used_way_is_the_victim() {
        let mut t = two_way();
        let (a, b, c) = (LineAddr(0), LineAddr(4), LineAddr(8)); // one set
        t.insert(a, State::Exclusive, false, 0);
        assert_eq!(t.victim(b), None);
        t.insert(b, State::Modified, true, 7);
        let w = t.find(a).unwrap();
        t.touch(w);
        let v = t.victim(c).unwrap();
        let gone = t.remove(v).unwrap();
        assert_eq!((gone.line, gone.dirty, gone.meta), (b, true, 7));
        t.insert(c, State::Shared, false, 0);
        assert!(t.find(a).is_some() && t.find(b).is_none() && t.find(c).is_some());
    }
    #[test]
    fn frozen_versions_are_invisible_and_leave_last() {
        let mut t = two_way();
        let (a, b) = (LineAddr(0), LineAddr(4));
        let w = t.insert(a, State::Modified, true, 1);
        t.freeze(w);
        assert_eq!(t.find(a), None);
        t.insert(a, State::Modified, true, 2);
        assert_eq!(t.meta(t.find(a).unwrap()), 2);
        assert_eq!(
            t.remove(t.victim(b).unwrap()).map(|e| (e.frozen, e.meta)),
            Some((false, 2))
        );
        assert!(t.find_frozen(a, 1).is_some());
    }
}
