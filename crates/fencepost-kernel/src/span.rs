//! Ranges of addresses, and how far memory reaches.

use crate::units::{Addr, Bytes, LINE_BYTES, LineAddr};

/// A range of addresses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub at: Addr,
    /// Bytes.
    pub len: u64,
}
impl Span {
    /// The first line that it touches, and how many it touches.
    pub fn lines(self) -> (LineAddr, u64) {
        let first = self.at.line();
        match self.len {
            0 => (first, 0),
            len => (first, (self.at.0 + len - 1) / LINE_BYTES - first.0 + 1),
        }
    }
}

/// How much of each memory a program may touch: everything below is its own, from the first byte of either memory on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Volatile memory: locks and volatile indexes.
    pub dram: Bytes,
    /// Persistent memory: structures, logs and allocation pools.
    pub pm: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_touches_every_line_that_holds_a_byte_of_it() {
        let lines = |at, len| Span { at: Addr(at), len }.lines();
        assert_eq!(lines(0, 0), (LineAddr(0), 0));
        assert_eq!(lines(0, 64), (LineAddr(0), 1));
        assert_eq!(lines(63, 2), (LineAddr(0), 2));
        assert_eq!(lines(100, 1), (LineAddr(1), 1));
    }
}
