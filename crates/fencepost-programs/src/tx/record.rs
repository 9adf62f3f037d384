//! Log records that prove themselves whole.
//!
//! A record is a head word, the address, the payload words and a check word over all of them, in units of 32 bytes. The
//! head holds the transaction's sequence number, so that what an older transaction left in a slot is never taken for the
//! present one's; the check word covers head, address and payload, so that a record of which only some 8-byte words
//! arrived is never taken for a whole one (it would need a 64-bit collision). Slots are reused without clearing.

use fencepost_kernel::{Addr, At, Mem, Val, Width};

/// Bytes of one allocation unit of the log; a record of one word fills exactly one.
pub(crate) const UNIT: u64 = 32;
/// Payload bytes of the longest record; longer ranges are split.
pub(crate) const MAX_PAYLOAD: u64 = 512;

/// What a record says besides address and payload.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Sequence number of the transaction, from 1.
    pub seq: u32,
    /// The thread that logged.
    pub thread: u32,
    /// Bytes of payload: 1, 2 or 4 for a narrow store, else a multiple of 8.
    pub bytes: u64,
    /// Length of the record before this one in units, so that recovery can walk backwards. 0 at the first.
    pub previous: u64,
}

impl Head {
    pub fn pack(self) -> u64 {
        (u64::from(self.seq) << 32) | (self.previous << 22) | (self.bytes << 10) | u64::from(self.thread & 0x3ff)
    }
    pub fn unpack(word: u64) -> Head {
        Head {
            seq: (word >> 32) as u32,
            thread: (word & 0x3ff) as u32,
            bytes: (word >> 10) & 0xfff,
            previous: (word >> 22) & 0x3ff,
        }
    }
    /// Payload words.
    pub fn words(self) -> u64 {
        self.bytes.div_ceil(8)
    }
    /// Units that a record with this payload fills.
    pub fn units(self) -> u64 {
        units(self.bytes)
    }
    /// Width of the logged access; ranges are whole words.
    pub fn width(self) -> Width {
        match self.bytes {
            1 => Width::B1,
            2 => Width::B2,
            4 => Width::B4,
            _ => Width::B8,
        }
    }
}

/// Units of a record with `bytes` of payload: head, address, payload, check.
pub(crate) fn units(bytes: u64) -> u64 {
    ((3 + bytes.div_ceil(8)) * 8).div_ceil(UNIT)
}

/// The running check over a record's words.
#[derive(Copy, Clone)]
pub(crate) struct Check(u64);
impl Check {
    pub fn new() -> Check {
        Check(0x5bd1_e995_9f3c_a7d1)
    }
    #[inline]
    pub fn add(self, word: u64) -> Check {
        Check((self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
    }
    #[inline]
    pub fn end(self) -> u64 {
        (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) | 1
    }
}

/// A record as recovery finds it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Found {
    pub head: Head,
    /// The data address.
    pub addr: Addr,
    /// Where the payload lies in the log.
    pub payload: Addr,
}

/// Reads the record at `at`, stopping at the first word that shows it is not one: the head must name `thread`, a
/// sequence number that `wanted` accepts and a sensible size, and the check word, begun from `check`, must agree.
pub(crate) fn read<M: Mem>(
    m: &mut M,
    at: Addr,
    thread: u32,
    check: Check,
    wanted: impl Fn(u32) -> bool,
) -> Option<Found> {
    let word = |m: &mut M, i: u64| m.load(At::new(Addr(at.0 + i * 8))).v;
    let first = word(m, 0);
    let head = Head::unpack(first);
    let sized = matches!(head.bytes, 1 | 2 | 4)
        || (head.bytes > 0 && head.bytes.is_multiple_of(8) && head.bytes <= MAX_PAYLOAD);
    if !wanted(head.seq) || head.thread != thread & 0x3ff || !sized {
        return None;
    }
    let n = head.words();
    let check = (1..n + 2).fold(check.add(first), |c, i| c.add(word(m, i)));
    let addr = Addr(word(m, 1));
    (check.end() == word(m, n + 2)).then_some(Found {
        head,
        addr,
        payload: Addr(at.0 + 16),
    })
}

/// Writes a record's payload to the data it describes: undo restores, redo replays.
pub(crate) fn apply<M: Mem>(m: &mut M, found: Found) {
    for i in 0..found.head.words() {
        let value: Val<M::Dep> = m.load(At::new(Addr(found.payload.0 + i * 8)));
        m.store_n(At::new(Addr(found.addr.0 + i * 8)), value, found.head.width());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn heads_survive_packing() {
        for (seq, thread, bytes, previous) in [(1, 0, 8, 0), (u32::MAX, 1023, 512, 17), (77, 5, 1, 1)] {
            let head = Head {
                seq,
                thread,
                bytes,
                previous,
            };
            assert_eq!(Head::unpack(head.pack()), head);
        }
        assert_eq!((units(8), units(1), units(16), units(64), units(512)), (1, 1, 2, 3, 17));
    }
}
