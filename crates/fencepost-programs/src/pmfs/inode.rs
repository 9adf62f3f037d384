//! Inodes: 128 bytes, of which all that changes lies in the first 48, the data of one undo entry.

use fencepost_kernel::{At, Mem};

/// Bytes of an inode.
pub(super) const INODE: u64 = 128;
/// Its first block; where the list has levels, the node on top of them.
pub(super) const ROOT: u64 = 0;
/// Bytes of the file.
pub(super) const SIZE: u64 = 8;
/// Levels of the block list above the blocks.
pub(super) const HEIGHT: u64 = 16;
/// Which call changed it last: the name of the call, for a time.
pub(super) const TIME: u64 = 24;
/// Which call created it.
pub(super) const BORN: u64 = 32;
/// Names of it: 1, or 0 where it is free.
pub(super) const LINKS: u64 = 40;
/// The part that changes.
pub(super) const CHANGES: u64 = 48;
/// The name of the calls that made what was there before the run.
pub(crate) const PLANTED: u64 = 1;

/// An inode as recovery and audits read it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    pub root: u64,
    pub size: u64,
    pub height: u64,
    pub born: u64,
    pub links: u64,
}
impl Inode {
    pub(super) fn read<M: Mem<Dep = ()>>(m: &mut M, at: At<()>) -> Inode {
        let mut field = |f| m.load(at.field(f)).v;
        Inode {
            root: field(ROOT),
            size: field(SIZE),
            height: field(HEIGHT),
            born: field(BORN),
            links: field(LINKS),
        }
    }
}
