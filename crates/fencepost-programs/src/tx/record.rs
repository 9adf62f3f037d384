//! Log records: how undo and redo records lie in the log, and how recovery reads them.
//!
//! A record fills units of 32 bytes. `inline`: a word of address, width and length of the record before; the payload; a word of sequence
//! number and check. `library`: a word of type, thread, size and length of the record before; the address; the payload; sequence number
//! and check. Records of a list begin with a pointer to the record before; inline ones then need no check, because a node is durable
//! before it is spliced in.
//!
//! The sequence number tells a record from what an older transaction left in its slot, so slots are reused without clearing; the
//! check, 32 bits over all words before it, tells a whole record from one of which only some 8-byte words arrived.

use fencepost_kernel::planted;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, Flavour, Mem, Val, Width};

/// Offset of the first record.
pub(crate) const RECORDS: u64 = 2 * LINE_BYTES;

/// Bytes of one allocation unit of the log; a record of one word fills exactly one.
pub(crate) const UNIT: u64 = 32;
/// Payload bytes of the longest record; longer ranges are split.
pub(crate) const MAX_PAYLOAD: u64 = 512;

/// Bits of an address in an inline record's first word.
const ADDR_BITS: u32 = 48;
const PREVIOUS_BITS: u32 = 56;
/// Codes from here on stand for ranges of words.
const RANGE: u64 = 0x10;
/// The type of a library's record: an update.
const UPDATE: u64 = 1 << 56;

