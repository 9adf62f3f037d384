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

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::{Dialect, Fence, Flush, Rmw, Width};

    /// The locks taken and given back, in order; nothing else may be touched.
    #[derive(Default)]
    struct Locked(Vec<(bool, u64)>);
    impl Mem for Locked {
        type Dep = ();
        fn load_n(&mut self, _: At<()>, _: Width) -> Val<()> {
            unreachable!("a lock is only locked")
        }
        fn store_n(&mut self, _: At<()>, _: Val<()>, _: Width) {
            unreachable!("a lock is only locked")
        }
        fn nt_store(&mut self, _: At<()>, _: Val<()>) {
            unreachable!("a lock is only locked")
        }
        fn flush(&mut self, _: At<()>, _: Flush) {}
        fn fence(&mut self, _: Fence) {}
        fn rmw(&mut self, _: At<()>, _: Rmw) -> Val<()> {
            unreachable!("a lock is only locked")
        }
        fn load_acquire(&mut self, _: At<()>) -> Val<()> {
            unreachable!("a lock is only locked")
        }
        fn store_release(&mut self, _: At<()>, _: Val<()>) {
            unreachable!("a lock is only locked")
        }
        fn lock(&mut self, at: At<()>) {
            self.0.push((true, at.addr.0));
        }
        fn unlock(&mut self, at: At<()>) {
            self.0.push((false, at.addr.0));
        }
    }

    /// What is handed out begins on a line, does not overlap, and ends where the footprint does; no address is null.
    #[test]
    fn ranges_lie_one_behind_the_other_on_lines_of_their_own() {
        let mut layout = Layout::default();
        let (mut pm, mut dram) = (Vec::new(), Vec::new());
        for bytes in [1, 64, 65, 8, 200] {
            pm.push((layout.pm(bytes).0, bytes));
            dram.push((layout.dram(bytes).0, bytes));
        }
        let aligned = layout.pm_aligned(100, 4096);
        assert_eq!(aligned.0 % 4096, 0);
        pm.push((aligned.0, 100));
        let zero = Addr::pm(0).0;
        let Footprint { dram: d, pm: p } = layout.footprint();
        for (ranges, from, end) in [(pm, zero, zero + p.0), (dram, 0, d.0)] {
            assert!(ranges[0].0 > from && ranges.iter().all(|r| r.0 % 64 == 0));
            assert!(ranges.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
            let (last, bytes) = ranges[ranges.len() - 1];
            assert!((last + bytes..last + bytes + 64).contains(&end), "{last} {end}");
        }
    }
    #[test]
    fn locks_are_striped_and_taken_in_the_order_of_their_addresses() {
        for (asked, count) in [(0, 1), (1, 1), (5, 8), (8, 8)] {
            assert_eq!(Locks::new(&mut Layout::default(), asked).count(), count);
        }
        let mut layout = Layout::default();
        let before = layout.footprint().dram.0;
        let locks = Locks::new(&mut layout, 5);
        assert_eq!(layout.footprint().dram.0 - before, 8 * 64);
        for i in 0..30 {
            assert_eq!(
                (locks.stripe(i), locks.of::<()>(i).addr.0),
                (i % 8, before + i % 8 * 64)
            );
        }
        let addr = |i: u64| before + i % 8 * 64;
        let taken = |f: &dyn Fn(&mut Pm<'_, Locked>)| {
            let mut m = Locked::default();
            f(&mut Pm::new(&mut m, Dialect::PLAIN));
            m.0
        };
        for (a, b) in (0..12).flat_map(|a| (0..12).map(move |b| (a, b))) {
            let (low, high) = (addr(a).min(addr(b)), addr(a).max(addr(b)));
            let both = if low == high { vec![low] } else { vec![low, high] };
            let found = taken(&|pm| locks.lock_two(pm, a, b));
            assert_eq!(found, both.iter().map(|l| (true, *l)).collect::<Vec<_>>(), "{a} {b}");
            let mut found = taken(&|pm| locks.unlock_two(pm, a, b));
            found.sort_unstable();
            assert_eq!(found, both.iter().map(|l| (false, *l)).collect::<Vec<_>>(), "{a} {b}");
        }
        let stripes = locks.stripes([11, 3, 25, 9, 6].into_iter());
        assert_eq!(stripes.as_slice(), [1, 3, 6]);
        let found = taken(&|pm| {
            locks.lock_all(pm, stripes.as_slice());
            locks.unlock_all(pm, stripes.as_slice());
        });
        let expected = [(true, 1), (true, 3), (true, 6), (false, 6), (false, 3), (false, 1)];
        assert_eq!(found, expected.map(|(taken, i)| (taken, addr(i))));
    }
    /// Every question about rows, answered by looking at each byte.
    #[test]
    fn rows_know_their_bytes_and_their_lines() {
        for (row, count, align) in [(24, 7, 64), (64, 5, 256), (200, 3, 64), (8, 20, 4096), (24, 0, 64)] {
            let mut layout = Layout::default();
            layout.pm(64);
            let before = layout.footprint().pm.0;
            let rows = if align == 64 {
                Rows::new(&mut layout, row, count)
            } else {
                Rows::aligned(&mut layout, row, count, align)
            };
            let base = Addr::pm(before.next_multiple_of(align)).0;
            assert_eq!(rows.count(), count);
            assert_eq!(
                rows.span(),
                Span {
                    at: Addr(base),
                    len: row * count
                }
            );
            let end = before.next_multiple_of(align) + (row * count).next_multiple_of(64);
            assert_eq!(layout.footprint().pm.0, end);
            let begin = |i: u64| base + i * row;
            for i in 0..count {
                assert_eq!(rows.at::<()>(i).addr.0, begin(i));
                assert_eq!(rows.row(Val::<()>::lit(i)).addr.0, begin(i));
                for j in i..=count {
                    let part = Span {
                        at: Addr(begin(i)),
                        len: begin(j) - begin(i),
                    };
                    assert_eq!(rows.part(i..j), part);
                }
            }
            for at in base - 128..begin(count) + 128 {
                let number = (0..count).find(|i| begin(*i) == at);
                assert_eq!(
                    (rows.owns(at), rows.number(at)),
                    (number.is_some(), number),
                    "{row} {at}"
                );
            }
            for line in base / 64 - 2..begin(count) / 64 + 3 {
                let lies = |i: &u64| begin(*i) < (line + 1) * 64 && begin(i + 1) > line * 64;
                let expected: Vec<u64> = (0..count).filter(lies).collect();
                assert_eq!(
                    rows.in_line(LineAddr(line)).collect::<Vec<_>>(),
                    expected,
                    "{row} {line}"
                );
            }
        }
    }
}
