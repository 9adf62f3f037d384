//! Directory blocks: entries of 32 bytes, an inode and a name each; an entry without inode is free.

use super::blocks::block_at;
use super::fs::FileSystem;
use super::inode::{HEIGHT, ROOT};
use super::shape::ENTRY;
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{At, Mem};

/// Lengths and type, then the name's bytes.
const KIND: u64 = 8;
const NAME: u64 = 16;
const NAME_BYTES: usize = 16;

/// The words of an entry behind its inode: length of entry and name, type; digits of the name.
pub(super) fn fields(name: u64) -> [(u64, u64); 3] {
    let mut digits = *b"f000000000000000";
    let mut left = name;
    for place in digits[1..].iter_mut().rev() {
        *place = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let half = |i: usize| u64::from_le_bytes(std::array::from_fn(|b| digits[i * 8 + b]));
    let kind = ENTRY | (NAME_BYTES as u64) << 16 | 1 << 24;
    [(KIND, kind), (NAME, half(0)), (NAME + 8, half(1))]
}

/// The first free entry of a directory, searched for from its first block on, as published.
#[track_caller]
#[inline(always)]
pub(super) fn free_entry<M: Mem>(fs: &FileSystem, tx: &mut Tx<'_, '_, M>, dir: At<M::Dep>) -> At<M::Dep> {
    for b in 0..fs.shape.dir_blocks() {
        let block = block_at(fs, tx, dir, b);
        for offset in (0..fs.shape.block).step_by(ENTRY as usize) {
            let entry = block.field(offset);
            tx.compute(sites::CHAIN_STEP);
            if tx.read(entry).v == 0 {
                return entry;
            }
        }
    }
    full()
}
#[cold]
#[inline(never)]
fn full() -> ! {
    panic!("a directory has no entry left for a name that it may hold")
}

/// Entry `i` of a directory that nothing has changed yet, or of a recovered one.
pub(super) fn entry_of<M: Mem>(fs: &FileSystem, m: &mut M, dir: At<M::Dep>, i: u64) -> At<M::Dep> {
    let (at, fan) = (i * ENTRY, fs.shape.fan());
    let block = at / fs.shape.block;
    let mut node = m.load(dir.field(ROOT)).ptr();
    for level in (1..=m.load(dir.field(HEIGHT)).v).rev() {
        let below = fan.pow(level as u32 - 1);
        node = m.load(node.field(block / below % fan * 8)).ptr();
    }
    node.field(at % fs.shape.block)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn names_are_digits() {
        let [_, (_, first), (_, second)] = fields(1234);
        let bytes = [first.to_le_bytes(), second.to_le_bytes()].concat();
        assert_eq!(bytes, b"f000000000001234");
    }
}
