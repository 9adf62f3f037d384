//! Where the parts of a file system lie.

use super::inode::INODE;
use super::journal::Journal;
use super::shape::{READ_BUFFER, Shape, tree_nodes};
use crate::choices::Coupling;
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::pool::Pool;
use crate::settings::Settings;
use crate::tx::Runtime;
use fencepost_kernel::{Addr, At, Span};

/// Bytes of a line of the volatile index of names.
const NAME_ROW: u64 = 16;
/// Locks of names and directories, at most.
const LOCKS: u64 = 1 << 14;
/// Undo entries of a transaction, besides those for block lists: three inodes, two entries of directories, the commit.
pub(super) const ENTRIES: u64 = 6;

/// The file system: parameters and places; everything that changes is in memory.
#[derive(Clone, Debug)]
pub(super) struct FileSystem {
    pub(super) rt: Runtime,
    pub(super) shape: Shape,
    pub(super) journal: Journal,
    /// Inodes of directories, and of files that were there before the run.
    pub(super) dirs: Rows,
    pub(super) planted: Rows,
    pub(super) inodes: Pool,
    /// Blocks that were in use before the run: of directories, then of files.
    pub(super) used: Rows,
    /// Volatile: inode and directory entry of every name.
    pub(super) names: Addr,
    /// Volatile: what programs read into and write from, a stretch a thread.
    pub(super) buffers: Addr,
    pub(super) locks: Locks,
    pub(super) footprint: Footprint,
}

impl FileSystem {
    /// A file system in which `planted` names have files of those sizes before the run.
    pub(super) fn new(s: &Settings, shape: Shape, planted: impl Fn(u64) -> Option<u64>) -> FileSystem {
        let dirs = shape.names.div_ceil(shape.names_per_dir);
        let per_dir = shape.dir_blocks() + tree_nodes(shape.dir_blocks(), shape.fan());
        let files: Vec<u64> = (0..shape.names).filter_map(&planted).collect();
        let of_files: u64 = files.iter().map(|size| shape.blocks_of(*size)).sum();
        let mut layout = Layout::default();
        let list = shape.largest.div_ceil(shape.block) / 6 + 1;
        let journal = Journal::new(&mut layout, shape.journal, s.threads, ENTRIES + list);
        let dir_inodes = Rows::aligned(&mut layout, INODE, dirs, INODE);
        let file_inodes = Rows::aligned(&mut layout, INODE, files.len() as u64, INODE);
        let inodes = Pool::new(&mut layout, s.threads, INODE, shape.inodes);
        let used = Rows::aligned(&mut layout, shape.block, dirs * per_dir + of_files, shape.block);
        let pool = Pool::new(&mut layout, s.threads, shape.block, shape.blocks);
        let rt = Runtime::new(&mut layout, s, Coupling::Auto, 0, pool);
        let names = layout.dram(shape.names * NAME_ROW);
        let buffers = layout.dram(u64::from(s.threads) * shape.buffer());
        let locks = Locks::new(&mut layout, (shape.names + dirs).min(LOCKS));
        FileSystem {
            rt,
            shape,
            journal,
            dirs: dir_inodes,
            planted: file_inodes,
            inodes,
            used,
            names,
            buffers,
            locks,
            footprint: layout.footprint(),
        }
    }
    /// The directory of a name.
    pub(super) fn dir(&self, name: u64) -> u64 {
        name / self.shape.names_per_dir
    }
    /// The volatile index's line of a name: inode, entry.
    #[inline(always)]
    pub(super) fn known<D: Copy + Default>(&self, name: u64) -> At<D> {
        At::new(Addr(self.names.0 + name * NAME_ROW))
    }
    #[inline(always)]
    pub(super) fn buffer(&self, thread: u32) -> Addr {
        Addr(self.buffers.0 + u64::from(thread) * self.shape.buffer() + READ_BUFFER)
    }
    /// Where a thread reads to, again and again.
    #[inline(always)]
    pub(super) fn read_buffer(&self, thread: u32) -> Addr {
        Addr(self.buffers.0 + u64::from(thread) * self.shape.buffer())
    }
    pub(super) fn owns_inode(&self, at: u64) -> bool {
        self.planted.owns(at) || self.inodes.owns(Addr(at))
    }
    pub(super) fn owns_block(&self, at: u64) -> bool {
        self.used.owns(at) || self.rt.pool().owns(Addr(at))
    }
    pub(super) fn footprint(&self) -> Footprint {
        self.footprint
    }
    /// Metadata, the hottest first.
    pub(super) fn resident(&self) -> Vec<Span> {
        let tables = [self.dirs.span(), self.planted.span(), self.used.span()];
        tables.into_iter().filter(|s| s.len > 0).collect()
    }
    /// What a thread binds to write sub-queues: its own blocks and inodes first, then what all share.
    pub(super) fn ranges(&self, thread: u32, threads: u32) -> Vec<Span> {
        let others = (0..threads).filter(|t| *t != thread);
        let order: Vec<u32> = [thread].into_iter().chain(others).collect();
        let own = order.iter().map(|t| self.rt.pool().span_of(*t));
        let shared = [self.journal.span(), self.inodes.span()]
            .into_iter()
            .chain(self.resident());
        let mut all: Vec<Span> = own.collect();
        let rest = all.split_off(1);
        all.extend(shared);
        all.extend(rest);
        all.into_iter().filter(|s| s.len > 0).collect()
    }
}
