//! A sparse array of pages: those of its own, shared among clones until they are written, over pages that all threads share.

use crate::units::{LineAddr, STRETCH, STRETCHES};
use prefetch_index::prefetch_index;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Elements of a page.
pub(super) const PAGE: usize = 512;
type Page<T> = Rc<[T; PAGE]>;

/// Pages from this one on (16 GiB of words into a table) lie in a map: a recovery that follows a wild pointer may store
/// anywhere, and must not make tables grow to where it points.
const WILD: usize = 1 << 22;

/// Bytes of a word.
pub(super) const WORD: u64 = 8;

/// Page tables for stretches of memory, and what lies outside of them.
#[derive(Clone, Debug)]
struct Tables<P> {
    tables: [Vec<Option<P>>; STRETCHES],
    wild: BTreeMap<(usize, usize), P>,
}
impl<P> Default for Tables<P> {
    fn default() -> Self {
        Tables {
            tables: Default::default(),
            wild: BTreeMap::new(),
        }
    }
}
impl<P> Tables<P> {
    #[inline]
    fn page(&self, table: usize, page: usize) -> Option<&P> {
        match self.tables.get(table).and_then(|t| t.get(page)) {
            Some(p) => p.as_ref(),
            None => self.wild_page(table, page),
        }
    }
    #[cold]
    #[inline(never)]
    fn wild_page(&self, table: usize, page: usize) -> Option<&P> {
        match self.wild.is_empty() {
            true => None,
            false => self.wild.get(&(table, page)),
        }
    }
    /// Where a page is kept, to be filled.
    fn slot(&mut self, table: usize, page: usize, fill: impl FnOnce() -> P) -> &mut P {
        match self.tables.get_mut(table).filter(|t| page < WILD.max(t.len())) {
            Some(table) => {
                if table.len() <= page {
                    table.resize_with(page + 1, || None);
                }
                table[page].get_or_insert_with(fill)
            }
            None => self.wild.entry((table, page)).or_insert_with(fill),
        }
    }
    /// The tables with every page as something else.
    fn map<Q>(self, to: impl Fn(P) -> Q) -> Tables<Q> {
        Tables {
            tables: self
                .tables
                .map(|t| t.into_iter().map(|p| p.map(&to)).collect::<Vec<_>>()),
            wild: self.wild.into_iter().map(|(at, p)| (at, to(p))).collect(),
        }
    }
}

/// Pages that nothing writes any more, for all threads.
pub(super) type Frozen<T> = Arc<FrozenPages<T>>;
/// What a [`Frozen`] shares.
#[derive(Debug)]
pub(super) struct FrozenPages<T>(Tables<Box<[T; PAGE]>>);

