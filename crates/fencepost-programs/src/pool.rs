//! Per-thread allocation pools of fixed-size blocks at fixed offsets.
//!
//! Blocks lie in persistent memory; the allocator's own state (a bump index and a stack of freed blocks) is a volatile
//! index in DRAM, so an allocation costs no persist. A crash loses that state: blocks that were allocated but not
//! linked, or unlinked but not freed, are leaked. That is allowed; audits ignore them and [`Pool::leaked`] counts them.

use crate::layout::Layout;
use crate::sites;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, Mem, Span};

/// Freed blocks a thread remembers; beyond that a freed block is dropped (leaked until the next start).
const FREE_SLOTS: u64 = 1024;

/// One pool per thread.
#[derive(Copy, Clone, Debug)]
pub struct Pool {
    blocks: Addr,
    control: Addr,
    block: u64,
    per_thread: u64,
    threads: u32,
}

impl Pool {
    /// Reserves pools of `per_thread` blocks of `block` bytes each (rounded up to lines).
    pub fn new(layout: &mut Layout, threads: u32, block: u64, per_thread: u64) -> Pool {
        let block = block.next_multiple_of(LINE_BYTES);
        let blocks = layout.pm_aligned(u64::from(threads) * per_thread * block, block);
        let control = layout.dram(u64::from(threads) * Self::control_bytes());
        Pool {
            blocks,
            control,
            block,
            per_thread,
            threads,
        }
    }
    const fn control_bytes() -> u64 {
        LINE_BYTES + FREE_SLOTS * 8
    }
    #[inline(always)]
    fn control<D: Copy + Default>(&self, thread: u32) -> At<D> {
        At::new(Addr(self.control.0 + u64::from(thread) * Self::control_bytes()))
    }
    /// Takes a block of `thread`'s pool: the block freed last, or the next unused one.
    ///
    /// # Panics
    /// When the pool is exhausted, that is, when more operations run than the program was built for.
    #[track_caller]
    #[inline(always)]
    pub fn alloc<M: Mem>(&self, m: &mut M, thread: u32) -> At<M::Dep> {
        let control = self.control(thread);
        let freed = m.load(control.field(8));
        let block = if freed.v > 0 {
            m.store(control.field(8), freed.map(|n| n - 1));
            m.load(freed.index(Addr(control.addr.0 + LINE_BYTES - 8), 8)).ptr()
        } else {
            let next = m.load(control);
            if next.v >= self.per_thread {
                exhausted(thread, next.v);
            }
            m.store(control, next.map(|n| n + 1));
            let first = self.blocks.0 + u64::from(thread) * self.per_thread * self.block;
            next.index(Addr(first), self.block)
        };
        m.compute(sites::ALLOC);
        block
    }
    /// Returns a block to `thread`'s pool. Only once its unlinking is ordered before whatever the thread stores next.
    #[track_caller]
    #[inline(always)]
    pub fn free<M: Mem>(&self, m: &mut M, thread: u32, block: At<M::Dep>) {
        let control = self.control(thread);
        let freed = m.load(control.field(8));
        if freed.v < FREE_SLOTS {
            m.store(freed.index(Addr(control.addr.0 + LINE_BYTES), 8), block.pointer());
            m.store(control.field(8), freed.map(|n| n + 1));
        }
        m.compute(sites::FREE);
    }
    /// The blocks of all pools.
    pub fn span(&self) -> Span {
        Span {
            at: self.blocks,
            len: self.blocks() * self.block,
        }
    }
    /// The blocks of one thread's pool.
    pub fn span_of(&self, thread: u32) -> Span {
        let len = self.per_thread * self.block;
        Span {
            at: Addr(self.blocks.0 + u64::from(thread) * len),
            len,
        }
    }
    /// Blocks of all pools.
    pub fn blocks(&self) -> u64 {
        u64::from(self.threads) * self.per_thread
    }
    /// Whether `at` is the first byte of one of the pool's blocks. Recovery trusts no pointer before asking this.
    pub fn owns(&self, at: Addr) -> bool {
        let bytes = u64::from(self.threads) * self.per_thread * self.block;
        at.0 >= self.blocks.0 && at.0 < self.blocks.0 + bytes && (at.0 - self.blocks.0).is_multiple_of(self.block)
    }
    /// Blocks of a crash image that have been written but that `live` does not reach.
    pub fn leaked<M: Mem>(&self, m: &mut M, live: impl Fn(Addr) -> bool) -> u64 {
        (0..self.blocks())
            .map(|i| Addr(self.blocks.0 + i * self.block))
            .filter(|b| (0..self.block).step_by(8).any(|o| m.load(At::new(*b).field(o)).v != 0) && !live(*b))
            .count() as u64
    }
}

