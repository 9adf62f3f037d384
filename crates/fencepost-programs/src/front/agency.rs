//! Clients of the travel agency: each draws what it asks for, and compares prices in lists of its own.
//!
//! A client has a generator of 624 words (the Mersenne twister), of which a draw reads one; when all are used it makes them anew. It draws
//! the action, the customer, and for each query a table and a row, lists the queries, and keeps the best price and row of each table
//! while it looks; then it reserves what it kept.
//!
//! After STAMP's `client_run` and `random`, with one query a transaction as WHISPER runs it. What the operations do is fixed by the run's
//! seed alone: the generator's numbers are drawn and not used.

use super::Own;
use crate::layout::Layout;
use crate::sites;
use fencepost_kernel::{Mem, Val};

/// Words of the generator, and how far apart two are that are combined.
const STATE: u64 = 624;
const APART: u64 = 397;
/// Cars, flights, rooms.
const TABLES: u64 = 3;
/// Draws of a transaction: action, customer, table, row.
const DRAWS: u64 = 4;
// Behind the generator: its position; the query; best price and row of each table.
const POSITION: u64 = STATE * 8;
const TABLE: u64 = POSITION + 8;
const ROW: u64 = POSITION + 16;
const PRICES: u64 = POSITION + 24;
const ROWS: u64 = PRICES + TABLES * 8;

/// What each client keeps.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Agency {
    own: Own,
}

impl Agency {
    pub(crate) fn new(layout: &mut Layout, threads: u32) -> Agency {
        Agency {
            own: Own::new(layout, threads, ROWS + TABLES * 8),
        }
    }
    /// Seeds the generators.
    pub(crate) fn plant<M: Mem>(&self, m: &mut M) {
        for thread in 0..self.own.threads {
            let mut word = u64::from(thread) + 1;
            for i in 0..STATE {
                m.store(self.own.word(thread, i * 8), Val::lit(word));
                word = (1_812_433_253 * (word ^ word >> 30) + i + 1) & 0xffff_ffff;
            }
            m.store(self.own.word(thread, POSITION), Val::lit(STATE));
        }
    }
    /// Makes the generator's words anew.
    fn twist<M: Mem>(&self, m: &mut M, thread: u32) {
        for i in 0..STATE {
            let mut at = |i: u64| m.load(self.own.word(thread, i % STATE * 8));
            let (this, next, far) = (at(i), at(i + 1), at(i + APART));
            let y = this.join(next, |a, b| a & 0x8000_0000 | b & 0x7fff_ffff);
            let new = far.join(y, |f, y| f ^ y >> 1 ^ if y & 1 == 0 { 0 } else { 0x9908_b0df });
            m.store(self.own.word(thread, i * 8), new);
            m.compute(sites::TWIST);
        }
    }
    fn draw<M: Mem>(&self, m: &mut M, thread: u32) -> u64 {
        let position = self.own.word(thread, POSITION);
        let mut i = m.load(position).v;
        if i >= STATE {
            self.twist(m, thread);
            i = 0;
        }
        let mut y = m.load(self.own.word(thread, i * 8)).v;
        m.store(position, Val::lit(i + 1));
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c_5680;
        y ^= y << 15 & 0xefc6_0000;
        m.compute(sites::DRAW);
        y ^ y >> 18
    }
    /// Draws a query and lists it; nothing is kept yet.
    pub(crate) fn query<M: Mem>(&self, m: &mut M, thread: u32, table: u64, row: u64) {
        for _ in 0..DRAWS {
            self.draw(m, thread);
        }
        m.store(self.own.word(thread, TABLE), Val::lit(table));
        m.store(self.own.word(thread, ROW), Val::lit(row));
        for t in 0..TABLES {
            m.store(self.own.word(thread, PRICES + t * 8), Val::lit(0));
            m.store(self.own.word(thread, ROWS + t * 8), Val::lit(0));
        }
        m.load(self.own.word(thread, TABLE));
        m.load(self.own.word(thread, ROW));
    }
    /// A row with free units at this price was found: it is kept if it is the best; then what was kept is gone through.
    pub(crate) fn found<M: Mem>(&self, m: &mut M, thread: u32, (table, row): (u64, u64), price: Val<M::Dep>) {
        let best = self.own.word(thread, PRICES + table * 8);
        if m.load(best).v < price.v {
            m.store(best, price);
            m.store(self.own.word(thread, ROWS + table * 8), Val::lit(row));
        }
        for t in 0..TABLES {
            m.load(self.own.word(thread, ROWS + t * 8));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::plain::Plain;
    use std::collections::BTreeSet;

    /// The first numbers that the generator is published to give for the seed 1.
    #[test]
    fn the_generator_is_the_one_it_stands_for() {
        let agency = Agency::new(&mut Layout::default(), 1);
        let mut m = Plain::default();
        agency.plant(&mut m);
        let drawn: Vec<u64> = (0..3).map(|_| agency.draw(&mut m, 0)).collect();
        assert_eq!(drawn, [1_791_095_845, 4_282_876_139, 3_093_770_124]);
    }
    /// The better row of a table stays; then the row of every table is read, and the table's price.
    #[test]
    fn the_best_row_is_kept_and_all_are_gone_through() {
        let agency = Agency::new(&mut Layout::default(), 1);
        let mut m = Plain::default();
        for (row, price) in [(7, 5), (8, 4), (9, 6)] {
            m.loaded.clear();
            agency.found(&mut m, 0, (1, row), Val::lit(price));
            let words = (0..TABLES).map(|t| ROWS + t * 8).chain([PRICES + 8]);
            let words: BTreeSet<u64> = words.map(|w| agency.own.word::<()>(0, w).addr.0).collect();
            assert_eq!(m.loaded, words);
        }
        let kept = [0, 1, 2].map(|t| m.load(agency.own.word(0, ROWS + t * 8)).v);
        assert_eq!(kept, [0, 9, 0]);
    }
    #[test]
    fn a_draw_reads_a_word_and_its_place() {
        let agency = Agency::new(&mut Layout::default(), 1);
        let mut m = Plain::default();
        agency.plant(&mut m);
        agency.draw(&mut m, 0);
        let before = (m.loads, m.stores);
        agency.draw(&mut m, 0);
        assert_eq!((m.loads - before.0, m.stores - before.1), (2, 1));
    }
}
