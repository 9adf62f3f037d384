//! Bytes of the memory log: the head, block groups with their tags, records.
//!
//! The area begins with the head's group (one line used): first valid group, first live transaction. Every other group is
//! eight lines: seven data blocks and the metadata block. Groups take the slots in turn, so the log wraps; where a group
//! lies says nothing about it, and a slot is valid iff its group's number is not below the head's.
//!
//! Metadata block: word 0 = `sid << 16 | kind << 8 | blocks`; then one BLK-TAG per data block (section III-A): home line
//! (30 bits), hardware thread (6 bits: CID and TID), transaction (16 bits), TxCnt (12 bits, 0 on all but a transaction's last block).
//! A transaction is named by its position in commit order (15 bits), or, in blocks that left the caches before their
//! transaction committed, by its number within its hardware thread (15 bits and a flag). Groups of kind *records* carry
//! dependency pairs, counts and names, four to a data block; up to three fit into the metadata block alone.

use fencepost_kernel::units::{LINE_BYTES, LOG_BASE, PM_BASE};
use fencepost_kernel::{Addr, HwThread, Image, LineAddr};

/// Lines of a block group.
pub const GROUP_LINES: u64 = 8;
/// Data blocks of a group.
pub const DATA_BLOCKS: usize = 7;
/// Largest TxCnt a tag can carry; larger counts go into a record.
pub const MAX_TAG_COUNT: u32 = (1 << 12) - 1;
/// Records in the metadata block alone.
pub const SHORT_RECORDS: usize = 3;
/// Records of a whole group.
pub const GROUP_RECORDS: usize = 4 * DATA_BLOCKS;
/// Share of the log that is metadata.
pub fn metadata_share() -> f64 {
    1.0 - DATA_BLOCKS as f64 / GROUP_LINES as f64
}
const NAME_BITS: u64 = 15;
const NAMES: u64 = 1 << NAME_BITS;
const MAGIC: u64 = 0x6c6f_6368_6561_6421;

/// How a block names its transaction.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// Position in commit order, modulo 2^15.
    Order(u16),
    /// Number within its hardware thread, modulo 2^15: not committed when the block was written.
    Early(u16),
}
impl Name {
    /// The name of the transaction at this position, where names start at `start`.
    pub fn order(order: u64, start: u32) -> Name {
        Name::Order(((order + u64::from(start)) % NAMES) as u16)
    }
    /// The name of a transaction that has not committed.
    pub fn early(id: u32, start: u32) -> Name {
        Name::Early(((u64::from(id) + u64::from(start)) % NAMES) as u16)
    }
    fn pack(self) -> u64 {
        match self {
            Name::Order(n) => u64::from(n),
            Name::Early(n) => u64::from(n) | NAMES,
        }
    }
    fn unpack(bits: u64) -> Name {
        let n = (bits % NAMES) as u16;
        if bits & NAMES == 0 {
            Name::Order(n)
        } else {
            Name::Early(n)
        }
    }
    /// The position, given the first live one (fewer than 2^15 are live).
    pub fn position(low: u16, first: u64, start: u32) -> u64 {
        first + (u64::from(low).wrapping_sub(first + u64::from(start)) % NAMES)
    }
}

/// The tag of a data block.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct BlkTag {
    /// Home location.
    pub home: LineAddr,
    /// Whose transaction.
    pub hw_thread: HwThread,
    /// Which transaction.
    pub name: Name,
    /// Number of blocks of the transaction, on its last one; else 0.
    pub count: u32,
}
impl BlkTag {
    fn pack(&self) -> u64 {
        let home = self.home.0 - PM_BASE / LINE_BYTES;
        assert!(home < 1 << 30, "the log addresses 64 GiB of persistent memory");
        home << 34 | u64::from(self.hw_thread.0 & 63) << 28 | self.name.pack() << 12 | u64::from(self.count)
    }
    fn unpack(word: u64) -> BlkTag {
        BlkTag {
            home: LineAddr(PM_BASE / LINE_BYTES + (word >> 34)),
            hw_thread: HwThread((word >> 28 & 63) as u8),
            name: Name::unpack(word >> 12 & 0xffff),
            count: (word & 0xfff) as u32,
        }
    }
}