#[cold]
#[inline(never)]
fn exhausted(thread: u32, blocks: u64) -> ! {
    panic!("allocation pool of thread {thread} is exhausted after {blocks} blocks")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fencepost_kernel::{Fence, Flush, Image, Rmw, Val, Width};

    /// Words of an image, by any width.
    #[derive(Default)]
    pub(crate) struct Words(pub Image);
    impl Mem for Words {
        type Dep = ();
        fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
            Val::lit(width.extract(self.0.word(at.addr.word()), at.addr.0))
        }
        fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
            let word = width.insert(self.0.word(at.addr.word()), at.addr.0, v.v);
            self.0.set_word(at.addr.word(), word, None);
        }
        fn nt_store(&mut self, at: At<()>, v: Val<()>) {
            self.store(at, v);
        }
        fn flush(&mut self, _: At<()>, _: Flush) {}
        fn fence(&mut self, _: Fence) {}
        fn rmw(&mut self, at: At<()>, _: Rmw) -> Val<()> {
            self.load(at)
        }
        fn load_acquire(&mut self, at: At<()>) -> Val<()> {
            self.load(at)
        }
        fn store_release(&mut self, at: At<()>, v: Val<()>) {
            self.store(at, v);
        }
        fn lock(&mut self, _: At<()>) {}
        fn unlock(&mut self, _: At<()>) {}
    }

    #[test]
    fn blocks_are_disjoint_reused_last_first_and_counted_when_leaked() {
        let (mut layout, mut m) = (Layout::default(), Words(Image::default()));
        let pool = Pool::new(&mut layout, 2, 100, 4);
        let mut all: Vec<Addr> = [0, 0, 0, 0, 1, 1, 1, 1].map(|t| pool.alloc(&mut m, t).addr).to_vec();
        assert!(all.iter().all(|a| pool.owns(*a) && !pool.owns(Addr(a.0 + 64))));
        all.sort();
        assert!(
            all.windows(2).all(|w| w[1].0 - w[0].0 == 128),
            "100 bytes take two lines: {all:?}"
        );
        pool.free(&mut m, 0, At::new(all[5]));
        pool.free(&mut m, 0, At::new(all[1]));
        assert_eq!([0, 0].map(|t| pool.alloc(&mut m, t).addr), [all[1], all[5]]);
        for a in &all[..3] {
            m.store(At::new(*a).field(120), Val::lit(9));
        }
        assert_eq!(pool.leaked(&mut m, |a| a == all[2]), 2);
    }

    #[test]
    #[should_panic(expected = "exhausted after 1 blocks")]
    fn an_exhausted_pool_says_so() {
        let (mut layout, mut m) = (Layout::default(), Words(Image::default()));
        let pool = Pool::new(&mut layout, 1, 64, 1);
        pool.alloc(&mut m, 0);
        pool.alloc(&mut m, 0);
    }

    /// A pool owns the first bytes of its blocks, and no other; a thread's blocks lie together, one thread's behind another's.
    #[test]
    fn a_pool_owns_its_blocks_alone() {
        let mut layout = Layout::default();
        layout.pm(64);
        let pool = Pool::new(&mut layout, 3, 130, 5);
        let all = pool.span();
        assert_eq!((pool.blocks(), all.len), (15, 15 * 192));
        // Blocks begin at multiples of their size, counted from the first byte of persistent memory.
        assert_eq!((all.at.0 - fencepost_kernel::units::PM_BASE) % 192, 0);
        for at in (all.at.0 - 400..all.at.0 + all.len + 400).step_by(2) {
            let inside = at >= all.at.0 && at < all.at.0 + all.len;
            assert_eq!(pool.owns(Addr(at)), inside && (at - all.at.0).is_multiple_of(192));
        }
        for thread in 0..3 {
            let own = pool.span_of(thread);
            assert_eq!((own.at.0, own.len), (all.at.0 + u64::from(thread) * 5 * 192, 5 * 192));
            let mut m = Words::default();
            let taken: Vec<u64> = (0..5).map(|_| pool.alloc(&mut m, thread).addr.0).collect();
            assert!(taken.into_iter().eq((own.at.0..own.at.0 + own.len).step_by(192)));
        }
    }
    /// A thread remembers 1,024 freed blocks and forgets the others; threads keep apart.
    #[test]
    fn freed_blocks_beyond_those_remembered_are_dropped() {
        let (mut layout, mut m) = (Layout::default(), Words::default());
        let before = layout.footprint().dram.0;
        let pool = Pool::new(&mut layout, 2, 64, 1100);
        assert_eq!(layout.footprint().dram.0 - before, 2 * (64 + 1024 * 8));
        let of = [0, 1].map(|t| (0..1050).map(|_| pool.alloc(&mut m, t)).collect::<Vec<At<()>>>());
        for (thread, blocks) in (0..).zip(&of) {
            blocks.iter().for_each(|b| pool.free(&mut m, thread, *b));
        }
        for (thread, blocks) in (0..).zip(&of) {
            let again: Vec<Addr> = (0..1024).map(|_| pool.alloc(&mut m, thread).addr).collect();
            assert!(again.into_iter().eq(blocks[..1024].iter().rev().map(|b| b.addr)));
            // The next one was never in use.
            let fresh = pool.alloc(&mut m, thread).addr;
            assert_eq!(fresh.0, pool.span_of(thread).at.0 + 1050 * 64);
        }
    }
}
