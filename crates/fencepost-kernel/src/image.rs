//! Memory images: sparse, paged, copy-on-write. Cloning shares every page.

use crate::log::LineData;
use crate::units::{Addr, LineAddr, PM_BASE, StoreId};
use std::rc::Rc;

const PAGE_WORDS: usize = 512;
type Page<T> = Rc<[T; PAGE_WORDS]>;

/// A sparse array of `T` per 8-byte word, with one table for DRAM and one for persistent memory.
#[derive(Clone, Debug)]
struct Paged<T> {
    dram: Vec<Option<Page<T>>>,
    pm: Vec<Option<Page<T>>>,
}
impl<T> Default for Paged<T> {
    fn default() -> Self {
        Paged {
            dram: Vec::new(),
            pm: Vec::new(),
        }
    }
}
fn place(word: u64) -> (bool, usize, usize) {
    let pm = word >= PM_BASE / 8;
    let w = if pm { word - PM_BASE / 8 } else { word };
    (pm, (w as usize) / PAGE_WORDS, (w as usize) % PAGE_WORDS)
}
impl<T: Copy + Default> Paged<T> {
    fn get(&self, word: u64) -> T {
        let (pm, page, slot) = place(word);
        let table = if pm { &self.pm } else { &self.dram };
        match table.get(page) {
            Some(Some(p)) => p[slot],
            _ => T::default(),
        }
    }
    /// The eight words of a line, which never straddles a page.
    fn line(&self, line: LineAddr) -> [T; 8] {
        let (pm, page, slot) = place(line.0 * 8);
        let table = if pm { &self.pm } else { &self.dram };
        match table.get(page) {
            Some(Some(p)) => std::array::from_fn(|i| p[slot + i]),
            _ => [T::default(); 8],
        }
    }
    fn page_mut(&mut self, pm: bool, page: usize) -> &mut [T; PAGE_WORDS] {
        let table = if pm { &mut self.pm } else { &mut self.dram };
        if table.len() <= page {
            table.resize(page + 1, None);
        }
        Rc::make_mut(table[page].get_or_insert_with(|| Rc::new([T::default(); PAGE_WORDS])))
    }
    fn set(&mut self, word: u64, value: T) {
        let (pm, page, slot) = place(word);
        self.page_mut(pm, page)[slot] = value;
    }
    fn set_line(&mut self, line: LineAddr, words: &[T; 8]) {
        let (pm, page, slot) = place(line.0 * 8);
        self.page_mut(pm, page)[slot..slot + 8].copy_from_slice(words);
    }
}

/// Bytes of memory, by 8-byte word; unwritten memory is zero. Optionally also who wrote each word.
#[derive(Clone, Debug, Default)]
pub struct Image {
    words: Paged<u64>,
    writers: Option<Paged<u32>>,
}
impl Image {
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
    /// The aligned word at `addr` (low three address bits are ignored).
    pub fn word(&self, addr: Addr) -> u64 {
        self.words.get(addr.0 / 8)
    }
    /// Overwrites the aligned word at `addr`.
    pub fn set_word(&mut self, addr: Addr, value: u64, by: Option<StoreId>) {
        self.words.set(addr.0 / 8, value);
        if let Some(w) = &mut self.writers {
            w.set(addr.0 / 8, by.map_or(0, |s| s.index() as u32 + 1));
        }
    }
    /// The store that wrote the word last; `None` before the first, or when writers are not kept.
    pub fn writer(&self, addr: Addr) -> Option<StoreId> {
        let raw = self.writers.as_ref()?.get(addr.0 / 8);
        raw.checked_sub(1).and_then(|i| StoreId::from_index(i as usize))
    }
    /// The line with the writers of its words.
    pub fn line(&self, line: LineAddr) -> LineData {
        let by = self.writers.as_ref().map_or([0; 8], |w| w.line(line));
        LineData {
            words: self.words.line(line),
            by: by.map(|raw| raw.checked_sub(1).and_then(|i| StoreId::from_index(i as usize))),
        }
    }
    /// Only the line's bytes, as words.
    pub fn line_words(&self, line: LineAddr) -> [u64; 8] {
        self.words.line(line)
    }
    /// Overwrites a line.
    pub fn set_line(&mut self, line: LineAddr, data: &LineData) {
        self.words.set_line(line, &data.words);
        if let Some(w) = &mut self.writers {
            w.set_line(line, &data.by.map(|b| b.map_or(0, |s| s.index() as u32 + 1)));
        }
    }
    /// Every line of persistent memory that has ever been written, in address order.
    pub fn pm_lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let per_page = PAGE_WORDS as u64 / 8;
        (self.words.pm.iter().enumerate())
            .filter(|(_, p)| p.is_some())
            .flat_map(move |(i, _)| (0..per_page).map(move |l| LineAddr(PM_BASE / 64 + i as u64 * per_page + l)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    }
}
