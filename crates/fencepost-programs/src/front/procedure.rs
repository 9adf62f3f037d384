//! Stored procedures of a tuple engine: what an executor does with strings and records before and after it touches a tuple.
//!
//! The benchmark's parameters are drawn into a list, from which the procedure takes them. For every tuple that it looks up it writes the
//! key out as text, number by number, and hashes the text. An update builds a record: the new string once, then for each field a
//! pointer and a copy of the string; the tuple is filled from the record. What is selected is written out into a result, which
//! the procedure takes apart again.
//!
//! After N-store (`ycsb_benchmark`, `tpcc_benchmark`, `serializer`, `usertable_record`), which WHISPER runs. Its log of text is not
//! modelled: the write-ahead log is the transaction runtime's.

use super::{Own, Reader, Writer, hash};
use crate::layout::Layout;
use crate::sites;
use fencepost_kernel::{At, Mem, Val};

/// Parameters of the largest procedure: three of each line of an order, and five more.
const PARAMETERS: u64 = 50 * 8;
/// The longest key: three numbers with their commas.
const KEY: u64 = 64;

/// What each executor keeps.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Procedure {
    own: Own,
    /// Words of a string, and of a record's fields.
    string: u64,
    fields: u64,
}

impl Procedure {
    /// Executors whose records have so many fields of so many words each; a result has as many words as a record.
    pub(crate) fn new(layout: &mut Layout, threads: u32, fields: u64, words: u64) -> Procedure {
        // Parameters, key, string, the record's pointers and copies, the result.
        let bytes = PARAMETERS + KEY + 8 * (words + fields + 2 * fields * words);
        Procedure {
            own: Own::new(layout, threads, bytes),
            string: words,
            fields,
        }
    }
    fn string_at(&self) -> u64 {
        PARAMETERS + KEY
    }
    fn pointers_at(&self) -> u64 {
        self.string_at() + self.string * 8
    }
    fn copies_at(&self) -> u64 {
        self.pointers_at() + self.fields * 8
    }
    fn result_at(&self) -> u64 {
        self.copies_at() + self.fields * self.string * 8
    }
    /// The drawn parameters are listed, and taken from the list.
    pub(crate) fn parameters<M: Mem>(&self, m: &mut M, thread: u32, drawn: impl Iterator<Item = u64> + Clone) {
        for (i, n) in (0..).zip(drawn.clone()) {
            m.store(self.own.word(thread, i * 8), Val::lit(n));
        }
        for (i, _) in (0..).zip(drawn) {
            m.load(self.own.word(thread, i * 8));
        }
        m.compute(sites::COPY_WORD);
    }
    /// Writes a key of these numbers out and hashes it.
    pub(crate) fn key<M: Mem>(&self, m: &mut M, thread: u32, numbers: &[u64]) {
        let at = self.own.at(thread, PARAMETERS);
        let mut w = Writer::new(at);
        let mut bytes = 0;
        for n in numbers {
            w.number(m, *n);
            w.byte(m, b',');
            bytes += 2 + u64::from(n.checked_ilog10().unwrap_or(0));
        }
        w.end(m);
        hash(m, Reader::new(at), bytes);
    }
    /// Builds a record of which every word is `value`.
    pub(crate) fn record<M: Mem>(&self, m: &mut M, thread: u32, value: u64) {
        let string = self.own.at(thread, self.string_at());
        Writer::new(string).words(m, self.string, value);
        for field in 0..self.fields {
            let copy = self.field_word(thread, field * self.string);
            m.store(self.own.word(thread, self.pointers_at() + field * 8), copy.pointer());
            let mut r = Reader::new(string);
            for w in 0..self.string {
                let word = r.word(m);
                m.store(copy.field(w * 8), word);
            }
            m.compute(sites::COPY_WORD);
        }
    }
    /// Where word `w` of the record's fields is read from.
    pub(crate) fn field_word<D: Copy + Default>(&self, thread: u32, w: u64) -> At<D> {
        self.own.word(thread, self.copies_at() + w * 8)
    }
    /// Writes so many selected words out into the result, and takes it apart.
    pub(crate) fn result<M: Mem>(&self, m: &mut M, thread: u32, words: u64, value: u64) {
        let at = self.own.at(thread, self.result_at());
        Writer::new(at).words(m, words, value);
        let mut r = Reader::<M::Dep>::new(at);
        for _ in 0..words {
            r.word(m);
        }
        m.compute(sites::COPY_WORD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::plain::Plain;

    #[test]
    fn parameters_are_taken_from_a_list() {
        let executors = Procedure::new(&mut Layout::default(), 2, 5, 13);
        let mut m = Plain::default();
        executors.parameters(&mut m, 1, [7, 8, 9].into_iter());
        assert_eq!((m.stores, m.loads), (3, 3));
        let listed = [0, 8, 16].map(|at| m.load(executors.own.word(1, at)).v);
        assert_eq!(listed, [7, 8, 9]);
    }
    #[test]
    fn what_executors_keep_lies_apart() {
        let executors = Procedure::new(&mut Layout::default(), 2, 5, 13);
        let mut m = Plain::default();
        executors.parameters(&mut m, 1, (0..50).map(|_| 7));
        executors.record(&mut m, 1, 9);
        executors.record(&mut m, 0, 8);
        // As many words as a record has, of both.
        executors.result(&mut m, 0, 65, 4);
        executors.result(&mut m, 1, 65, 4);
        let mut word = |thread, w| m.load(executors.field_word(thread, w)).v;
        assert!((0..65).all(|w| word(1, w) == 9 && word(0, w) == 8));
        assert!((0..50).all(|i| m.load(executors.own.word(1, i * 8)).v == 7));
    }
    #[test]
    fn a_record_is_its_string_in_every_field() {
        let executors = Procedure::new(&mut Layout::default(), 2, 5, 13);
        let mut m = Plain::default();
        executors.record(&mut m, 1, 9);
        assert!((0..65).all(|w| m.load(executors.field_word(1, w)).v == 9));
        // The string, five pointers and five copies.
        assert_eq!(m.stores, 13 + 5 + 65);
        let before = m.stores;
        executors.key(&mut m, 1, &[3, 10, 119]);
        assert_eq!(m.stores - before, 2, "`3,10,119,` is a word and a byte");
        assert_eq!(m.load(executors.own.word(1, PARAMETERS)).v.to_le_bytes(), *b"3,10,119");
    }

    /// Fifty words of parameters, a key of three numbers at their longest, a string, a pointer and a copy for each field, a result.
    #[test]
    fn an_executor_has_the_room_that_it_needs() {
        let longest = 3 * (u64::MAX.to_string().len() as u64 + 1);
        assert!(longest <= KEY && PARAMETERS == 50 * 8);
        for (fields, words) in [(1, 1), (5, 13), (10, 13), (3, 3)] {
            let p = Procedure::new(&mut Layout::default(), 2, fields, words);
            assert_eq!(p.string_at(), PARAMETERS + KEY);
            assert_eq!(p.pointers_at() - p.string_at(), words * 8);
            assert_eq!(p.copies_at() - p.pointers_at(), fields * 8);
            assert_eq!(p.result_at() - p.copies_at(), fields * words * 8);
            let end = p.result_at() + fields * words * 8;
            let apart = p.own.at(1, 0).0 - p.own.at(0, 0).0;
            assert_eq!(apart, end.next_multiple_of(64));
        }
    }
    /// Each pointer of a record leads to its copy, and every word of a copy is read from the string: a load a word.
    #[test]
    fn a_records_pointers_lead_to_its_fields() {
        let p = Procedure::new(&mut Layout::default(), 2, 5, 13);
        let mut m = Plain::default();
        p.record(&mut m, 1, 9);
        assert_eq!(m.loads, 5 * 13);
        let string: Vec<u64> = (0..13)
            .map(|w| m.load(p.own.word(1, p.string_at() + w * 8)).v)
            .collect();
        assert_eq!(string, [9; 13]);
        for field in 0..5 {
            let pointer = m.load(p.own.word(1, p.pointers_at() + field * 8)).v;
            assert_eq!(pointer, p.field_word::<()>(1, field * 13).addr.0);
        }
    }
    /// What is selected is written out, a store a word, and taken apart, a load a word.
    #[test]
    fn a_result_costs_a_store_and_a_load_a_word() {
        let p = Procedure::new(&mut Layout::default(), 2, 5, 13);
        for words in [0, 1, 13, 65] {
            let mut m = Plain::default();
            p.result(&mut m, 1, words, 4);
            assert_eq!((m.stores, m.loads), (words, words));
            assert!((0..words).all(|w| m.load(p.own.word(1, p.result_at() + w * 8)).v == 4));
        }
    }
    /// A key is written out a store a word, and hashed a load a word: as many bytes as its digits and commas.
    #[test]
    fn a_key_is_hashed_as_long_as_it_is() {
        let p = Procedure::new(&mut Layout::default(), 2, 5, 13);
        for numbers in [
            &[0][..],
            &[9],
            &[10],
            &[99, 100],
            &[1, 22, 333],
            &[123_456, 7, 1_000_000],
        ] {
            let text: String = numbers.iter().map(|n| format!("{n},")).collect();
            let mut m = Plain::default();
            p.key(&mut m, 0, numbers);
            let words = text.len().div_ceil(8) as u64;
            assert_eq!((m.stores, m.loads), (words, words), "{text}");
        }
    }
}
