//! SQLite's files, read and written by loads and stores.

use super::files::Files;
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, Fence, Flush, Mem, Site, Val, rng};
use fencepost_sqlite::{File, PAGE_BYTES, Store};
use std::collections::BTreeSet;

/// How a word of the file is read and written: by a transaction, or plainly.
pub(super) trait Access {
    /// An access to the file begins: what was executed since the last one stands before it.
    fn begins(&mut self, _site: Site) {}
    /// These whole words are about to be written.
    fn announced(&mut self, _at: Addr, _len: u64) {}
    fn load(&mut self, at: Addr) -> u64;
    fn store(&mut self, at: Addr, value: u64);
    /// What was stored is durable before anything that is stored later.
    fn sync(&mut self) {}
}

/// Set-up and audits: outside of transactions.
pub(super) struct Plainly<'a, M>(pub &'a mut M);
impl<M: Mem> Access for Plainly<'_, M> {
    fn load(&mut self, at: Addr) -> u64 {
        self.0.load(At::new(at)).v
    }
    fn store(&mut self, at: Addr, value: u64) {
        self.0.store(At::new(at), Val::lit(value));
    }
}
impl<M: Mem> Access for Tx<'_, '_, M> {
    fn begins(&mut self, site: Site) {
        self.compute(site);
    }
    fn announced(&mut self, at: Addr, len: u64) {
        self.protect_once(At::new(at), len);
    }
    fn load(&mut self, at: Addr) -> u64 {
        self.read(At::new(at)).v
    }
    fn store(&mut self, at: Addr, value: u64) {
        self.write(At::new(at), Val::lit(value));
    }
    fn sync(&mut self) {
        self.step();
    }
}
/// SQLite's own recovery: syncs flush and fence what was stored since the last.
pub(super) struct Syncing<'a, M> {
    pub m: &'a mut M,
    pub dirty: BTreeSet<u64>,
}
impl<M: Mem> Access for Syncing<'_, M> {
    fn load(&mut self, at: Addr) -> u64 {
        self.m.load(At::new(at)).v
    }
    fn store(&mut self, at: Addr, value: u64) {
        self.dirty.insert(at.0 / LINE_BYTES);
        self.m.store(At::new(at), Val::lit(value));
    }
    fn sync(&mut self) {
        for line in std::mem::take(&mut self.dirty) {
            self.m.flush(At::new(Addr(line * LINE_BYTES)), Flush::Clwb);
        }
        self.m.fence(Fence::Sfence);
    }
}

/// The files with a way to access them: what SQLite is given. Bytes are those of little-endian words.
pub(super) struct Pages<'a, A> {
    files: &'a Files,
    access: &'a mut A,
    /// What tells this transaction from all others, and random numbers given so far.
    random: (u64, u64),
}
impl<'a, A: Access> Pages<'a, A> {
    /// `transaction` is a number that no other transaction of the run has.
    pub(super) fn new(files: &'a Files, access: &'a mut A, transaction: u64) -> Self {
        Pages {
            files,
            access,
            random: (transaction, 0),
        }
    }
    fn word(&mut self, file: File, at: u64) -> u64 {
        let base = self.files.area(file).at;
        self.access.load(Addr(base.0 + at))
    }
}

/// Calls `each` with the word of each part of `from..from + len`, and which of its bytes, from where in the range, are in it.
fn parts(from: u64, len: u64, mut each: impl FnMut(u64, std::ops::Range<usize>, usize)) {
    let mut at = from;
    while at < from + len {
        let word = at & !7;
        let end = (from + len).min(word + 8);
        each(word, (at - word) as usize..(end - word) as usize, (at - from) as usize);
        at = end;
    }
}

