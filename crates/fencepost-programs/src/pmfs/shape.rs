//! Sizes of a file system, and what follows from them.

use fencepost_kernel::units::LINE_BYTES;

/// Bytes that a program reads into at a time.
pub(super) const READ_BUFFER: u64 = 4096;
/// Bytes of an entry of a directory.
pub(super) const ENTRY: u64 = 32;

/// How large a file system is.
#[derive(Copy, Clone, Debug)]
pub struct Shape {
    /// Names that files may have.
    pub names: u64,
    /// Names of one directory: a name lies in the directory of its number over this.
    pub names_per_dir: u64,
    /// Bytes of a block, a power of two.
    pub block: u64,
    /// Undo entries of the journal.
    pub journal: u64,
    /// Bytes of the largest write.
    pub largest: u64,
    /// Inodes that a thread may create, at most.
    pub inodes: u64,
    /// Blocks that a thread may take, at most.
    pub blocks: u64,
}

impl Shape {
    /// Pointers of a node of a block list.
    pub(super) fn fan(&self) -> u64 {
        self.block / 8
    }
    /// Number of the block that holds a byte.
    #[inline(always)]
    pub(super) fn number(&self, at: u64) -> u64 {
        at >> self.block.trailing_zeros()
    }
    /// Where in its block the byte stands.
    #[inline(always)]
    pub(super) fn within(&self, at: u64) -> u64 {
        at & (self.block - 1)
    }
    /// The first byte of the next block.
    #[inline(always)]
    pub(super) fn end(&self, at: u64) -> u64 {
        (at | (self.block - 1)) + 1
    }
    pub(super) fn dir_blocks(&self) -> u64 {
        (self.names_per_dir * ENTRY).div_ceil(self.block)
    }
    /// Blocks and nodes of a file of this size.
    pub fn blocks_of(&self, size: u64) -> u64 {
        let count = size.div_ceil(self.block);
        count + tree_nodes(count, self.fan())
    }
    /// Volatile memory of a thread's reads and writes.
    pub(super) fn buffer(&self) -> u64 {
        self.largest.next_multiple_of(LINE_BYTES) + READ_BUFFER
    }
}

/// Blocks that a list of this height reaches.
pub(super) fn reach(fan: u64, height: u64) -> u64 {
    fan.saturating_pow(height as u32)
}
fn height_of(count: u64, fan: u64) -> u64 {
    (0..).find(|h| reach(fan, *h) >= count).unwrap_or(0)
}
/// Nodes of a list of so many blocks.
pub(super) fn tree_nodes(count: u64, fan: u64) -> u64 {
    (1..=height_of(count, fan))
        .map(|level| count.div_ceil(reach(fan, level)))
        .sum()
}

/// Slot of block `i` in the node that is so high.
pub(super) fn slot(fan: u64, level: u64, i: u64) -> u64 {
    i / reach(fan, level - 1) % fan * 8
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn heights_and_nodes_follow_from_the_fan() {
        // Blocks of 4 KiB: 512 pointers a node.
        let of = |count| (height_of(count, 512), tree_nodes(count, 512));
        assert_eq!([of(0), of(1), of(2), of(512)], [(0, 0), (0, 0), (1, 1), (1, 1)]);
        assert_eq!(
            [of(513), of(512 * 512), of(512 * 512 + 1)],
            [(2, 3), (2, 513), (3, 516)]
        );
        assert_eq!((slot(512, 1, 513), slot(512, 2, 513)), (8, 8));
    }
}
