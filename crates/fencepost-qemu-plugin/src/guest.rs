//! What a system call's pointers point to, in the memory of the guest.

use crate::qemu;

/// Most pieces that one system call takes.
const MOST_PIECES: u64 = 1024;

fn read(at: u64) -> u64 {
    // SAFETY: the guest handed this address to the system, which read it and did not refuse; should another thread of the guest
    // have unmapped it meanwhile, this process ends by a signal, as the guest would.
    unsafe { (at.wrapping_add(qemu::guest_base) as *const u64).read_unaligned() }
}

/// An array of pieces of memory: address and length of each.
pub fn pieces(array: u64, count: u64) -> Vec<(u64, u64)> {
    if array < 4096 {
        return Vec::new();
    }
    let at = |i: u64| array.wrapping_add(i * 16);
    (0..count.min(MOST_PIECES))
        .map(|i| (read(at(i)), read(at(i) + 8)))
        .collect()
}
/// As much of the pieces as `bytes` fill.
pub fn first(pieces: &[(u64, u64)], mut bytes: u64) -> Vec<(u64, u64)> {
    let take = |(at, length): &(u64, u64)| {
        let count = (*length).min(bytes);
        bytes -= count;
        (*at, count)
    };
    pieces.iter().map(take).collect()
}
/// The pieces into which `recvmsg` and `recvmmsg` receive.
pub fn message_pieces(number: i64, message: u64) -> Vec<(u64, u64)> {
    const RECVMSG: i64 = 47;
    const RECVMMSG: i64 = 299;
    match number {
        RECVMSG | RECVMMSG if message >= 4096 => pieces(read(message + 16), read(message + 24)),
        _ => Vec::new(),
    }
}
/// A string that ends with a zero byte.
pub fn text(at: u64) -> Vec<u8> {
    let byte = |i: u64| {
        // SAFETY: as for `read`.
        unsafe { (at.wrapping_add(i).wrapping_add(qemu::guest_base) as *const u8).read() }
    };
    (0..).map(byte).take_while(|b| *b != 0).collect()
}
/// An array of strings that ends with a null pointer.
pub fn texts(array: u64) -> Vec<Vec<u8>> {
    let pointers = (0..).map(|i| if array == 0 { 0 } else { read(array + i * 8) });
    pointers.take_while(|p| *p != 0).map(text).collect()
}

/// A value of an aligned piece of guest memory.
pub fn value(at: u64, bytes: u64) -> u64 {
    let value = word(at) >> (at % 8 * 8);
    match bytes {
        8 => value,
        n => value & ((1 << (n * 8)) - 1),
    }
}
/// The aligned word of the guest at an address.
pub fn word(address: u64) -> u64 {
    // SAFETY: the guest, or the system for it, has just accessed bytes of this aligned word, so its page is mapped; racing
    // accesses of other guest threads are excluded by the turn.
    unsafe { ((address & !7).wrapping_add(qemu::guest_base) as *const u64).read_volatile() }
}
