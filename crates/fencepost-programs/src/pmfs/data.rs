//! File data: copied between a program's volatile buffer and blocks, past the caches on the way in.
//!
//! Every word says which call wrote it and where in the file it stands.

use super::blocks::block_at;
use super::fs::FileSystem;
use super::shape::READ_BUFFER;
use crate::choices::Variant;
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{At, Mem, Val};

/// What a call writes at a place of a file.
pub(super) const fn content(call: u64, at: u64) -> u64 {
    (call << 32) | (at / 8)
}
/// The sum of what a call writes from one place to another.
pub(super) fn sum(call: u64, from: u64, to: u64) -> u64 {
    let (first, n) = (content(call, from), (to - from) / 8);
    // Words ascend by one.
    let pairs = (u128::from(n) * u128::from(n.saturating_sub(1)) / 2) as u64;
    first.wrapping_mul(n).wrapping_add(pairs)
}
/// Copies a call's bytes into the file from `from` to `to`. Its blocks are there.
#[track_caller]
#[inline(always)]
pub(super) fn copy_in<M: Mem>(
    fs: &FileSystem,
    tx: &mut Tx<'_, '_, M>,
    inode: At<M::Dep>,
    (thread, call): (u32, u64),
    (from, to): (u64, u64),
) {
    // Where software starts every line's way to memory itself, the copy goes past the caches; where hardware does, stores are enough.
    let past = tx.by_hand() && tx.pm.idiom().flush.is_some();
    let buffer = At::new(fs.buffer(thread));
    // The mistake of logic: the last word is that of another place.
    let wrong = tx.slip(Variant::SemanticMistake) && call % 2 == 0;
    let (mut at, mut base) = (from, from);
    while at < to {
        let block = block_at(fs, tx, inode, fs.shape.number(at));
        let end = to.min(fs.shape.end(at));
        let (source, target) = (buffer.field(base - from), block.field(fs.shape.within(at)));
        while at < end {
            let place = if wrong && at + 8 == to { at + 8 } else { at };
            let offset = at - base;
            let word = tx.pm.m.load(source.field(offset));
            let word = word.map(|b| b.wrapping_add(content(call, place)));
            if past {
                tx.pm.nt_store(target.field(offset), word);
            } else {
                tx.write(target.field(offset), word);
            }
            at += 8;
            if at.is_multiple_of(LINE_BYTES) {
                tx.compute(sites::PAIR_MOVE);
            }
        }
        base = at;
    }
}

/// Copies a file's bytes out; their sum, for the oracle.
#[track_caller]
#[inline(always)]
pub(super) fn copy_out<M: Mem>(
    fs: &FileSystem,
    tx: &mut Tx<'_, '_, M>,
    inode: At<M::Dep>,
    thread: u32,
    (from, to): (u64, u64),
) -> u64 {
    let buffer = At::new(fs.read_buffer(thread));
    let (mut at, mut base, mut sum) = (from, from, 0u64);
    while at < to {
        let block = block_at(fs, tx, inode, fs.shape.number(at));
        let end = to.min(fs.shape.end(at));
        let source = block.field(fs.shape.within(at));
        while at < end {
            let word: Val<M::Dep> = tx.read(source.field(at - base));
            if M::OBSERVED {
                sum = sum.wrapping_add(word.v);
            }
            tx.pm.m.store(buffer.field(at % READ_BUFFER), word);
            at += 8;
            if at.is_multiple_of(LINE_BYTES) {
                tx.compute(sites::PAIR_MOVE);
            }
        }
        base = at;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn sums_are_those_of_the_words() {
        for (from, to) in [(0, 0), (8, 16), (24, 4096)] {
            let words = (from..to).step_by(8).map(|at| content(9, at));
            assert_eq!(sum(9, from, to), words.fold(0, u64::wrapping_add), "{from}..{to}");
        }
    }
}
