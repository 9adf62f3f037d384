//! What a program reads of a file before it has written it.
//!
//! A recovery that ends is a function of the bytes noted here: whatever else it reads of the file, it has stored there itself.
//! Noting a byte too much is harmless, noting one too few is not; so anything that is not followed is noted as read.

use std::fmt::Write as _;

/// Through what the file is seen: all shared mappings show one content, each private mapping may come to show its own.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// A shared mapping.
    Shared,
    /// A private mapping, by a number of its own.
    Private(u32),
}

/// Who stored to the file so far.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Writers {
    Nobody,
    One(View),
    Several,
}

/// Bytes of a file read, in the order of first reading.
#[derive(Debug)]
pub struct Reads {
    length: u64,
    /// By word, a bit a byte: noted as read; stored by the program.
    read: Vec<u8>,
    written: Vec<u8>,
    writers: Writers,
    pieces: Vec<(u64, u64)>,
    everything: Option<String>,
}

impl Reads {
    /// Nothing read yet of a file of so many bytes.
    pub fn new(length: u64) -> Reads {
        let words = length.div_ceil(8) as usize;
        Reads {
            length,
            read: vec![0; words],
            written: vec![0; words],
            writers: Writers::Nobody,
            pieces: Vec::new(),
            everything: None,
        }
    }
    /// A load of `bytes` at this offset through this view: what the program itself has stored there does not count, where
    /// this view shows what it stored.
    pub fn load(&mut self, view: View, offset: u64, bytes: u64) {
        self.note(offset, bytes, self.writers == Writers::One(view));
    }
    /// A store.
    pub fn store(&mut self, view: View, offset: u64, bytes: u64) {
        self.writers = match self.writers {
            Writers::Nobody => Writers::One(view),
            Writers::One(v) if v == view => Writers::One(view),
            _ => Writers::Several,
        };
        for (word, mask) in words(offset, bytes, self.length) {
            self.written[word] |= mask;
        }
    }
    /// A range read past the mappings, by a system call: all of it, whoever stored it.
    pub fn range(&mut self, offset: u64, bytes: u64) {
        self.note(offset, bytes, false);
    }
    /// Something happened that is not followed: from here on the program may have read everything.
    pub fn everything(&mut self, why: &str) {
        self.everything.get_or_insert_with(|| why.to_owned());
    }
    fn note(&mut self, offset: u64, bytes: u64, skip_own: bool) {
        if self.everything.is_some() {
            return;
        }
        for (word, mask) in words(offset, bytes, self.length) {
            let own = if skip_own { self.written[word] } else { 0 };
            let new = mask & !self.read[word] & !own;
            self.read[word] |= new;
            let mut left = new;
            while left != 0 {
                let from = left.trailing_zeros();
                let count = (left >> from).trailing_ones();
                left &= !((((1u16 << count) - 1) << from) as u8);
                self.piece(word as u64 * 8 + u64::from(from), u64::from(count));
            }
        }
    }
    fn piece(&mut self, offset: u64, bytes: u64) {
        match self.pieces.last_mut() {
            Some((at, n)) if *at + *n == offset => *n += bytes,
            _ => self.pieces.push((offset, bytes)),
        }
    }
    /// Lines `read OFFSET LENGTH` in order, at last perhaps `everything: WHY`; then `end`, so that a text that was cut off
    /// is known for one.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (offset, bytes) in &self.pieces {
            let _ = writeln!(text, "read {offset} {bytes}");
        }
        if let Some(why) = &self.everything {
            let _ = writeln!(text, "everything: {why}");
        }
        text + "end\n"
    }
}

/// The words of a range within the file, each with the bits of its bytes.
fn words(offset: u64, bytes: u64, length: u64) -> impl Iterator<Item = (usize, u8)> {
    let end = offset.saturating_add(bytes).min(length);
    let last = if offset < end { end.div_ceil(8) } else { 0 };
    (offset / 8..last).map(move |word| {
        let (from, to) = (offset.max(word * 8) - word * 8, end.min(word * 8 + 8) - word * 8);
        (word as usize, (((1u16 << to) - 1) & !((1u16 << from) - 1)) as u8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Against a program that is played on two arrays: each byte noted exactly if it came from the file and not from the
    /// program, with shared mappings only.
    #[test]
    fn notes_what_came_from_the_file_and_nothing_else() {
        let mut x = 3u64;
        let mut random = |n: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (x >> 33) % n
        };
        for _ in 0..200 {
            let (mut reads, mut own, mut wanted) = (Reads::new(45), [false; 64], BTreeSet::new());
            for _ in 0..20 {
                let (offset, bytes) = (random(50), random(14));
                let range = offset as usize..(offset + bytes).min(45) as usize;
                match random(5) {
                    0 | 1 => {
                        reads.store(View::Shared, offset, bytes);
                        range.for_each(|i| own[i] = true);
                    }
                    2 | 3 => {
                        reads.load(View::Shared, offset, bytes);
                        wanted.extend(range.filter(|i| !own[*i]));
                    }
                    _ => {
                        reads.range(offset, bytes);
                        wanted.extend(range);
                    }
                }
            }
            let noted: Vec<u64> = reads.pieces.iter().flat_map(|(at, n)| *at..*at + *n).collect();
            let once: BTreeSet<usize> = noted.iter().map(|b| *b as usize).collect();
            assert_eq!((noted.len(), once), (wanted.len(), wanted));
        }
    }
    #[test]
    fn pieces_are_in_the_order_of_first_reading() {
        let mut reads = Reads::new(64);
        reads.load(View::Shared, 40, 8);
        reads.load(View::Shared, 8, 4);
        reads.load(View::Shared, 12, 4);
        reads.load(View::Shared, 0, 64);
        assert_eq!(
            reads.text(),
            "read 40 8\nread 8 8\nread 0 8\nread 16 24\nread 48 16\nend\n"
        );
    }
    /// A store hides nothing from another view, which may still show what the file held.
    #[test]
    fn another_view_may_show_other_bytes() {
        for (storing, loading) in [
            (View::Shared, View::Private(0)),
            (View::Private(0), View::Shared),
            (View::Private(0), View::Private(1)),
        ] {
            let mut reads = Reads::new(64);
            reads.store(storing, 0, 8);
            reads.load(storing, 0, 8);
            assert_eq!(reads.text(), "end\n");
            reads.load(loading, 0, 8);
            assert_eq!(reads.text(), "read 0 8\nend\n");
            reads.store(loading, 16, 8);
            reads.load(loading, 16, 8);
            assert_eq!(reads.text(), "read 0 8\nread 16 8\nend\n", "several writers");
        }
    }
    #[test]
    fn what_is_not_followed_is_everything() {
        let mut reads = Reads::new(64);
        reads.load(View::Shared, 0, 8);
        reads.everything("fork");
        reads.everything("later");
        reads.load(View::Shared, 8, 8);
        assert_eq!(reads.text(), "read 0 8\neverything: fork\nend\n");
    }
}
