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
}
