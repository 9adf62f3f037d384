//! What a system call's pointers point to, in the memory of the guest.

use crate::qemu;
use std::ffi::c_int;

/// Most pieces that one system call takes.
const MOST_PIECES: u64 = 1024;
const PAGE: u64 = 4096;

/// Whether the guest may read the bytes from `from` to `to`.
///
/// A fault in a callback would be taken for the guest's own: the emulator would leave the callback by a jump, perhaps into a
/// function that has returned.
pub(crate) fn is_readable(from: u64, to: u64) -> bool {
    /// First address that no guest has.
    const END: u64 = 1 << 47;
    /// `PAGE_READ` and `PAGE_VALID`.
    const READABLE: c_int = 1 | 8;
    // SAFETY: the emulator's own table of pages, which may be read at any time.
    let readable = |page: u64| unsafe { qemu::page_get_flags(page) } & READABLE == READABLE;
    from < to && to <= END && (from / PAGE..=(to - 1) / PAGE).all(|page| readable(page * PAGE))
}
/// A word of the guest, if it may read it.
pub(crate) fn read(at: u64) -> Option<u64> {
    // SAFETY: the page is there; threads that unmap pages keep their turn.
    let word = || unsafe { (at.wrapping_add(qemu::guest_base) as *const u64).read_unaligned() };
    is_readable(at, at.wrapping_add(8)).then(word)
}

/// An array of pieces of memory: address and length of each.
pub(crate) fn pieces(array: u64, count: u64) -> Vec<(u64, u64)> {
    let at = |i: u64| array.wrapping_add(i * 16);
    (0..count.min(MOST_PIECES))
        .map_while(|i| Some((read(at(i))?, read(at(i) + 8)?)))
        .collect()
}
/// As much of the pieces as `bytes` fill.
pub(crate) fn first(pieces: &[(u64, u64)], mut bytes: u64) -> Vec<(u64, u64)> {
    let take = |(at, length): &(u64, u64)| {
        let count = (*length).min(bytes);
        bytes -= count;
        (*at, count)
    };
    pieces.iter().map(take).collect()
}
/// The pieces into which `recvmsg` and `recvmmsg` receive.
pub(crate) fn message_pieces(number: i64, message: u64) -> Vec<(u64, u64)> {
    const RECVMSG: i64 = 47;
    const RECVMMSG: i64 = 299;
    match number {
        RECVMSG | RECVMMSG => match (read(message.wrapping_add(16)), read(message.wrapping_add(24))) {
            (Some(array), Some(count)) => pieces(array, count),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
/// A string that ends with a zero byte.
pub(crate) fn text(at: u64) -> Vec<u8> {
    let byte = |i: u64| {
        let at = at.wrapping_add(i);
        // SAFETY: as for `read`.
        is_readable(at, at.wrapping_add(1)).then(|| unsafe { (at.wrapping_add(qemu::guest_base) as *const u8).read() })
    };
    (0..).map_while(byte).take_while(|b| *b != 0).collect()
}
/// An array of strings that ends with a null pointer.
pub(crate) fn texts(array: u64) -> Vec<Vec<u8>> {
    let pointers = (0..).map_while(|i| read(array.wrapping_add(i * 8)));
    pointers.take_while(|p| *p != 0).map(text).collect()
}

/// A value of an aligned piece of guest memory.
pub(crate) fn value(at: u64, bytes: u64) -> u64 {
    let value = word(at) >> (at % 8 * 8);
    match bytes {
        8 => value,
        n => value & ((1 << (n * 8)) - 1),
    }
}
/// Two bytes at an even address; 0 if they are not there.
pub(crate) fn half(at: u64) -> u16 {
    (word(at) >> (at % 8 * 8)) as u16
}
/// The aligned word of the guest at an address that it, or the system for it, has just accessed; 0 if it is no longer there.
pub(crate) fn word(address: u64) -> u64 {
    read(address & !7).unwrap_or(0)
}
/// Stores a word of 4 bytes, if the guest has memory there.
pub(crate) fn write(at: u64, value: u32) {
    if is_readable(at, at.wrapping_add(4)) {
        // SAFETY: the page is there, and the program asked the system to write to it.
        unsafe { (at.wrapping_add(qemu::guest_base) as *mut u32).write_unaligned(value) }
    }
}
