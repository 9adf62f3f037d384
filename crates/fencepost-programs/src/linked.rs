//! What the linked structures whose changes are one link store share (`hash`, `ll`): unlinking a node, and redoing a link after a failure.

use crate::choices::{Scheme, Variant};
use crate::layout::Rows;
use crate::pool::Pool;
use crate::tx::{Region, Tx};
use fencepost_kernel::{Addr, At, Mem, Val, Violation};

/// The region of a change: one link store.
pub(crate) const REGION_LINK: u8 = 1;

/// Mistakes of structures whose changes are one link store.
pub(crate) const LINK_VARIANTS: &[Variant] = &[
    Variant::NonAtomicUpdate,
    Variant::SemanticMistake,
    Variant::UnflushedUnlink,
];
/// A region, and what a redo log holds, is one link store here, which is atomic by itself.
pub(crate) const ONE_LINK: &[(Scheme, Variant)] = &[
    (Scheme::Ido, Variant::MissingLogFence),
    (Scheme::Redo, Variant::RecoveryEndsLogFirst),
    (Scheme::RedoBlock, Variant::RecoveryEndsLogFirst),
];

/// The words that hold links: heads, and a word of every node.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Linked {
    /// Where the chains begin.
    pub heads: Rows,
    /// Nodes that stand before the run.
    pub planted: Rows,
    /// Where the others come from.
    pub pool: Pool,
    /// Offset of a node's link.
    pub next: u64,
}

impl Linked {
    /// Whether a node begins at `at`. Recovery and audits trust no pointer before asking this.
    pub(crate) fn is_node(&self, at: u64) -> bool {
        self.planted.owns(at) || self.pool.owns(Addr(at))
    }
    fn is_link(&self, at: u64) -> bool {
        self.heads.owns(at) || (at >= self.next && self.is_node(at - self.next))
    }
    /// Lets `link` lead to a new node, whose words are written.
    #[inline(always)]
    pub(crate) fn link<M: Mem>(tx: &mut Tx<'_, '_, M>, link: At<M::Dep>, node: At<M::Dep>) {
        tx.step();
        tx.region(REGION_LINK, &[link.pointer(), node.pointer()]);
        tx.update(link, node.pointer());
        tx.step();
    }
    /// Takes the node that `link` leads to, whose own link is at `next`, out of its chain.
    #[inline(always)]
    pub(crate) fn unlink<M: Mem>(tx: &mut Tx<'_, '_, M>, link: At<M::Dep>, node: At<M::Dep>, next: u64) {
        let mut next = tx.read(node.field(next));
        if tx.slip(Variant::SemanticMistake) {
            next = Val::lit(0); // The mistake: the rest of the chain is cut off.
        }
        tx.region(REGION_LINK, &[link.pointer(), next]);
        if tx.slip(Variant::UnflushedUnlink) {
            tx.write_unflushed(link, next);
        } else {
            tx.update(link, next);
        }
        tx.step();
        tx.free(node);
    }
    /// Redoes the link store of an interrupted region.
    pub(crate) fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, region: &Region<()>) -> Result<(), Violation> {
        let (link, to) = (region.inputs[0].v, region.inputs[1].v);
        if region.id != REGION_LINK || !self.is_link(link) || !(to == 0 || self.is_node(to)) {
            return Err(Violation {
                why: "a region record names no link of the structure".into(),
                at: None,
            });
        }
        m.store(At::new(Addr(link)), Val::lit(to));
        Ok(())
    }
}
