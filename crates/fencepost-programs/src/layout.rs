//! Where things lie: fixed offsets, handed out once when a program is built.

use crate::small::Small;
pub use fencepost_kernel::Footprint;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, Bytes, LineAddr, Mem, Pm, Span, Val};
use std::ops::Range;

/// First byte used in either memory, so that no object has address 0 (the null pointer) or persistent offset 0.
const FIRST: u64 = 4096;

/// Hands out address ranges in the two memories; everything is line-aligned.
#[derive(Clone, Debug)]
pub struct Layout {
    dram: u64,
    pm: u64,
}

impl Default for Layout {
    fn default() -> Self {
        Layout { dram: FIRST, pm: FIRST }
    }
}

impl Layout {
    /// Reserves `bytes` of volatile memory, on lines of its own.
    pub fn dram(&mut self, bytes: u64) -> Addr {
        let at = self.dram;
        self.dram += bytes.next_multiple_of(LINE_BYTES);
        Addr(at)
    }
    /// Reserves `bytes` of persistent memory, on lines of its own.
    pub fn pm(&mut self, bytes: u64) -> Addr {
        let at = self.pm;
        self.pm += bytes.next_multiple_of(LINE_BYTES);
        Addr::pm(at)
    }
    /// Reserves `bytes` of persistent memory at a multiple of `align`.
    pub fn pm_aligned(&mut self, bytes: u64, align: u64) -> Addr {
        self.pm = self.pm.next_multiple_of(align);
        self.pm(bytes)
    }
    /// Everything reserved so far.
    pub fn footprint(&self) -> Footprint {
        Footprint {
            dram: Bytes(self.dram),
            pm: Bytes(self.pm),
        }
    }
}

/// A table of locks, each on a line of its own, in volatile memory.
#[derive(Copy, Clone, Debug)]
pub struct Locks {
    base: Addr,
    /// Number of locks, a power of two, minus one.
    mask: u64,
}
impl Locks {
    /// Reserves at least `count` locks: the next power of two.
    pub fn new(layout: &mut Layout, count: u64) -> Locks {
        let count = count.max(1).next_power_of_two();
        Locks {
            base: layout.dram(count * LINE_BYTES),
            mask: count - 1,
        }
    }
    /// Number of locks.
    pub fn count(&self) -> u64 {
        self.mask + 1
    }
    /// The lock that guards object `index`: objects are striped over the locks.
    #[inline(always)]
    pub fn stripe(&self, index: u64) -> u64 {
        index & self.mask
    }
    /// Address of lock `stripe`.
    #[inline(always)]
    pub fn addr(&self, stripe: u64) -> Addr {
        debug_assert!(stripe <= self.mask);
        Addr(self.base.0 + stripe * LINE_BYTES)
    }
    /// The lock of object `index`.
    #[inline(always)]
    pub fn of<D: Copy + Default>(&self, index: u64) -> At<D> {
        At::new(self.addr(self.stripe(index)))
    }
    /// Takes the locks of two objects, in the order of their addresses, a shared one once.
    #[track_caller]
    #[inline(always)]
    pub fn lock_two<M: Mem>(&self, pm: &mut Pm<'_, M>, a: u64, b: u64) {
        let (a, b) = (self.stripe(a), self.stripe(b));
        pm.lock(At::new(self.addr(a.min(b))));
        if a != b {
            pm.lock(At::new(self.addr(a.max(b))));
        }
    }
    /// Releases what [`Locks::lock_two`] took.
    #[track_caller]
    #[inline(always)]
    pub fn unlock_two<M: Mem>(&self, pm: &mut Pm<'_, M>, a: u64, b: u64) {
        let (a, b) = (self.stripe(a), self.stripe(b));
        pm.unlock(At::new(self.addr(a)));
        if a != b {
            pm.unlock(At::new(self.addr(b)));
        }
    }
    /// Takes the locks of these stripes, which [`Locks::stripes`] put in order.
    #[track_caller]
    pub fn lock_all<M: Mem>(&self, pm: &mut Pm<'_, M>, stripes: &[u64]) {
        for s in stripes {
            pm.lock(At::new(self.addr(*s)));
        }
    }
    /// Releases them, in the reverse order.
    #[track_caller]
    pub fn unlock_all<M: Mem>(&self, pm: &mut Pm<'_, M>, stripes: &[u64]) {
        for s in stripes.iter().rev() {
            pm.unlock(At::new(self.addr(*s)));
        }
    }
    /// The stripes of several objects, ascending, each once: the order in which every thread takes them.
    pub fn stripes(&self, objects: impl Iterator<Item = u64>) -> Small<u64, 16> {
        let mut all = Small::<u64, 16>::new(0);
        objects.for_each(|i| all.push(self.stripe(i)));
        all.as_mut_slice().sort_unstable();
        let mut once = Small::new(0);
        for s in all.as_slice() {
            if once.as_slice().last() != Some(s) {
                once.push(*s);
            }
        }
        once
    }
}

/// A table of rows of one size in persistent memory.
#[derive(Copy, Clone, Debug)]
pub struct Rows {
    base: Addr,
    row: u64,
    count: u64,
}
impl Rows {
    /// Reserves `count` rows of `row` bytes, the table on lines of its own.
    pub fn new(layout: &mut Layout, row: u64, count: u64) -> Rows {
        let base = layout.pm(row * count);
        Rows { base, row, count }
    }
    /// The same at a multiple of `align`.
    pub fn aligned(layout: &mut Layout, row: u64, count: u64, align: u64) -> Rows {
        let base = layout.pm_aligned(row * count, align);
        Rows { base, row, count }
    }
    /// Number of rows.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Row `i`.
    #[inline(always)]
    pub fn at<D: Copy + Default>(&self, i: u64) -> At<D> {
        At::new(Addr(self.base.0 + i * self.row))
    }
    /// The row whose number was read.
    #[inline(always)]
    pub fn row<D: Copy + Default + Ord>(&self, number: Val<D>) -> At<D> {
        number.index(self.base, self.row)
    }
    /// Whether `at` is the first byte of a row. Recovery trusts no pointer before asking this.
    pub fn owns(&self, at: u64) -> bool {
        at.checked_sub(self.base.0)
            .is_some_and(|o| o.is_multiple_of(self.row) && o < self.row * self.count)
    }
    /// Which row begins at this byte.
    pub fn number(&self, at: u64) -> Option<u64> {
        self.owns(at).then(|| (at - self.base.0) / self.row)
    }
    /// The rows that lie in a line, as far as there are any.
    pub fn in_line(&self, line: LineAddr) -> Range<u64> {
        let (from, end) = (line.0 * LINE_BYTES, (line.0 + 1) * LINE_BYTES);
        let from = from.saturating_sub(self.base.0) / self.row;
        from.min(self.count)..end.saturating_sub(self.base.0).div_ceil(self.row).min(self.count)
    }
    /// Some of its rows.
    pub fn part(&self, rows: Range<u64>) -> Span {
        Span {
            at: Addr(self.base.0 + rows.start * self.row),
            len: self.row * (rows.end - rows.start),
        }
    }
    /// All of it.
    pub fn span(&self) -> Span {
        Span {
            at: self.base,
            len: self.row * self.count,
        }
    }
}
