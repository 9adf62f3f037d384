//! The tables that can be reserved: cars, flights and rooms, each a balanced search tree of nodes that point to reservations.
//!
//! The mix makes reservations only, so that the trees keep their shape during a run: they are searched without a lock.

use crate::draw::shuffled;
use crate::layout::{Layout, Rows};
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{Addr, At, Mem, Span, Val, Violation, rng};

/// Cars, flights, rooms.
pub(super) const TABLES: u64 = 3;

// A node.
const KEY: u64 = 0;
const LEFT: u64 = 8;
const RIGHT: u64 = 16;
const RESERVATION: u64 = 24;
const NODE: u64 = 64;
// A reservation.
const ID: u64 = 0;
pub(super) const USED: u64 = 8;
pub(super) const FREE: u64 = 16;
const TOTAL: u64 = 24;
pub(super) const PRICE: u64 = 32;
const RECORD: u64 = 64;

/// The tables.
#[derive(Copy, Clone, Debug)]
pub(super) struct Tables {
    roots: Rows,
    nodes: Rows,
    records: Rows,
    /// Rows of a table.
    pub relations: u64,
    /// A row has one to five times as many units.
    units: u64,
    seed: u64,
}

impl Tables {
    pub(super) fn new(layout: &mut Layout, relations: u64, units: u64, seed: u64) -> Tables {
        Tables {
            roots: Rows::new(layout, 8, TABLES),
            nodes: Rows::new(layout, NODE, TABLES * relations),
            records: Rows::new(layout, RECORD, TABLES * relations),
            relations,
            units,
            seed,
        }
    }
    /// The number of a row among those of all tables.
    #[inline(always)]
    pub(super) fn row(&self, table: u64, id: u64) -> u64 {
        table * self.relations + id - 1
    }
    /// Where a row lies. The original shuffles the rows of each table before it enters them, one allocation after the other; in the order
    /// of their numbers, the upper nodes of the trees of a power of two of rows share few sets of the caches.
    fn place(&self, row: u64) -> u64 {
        let (table, id) = (row / self.relations, row % self.relations);
        table * self.relations + shuffled(rng::hash(&[self.seed, table]), self.relations, id)
    }
    fn drawn(&self, row: u64, salt: u64) -> u64 {
        rng::hash(&[self.seed, row, salt]) % 5
    }
    /// Units of a row.
    pub(super) fn total(&self, row: u64) -> u64 {
        (1 + self.drawn(row, 1)) * self.units
    }
    /// Price of a row's unit.
    pub(super) fn price(&self, row: u64) -> u64 {
        50 + 10 * self.drawn(row, 2)
    }
    /// The reservation of a row, by a search in its table's tree.
    #[inline(always)]
    pub(super) fn find<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, table: u64, id: u64) -> At<M::Dep> {
        let mut node = tx.read(self.roots.at(table)).ptr();
        loop {
            let key = tx.read(node.field(KEY)).v;
            tx.compute(sites::TREE_STEP);
            if key == id || node.addr.0 == 0 {
                return tx.read(node.field(RESERVATION)).ptr();
            }
            node = tx.read(node.field(if id < key { LEFT } else { RIGHT })).ptr();
        }
    }
    /// Writes all tables, every unit free.
    pub(super) fn plant<M: Mem>(&self, m: &mut M) {
        for table in 0..TABLES {
            let root = self.plant_tree(m, table, 1, self.relations);
            m.store(self.roots.at(table), Val::lit(root));
        }
    }
    /// The tree of the rows `from..=to`.
    fn plant_tree<M: Mem>(&self, m: &mut M, table: u64, from: u64, to: u64) -> u64 {
        if from > to {
            return 0;
        }
        let id = from.midpoint(to);
        let row = self.row(table, id);
        let place = self.place(row);
        let (node, record) = (self.nodes.at::<M::Dep>(place), self.records.at::<M::Dep>(place));
        let (left, right) = (
            self.plant_tree(m, table, from, id - 1),
            self.plant_tree(m, table, id + 1, to),
        );
        for (field, v) in [(KEY, id), (LEFT, left), (RIGHT, right), (RESERVATION, record.addr.0)] {
            m.store(node.field(field), Val::lit(v));
        }
        for (field, v) in [
            (ID, id),
            (FREE, self.total(row)),
            (TOTAL, self.total(row)),
            (PRICE, self.price(row)),
        ] {
            m.store(record.field(field), Val::lit(v));
        }
        node.addr.0
    }
    /// Units in use of a row in a recovered memory, or what is wrong with it.
    pub(super) fn used<M: Mem<Dep = ()>>(&self, m: &mut M, row: u64) -> Result<(u64, Addr), Violation> {
        let at = self.records.at::<()>(self.place(row));
        let mut get = |field| m.load(at.field(field)).v;
        let (used, free, total) = (get(USED), get(FREE), get(TOTAL));
        if total != self.total(row) || get(PRICE) != self.price(row) || get(ID) != row % self.relations + 1 {
            return Err(Violation::at(at.addr, "a row is not the one that was planted"));
        }
        if used.checked_add(free) != Some(total) {
            return Err(Violation::at(at.addr, "units in use and free units are not all units"));
        }
        Ok((used, at.field(USED).addr))
    }
    /// What operations read: where the trees begin, their nodes, the reservations.
    pub(super) fn spans(&self) -> [Span; 3] {
        [self.roots.span(), self.nodes.span(), self.records.span()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::tests::Words;
    use std::collections::BTreeSet;

    /// The keys under a node in their order, and how deep the tree is.
    fn walk(m: &mut Words, t: &Tables, table: u64, node: u64, keys: &mut Vec<u64>) -> u32 {
        if node == 0 {
            return 0;
        }
        assert!(t.nodes.owns(node));
        let word = |m: &mut Words, at, offset| m.load(At::<()>::new(Addr(at)).field(offset)).v;
        let [key, left, right, record] = [0, 8, 16, 24].map(|o| word(m, node, o));
        let before = walk(m, t, table, left, keys);
        keys.push(key);
        assert!(t.records.owns(record));
        let [id, used, free, total, price] = [0, 8, 16, 24, 32].map(|o| word(m, record, o));
        let row = table * t.relations + key - 1;
        assert_eq!((id, used, free, row), (key, 0, total, t.row(table, key)));
        assert_eq!((total, price), (t.total(row), t.price(row)));
        assert_eq!(t.used(m, row).unwrap(), (0, Addr(record + 8)));
        1 + before.max(walk(m, t, table, right, keys))
    }
    /// Each table is a search tree of all its numbers, as flat as can be, its rows free; no two rows share a place.
    #[test]
    fn every_table_is_a_balanced_tree_of_free_rows() {
        for relations in [1, 2, 7, 50] {
            let (t, mut m) = (Tables::new(&mut Layout::default(), relations, 100, 5), Words::default());
            t.plant(&mut m);
            for table in 0..3 {
                let (mut keys, root) = (Vec::new(), m.load(t.roots.at::<()>(table)).v);
                let depth = walk(&mut m, &t, table, root, &mut keys);
                assert!(keys.into_iter().eq(1..=relations));
                assert_eq!(depth, relations.ilog2() + 1);
            }
            let places: BTreeSet<u64> = (0..3 * relations).map(|row| t.place(row)).collect();
            assert!(places.into_iter().eq(0..3 * relations));
            let [roots, nodes, records] = t.spans().map(|s| s.len);
            assert_eq!((roots, nodes, records), (24, 192 * relations, 192 * relations));
        }
    }
    /// One to five times the units; 50 to 90 in steps of ten.
    #[test]
    fn units_and_prices_are_the_originals() {
        let t = Tables::new(&mut Layout::default(), 500, 100, 5);
        let totals: BTreeSet<u64> = (0..1500).map(|row| t.total(row)).collect();
        let prices: BTreeSet<u64> = (0..1500).map(|row| t.price(row)).collect();
        assert!(totals.into_iter().eq([100, 200, 300, 400, 500]));
        assert!(prices.into_iter().eq([50, 60, 70, 80, 90]));
    }
    /// One wrong word of a reservation is noticed, units that moved from free to in use are not wrong.
    #[test]
    fn a_row_that_does_not_add_up_is_noticed() {
        let (t, mut m) = (Tables::new(&mut Layout::default(), 3, 10, 5), Words::default());
        t.plant(&mut m);
        let at = t.records.at::<()>(t.place(4));
        for offset in [0, 8, 16, 24, 32] {
            let was = m.load(at.field(offset));
            m.store(at.field(offset), was.map(|v| v + 1));
            assert!(t.used(&mut m, 4).is_err(), "{offset}");
            m.store(at.field(offset), was);
        }
        m.store(at.field(8), Val::lit(3));
        m.store(at.field(16), Val::lit(t.total(4) - 3));
        assert_eq!(t.used(&mut m, 4).unwrap(), (3, at.field(8).addr));
    }
}
