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

    fn shape(block: u64) -> Shape {
        Shape {
            names: 100,
            names_per_dir: 10,
            block,
            journal: 64,
            largest: 200,
            inodes: 0,
            blocks: 0,
        }
    }
    /// Numbers, places and ends of blocks are those of a division.
    #[test]
    fn bytes_lie_in_blocks() {
        for block in [64, 512, 4096] {
            let shape = shape(block);
            for at in (0..3 * block).chain([1 << 40, (1 << 40) - 1]) {
                assert_eq!((shape.number(at), shape.within(at)), (at / block, at % block));
                assert_eq!(shape.end(at), (at / block + 1) * block);
            }
        }
    }
    /// A file's blocks, and the nodes of a tree in which every node but the last of a level is full, counted level by level.
    #[test]
    fn a_file_has_the_blocks_and_nodes_of_its_size() {
        for block in [64, 128, 4096] {
            let shape = shape(block);
            assert_eq!(shape.fan() * 8, block);
            for size in [
                0,
                1,
                8,
                block,
                block + 1,
                8 * block,
                9 * block,
                65 * block - 7,
                600 * block,
                5000 * block,
            ] {
                let blocks = size.div_ceil(block);
                let (mut all, mut level, mut height) = (blocks, blocks, 0);
                while level > 1 {
                    level = level.div_ceil(block / 8);
                    all += level;
                    height += 1;
                }
                assert_eq!(shape.blocks_of(size), all, "{size} bytes in blocks of {block}");
                assert_eq!(height_of(blocks, shape.fan()), height);
                assert!(blocks <= reach(shape.fan(), height));
            }
        }
    }
    /// The digits of a block's number are its slots, the highest in the topmost node.
    #[test]
    fn slots_are_digits_of_the_number() {
        for (i, digits) in [
            (0, [0, 0, 0]),
            (7, [0, 0, 7]),
            (8, [0, 1, 0]),
            (0o345, [3, 4, 5]),
            (0o777, [7, 7, 7]),
        ] {
            assert_eq!([3, 2, 1].map(|level| slot(8, level, i)), digits.map(|d| d * 8));
        }
        assert_eq!([0, 1, 2, 3].map(|h| reach(8, h)), [1, 8, 64, 512]);
        assert_eq!(reach(512, 8), u64::MAX, "no more than a word counts");
    }
    /// Ten entries of 32 bytes; a buffer of the largest write on whole lines, and one of 4 KiB to read into.
    #[test]
    fn directories_and_buffers_hold_what_they_are_for() {
        assert_eq!([64, 128, 256, 512].map(|block| shape(block).dir_blocks()), [5, 3, 2, 1]);
        assert_eq!(shape(64).buffer(), 4 * 64 + 4096);
    }
}