/// A record about transactions: positions are modulo 2^15.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// `n` blocks of `x` are overwritten by its successor `y` (section III-B).
    Pair {
        /// The overwritten transaction.
        x: u16,
        /// The successor.
        y: u16,
        /// How many blocks.
        n: u32,
    },
    /// `x` has `n` blocks: a transaction that logs none of its own, or a commit record.
    Count {
        /// The transaction.
        x: u16,
        /// Its TxCnt.
        n: u32,
    },
    /// Blocks written early under number `early` of `hw_thread` belong to `x`.
    Early {
        /// The transaction.
        x: u16,
        /// Its hardware thread.
        hw_thread: HwThread,
        /// Its number within the hardware thread.
        early: u16,
    },
}
impl Record {
    fn pack(self) -> [u64; 2] {
        match self {
            Record::Pair { x, y, n } => [1 << 60 | u64::from(x) << 16 | u64::from(y), u64::from(n)],
            Record::Count { x, n } => [2 << 60 | u64::from(x) << 16, u64::from(n)],
            Record::Early { x, hw_thread, early } => {
                [3 << 60 | u64::from(x) << 16 | u64::from(early), u64::from(hw_thread.0)]
            }
        }
    }
    fn unpack(words: &[u64]) -> Option<Record> {
        let (x, low) = ((words[0] >> 16) as u16, words[0] as u16);
        match words[0] >> 60 {
            1 => Some(Record::Pair {
                x,
                y: low,
                n: words[1] as u32,
            }),
            2 => Some(Record::Count { x, n: words[1] as u32 }),
            3 => Some(Record::Early {
                x,
                hw_thread: HwThread(words[1] as u8),
                early: low,
            }),
            _ => None,
        }
    }
}

/// Where the log lies.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Area {
    base: LineAddr,
    /// Block groups it holds besides the head.
    pub groups: u64,
}
impl Area {
    /// The log in `len` bytes from `base`; at least one group whatever `len` says.
    pub fn new(base: Addr, len: u64) -> Area {
        let groups = (len / (GROUP_LINES * LINE_BYTES)).saturating_sub(1).max(1);
        Area {
            base: base.line(),
            groups,
        }
    }
    /// The head's line.
    pub fn head(&self) -> LineAddr {
        self.base
    }
    /// Line `i` of the group in a slot; slots count from 0.
    pub fn line(&self, slot: u64, i: usize) -> LineAddr {
        LineAddr(self.base.0 + (1 + slot) * GROUP_LINES + i as u64)
    }
}

/// What the head says: everything below is over.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// First valid group.
    pub start: u64,
    /// Position of the first transaction that may be live.
    pub first: u64,
}
impl Head {
    /// The line's words.
    pub fn pack(self) -> [u64; 8] {
        [MAGIC, self.start, self.first, 0, 0, 0, 0, 0]
    }
    /// The head of an image; an area never used starts at 1.
    pub fn read(image: &Image) -> Head {
        let words = image.line_words(LOG_BASE.line());
        match words[0] == MAGIC {
            true => Head {
                start: words[1],
                first: words[2],
            },
            false => Head { start: 1, first: 1 },
        }
    }
}

/// What a group holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Tagged data blocks, in order.
    Blocks(Vec<BlkTag>),
    /// Records.
    Records(Vec<Record>),
}

/// The words of a group's metadata block and, for many records, of its data blocks.
pub fn encode(sid: u64, content: &Content) -> ([u64; 8], Vec<[u64; 8]>) {
    let mut meta = [0; 8];
    let mut data = Vec::new();
    let head = |kind: u64, n: usize| sid << 16 | kind << 8 | n as u64;
    match content {
        Content::Blocks(tags) => {
            meta[0] = head(1, tags.len());
            for (i, tag) in tags.iter().enumerate() {
                meta[1 + i] = tag.pack();
            }
        }
        Content::Records(records) if records.len() <= SHORT_RECORDS => {
            meta[0] = head(2, records.len());
            for (i, r) in records.iter().enumerate() {
                meta[1 + 2 * i..3 + 2 * i].copy_from_slice(&r.pack());
            }
        }
        Content::Records(records) => {
            meta[0] = head(3, records.len());
            for chunk in records.chunks(4) {
                let mut line = [0; 8];
                for (i, r) in chunk.iter().enumerate() {
                    line[2 * i..2 * i + 2].copy_from_slice(&r.pack());
                }
                data.push(line);
            }
        }
    }
    (meta, data)
}

/// A group found in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub sid: u64,
    /// First line of its slot.
    pub at: LineAddr,
    /// What it holds.
    pub content: Content,
}

