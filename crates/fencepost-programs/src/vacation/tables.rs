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
