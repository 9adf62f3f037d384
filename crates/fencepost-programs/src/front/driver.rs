//! The driver of an object store's map, and what the object library keeps of a transaction in volatile memory.
//!
//! The driver draws a key, fills the value that it will insert, and calls the map through its table of operations; the value is copied
//! from the driver's buffer. The library has a record of the running transaction, a node in the tree of its ranges for each range that
//! it logs, and, for each block that it takes, a change of the arena's list and a record of the action, which is gone through at
//! commit.
//!
//! After PMDK's `map_bench` and `libpmemobj` (`tx.c`: `tx_range_def`, `pobj_action`; `heap.c`: buckets of an arena).

use super::{Own, Reader, Writer};
use crate::layout::Layout;
use crate::sites;
use fencepost_kernel::{At, Mem, Val};

// The driver: seed, key, pointer to the map's operations, the operation.
const SEED: u64 = 0;
const KEY: u64 = 8;
const OPERATIONS: u64 = 16;
const INSERT: u64 = 24;
// The library: stage, lane, root of the ranges, number of actions; the arena's free block and number of free blocks.
const STAGE: u64 = 32;
const LANE: u64 = 40;
const ROOT: u64 = 48;
const ACTIONS: u64 = 56;
const NEXT_FREE: u64 = 64;
const FREE: u64 = 72;
/// Nodes of ranges: offset, size, flags, two children, parent.
const RANGES: u64 = 128;
/// Records of actions: kind, offset, size, state, heap, lock.
const RECORDS: u64 = RANGES + MOST * RECORD;
const RECORD: u64 = 48;
/// Ranges, and blocks, of one insert at most.
const MOST: u64 = 4;
const VALUE: u64 = RECORDS + MOST * RECORD;

/// What each thread's driver and library keep.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Driver {
    own: Own,
    words: u64,
}