/// Every group of an image that the head calls valid, in order of their numbers.
pub fn groups(image: &Image) -> Vec<Found> {
    let start = Head::read(image).start;
    let slots = LOG_BASE.line().0 + GROUP_LINES;
    let mut found = Vec::new();
    for (first, words) in image.pages_from(LOG_BASE.line()) {
        // The last line of each slot.
        let metas = words.chunks_exact(8).enumerate().skip(GROUP_LINES as usize - 1);
        for (line, words) in metas.step_by(GROUP_LINES as usize) {
            let meta = LineAddr(first.0 + line as u64);
            if meta.0 >= slots && words[0] >> 16 >= start {
                found.extend(decode(image, meta, words));
            }
        }
    }
    found.sort_unstable_by_key(|g: &Found| (g.sid, g.at));
    found
}

/// The group with this metadata block.
fn decode(image: &Image, meta: LineAddr, words: &[u64]) -> Option<Found> {
    let (sid, kind, n) = (words[0] >> 16, words[0] >> 8 & 0xff, (words[0] & 0xff) as usize);
    let at = LineAddr(meta.0 + 1 - GROUP_LINES);
    let records = |words: &[u64]| words.chunks(2).take(n).filter_map(Record::unpack).collect();
    let content = match kind {
        1 if n <= DATA_BLOCKS => Content::Blocks(words[1..=n].iter().map(|w| BlkTag::unpack(*w)).collect()),
        2 if n <= SHORT_RECORDS => Content::Records(records(&words[1..])),
        3 if n <= GROUP_RECORDS => {
            let lines = (0..DATA_BLOCKS as u64).flat_map(|i| image.line_words(LineAddr(at.0 + i)));
            Content::Records(records(&lines.collect::<Vec<u64>>()))
        }
        _ => return None,
    };
    Some(Found { sid, at, content })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::{LineData, Stream};

    /// One line of a group's eight holds what says whose the others are.
    #[test]
    fn an_eighth_of_the_log_is_metadata() {
        assert_eq!(metadata_share(), 0.125);
    }

    fn put(image: &mut Image, line: LineAddr, words: [u64; 8]) {
        image.set_line(line, &LineData { words, by: [None; 8] });
    }
    fn random(r: &mut Stream) -> Content {
        let name = |r: &mut Stream| match r.chance(1, 2) {
            true => Name::order(r.next_u64() >> 20, 0),
            false => Name::early(r.next_u64() as u32, 0),
        };
        let low = |r: &mut Stream| (r.next_u64() % NAMES) as u16;
        if r.chance(1, 2) {
            let tag = |r: &mut Stream| BlkTag {
                home: LineAddr(PM_BASE / 64 + r.below(1 << 30)),
                hw_thread: HwThread(r.below(64) as u8),
                name: name(r),
                count: r.below(u64::from(MAX_TAG_COUNT) + 1) as u32,
            };
            return Content::Blocks((0..=r.below(7)).map(|_| tag(r)).collect());
        }
        let record = |r: &mut Stream| match r.below(3) {
            0 => Record::Pair {
                x: low(r),
                y: low(r),
                n: r.next_u64() as u32,
            },
            1 => Record::Count {
                x: low(r),
                n: r.next_u64() as u32,
            },
            _ => Record::Early {
                x: low(r),
                hw_thread: HwThread(r.below(64) as u8),
                early: low(r),
            },
        };
        Content::Records((0..=r.below(28)).map(|_| record(r)).collect())
    }

    #[test]
    fn groups_written_are_groups_found_until_the_head_passes_them() {
        let mut r = Stream::new(5, "groups");
        let area = Area::new(LOG_BASE, 9 * 512);
        assert_eq!(area.groups, 8);
        let mut image = Image::default();
        let mut written = Vec::new();
        for sid in 3..=10u64 {
            let content = random(&mut r);
            let (meta, data) = encode(sid, &content);
            for (i, words) in data.into_iter().enumerate() {
                put(&mut image, area.line(sid % area.groups, i), words);
            }
            put(&mut image, area.line(sid % area.groups, 7), meta);
            written.push((sid, content));
        }
        for start in [1, 5, 10, 11] {
            put(&mut image, area.head(), Head { start, first: 7 }.pack());
            let found: Vec<_> = groups(&image).into_iter().map(|g| (g.sid, g.content)).collect();
            let want: Vec<_> = written.iter().filter(|w| w.0 >= start).cloned().collect();
            assert_eq!(found, want);
        }
    }
    #[test]
    fn a_position_is_found_from_its_low_bits_anywhere_in_the_window() {
        for first in [1, 77, NAMES - 3, 5 * NAMES + 9] {
            for ahead in [0, 1, 128, NAMES - 1] {
                for start in [0, 7, NAMES as u32 - 2] {
                    let Name::Order(low) = Name::order(first + ahead, start) else {
                        panic!()
                    };
                    assert_eq!(Name::position(low, first, start), first + ahead);
                }
            }
        }
    }
}
