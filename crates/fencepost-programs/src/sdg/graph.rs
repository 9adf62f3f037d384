//! How the graph of `sdg` lies in memory.

use crate::dict::Dict;
use crate::layout::{Footprint, Locks, Rows};
use crate::tx::Runtime;

/// Links of a node, and of a vertex as the header of its list: an empty list leads back to its header.
pub(super) const NEXT: u64 = 0;
pub(super) const PREV: u64 = 8;
pub(super) const LINKS: u64 = 16;
/// Number of a vertex's edges.
pub(super) const DEGREE: u64 = 16;
pub(super) const HEADER: u64 = 24;
/// Bytes of a vertex; none lies on two lines.
pub(super) const VERTEX: u64 = 32;
/// What a node holds besides its links.
pub(super) const TARGET: u64 = 16;
pub(super) const WEIGHT: u64 = 24;
pub(super) const NODE: u64 = 64;

/// The program.
#[derive(Clone, Debug)]
pub struct Sdg {
    pub(super) rt: Runtime,
    /// A key is an edge that may be there.
    pub(super) dict: Dict,
    pub(super) neighbours: u64,
    pub(super) vertices: Rows,
    pub(super) planted: Rows,
    pub(super) locks: Locks,
    pub(super) footprint: Footprint,
}
