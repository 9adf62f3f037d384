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

    /// The Mersenne twister as its authors publish it (`init_genrand`, `genrand_int32`).
    struct Published {
        state: [u32; 624],
        next: usize,
    }
    impl Published {
        fn new(seed: u32) -> Published {
            let mut state = [seed; 624];
            for i in 1..624 {
                let before = state[i - 1];
                state[i] = 1_812_433_253u32
                    .wrapping_mul(before ^ (before >> 30))
                    .wrapping_add(i as u32);
            }
            Published { state, next: 624 }
        }
        fn draw(&mut self) -> u32 {
            if self.next == 624 {
                for i in 0..624 {
                    let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % 624] & 0x7fff_ffff);
                    let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
                    self.state[i] = self.state[(i + 397) % 624] ^ (y >> 1) ^ odd;
                }
                self.next = 0;
            }
            let mut y = self.state[self.next];
            self.next += 1;
            y ^= y >> 11;
            y ^= (y << 7) & 0x9d2c_5680;
            y ^= (y << 15) & 0xefc6_0000;
            y ^ (y >> 18)
        }
    }
    /// Through several rounds of the generator, every client with a seed of its own.
    #[test]
    fn clients_draw_what_the_published_generator_draws() {
        let agency = Agency::new(&mut Layout::default(), 3);
        let mut m = Plain::default();
        agency.plant(&mut m);
        let mut published = [1, 2, 3].map(Published::new);
        for n in 0..2000 {
            for (thread, published) in (0..).zip(&mut published) {
                // The words have no more than 32 bits that count; a shift to the left lets others in.
                let drawn = agency.draw(&mut m, thread) as u32;
                assert_eq!(drawn, published.draw(), "draw {n} of client {thread}");
            }
        }
    }
    /// When all words are used each is made of three: so many loads and one store, and then the draw's own.
    #[test]
    fn the_generator_is_made_anew_after_as_many_draws_as_it_has_words() {
        let agency = Agency::new(&mut Layout::default(), 1);
        let mut m = Plain::default();
        agency.plant(&mut m);
        for n in 0..3 * 624u64 {
            let before = (m.loads, m.stores);
            agency.draw(&mut m, 0);
            let made = if n % 624 == 0 { 624 } else { 0 };
            assert_eq!(
                (m.loads - before.0, m.stores - before.1),
                (3 * made + 2, made + 1),
                "{n}"
            );
        }
    }
    /// A query costs four draws, the list of what is asked and a price and a row of each table; what was kept of the last query is gone.
    #[test]
    fn a_query_is_listed_and_nothing_is_kept_yet() {
        let agency = Agency::new(&mut Layout::default(), 2);
        let mut m = Plain::default();
        agency.plant(&mut m);
        agency.query(&mut m, 1, 0, 1);
        for table in 0..3 {
            agency.found(&mut m, 1, (table, 30 + table), Val::lit(50 + table));
        }
        let kept = |m: &mut Plain, from: u64| [0, 1, 2].map(|t| m.load(agency.own.word(1, from + t * 8)).v);
        assert_eq!((kept(&mut m, PRICES), kept(&mut m, ROWS)), ([50, 51, 52], [30, 31, 32]));
        let before = (m.loads, m.stores);
        agency.query(&mut m, 1, 2, 77);
        assert_eq!((m.loads - before.0, m.stores - before.1), (4 * 2 + 2, 4 + 2 + 3 * 2));
        let asked = [TABLE, ROW].map(|at| m.load(agency.own.word(1, at)).v);
        assert_eq!(asked, [2, 77]);
        assert_eq!((kept(&mut m, PRICES), kept(&mut m, ROWS)), ([0; 3], [0; 3]));
        assert_eq!(m.load(agency.own.word(1, POSITION)).v, 8);
    }
    /// A row at the best price so far does not replace it.
    #[test]
    fn the_first_of_equal_prices_stays() {
        let agency = Agency::new(&mut Layout::default(), 1);
        let mut m = Plain::default();
        for (row, price) in [(3, 5), (4, 5)] {
            agency.found(&mut m, 0, (2, row), Val::lit(price));
        }
        assert_eq!(m.load(agency.own.word(0, ROWS + 16)).v, 3);
    }
    /// Generator, position, query, prices and rows follow each other, and the next client's begin on a line behind them.
    #[test]
    fn what_a_client_keeps_is_as_long_as_its_parts() {
        assert_eq!(
            [POSITION, TABLE, ROW, PRICES, ROWS],
            [624, 625, 626, 627, 630].map(|w| w * 8)
        );
        let agency = Agency::new(&mut Layout::default(), 2);
        let apart = agency.own.at(1, 0).0 - agency.own.at(0, 0).0;
        assert_eq!(apart, (633u64 * 8).next_multiple_of(64));
    }
}