/// A sparse array of a `T` per `UNIT` bytes of memory.
#[derive(Clone, Debug)]
pub(super) struct Paged<T, const UNIT: u64> {
    own: Tables<Page<T>>,
    /// What pages hold that are not its own.
    below: Option<Frozen<T>>,
}
impl<T, const UNIT: u64> Default for Paged<T, UNIT> {
    fn default() -> Self {
        Paged {
            own: Tables::default(),
            below: None,
        }
    }
}
impl<T: Copy + Default, const UNIT: u64> Paged<T, UNIT> {
    /// Elements of a stretch.
    const LENGTH: u64 = (1 << STRETCH) / UNIT;
    /// An array that begins with these pages.
    pub(super) fn over(below: Frozen<T>) -> Self {
        Paged {
            own: Tables::default(),
            below: Some(below),
        }
    }
    /// All pages, for all threads.
    pub(super) fn freeze(mut self) -> Frozen<T> {
        if let Some(below) = self.below.take() {
            // Pages of its own go before those below.
            let tables = below.0.tables.iter().enumerate();
            let pages = tables.flat_map(|(t, pages)| (0..pages.len()).map(move |p| (t, p)));
            for (table, page) in pages.chain(below.0.wild.keys().copied()) {
                if let Some(words) = below.0.page(table, page) {
                    self.own.slot(table, page, || Rc::new(**words));
                }
            }
        }
        Arc::new(FrozenPages(self.own.map(|page| Box::new(*page))))
    }
    /// Table, page and slot of an element.
    #[inline]
    pub(super) fn place(element: u64) -> (usize, usize, usize) {
        let (table, e) = (element / Self::LENGTH, (element % Self::LENGTH) as usize);
        (table as usize, e / PAGE, e % PAGE)
    }
    #[inline]
    fn page(&self, table: usize, page: usize) -> Option<&[T; PAGE]> {
        if let Some(Some(page)) = self.own.tables.get(table).and_then(|t| t.get(page)) {
            return Some(page);
        }
        // What lies in a table below would lie in one of its own.
        if let Some(below) = &self.below
            && let Some(Some(page)) = below.0.tables.get(table).and_then(|t| t.get(page))
        {
            return Some(page);
        }
        self.other_page(table, page)
    }
    /// A page that lies in no table.
    #[inline(never)]
    fn other_page(&self, table: usize, page: usize) -> Option<&[T; PAGE]> {
        if let Some(own) = self.own.page(table, page) {
            return Some(own);
        }
        Some(&**self.below.as_ref()?.0.page(table, page)?)
    }
    #[inline]
    pub(super) fn get(&self, element: u64) -> T {
        let (table, page, slot) = Self::place(element);
        self.page(table, page).map_or_else(T::default, |p| p[slot])
    }
    /// An element will be read or changed before long: has the host fetch it into its caches.
    #[inline]
    pub(super) fn host_prefetch(&self, element: u64) {
        let (table, page, slot) = Self::place(element);
        if let Some(page) = self.page(table, page) {
            prefetch_index(page.as_slice(), slot);
        }
    }
    /// A page that nobody else has.
    #[inline]
    fn page_mut(&mut self, table: usize, page: usize) -> &mut [T; PAGE] {
        let own = |p: &Option<Page<T>>| p.as_ref().is_some_and(|p| Rc::strong_count(p) == 1);
        if !self.own.tables.get(table).and_then(|t| t.get(page)).is_some_and(own) {
            return self.make_page(table, page);
        }
        let page = self.own.tables[table][page].as_mut().and_then(Rc::get_mut);
        page.expect("just seen")
    }
    /// A page that is missing, or that another image has too.
    #[cold]
    #[inline(never)]
    fn make_page(&mut self, table: usize, page: usize) -> &mut [T; PAGE] {
        let below = self.below.as_ref().and_then(|b| b.0.page(table, page));
        let fresh = || match below {
            Some(page) => Rc::new(**page),
            None => Rc::new([T::default(); PAGE]),
        };
        Rc::make_mut(self.own.slot(table, page, fresh))
    }
    /// The element, to be changed.
    #[inline]
    pub(super) fn entry(&mut self, element: u64) -> &mut T {
        let (table, page, slot) = Self::place(element);
        &mut self.page_mut(table, page)[slot]
    }
    /// Pages of a table, from one on, in which something may have been written.
    pub(super) fn pages_of(&self, table: usize, from: usize) -> impl Iterator<Item = (usize, &[T; PAGE])> + '_ {
        let own = self.own.tables[table].len();
        let below = self.below.as_ref().map_or(0, |b| b.0.tables[table].len());
        (from..own.max(below)).filter_map(move |page| Some((page, self.page(table, page)?)))
    }
}
impl<T: Copy + Default> Paged<T, WORD> {
    /// The eight words of a line, which never straddles a page.
    pub(super) fn line(&self, line: LineAddr) -> [T; 8] {
        let (table, page, slot) = Self::place(line.0 * 8);
        match self.page(table, page) {
            Some(p) => *p[slot..].first_chunk().expect("a line lies within its page"),
            None => [T::default(); 8],
        }
    }
    #[inline]
    pub(super) fn same_line(&self, other: &Self, line: LineAddr) -> bool
    where
        T: PartialEq,
    {
        let (table, page, slot) = Self::place(line.0 * 8);
        let words = |p: &[T; PAGE]| -> [T; 8] { *p[slot..].first_chunk().expect("a line lies within its page") };
        match (self.page(table, page), other.page(table, page)) {
            (Some(a), Some(b)) => std::ptr::eq(a, b) || words(a) == words(b),
            (None, None) => true,
            (Some(p), None) | (None, Some(p)) => words(p) == [T::default(); 8],
        }
    }
    /// Adds the lines of `first..end` that differ. Pages that both share are not read.
    pub(super) fn differing(&self, other: &Self, first: u64, end: u64, found: &mut Vec<LineAddr>)
    where
        T: PartialEq,
    {
        const LINES: u64 = PAGE as u64 / 8;
        let mut line = first;
        while line < end {
            let (table, page, _) = Self::place(line * 8);
            let next = end.min((line / LINES + 1) * LINES);
            let shared = match (self.page(table, page), other.page(table, page)) {
                (Some(a), Some(b)) => std::ptr::eq(a, b),
                (None, None) => true,
                _ => false,
            };
            if !shared {
                found.extend((line..next).map(LineAddr).filter(|l| !self.same_line(other, *l)));
            }
            line = next;
        }
    }
    pub(super) fn set_line(&mut self, line: LineAddr, words: &[T; 8]) {
        let (table, page, slot) = Self::place(line.0 * 8);
        self.page_mut(table, page)[slot..slot + 8].copy_from_slice(words);
    }
}
