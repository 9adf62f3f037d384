//! Where SQLite's pages lie: a file in persistent memory, read and written by loads and stores.

use crate::layout::Layout;
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{Addr, At, Mem, Site, Span, Val};
use fencepost_sqlite::{PAGE_BYTES, Store};

/// The pages of one database, as many as it may ever have.
#[derive(Copy, Clone, Debug)]
pub(super) struct File {
    base: Addr,
    pages: u64,
}

impl File {
    pub fn new(layout: &mut Layout, pages: u64) -> File {
        let base = layout.pm_aligned(pages * PAGE_BYTES, PAGE_BYTES);
        File { base, pages }
    }
    pub fn bytes(&self) -> u64 {
        self.pages * PAGE_BYTES
    }
    pub fn base(&self) -> Addr {
        self.base
    }
    /// The first pages: `bytes` of them, or all.
    pub fn span(&self, bytes: u64) -> Span {
        Span {
            at: self.base,
            len: bytes.min(self.bytes()),
        }
    }
}

/// How a word of the file is read and written: by a transaction, or plainly.
pub(super) trait Access {
    /// An access to the file begins: what was executed since the last one stands before it.
    fn begins(&mut self, _site: Site) {}
    /// These whole words are about to be written.
    fn announced(&mut self, _at: Addr, _len: u64) {}
    fn load(&mut self, at: Addr) -> u64;
    fn store(&mut self, at: Addr, value: u64);
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
}

/// The file with a way to access it: what SQLite is given. Bytes are those of little-endian words.
pub(super) struct Pages<'a, A> {
    pub file: &'a File,
    pub access: &'a mut A,
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
    fn capacity(&self) -> u64 {
        self.file.bytes()
    }
    fn read(&mut self, at: u64, into: &mut [u8]) {
        self.access.begins(sites::PAGE_READ);
        if at.is_multiple_of(8) && into.len().is_multiple_of(8) {
            let mut word = self.file.base.0 + at;
            for bytes in into.chunks_exact_mut(8) {
                bytes.copy_from_slice(&self.access.load(Addr(word)).to_le_bytes());
                word += 8;
            }
            return;
        }
        parts(self.file.base.0 + at, into.len() as u64, |word, bytes, offset| {
            let value = self.access.load(Addr(word)).to_le_bytes();
            into[offset..offset + bytes.len()].copy_from_slice(&value[bytes]);
        });
    }
    fn write(&mut self, at: u64, bytes: &[u8]) {
        self.access.begins(sites::PAGE_WRITE);
        let (from, len) = (self.file.base.0 + at, bytes.len() as u64);
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
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let file = File::new(&mut Layout::default(), 2);
        let (mut words, mut plain) = (Words::default(), vec![0u8; 64]);
        for (n, (at, len)) in (0..40).flat_map(|a| [1, 3, 8, 17, 24].map(|l| (a, l))).enumerate() {
            let bytes: Vec<u8> = (0..len).map(|i| (n * 7 + i) as u8).collect();
            plain[at..at + len].copy_from_slice(&bytes);
            let mut pages = Pages {
                file: &file,
                access: &mut words,
            };
            pages.write(at as u64, &bytes);
            let mut all = vec![0; 64];
            pages.read(0, &mut all);
            let mut some = vec![0; len];
            pages.read(at as u64, &mut some);
            assert_eq!((all, some), (plain.clone(), bytes));
            let (first, len_announced) = *words.1.last().expect("every write is announced");
            let (from, to) = (file.base.0 + at as u64, file.base.0 + (at + len) as u64);
            assert!(first <= from && to <= first + len_announced && len_announced % 8 == 0 && first % 8 == 0);
        }
    }
}