impl Driver {
    /// Drivers of values of so many words.
    pub(crate) fn new(layout: &mut Layout, threads: u32, words: u64) -> Driver {
        let own = Own::new(layout, threads, VALUE + words * 8);
        Driver { own, words }
    }
    /// The map's operations.
    pub(crate) fn plant<M: Mem>(&self, m: &mut M) {
        for thread in 0..self.own.threads {
            let insert = self.own.word::<M::Dep>(thread, INSERT);
            m.store(self.own.word(thread, OPERATIONS), insert.pointer());
        }
    }
    /// The driver draws a key and makes its value; the value is read from here.
    pub(crate) fn draw<M: Mem>(&self, m: &mut M, thread: u32, key: u64, value: u64) -> Reader<M::Dep> {
        let of = |offset| self.own.word(thread, offset);
        let seed = m.load(of(SEED));
        m.store(
            of(SEED),
            seed.map(|s| s.wrapping_mul(1_103_515_245).wrapping_add(12_345)),
        );
        m.store(of(KEY), Val::lit(key));
        let at = self.own.at(thread, VALUE);
        Writer::new(at).words(m, self.words, value);
        let operations = m.load(of(OPERATIONS)).ptr();
        m.load(operations);
        m.load(of(KEY));
        m.compute(sites::DRAW);
        Reader::new(at)
    }
    /// What the library keeps of a transaction that logs so many ranges and takes so many blocks.
    pub(crate) fn insert<M: Mem>(&self, m: &mut M, thread: u32, ranges: &[At<M::Dep>], blocks: u64) {
        let of = |offset| self.own.word::<M::Dep>(thread, offset);
        m.store(of(STAGE), Val::lit(1));
        m.store(of(LANE), Val::lit(u64::from(thread)));
        m.store(of(ROOT), Val::lit(0));
        for (i, range) in (0..MOST).zip(ranges) {
            let (node, root) = (of(RANGES + i * RECORD), m.load(of(ROOT)));
            if root.v != 0 {
                m.load(root.ptr());
            }
            for (word, v) in [(0, range.addr.0), (8, 8), (16, 0), (24, 0), (32, 0)] {
                m.store(node.field(word), Val::lit(v));
            }
            m.store(node.field(40), root);
            m.store(of(ROOT), node.pointer());
        }
        for i in 0..blocks.min(MOST) {
            let free = m.load(of(NEXT_FREE));
            m.store(of(NEXT_FREE), free.map(|n| n.wrapping_add(1)));
            let left = m.load(of(FREE));
            m.store(of(FREE), left.map(|n| n.wrapping_sub(1)));
            let record = of(RECORDS + i * RECORD);
            for word in 0..RECORD / 8 {
                m.store(record.field(word * 8), free);
            }
            m.store(of(ACTIONS), Val::lit(i + 1));
        }
        m.compute(sites::COPY_WORD);
    }
    /// The library goes through the records at commit.
    pub(crate) fn committed<M: Mem>(&self, m: &mut M, thread: u32, ranges: u64, blocks: u64) {
        let of = |offset| self.own.word::<M::Dep>(thread, offset);
        for i in 0..ranges.min(MOST) {
            let node = of(RANGES + i * RECORD);
            m.load(node);
            m.load(node.field(8));
        }
        for i in 0..blocks.min(MOST) {
            let record = of(RECORDS + i * RECORD);
            m.load(record);
            m.load(record.field(8));
        }
        m.store(of(STAGE), Val::lit(0));
        m.compute(sites::COPY_WORD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::plain::Plain;
    use fencepost_kernel::Addr;

    #[test]
    fn the_value_is_what_was_made() {
        let driver = Driver::new(&mut Layout::default(), 2, 16);
        let mut m = Plain::default();
        driver.plant(&mut m);
        let mut value = driver.draw(&mut m, 1, 3, 4);
        assert!((0..16).all(|_| value.word(&mut m).v == 4));
    }
    /// A range costs six words of its node, a block six of its action.
    #[test]
    fn records_follow_ranges_and_blocks() {
        let stores = |ranges: u64, blocks| {
            let driver = Driver::new(&mut Layout::default(), 1, 16);
            let mut m = Plain::default();
            let ranges: Vec<At<()>> = (0..ranges).map(|r| At::new(Addr::pm(4096 + r * 64))).collect();
            driver.insert(&mut m, 0, &ranges, blocks);
            m.stores
        };
        assert_eq!(stores(2, 0) - stores(1, 0), 6 + 1);
        assert_eq!(stores(0, 2) - stores(0, 1), 6 + 3);
    }
    /// What is kept of blocks lies behind what is kept of ranges, and in front of the value.
    #[test]
    fn nodes_of_ranges_and_records_of_blocks_lie_apart() {
        let driver = Driver::new(&mut Layout::default(), 1, 2);
        let mut m = Plain::default();
        let ranges: Vec<At<()>> = (1..=MOST).map(|r| At::new(Addr::pm(r * 64))).collect();
        m.store(driver.own.word::<()>(0, NEXT_FREE), Val::lit(900));
        driver.insert(&mut m, 0, &ranges, MOST);
        for i in 0..MOST {
            let mut word = |from: u64, w: u64| m.load(driver.own.word::<()>(0, from + i * RECORD + w * 8)).v;
            assert_eq!(word(RANGES, 0), ranges[i as usize].addr.0);
            assert_eq!([0, 5].map(|w| word(RECORDS, w)), [900 + i; 2]);
        }
        assert_eq!(m.load(driver.own.word::<()>(0, VALUE)).v, 0);
    }

    /// Each thread's driver calls the map through a table of its own; it draws with the generator of the C library.
    #[test]
    fn drivers_draw_with_seeds_and_tables_of_their_own() {
        let driver = Driver::new(&mut Layout::default(), 2, 4);
        let mut m = Plain::default();
        driver.plant(&mut m);
        let mut word = |thread, at| m.load(driver.own.word::<()>(thread, at)).v;
        for thread in 0..2 {
            assert_eq!(word(thread, OPERATIONS), driver.own.at(thread, INSERT).0);
        }
        let mut seed = 0u64;
        for key in 1..5 {
            let before = (m.stores, m.loads);
            driver.draw(&mut m, 1, key, key + 9);
            // Seed and key, and the value; seed, table, operation, key.
            assert_eq!((m.stores - before.0, m.loads - before.1), (2 + 4, 4));
            seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let kept = [SEED, KEY, VALUE, VALUE + 24].map(|at| m.load(driver.own.word(1, at)).v);
            assert_eq!(kept, [seed, key, key + 9, key + 9]);
        }
        assert_eq!(m.load(driver.own.word(0, SEED)).v, 0);
    }
    /// A node of a range: its place, eight bytes, no flags, no children, the node before it; the last one is the root. The arena gives as
    /// many blocks as are taken, and so many actions are counted.
    #[test]
    fn nodes_hang_below_each_other_and_blocks_are_counted() {
        let driver = Driver::new(&mut Layout::default(), 2, 2);
        for (ranges, blocks) in [(1, 2), (2, 0), (4, 4), (3, 6)] {
            let mut m = Plain::default();
            m.store(driver.own.word(1, NEXT_FREE), Val::lit(100));
            m.store(driver.own.word(1, FREE), Val::lit(50));
            let logged: Vec<At<()>> = (0..ranges).map(|r| At::new(Addr::pm(4096 + r * 64))).collect();
            driver.insert(&mut m, 1, &logged, blocks);
            let mut word = |at| m.load(driver.own.word::<()>(1, at)).v;
            assert_eq!([STAGE, LANE].map(&mut word), [1, 1]);
            let node = |i: u64| driver.own.at(1, RANGES + i * RECORD).0;
            for i in 0..ranges {
                let parent = if i == 0 { 0 } else { node(i - 1) };
                let fields = [0, 8, 16, 24, 32, 40].map(|f| word(RANGES + i * RECORD + f));
                assert_eq!(fields, [logged[i as usize].addr.0, 8, 0, 0, 0, parent]);
            }
            assert_eq!(word(ROOT), node(ranges - 1));
            let taken = blocks.min(MOST);
            assert_eq!(
                [NEXT_FREE, FREE, ACTIONS].map(&mut word),
                [100 + taken, 50 - taken, taken]
            );
            let before = m.loads;
            driver.committed(&mut m, 1, ranges, blocks);
            // Two words of each node and of each record.
            assert_eq!(m.loads - before, 2 * (ranges + taken));
            assert_eq!(m.load(driver.own.word(1, STAGE)).v, 0);
        }
    }
    /// Words, nodes, records and the value follow each other; the next thread's begin on a line behind.
    #[test]
    fn what_a_driver_keeps_is_as_long_as_its_parts() {
        const { assert!(FREE + 8 <= RANGES && RECORD == 6 * 8) };
        assert_eq!((RECORDS - RANGES, VALUE - RECORDS), (4 * 48, 4 * 48));
        for words in [1, 2, 16] {
            let driver = Driver::new(&mut Layout::default(), 2, words);
            let apart = driver.own.at(1, 0).0 - driver.own.at(0, 0).0;
            assert_eq!(apart, (VALUE + words * 8).next_multiple_of(64));
        }
    }
}
