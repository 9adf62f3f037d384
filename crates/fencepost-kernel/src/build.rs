//! What a back end was compiled for: a dialect and a way of logging, fixed so that nothing else is left in the code.
//!
//! Where they are chosen when a run begins (simulation, exploration), one compiled program serves every choice. Where the
//! instructions of a program matter (counting, native runs), a back end names them as constants: the compiler then drops every branch
//! of the others, the deliberate mistakes included.

use crate::dialect::Dialect;

/// Who writes undo records, and how.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// An entry of address, old value and check, written where the store stands: what a careful engineer ships.
    Inline,
    /// A call for each store; an entry of type, size, thread, address, old value and sequence number; checks of capacity and of
    /// duplicates; a set of lines to flush: what the libraries of the papers' lineage do.
    Library,
}

/// Where undo records lie.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One behind the other.
    Array,
    /// Nodes of a linked list, spliced in before the store they protect.
    List,
}

/// How a transaction runtime makes an update atomic.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Not at all: structure and locks only.
    Plain,
    /// The hardware does.
    Hardware,
    /// The program orders its persists by hand.
    Raw,
    /// Old values are logged before they are overwritten in place.
    Undo {
        /// Who writes the records.
        flavour: Flavour,
        /// Where they lie.
        shape: Shape,
        /// Whole objects are logged ahead of their stores and share a barrier; else each store has its own.
        grouped: bool,
    },
    /// New values are logged; stores in place follow the commit record.
    Redo,
    /// The same by cache block: a copy of each, logged once however often it is stored to.
    RedoBlock,
    /// The inputs of idempotent regions are logged.
    Ido,
}

/// One compiled choice.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// The instructions that the intents become.
    pub dialect: Dialect,
    /// How transactions run.
    pub mode: Mode,
}
