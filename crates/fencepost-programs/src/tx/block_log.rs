//! Where the entries of a redo log by cache block lie, and how they name blocks and bytes.

use super::record::RECORDS;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, Width};

/// Blocks named by one line, which are its group.
const NAMED: u64 = 4;
/// Bytes of a group: the names and the copies.
const GROUP: u64 = (1 + NAMED) * LINE_BYTES;
/// Bits of an address; the sequence number's lower bits are above them.
const ADDR_BITS: u32 = 48;

/// Bytes of a log that holds this many blocks.
pub(super) const fn log_bytes(blocks: u64) -> u64 {
    RECORDS + blocks.div_ceil(NAMED) * GROUP
}
/// Offset of the two words that name block `i`: its address, and which of its bytes are logged.
pub(super) const fn name_at(i: u64) -> u64 {
    RECORDS + i / NAMED * GROUP + i % NAMED * 16
}
/// Offset of the copy of block `i`.
pub(super) const fn copy_at(i: u64) -> u64 {
    RECORDS + i / NAMED * GROUP + (1 + i % NAMED) * LINE_BYTES
}
/// How a record names the block at `line`.
pub(super) const fn name(line: u64, seq: u32) -> u64 {
    (line * LINE_BYTES) | ((seq as u64) << ADDR_BITS)
}
/// The block that a record of transaction `seq` names; nothing if the record is another transaction's, or names no block.
pub(super) fn named(word: u64, seq: u32) -> Option<Addr> {
    let at = Addr(word & ((1 << ADDR_BITS) - 1));
    (word == name(at.0 / LINE_BYTES, seq)).then_some(at)
}
/// The bytes of a block that an access at `at` touches.
#[inline(always)]
pub(super) fn bytes(at: Addr, width: Width) -> u64 {
    (u64::MAX >> (64 - width.bytes())) << (at.0 % LINE_BYTES)
}
/// Calls `each` with offset and width of the naturally aligned accesses, the widest possible, that cover these bytes of a block.
#[inline(always)]
pub(super) fn accesses(bytes: u64, mut each: impl FnMut(u64, Width)) {
    for word in (0..LINE_BYTES).step_by(8) {
        let stored = bytes >> word & 0xff;
        if stored == 0xff {
            each(word, Width::B8);
        } else if stored != 0 {
            narrow(stored, |offset, width| each(word + offset, width));
        }
    }
}
/// The same within one word, of which not all is stored.
fn narrow(stored: u64, mut each: impl FnMut(u64, Width)) {
    let mut offset = 0;
    while offset < 8 {
        let fits = |w: &Width| {
            let ones = (1 << w.bytes()) - 1;
            offset % w.bytes() == 0 && stored >> offset & ones == ones
        };
        match [Width::B4, Width::B2, Width::B1].into_iter().find(fits) {
            Some(width) => {
                each(offset, width);
                offset += width.bytes();
            }
            None => offset += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Stream;

    fn covered(bytes: u64) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        accesses(bytes, |offset, width| all.push((offset, width.bytes())));
        all
    }
    #[test]
    fn accesses_are_as_wide_as_the_bytes_allow() {
        assert_eq!(covered(0), []);
        assert_eq!(covered(u64::MAX), (0..8).map(|w| (w * 8, 8)).collect::<Vec<_>>());
        // Half a word; a byte, two and one; a word of which the first byte was not stored.
        assert_eq!(covered(0xf0), [(4, 4)]);
        assert_eq!(covered(0b0010_1101 << 8), [(8, 1), (10, 2), (13, 1)]);
        assert_eq!(covered(0xfe), [(1, 1), (2, 2), (4, 4)]);
    }
    /// Whatever was stored is covered once, by accesses that are naturally aligned.
    #[test]
    fn accesses_cover_exactly_what_was_stored() {
        let mut rng = Stream::new(3, "blocks");
        for _ in 0..1000 {
            let mut bytes = 0;
            for _ in 0..rng.below(12) {
                let width = [Width::B1, Width::B2, Width::B4, Width::B8][rng.below(4) as usize];
                let at = Addr(rng.below(64 / width.bytes()) * width.bytes());
                bytes |= super::bytes(at, width);
            }
            let mut again = 0;
            for (offset, width) in covered(bytes) {
                assert_eq!((offset % width, again >> offset & ((1 << width) - 1)), (0, 0));
                again |= (u64::MAX >> (64 - width)) << offset;
            }
            assert_eq!(again, bytes);
        }
    }
    #[test]
    fn names_and_copies_do_not_share_bytes() {
        let mut taken = std::collections::BTreeSet::new();
        for i in 0..9 {
            assert!((0..16).all(|b| taken.insert(name_at(i) + b)));
            assert!((0..64).all(|b| taken.insert(copy_at(i) + b)) && copy_at(i).is_multiple_of(64));
            assert!(log_bytes(i + 1) >= copy_at(i) + 64);
        }
        // Nine blocks in three groups: 12 lines of log are flushed for them.
        assert_eq!(copy_at(8) + 64 - RECORDS, (9 + 3) * 64);
    }
    #[test]
    fn a_record_of_another_transaction_names_nothing() {
        let at = Addr(0x1_0000_1240);
        let word = name(at.0 / 64, 70_000);
        assert_eq!(named(word, 70_000), Some(at));
        assert_eq!((named(word, 69_999), named(word + 8, 70_000)), (None, None));
    }
}
