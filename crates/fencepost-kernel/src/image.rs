//! Memory images: sparse, paged, copy-on-write. Cloning shares every page.

mod paged;

use crate::log::LineData;
use crate::span::Span;
use crate::units::{Addr, LINE_BYTES, LineAddr, PM_BASE, STRETCH, STRETCHES, StoreId};
use paged::{Frozen, PAGE, Paged, WORD};

/// Something small about every line of memory; the default until it is changed.
#[derive(Clone, Debug)]
pub struct LineTable<T>(Paged<T, LINE_BYTES>);
impl<T> Default for LineTable<T> {
    fn default() -> Self {
        LineTable(Paged::default())
    }
}
impl<T: Copy + Default> LineTable<T> {
    /// What it holds for a line.
    #[inline]
    pub fn get(&self, line: LineAddr) -> T {
        self.0.get(line.0)
    }
    /// What it holds for a line, to be changed.
    #[inline]
    pub fn entry(&mut self, line: LineAddr) -> &mut T {
        self.0.entry(line.0)
    }
}

/// Bytes of memory, by 8-byte word; unwritten memory is zero. Optionally also who wrote each word.
#[derive(Clone, Debug, Default)]
pub struct Image {
    words: Paged<u64, WORD>,
    writers: Option<Paged<Option<StoreId>, WORD>>,
}
/// The bytes of an image for all threads: images that begin with it share its pages until they write them.
#[derive(Clone, Debug)]
pub struct Snapshot(Frozen<u64>);
impl Snapshot {
    /// An image of these bytes.
    pub fn image(&self) -> Image {
        Image {
            words: Paged::over(self.0.clone()),
            writers: None,
        }
    }
}

