//! Block lists: an inode's root is its only block, or a tree of nodes full of pointers, as high as it must be.
//!
//! Files grow at their end. New nodes are reached by nothing until the transaction commits, so only slots of nodes that were there
//! before are logged. New nodes are not cleared: no slot beyond the file's size is ever read.

use super::fs::FileSystem;
use super::inode::{HEIGHT, ROOT};
use super::journal::Undo;
use super::shape::{reach, slot};
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{Addr, At, Mem, Val};

/// Plants a list of blocks that follow each other, its nodes behind them; its root and height.
pub(super) fn plant<M: Mem>(fs: &FileSystem, m: &mut M, count: u64, next: &mut u64) -> (u64, u64) {
    if count == 0 {
        return (0, 0);
    }
    let (fan, used) = (fs.shape.fan(), fs.used);
    let (mut first, mut below, mut height) = (*next, count, 0);
    *next += count;
    while below > 1 {
        let nodes = below.div_ceil(fan);
        for child in 0..below {
            let slot = used.at::<M::Dep>(*next + child / fan).field(child % fan * 8);
            m.store(slot, used.at(first + child).pointer());
        }
        (first, below) = (*next, nodes);
        *next += nodes;
        height += 1;
    }
    (used.at::<()>(first).addr.0, height)
}

/// The block with a number, of an inode whose list reaches it.
#[inline(always)]
pub(super) fn block_at<M: Mem>(fs: &FileSystem, tx: &mut Tx<'_, '_, M>, inode: At<M::Dep>, i: u64) -> At<M::Dep> {
    let mut at = tx.read(inode.field(ROOT)).ptr();
    let mut level = tx.read(inode.field(HEIGHT)).v;
    while level > 0 {
        at = tx.read(at.field(slot(fs.shape.fan(), level, i))).ptr();
        level -= 1;
    }
    at
}
/// The same in a recovered memory, which is not trusted.
pub(super) fn find<M: Mem<Dep = ()>>(fs: &FileSystem, m: &mut M, (root, height): (u64, u64), i: u64) -> Option<Addr> {
    let fan = fs.shape.fan();
    let mut at = root;
    if height > 8 || i >= reach(fan, height) {
        return None;
    }
    for level in (1..=height).rev() {
        if !fs.owns_block(at) {
            return None;
        }
        at = m.load(At::new(Addr(at)).field(slot(fan, level, i))).v;
    }
    fs.owns_block(at).then_some(Addr(at))
}

/// A list that grows from `old` blocks to `new`.
#[derive(Copy, Clone, Debug)]
pub(super) struct Growth {
    pub old: u64,
    pub new: u64,
}

/// Logs the slots that growth fills in nodes that are there.
#[track_caller]
#[inline(always)]
pub(super) fn log_growth<M: Mem>(
    fs: &FileSystem,
    tx: &mut Tx<'_, '_, M>,
    undo: &mut Undo,
    inode: At<M::Dep>,
    growth: Growth,
) {
    let fan = fs.shape.fan();
    let mut node = tx.read(inode.field(ROOT)).ptr();
    let mut level = tx.read(inode.field(HEIGHT)).v;
    let limit = growth.new.min(reach(fan, level));
    if growth.old == 0 || growth.old >= limit {
        return;
    }
    while level > 0 {
        let below = reach(fan, level - 1);
        // Children from the first that begins with a new block on; the node ends where its range does.
        let end = (growth.old / (below * fan) + 1) * below * fan;
        let (first, last) = (growth.old.div_ceil(below), (limit.min(end) - 1) / below);
        if first <= last {
            let from = node.field(first % fan * 8);
            fs.journal.log(tx, undo, from, (last - first + 1) * 8);
        }
        // The child that holds the last old block is there; a new one has nothing old.
        if growth.old.is_multiple_of(below) {
            return;
        }
        node = tx.read(node.field(slot(fan, level, growth.old))).ptr();
        level -= 1;
    }
}

/// Appends blocks to a list; its new root and height.
#[track_caller]
#[inline(always)]
pub(super) fn grow<M: Mem>(
    fs: &FileSystem,
    tx: &mut Tx<'_, '_, M>,
    inode: At<M::Dep>,
    growth: Growth,
) -> (Val<M::Dep>, u64) {
    let fan = fs.shape.fan();
    let mut root = tx.read(inode.field(ROOT));
    let mut height = tx.read(inode.field(HEIGHT)).v;
    while reach(fan, height) < growth.new {
        // Of an empty list no root is there to hang below.
        if growth.old > 0 {
            let node = tx.alloc();
            tx.write(node, root);
            root = node.pointer();
        } else if height == 0 {
            root = Val::lit(0);
        }
        height += 1;
    }
    if growth.old == 0 && height > 0 {
        root = tx.alloc().pointer();
    }
    for i in growth.old..growth.new {
        let block = tx.alloc().pointer();
        tx.compute(sites::CHAIN_STEP);
        if height == 0 {
            root = block;
            continue;
        }
        let mut node = root.ptr();
        for level in (2..=height).rev() {
            let at = node.field(slot(fan, level, i));
            if i.is_multiple_of(reach(fan, level - 1)) {
                let child = tx.alloc();
                tx.write(at, child.pointer());
                node = child;
            } else {
                node = tx.read(at).ptr();
            }
        }
        tx.write(node.field(slot(fan, 1, i)), block);
    }
    (root, height)
}

/// Calls `each` with every block and node of a list of `count` blocks.
#[inline(always)]
pub(super) fn each<M: Mem>(
    fs: &FileSystem,
    tx: &mut Tx<'_, '_, M>,
    inode: At<M::Dep>,
    count: u64,
    mut each: impl FnMut(&mut Tx<'_, '_, M>, At<M::Dep>),
) {
    let fan = fs.shape.fan();
    let height = tx.read(inode.field(HEIGHT)).v;
    for level in 0..=height {
        let span = reach(fan, level);
        for i in (0..count).step_by(span as usize) {
            let mut at = tx.read(inode.field(ROOT)).ptr();
            for above in (level + 1..=height).rev() {
                at = tx.read(at.field(slot(fan, above, i))).ptr();
            }
            each(tx, at);
        }
    }
}
