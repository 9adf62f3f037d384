//! What a transaction remembers while it runs, kept from one transaction to the next so that none allocates.

use super::keyed::Keyed;
use super::writes::WriteSet;
use fencepost_kernel::At;
use std::any::Any;
use std::cell::RefCell;

/// The lists of one transaction.
pub(crate) struct Scratch<D> {
    /// Lines (by number) stored to and not yet flushed.
    pub dirty: Keyed<(), 16>,
    /// Ranges whose old contents are logged.
    pub covered: Vec<(u64, u64)>,
    /// Redo: stores not yet applied.
    pub writes: WriteSet<D>,
    /// Wrong-store-order variant: contents of new blocks, held back to the end.
    pub late: WriteSet<D>,
    /// Blocks to return once the transaction has committed.
    pub freed: Vec<At<D>>,
}

thread_local! {
    /// Lists that no transaction uses at the moment. Transactions of several simulated threads overlap on one host thread.
    static IDLE: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

impl<D: Copy + Default + Ord + 'static> Scratch<D> {
    /// Empty lists, used before if there are any.
    pub fn take() -> Box<Scratch<D>> {
        let idle = IDLE.with_borrow_mut(Vec::pop);
        // Lists of another back end's type are dropped; back ends do not alternate often.
        match idle.and_then(|any| any.downcast::<Scratch<D>>().ok()) {
            Some(scratch) => scratch,
            None => {
                let (dirty, writes, late) = (Keyed::new(), WriteSet::new(), WriteSet::new());
                Box::new(Scratch {
                    dirty,
                    covered: Vec::new(),
                    writes,
                    late,
                    freed: Vec::new(),
                })
            }
        }
    }
    /// Gives the lists back, emptied.
    pub fn give_back(mut self: Box<Self>) {
        self.dirty.clear();
        self.covered.clear();
        self.writes.clear();
        self.late.clear();
        self.freed.clear();
        IDLE.with_borrow_mut(|idle| idle.push(self));
    }
}