impl Image {
    /// Its bytes, for all threads.
    pub fn freeze(self) -> Snapshot {
        Snapshot(self.words.freeze())
    }
    /// An all-zero image that also remembers the store that wrote each word.
    pub fn with_writers() -> Image {
        Image {
            words: Paged::default(),
            writers: Some(Paged::default()),
        }
    }
    /// This image, from now on remembering the store that writes each word.
    pub fn track_writers(mut self) -> Image {
        self.writers.get_or_insert_with(Paged::default);
        self
    }
    /// This image without what it remembers of stores.
    pub fn without_writers(mut self) -> Image {
        self.writers = None;
        self
    }
    /// The aligned word at `addr` (low three address bits are ignored).
    #[inline]
    pub fn word(&self, addr: Addr) -> u64 {
        self.words.get(addr.0 / WORD)
    }
    /// The word at `addr` will be read or changed before long: has the host fetch it into its caches. Changes nothing.
    #[inline]
    pub fn host_prefetch(&self, addr: Addr) {
        self.words.host_prefetch(addr.0 / WORD);
    }
    /// Overwrites the aligned word at `addr`.
    #[inline]
    pub fn set_word(&mut self, addr: Addr, value: u64, by: Option<StoreId>) {
        *self.words.entry(addr.0 / WORD) = value;
        if let Some(w) = &mut self.writers {
            *w.entry(addr.0 / WORD) = by;
        }
    }
    /// The store that wrote the word last; `None` before the first, or when writers are not kept.
    #[inline]
    pub fn writer(&self, addr: Addr) -> Option<StoreId> {
        self.writers.as_ref()?.get(addr.0 / WORD)
    }
    /// The line with the writers of its words.
    #[inline]
    pub fn line(&self, line: LineAddr) -> LineData {
        LineData {
            words: self.words.line(line),
            by: self.writers.as_ref().map_or([None; 8], |w| w.line(line)),
        }
    }
    /// Only the line's bytes, as words.
    #[inline]
    pub fn line_words(&self, line: LineAddr) -> [u64; 8] {
        self.words.line(line)
    }
    /// Whether another image holds the same bytes of a line. Images that share the page are not read.
    #[inline]
    pub fn same_line(&self, other: &Image, line: LineAddr) -> bool {
        self.words.same_line(&other.words, line)
    }
    /// The lines of `span`, ascending, of which another image holds other bytes. Pages that both share are not read.
    pub fn differing(&self, other: &Image, span: Span) -> Vec<LineAddr> {
        let (mut found, (first, count)) = (Vec::new(), span.lines());
        self.words.differing(&other.words, first.0, first.0 + count, &mut found);
        found
    }
    /// Overwrites a line.
    pub fn set_line(&mut self, line: LineAddr, data: &LineData) {
        self.words.set_line(line, &data.words);
        if let Some(w) = &mut self.writers {
            w.set_line(line, &data.by);
        }
    }
    /// Every line of persistent memory that has ever been written, in address order.
    pub fn pm_lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.lines_from(Addr(PM_BASE).line())
    }
    /// Every line from this one on that has ever been written, in address order. Pages before it are not looked at.
    pub fn lines_from(&self, from: LineAddr) -> impl Iterator<Item = LineAddr> + '_ {
        let pages = self.pages_from(from);
        let lines = pages.flat_map(|(first, words)| (first.0..first.0 + words.len() as u64 / 8).map(LineAddr));
        lines.skip_while(move |l| *l < from)
    }
    /// The pages in which something has been written, in address order from the one of this line on: the first line of each, and its words.
    pub fn pages_from(&self, from: LineAddr) -> impl Iterator<Item = (LineAddr, &[u64])> + '_ {
        const LINES: u64 = PAGE as u64 * WORD / LINE_BYTES;
        let (first_table, first_page, _) = Paged::<u64, WORD>::place(from.0 * 8);
        (first_table..STRETCHES).flat_map(move |table| {
            let skipped = if table == first_table { first_page } else { 0 };
            let first = move |page: usize| ((table as u64) << STRETCH) / LINE_BYTES + page as u64 * LINES;
            let pages = self.words.pages_of(table, skipped);
            pages.map(move |(page, words)| (LineAddr(first(page)), words.as_slice()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::LOG_BASE;
    #[test]
    fn clones_share_until_written() {
        let mut a = Image::with_writers();
        a.set_word(Addr::pm(8), 7, StoreId::from_index(0));
        let b = a.clone();
        a.set_word(Addr::pm(8), 9, StoreId::from_index(1));
        a.set_word(Addr(64), 3, None);
        assert_eq!((a.word(Addr::pm(8)), b.word(Addr::pm(8)), b.word(Addr(64))), (9, 7, 0));
        assert_eq!(b.writer(Addr::pm(8)), StoreId::from_index(0));
        assert_eq!(a.line(Addr::pm(0).line()).words[1], 9);
        let bytes = a.without_writers();
        assert_eq!((bytes.word(Addr::pm(8)), bytes.writer(Addr::pm(8))), (9, None));
    }
    #[test]
    fn lines_are_the_same_whoever_holds_their_page() {
        let (at, line) = (Addr::pm(4096), Addr::pm(4096).line());
        let mut a = Image::default();
        assert!(a.same_line(&Image::default(), line), "neither was written");
        a.set_word(at, 0, None);
        assert!(a.same_line(&Image::default(), line) && Image::default().same_line(&a, line));
        let b = a.clone();
        a.set_word(at, 7, None);
        assert!(
            !a.same_line(&b, line) && !a.same_line(&Image::default(), line) && !Image::default().same_line(&a, line)
        );
        assert!(a.same_line(&a.clone(), line) && a.same_line(&b, LineAddr(line.0 + 1)));
        a.set_word(at, 0, None);
        assert!(a.same_line(&b, line), "of different pages with the same bytes");
    }
    #[test]
    fn differing_lines_are_those_with_other_bytes() {
        let span = |from: u64, len| Span {
            at: Addr::pm(from),
            len,
        };
        let mut a = Image::default();
        (0..64u64 << 10)
            .step_by(8)
            .for_each(|w| a.set_word(Addr::pm(w), w, None));
        let mut b = a.clone();
        assert_eq!(b.differing(&a, span(0, 64 << 10)), []);
        let changed = [Addr::pm(8), Addr::pm(4096 + 64), Addr::pm(8192 - 8), Addr::pm(80 << 10)];
        changed.iter().for_each(|at| b.set_word(*at, 1, None));
        // Written with what was there: another page, but no other bytes.
        b.set_word(Addr::pm(40 << 10), 40 << 10, None);
        let lines = changed.map(Addr::line);
        assert_eq!(b.differing(&a, span(0, 128 << 10)), lines);
        assert_eq!(a.differing(&b, span(0, 128 << 10)), lines);
        // From the middle of a line to the first byte of another.
        assert_eq!(b.differing(&a, span(12, 4096 + 64 - 12)), lines[..1]);
        assert_eq!(b.differing(&a, span(64, 4096 + 1)), lines[1..2]);
        assert_eq!(b.differing(&a, span(64, 0)), []);
    }
    #[test]
    fn a_table_by_line_tells_neighbours_apart_in_every_region() {
        let mut t = LineTable::default();
        let lines = [
            LineAddr(0),
            Addr::pm(0).line(),
            LOG_BASE.line(),
            LineAddr(u64::MAX / 64),
        ];
        let near = lines.iter().flat_map(|l| [l.0.saturating_sub(1), l.0]);
        let near: Vec<_> = near.map(LineAddr).collect();
        for (i, l) in near.iter().enumerate().skip(1) {
            assert_eq!(t.get(*l), 0);
            *t.entry(*l) = i;
        }
        assert!(near.iter().enumerate().skip(1).all(|(i, l)| t.get(*l) == i));
    }
    #[test]
    fn the_far_end_of_persistent_memory_is_as_good_as_the_near_one() {
        let mut a = Image::with_writers();
        let far = Addr(LOG_BASE.0 + 4096);
        let last = Addr(LOG_BASE.0 - 8);
        a.set_word(far, 7, StoreId::from_index(2));
        a.set_word(Addr(LOG_BASE.0), 1, None);
        a.set_word(Addr::pm(0), 2, None);
        assert_eq!((a.word(far), a.word(Addr(LOG_BASE.0)), a.word(Addr::pm(0))), (7, 1, 2));
        assert_eq!((a.writer(far), a.word(last)), (StoreId::from_index(2), 0));
        let lines: Vec<_> = a.pm_lines().filter(|l| a.line_words(*l) != [0; 8]).collect();
        assert_eq!(lines, [Addr::pm(0).line(), LOG_BASE.line(), far.line()]);
    }

    #[test]
    fn lines_from_an_address_on_are_those_of_all_that_are_not_before_it() {
        let mut a = Image::default();
        for at in [Addr::pm(0), Addr::pm(9 << 12), LOG_BASE, Addr(LOG_BASE.0 + (5 << 12))] {
            a.set_word(at, 1, None);
        }
        let all: Vec<_> = a.pm_lines().collect();
        assert_eq!(all.len(), 4 * 64);
        let starts = [0, 63, 64, 9 * 64 + 5].map(|n| LineAddr(Addr::pm(0).line().0 + n));
        let logs = [0, 1, 64, 6 * 64].map(|n| LineAddr(LOG_BASE.line().0 + n));
        for from in starts.into_iter().chain(logs) {
            let expected: Vec<_> = all.iter().copied().filter(|l| *l >= from).collect();
            assert_eq!(a.lines_from(from).collect::<Vec<_>>(), expected);
        }
    }
    #[test]
    fn a_snapshot_is_what_it_was_made_of_whoever_writes_over_it() {
        let (wild, far) = (Addr::pm(1 << 62), Addr(LOG_BASE.0 + 4096));
        let places = [Addr(8), Addr::pm(0), Addr::pm(9 << 12), far, wild];
        let mut a = Image::default();
        places.iter().for_each(|at| a.set_word(*at, at.0 + 1, None));
        let (plain, snapshot) = (a.clone(), a.freeze());
        let mut over = snapshot.image();
        let same = |x: &Image| {
            places
                .iter()
                .all(|at| x.word(*at) == at.0 + 1 && x.same_line(&plain, at.line()))
        };
        assert!(
            same(&over)
                && same(&std::thread::scope(|s| s
                    .spawn(|| ())
                    .join()
                    .map(|()| over.clone())
                    .unwrap()))
        );
        let lines = |x: &Image| x.pm_lines().collect::<Vec<_>>();
        assert_eq!(lines(&over), lines(&plain));
        // Written: this image alone sees it, and the rest of the page stays.
        over.set_word(Addr::pm((9 << 12) + 8), 5, None);
        over.set_word(Addr::pm(20 << 12), 6, None);
        let read = |x: &Image| [(9 << 12) + 8, 9 << 12, 20 << 12].map(|at| x.word(Addr::pm(at)));
        let first = Addr::pm(9 << 12).0 + 1;
        assert_eq!((read(&over), read(&snapshot.image())), ([5, first, 6], [0, first, 0]));
        let all = Span {
            at: Addr::pm(0),
            len: 1 << 20,
        };
        assert_eq!(
            over.differing(&snapshot.image(), all),
            [Addr::pm(9 << 12).line(), Addr::pm(20 << 12).line()]
        );
        assert_eq!(snapshot.image().differing(&snapshot.image(), all), []);
        // Frozen again, both layers are in it.
        let again = over.clone().freeze();
        assert!(same(&again.image()) == same(&over) && read(&again.image()) == read(&over));
        assert_eq!(lines(&again.image()), lines(&over));
    }
    #[test]
    fn wild_addresses_cost_one_page() {
        let mut a = Image::default();
        for addr in [Addr(!7), Addr::pm(1 << 62), Addr::pm(1 << 37), Addr(1 << 39)] {
            a.set_word(addr, addr.0, None);
            assert_eq!(
                (a.word(addr), a.line_words(addr.line())[addr.word_in_line()]),
                (addr.0, addr.0)
            );
        }
        assert_eq!(a.word(Addr::pm(1 << 61)), 0);
    }
}
