//! What a recorder notes of an event, in the words of the log; addresses are `fN+0x40`, an offset in the N-th persistent file.

use std::fmt;

/// What a thread did.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A store of `bytes` (1, 2, 4 or 8, aligned) at an offset of a persistent file.
    Store {
        /// Which file.
        file: usize,
        /// Offset in it.
        offset: u64,
        /// What was stored.
        value: u64,
        /// How many bytes of it.
        bytes: u8,
        /// Past the caches.
        non_temporal: bool,
    },
    /// A load of the aligned word at an offset of a persistent file.
    Load(usize, u64),
    /// An atomic that left a value in an aligned word of a persistent file.
    Atomic(usize, u64, u64),
    /// An atomic on volatile memory: a place where threads may have met. Its address and the word afterwards.
    Meet(u64, u64),
    /// A load of volatile memory.
    Look(u64),
    /// A store to volatile memory: its address and the word afterwards.
    Keep(u64, u64),
    /// An operation begins, ends or is acknowledged: the log's word for it, and its number.
    Operation(&'static str, u32),
    /// A flush, by its name, of the line at an offset of a persistent file.
    Flush(&'static str, usize, u64),
    /// A fence, by its name.
    Fence(&'static str),
    /// A range of a persistent file was made durable, and its length: file, offset, length of the range.
    Sync(usize, u64, u64),
    /// A persistent file has another length from here on: file, length.
    Length(usize, u64),
    /// The length of a persistent file was made durable.
    LengthSync(usize),
    /// Bytes that a shorter length has cut off, and that are zero when the file is longer again: file, offset, how many.
    Cut(usize, u64, u8),
}

/// The format has 40 bits for volatile addresses.
pub fn volatile(address: u64) -> u64 {
    address & 0xff_ffff_fff8
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Event::Store {
                file,
                offset,
                value,
                bytes,
                non_temporal,
            } => {
                let what = if non_temporal { "nt" } else { "store" };
                write!(f, "{what} f{file}+{offset:#x} {value:#x}")?;
                match bytes {
                    8 => Ok(()),
                    n => write!(f, " w{n}"),
                }
            }
            Event::Load(file, offset) => write!(f, "load f{file}+{:#x}", offset & !7),
            Event::Atomic(file, offset, value) => {
                write!(f, "rmw f{file}+{:#x} {value:#x}", offset & !7)
            }
            Event::Meet(address, value) => write!(f, "rmw {:#x} {value:#x}", volatile(address)),
            Event::Keep(address, value) => write!(f, "store {:#x} {value:#x}", volatile(address)),
            Event::Operation(what, number) => write!(f, "{what} {number}"),
            Event::Look(address) => write!(f, "load {:#x}", volatile(address)),
            Event::Flush(name, file, offset) => write!(f, "{name} f{file}+{:#x}", offset & !63),
            Event::Fence(name) => f.write_str(name),
            Event::Sync(file, offset, length) => write!(f, "sync f{file}+{offset:#x} {length}"),
            Event::Length(file, length) => write!(f, "length f{file}+0x0 {length:#x}"),
            Event::LengthSync(file) => write!(f, "length-sync f{file}+0x0"),
            Event::Cut(file, offset, bytes) => write!(f, "cut f{file}+{offset:#x} 0x0 w{bytes}"),
        }
    }
}

/// The aligned pieces of 1, 2, 4 or 8 bytes of a range: where each begins, and how long it is.
pub fn pieces(from: u64, length: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = from.saturating_add(length);
    let mut at = from;
    std::iter::from_fn(move || {
        let left = end.checked_sub(at).filter(|left| *left > 0)?;
        let aligned = if at.is_multiple_of(8) {
            8
        } else {
            1 << at.trailing_zeros()
        };
        let most = 1 << left.ilog2().min(3);
        let piece = (at, u64::min(aligned, most));
        at += piece.1;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn events_are_in_the_words_of_the_format() {
        let store = |bytes, non_temporal| Event::Store {
            file: 1,
            offset: 0x44,
            value: 9,
            bytes,
            non_temporal,
        };
        let events = [
            store(4, false),
            store(8, true),
            Event::Load(0, 0x49),
            Event::Atomic(0, 8, 1),
            Event::Meet(0x7fff_0000_0013, 2),
            Event::Flush("clwb", 2, 0x7f),
            Event::Fence("sfence"),
            Event::Look(0x1003),
            Event::Keep(0x1003, 6),
            Event::Operation("ack", 3),
            Event::Sync(0, 0, 4096),
            Event::Length(1, 12),
            Event::LengthSync(1),
            Event::Cut(0, 12, 4),
        ];
        let wanted = "store f1+0x44 0x9 w4
nt f1+0x44 0x9
load f0+0x48
rmw f0+0x8 0x1
rmw 0xff00000010 0x2
clwb f2+0x40
sfence
load 0x1000
store 0x1000 0x6
ack 3
sync f0+0x0 4096
length f1+0x0 0xc
length-sync f1+0x0
cut f0+0xc 0x0 w4";
        assert_eq!(events.map(|e| e.to_string()).join("\n"), wanted);
    }
    #[test]
    fn pieces_are_aligned_and_make_the_range() {
        for from in 0..17u64 {
            for length in 0..40 {
                let mut at = from;
                for (start, bytes) in pieces(from, length) {
                    assert!(start == at && start % bytes == 0 && bytes.is_power_of_two() && bytes <= 8);
                    at += bytes;
                }
                assert_eq!(at, from + length);
            }
        }
    }
}
