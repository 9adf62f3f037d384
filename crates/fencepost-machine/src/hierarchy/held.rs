//! What a checked run keeps of the bytes in caches, and what it says of stale ones.

use crate::seam::Level;
use fencepost_kernel::{LineAddr, Ps};
use rustc_hash::FxHashMap;

/// The bytes of a line.
pub(crate) type Words = [u64; 8];

/// Bytes that were read and are not the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleBytes {
    /// When they were read.
    pub time: Ps,
    /// The line.
    pub line: LineAddr,
    /// Who read them.
    pub reader: &'static str,
    /// Where they came from.
    pub place: Level,
    /// The words that were found.
    pub found: [u64; 8],
    /// The words that were stored last.
    pub newest: [u64; 8],
}
impl std::fmt::Display for StaleBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (time, line, reader) = (self.time, self.line, self.reader);
        let word = (0..8).find(|w| self.found[*w] != self.newest[*w]).unwrap_or(0);
        let place = match self.place {
            Level::L1(c) => format!("the L1 of core {}", c.0),
            Level::L2(c) => format!("the L2 of core {}", c.0),
            Level::Llc => "the shared cache".to_owned(),
        };
        let (found, newest) = (self.found[word], self.newest[word]);
        write!(
            f,
            "{reader} found stale bytes in {place} at {time}: word {word} of {line} is {found:#x}, last stored was {newest:#x}"
        )
    }
}

/// Bytes of the current version of each line in each cache. An entry counts only while the cache's tags say so.
#[derive(Default)]
pub(super) struct Held {
    pub(super) lines: FxHashMap<(u8, LineAddr), Words>,
    pub(super) stale: Option<StaleBytes>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::CoreId;

    #[test]
    fn stale_bytes_are_shown_by_the_first_word_that_differs() {
        for (place, stale, parts) in [
            (Level::L1(CoreId(3)), &[0][..], ["L1 of core 3", "word 0 ", "is 0x10"]),
            (Level::L2(CoreId(1)), &[5], ["L2 of core 1", "word 5 ", "is 0x15"]),
            (Level::Llc, &[7, 2], ["the shared cache", "word 2 ", "is 0x12"]),
        ] {
            let mut bytes = StaleBytes {
                time: Ps(2000),
                line: LineAddr(1),
                reader: "a load",
                place,
                found: [7; 8],
                newest: [7; 8],
            };
            stale.iter().for_each(|w| bytes.found[*w] = 0x10 + *w as u64);
            let said = bytes.to_string();
            let mut parts = parts.into_iter().chain(["a load ", "last stored was 0x7"]);
            assert!(parts.all(|part| said.contains(part)), "{said}");
        }
    }
}
