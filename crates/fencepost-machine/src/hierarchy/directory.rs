//! A number for every line that was ever asked about, so that tables of lines are as long as the memory in use and flat.
//!
//! Lines are numbered by pages: the lines of a page have numbers in a row, and pages are numbered as they turn up.

use fencepost_kernel::LineAddr;
use fencepost_kernel::units::{self, LINE_BYTES, STRETCHES};
use rustc_hash::FxHashMap;

/// Lines of a page, as a power of two.
const PAGE: u32 = 6;
/// Lines of a stretch of memory, as a power of two.
const STRETCH: u32 = units::STRETCH - LINE_BYTES.trailing_zeros();
/// Pages that a table may have. What lies beyond (a program followed a wild pointer) is found by hashing.
const NEAR: usize = 1 << 22;

/// The numbers of pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    /// For each page of a stretch one more than its number; 0 while it has none.
    tables: [Vec<u32>; STRETCHES],
    /// The same for pages outside the tables.
    far: FxHashMap<u64, u32>,
    pages: u32,
}

/// The stretch of a line, and its page there.
#[inline]
fn place(line: LineAddr) -> (usize, usize) {
    let in_stretch = line.0 & ((1 << STRETCH) - 1);
    ((line.0 >> STRETCH) as usize, (in_stretch >> PAGE) as usize)
}
/// The number of a line whose page has this number, less one.
#[inline]
fn number(page: u32, line: LineAddr) -> u32 {
    (page - 1) << PAGE | line.0 as u32 & ((1 << PAGE) - 1)
}

impl Directory {
    /// The number of a line, if its page has one.
    #[inline]
    pub(super) fn find(&self, line: LineAddr) -> Option<u32> {
        let (stretch, page) = place(line);
        let page = match self.tables.get(stretch).and_then(|t| t.get(page)) {
            Some(page) => *page,
            None => self.find_far(line),
        };
        (page != 0).then(|| number(page, line))
    }
    #[cold]
    fn find_far(&self, line: LineAddr) -> u32 {
        self.far.get(&(line.0 >> PAGE)).copied().unwrap_or(0)
    }
    /// Numbers the page of a line that has none; the line's number.
    #[cold]
    pub(super) fn add(&mut self, line: LineAddr) -> u32 {
        self.pages += 1;
        let (stretch, page) = place(line);
        match self.tables.get_mut(stretch).filter(|_| page < NEAR) {
            Some(table) => {
                if table.len() <= page {
                    table.resize(page + 1, 0);
                }
                table[page] = self.pages;
            }
            None => {
                self.far.insert(line.0 >> PAGE, self.pages);
            }
        }
        number(self.pages, line)
    }
    /// One more than the largest number.
    pub(super) fn len(&self) -> usize {
        (self.pages as usize) << PAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::{Addr, units::LOG_BASE};

    #[test]
    fn every_line_has_a_number_of_its_own() {
        let wild = LineAddr(u64::MAX / 64);
        let beyond = LineAddr(Addr::pm(0).line().0 + ((NEAR as u64) << PAGE));
        let starts = [LineAddr(0), Addr::pm(0).line(), LOG_BASE.line(), wild, beyond];
        let mut directory = Directory::default();
        let lines: Vec<LineAddr> = (0..200u64)
            .flat_map(|i| starts.map(|s| LineAddr(s.0.saturating_sub(i))))
            .collect();
        let mut numbers = std::collections::BTreeMap::new();
        for line in &lines {
            let known = directory.find(*line);
            let number = known.unwrap_or_else(|| directory.add(*line));
            assert!((number as usize) < directory.len());
            assert_eq!(*numbers.entry(number).or_insert(*line), *line);
        }
        assert!(
            lines
                .iter()
                .all(|l| directory.find(*l).map(|n| numbers[&n]) == Some(*l))
        );
        assert_eq!(directory.find(LineAddr(1 << 20)), None);
    }

    #[test]
    fn programs_and_logs_lie_in_tables() {
        let mut directory = Directory::default();
        for base in [Addr(0), Addr::pm(0), LOG_BASE] {
            directory.add(base.line());
        }
        assert!(directory.far.is_empty() && directory.tables.iter().all(|t| t.len() < 2));
    }
}
