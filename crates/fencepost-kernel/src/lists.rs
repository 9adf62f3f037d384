//! Private volatile lists of one thread's transaction runtime, kept from one transaction to the next so that none allocates.

use crate::keyed::Keyed;
use crate::mem::{At, Val};
use crate::ops::Width;

/// A store held back.
#[derive(Copy, Clone, Debug)]
pub struct Buffered<D> {
    /// Where.
    pub at: At<D>,
    /// What.
    pub value: Val<D>,
    /// How wide.
    pub width: Width,
}

/// Line numbers in a fixed place, so that adding one asks for no memory; what exceeds it goes to a list that grows.
#[derive(Debug)]
pub struct Lines {
    first: [u64; Lines::FIRST],
    len: usize,
    rest: Vec<u64>,
}
impl Default for Lines {
    fn default() -> Self {
        Lines {
            first: [0; Lines::FIRST],
            len: 0,
            rest: Vec::new(),
        }
    }
}
impl Lines {
    /// Numbers in the fixed place.
    const FIRST: usize = 64;
    /// Adds a line.
    #[inline(always)]
    pub fn push(&mut self, line: u64) {
        if let Some(free) = self.first.get_mut(self.len) {
            *free = line;
            self.len += 1;
        } else {
            self.push_rest(line);
        }
    }
    #[cold]
    #[inline(never)]
    fn push_rest(&mut self, line: u64) {
        self.rest.push(line);
    }
    /// How many lines there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len + self.rest.len()
    }
    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// How many there are, if the fixed place is not full: `line(0)` to `line(n - 1)`.
    #[inline(always)]
    pub fn few(&self) -> Option<usize> {
        (self.len < Lines::FIRST).then_some(self.len)
    }
    /// One of the lines in the fixed place.
    #[inline(always)]
    pub fn line(&self, i: usize) -> u64 {
        self.first[i % Lines::FIRST]
    }
    /// Takes out all lines, however many there are.
    #[cold]
    #[inline(never)]
    pub fn take(&mut self) -> Vec<u64> {
        let mut all = self.first[..self.len].to_vec();
        all.append(&mut self.rest);
        self.len = 0;
        all
    }
    /// Forgets every line.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

/// The lists. Empty between transactions.
#[derive(Debug)]
pub struct Lists<D> {
    /// Numbers of the lines to flush, in order of first store; a line may stand in it more than once.
    pub lines: Lines,
    /// The same as a set (library flavour).
    pub line_set: Keyed<(), 16>,
    /// Addresses of objects that have an undo record, with their lengths.
    pub logged: Keyed<u64, 16>,
    /// Redo: stores not yet applied.
    pub writes: Keyed<Buffered<D>, 16>,
    /// Redo by block: numbers of the lines stored to, with a bit for each byte that was.
    pub blocks: Keyed<u64, 16>,
    /// Stores that a deliberate mistake holds back.
    pub late: Keyed<Buffered<D>, 16>,
    /// Blocks to return once the transaction has committed.
    pub freed: Vec<At<D>>,
}

impl<D> Default for Lists<D> {
    fn default() -> Self {
        Lists {
            lines: Lines::default(),
            line_set: Keyed::default(),
            logged: Keyed::default(),
            writes: Keyed::default(),
            blocks: Keyed::default(),
            late: Keyed::default(),
            freed: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn lines_beyond_the_fixed_place_are_kept_in_order() {
        for n in [0, 1, 64, 65, 200] {
            let mut lines = Lines::default();
            (0..n).for_each(|i| lines.push(i));
            assert_eq!((lines.len(), lines.is_empty()), (n as usize, n == 0));
            assert_eq!(lines.few(), (n < 64).then_some(n as usize));
            assert!((0..n.min(64)).all(|i| lines.line(i as usize) == i));
            assert_eq!(lines.take(), (0..n).collect::<Vec<_>>());
            assert_eq!((lines.is_empty(), lines.len()), (true, 0));
        }
    }
}