impl<A: Access> Store for Pages<'_, A> {
    fn capacity(&self, file: File) -> u64 {
        self.files.area(file).len
    }
    /// A file that begins with zeros is not there. What stands behind the end of a journal SQLite tells by its numbers and checksums.
    /// Where it keeps one, it also asks how many pages there are, which the first says; else it gets all of them.
    fn size(&mut self, file: File) -> u64 {
        let capacity = self.capacity(file);
        if capacity == 0 {
            return 0;
        }
        self.access.begins(sites::PAGE_READ);
        if self.word(file, 0) == 0 {
            0
        } else if file == File::Pages && self.files.journaled() {
            u64::from(((self.word(file, 24) >> 32) as u32).swap_bytes()) * PAGE_BYTES
        } else {
            capacity
        }
    }
    fn read(&mut self, file: File, at: u64, into: &mut [u8]) {
        let base = self.files.area(file).at;
        self.access.begins(sites::PAGE_READ);
        if at.is_multiple_of(8) && into.len().is_multiple_of(8) {
            let mut word = base.0 + at;
            for bytes in into.chunks_exact_mut(8) {
                bytes.copy_from_slice(&self.access.load(Addr(word)).to_le_bytes());
                word += 8;
            }
            return;
        }
        parts(base.0 + at, into.len() as u64, |word, bytes, offset| {
            let value = self.access.load(Addr(word)).to_le_bytes();
            into[offset..offset + bytes.len()].copy_from_slice(&value[bytes]);
        });
    }
    fn write(&mut self, file: File, at: u64, bytes: &[u8]) {
        self.access.begins(sites::PAGE_WRITE);
        let (from, len) = (self.files.area(file).at.0 + at, bytes.len() as u64);
        let (first, end) = (from & !7, (from + len).next_multiple_of(8));
        self.access.announced(Addr(first), end - first);
        if (first, end) == (from, from + len) {
            let mut word = from;
            for value in bytes.chunks_exact(8) {
                self.access
                    .store(Addr(word), u64::from_le_bytes(value.try_into().unwrap_or_default()));
                word += 8;
            }
            return;
        }
        parts(from, len, |word, part, offset| {
            let new = &bytes[offset..offset + part.len()];
            let mut value = [0; 8];
            if part.len() < 8 {
                value = self.access.load(Addr(word)).to_le_bytes();
            }
            value[part].copy_from_slice(new);
            self.access.store(Addr(word), u64::from_le_bytes(value));
        });
    }
    fn sync(&mut self, _: File) {
        self.access.sync();
    }
    fn random(&mut self) -> u64 {
        let (transaction, drawn) = self.random;
        self.random.1 += 1;
        rng::hash(&[transaction, drawn])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use std::collections::BTreeMap;

    #[derive(Default)]
    struct Words(BTreeMap<u64, u64>, Vec<(u64, u64)>);
    impl Access for Words {
        fn announced(&mut self, at: Addr, len: u64) {
            self.1.push((at.0, len));
        }
        fn load(&mut self, at: Addr) -> u64 {
            self.0.get(&at.0).copied().unwrap_or(0)
        }
        fn store(&mut self, at: Addr, value: u64) {
            assert_eq!(at.0 % 8, 0);
            self.0.insert(at.0, value);
        }
    }
    /// Against plain bytes, at every alignment.
    #[test]
    fn reads_and_writes_are_those_of_a_file() {
        let mut layout = Layout::default();
        let files = Files::new(&mut layout, 2, (0, 0));
        let base = files.area(File::Pages).at;
        let (mut words, mut plain) = (Words::default(), vec![0u8; 64]);
        for (n, (at, len)) in (0..40).flat_map(|a| [1, 3, 8, 17, 24].map(|l| (a, l))).enumerate() {
            let bytes: Vec<u8> = (0..len).map(|i| (n * 7 + i) as u8).collect();
            plain[at..at + len].copy_from_slice(&bytes);
            let mut pages = Pages::new(&files, &mut words, 0);
            pages.write(File::Pages, at as u64, &bytes);
            let mut all = vec![0; 64];
            pages.read(File::Pages, 0, &mut all);
            let mut some = vec![0; len];
            pages.read(File::Pages, at as u64, &mut some);
            assert_eq!((all, some), (plain.clone(), bytes));
            let (first, len_announced) = *words.1.last().expect("every write is announced");
            let (from, to) = (base.0 + at as u64, base.0 + (at + len) as u64);
            assert!(first <= from && to <= first + len_announced && len_announced % 8 == 0 && first % 8 == 0);
        }
    }

    /// A file that begins with zeros is not there; where SQLite keeps a journal the database is as long as its header says, in the fourth
    /// word's upper half with the highest byte first; all other files are as long as their room.
    #[test]
    fn files_are_as_long_as_they_say() {
        for journaled in [false, true] {
            let mut layout = Layout::default();
            let room = if journaled {
                (3 * PAGE_BYTES, 5 * PAGE_BYTES)
            } else {
                (0, 0)
            };
            let files = Files::new(&mut layout, 9, room);
            assert_eq!(files.journaled(), journaled);
            let mut words = Words::default();
            let size = |words: &mut Words, file| Pages::new(&files, words, 0).size(file);
            assert_eq!(
                [File::Pages, File::Journal, File::Wal].map(|f| size(&mut words, f)),
                [0; 3]
            );
            for file in [File::Pages, File::Journal, File::Wal] {
                words.0.insert(files.area(file).at.0, 1);
            }
            Pages::new(&files, &mut words, 0).write(File::Pages, 28, &7u32.to_be_bytes());
            let pages = if journaled { 7 } else { 9 };
            assert_eq!(size(&mut words, File::Pages), pages * PAGE_BYTES);
            assert_eq!(
                [File::Journal, File::Wal].map(|f| size(&mut words, f)),
                [room.0, room.1]
            );
            let all: Vec<u64> = files.spans(2 * PAGE_BYTES).iter().map(|s| s.len).collect();
            let own = [2 * PAGE_BYTES, room.0, room.1].into_iter().filter(|l| *l > 0);
            assert!(all.into_iter().eq(own));
            assert_eq!(files.span(100 * PAGE_BYTES).len, 9 * PAGE_BYTES);
        }
    }
    /// A write announces the words that hold its bytes and no others, and loads none that it writes whole.
    #[test]
    fn a_write_announces_the_words_of_its_bytes() {
        let mut layout = Layout::default();
        let files = Files::new(&mut layout, 2, (0, 0));
        let base = files.area(File::Pages).at.0;
        for (at, len) in (0..20u64).flat_map(|at| (1..30).map(move |len| (at, len))) {
            let mut words = Words::default();
            Pages::new(&files, &mut words, 0).write(File::Pages, at, &vec![9; len as usize]);
            let (first, end) = (at / 8 * 8, (at + len).div_ceil(8) * 8);
            assert_eq!(words.1, [(base + first, end - first)]);
            let written: Vec<u64> = words.0.keys().copied().collect();
            assert!(written.into_iter().eq((base + first..base + end).step_by(8)));
        }
    }
    /// Transactions draw each for themselves, and no number again.
    #[test]
    fn transactions_draw_numbers_of_their_own() {
        let mut layout = Layout::default();
        let files = Files::new(&mut layout, 2, (0, 0));
        let mut drawn = std::collections::BTreeSet::new();
        for transaction in 0..20 {
            let mut words = Words::default();
            let mut pages = Pages::new(&files, &mut words, transaction);
            assert!((0..20).all(|_| drawn.insert(pages.random())));
        }
    }
}
