//! The nodes of a linked structure: where its root pointer lies, which stand before the run, where the others come from.

use crate::layout::Rows;
use crate::pool::Pool;
use fencepost_kernel::Addr;

/// The nodes of one structure.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Nodes {
    /// Where the root pointer lies.
    pub root: Addr,
    /// Nodes that stand before the run.
    pub planted: Rows,
    /// Where the others come from.
    pub pool: Pool,
}

impl Nodes {
    /// Whether a node begins at `at`. Recovery and audits trust no pointer before asking this.
    pub fn owns(&self, at: u64) -> bool {
        self.planted.owns(at) || self.pool.owns(Addr(at))
    }
}