/// Adds a word to a check.
#[inline(always)]
pub(crate) fn fold(check: u64, word: u64) -> u64 {
    (check ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
/// The last word of a record: sequence number and check.
#[inline(always)]
pub(crate) fn seal(seq: u32, check: u64) -> u64 {
    (u64::from(seq) << 32) | (check >> 32)
}
/// Units of a record with this many words.
#[inline(always)]
pub(crate) const fn units(words: u64) -> u64 {
    (words * 8).div_ceil(UNIT)
}
/// How an inline record names what it holds: a narrow access, one word, or a range of words.
#[inline(always)]
pub(crate) const fn code(width: Width) -> u64 {
    match width {
        Width::B8 => 0,
        w => w.bytes() << ADDR_BITS,
    }
}
/// The code of a range of `bytes`.
#[inline(always)]
pub(crate) const fn range_code(bytes: u64) -> u64 {
    (RANGE + bytes / 8 - 1) << ADDR_BITS
}
/// The length of the record before, as it stands in an inline record's first word.
#[inline(always)]
pub(crate) const fn previous(units: u64) -> u64 {
    units << PREVIOUS_BITS
}
/// First word of a library's record.
#[inline(always)]
pub(crate) fn library_head(thread: u32, bytes: u64, previous: u64) -> u64 {
    UPDATE | (u64::from(thread) << 40) | (bytes << 16) | (previous >> PREVIOUS_BITS)
}

/// A record as recovery finds it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The data address.
    pub addr: Addr,
    /// Bytes of payload: 1, 2 or 4 for a narrow store, else a multiple of 8.
    pub bytes: u64,
    /// Where the payload lies in the log.
    pub payload: Addr,
    /// Length of the record before this one in units; 0 at the first.
    pub previous: u64,
    /// Sequence number of its transaction.
    pub seq: u32,
}

impl Found {
    /// Payload words.
    pub(super) fn words(&self) -> u64 {
        self.bytes.div_ceil(8)
    }
    fn width(&self) -> Width {
        match self.bytes {
            1 => Width::B1,
            2 => Width::B2,
            4 => Width::B4,
            _ => Width::B8,
        }
    }
    /// Whether the size is one that a record can have.
    fn sized(&self) -> bool {
        matches!(self.bytes, 1 | 2 | 4) || (self.bytes > 0 && self.bytes.is_multiple_of(8) && self.bytes <= MAX_PAYLOAD)
    }
    /// Writes the payload to the data it describes: undo restores, redo replays.
    pub(super) fn apply<M: Mem>(&self, m: &mut M) {
        for i in 0..self.words() {
            let value: Val<M::Dep> = m.load(At::new(Addr(self.payload.0 + i * 8)));
            m.store_n(At::new(Addr(self.addr.0 + i * 8)), value, self.width());
        }
    }
}

fn word<M: Mem>(m: &mut M, at: Addr) -> u64 {
    m.load(At::new(at)).v
}

/// What the first words at `at` say, whether or not the rest is whole.
pub(crate) fn head<M: Mem>(m: &mut M, at: Addr, flavour: Flavour) -> Option<Found> {
    let first = word(m, at);
    let found = match flavour {
        Flavour::Inline => {
            let code = (first >> ADDR_BITS) & 0xff;
            Found {
                addr: Addr(first & ((1 << ADDR_BITS) - 1)),
                bytes: match code {
                    0 => 8,
                    c if c < RANGE => c,
                    c => (c - RANGE + 1) * 8,
                },
                payload: Addr(at.0 + 8),
                previous: first >> PREVIOUS_BITS,
                seq: 0,
            }
        }
        Flavour::Library => Found {
            addr: Addr(word(m, Addr(at.0 + 8))),
            bytes: (first >> 16) & 0xff_ffff,
            payload: Addr(at.0 + 16),
            previous: first & 0xffff,
            seq: 0,
        },
    };
    let typed = flavour == Flavour::Inline || first >> 56 == UPDATE >> 56;
    (typed && found.sized()).then_some(found)
}

/// Reads the record at `at`; `None` if it is not whole, or `wanted` does not accept its sequence number. The check begins with `before`.
pub(crate) fn read<M: Mem>(
    m: &mut M,
    at: Addr,
    flavour: Flavour,
    before: u64,
    wanted: impl Fn(u32) -> bool,
) -> Option<Found> {
    let found = head(m, at, flavour)?;
    let end = Addr(found.payload.0 + found.words() * 8);
    let last = word(m, end);
    let seq = (last >> 32) as u32;
    if !wanted(seq) {
        return None;
    }
    let check = (at.0..end.0).step_by(8).fold(before, |c, a| fold(c, word(m, Addr(a))));
    let whole = last == seal(seq, check)
        || planted!(
            "recover.torn-record-trusted",
            "a record is restored only if its check is right"
        );
    whole.then_some(Found { seq, ..found })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn sizes() {
        // Address, old value, sequence and check; a library's has one word more; 64 bytes of payload.
        assert_eq!((units(3), units(4), units(10), units(11), units(66)), (1, 1, 3, 3, 17));
    }
    /// A narrow store, or whole words up to the largest payload: anything else is no record.
    #[test]
    fn only_some_sizes_are_those_of_records() {
        let sized = |bytes: &u64| {
            let found = Found {
                addr: Addr(0),
                bytes: *bytes,
                payload: Addr(0),
                previous: 0,
                seq: 1,
            };
            found.sized()
        };
        let all: Vec<u64> = (0..=MAX_PAYLOAD + 16).filter(sized).collect();
        let wanted = [1, 2, 4]
            .into_iter()
            .chain((1..=MAX_PAYLOAD / 8).map(|words| 8 * words));
        assert_eq!(all, wanted.collect::<Vec<_>>());
    }
    /// Every word of a record matters to its check, each in its place.
    #[test]
    fn a_check_tells_words_and_places_apart() {
        let check = |words: [u64; 3]| seal(7, words.into_iter().fold(0, fold));
        let whole = check([0x100_0000_1040, 5, 9]);
        for torn in [
            [0, 5, 9],
            [0x100_0000_1040, 0, 9],
            [0x100_0000_1040, 5, 0],
            [0x100_0000_1040, 9, 5],
            [5, 0x100_0000_1040, 9],
        ] {
            assert_ne!(check(torn), whole);
        }
    }
}
