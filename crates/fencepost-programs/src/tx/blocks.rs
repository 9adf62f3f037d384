//! The entries of a redo log by cache block: a copy of each block that a transaction updates, written once, however often the transaction
//! stores to it.
//!
//! The copy is what the transaction writes and reads back until it commits; then it is flushed, once. Of a block, the copy holds the
//! bytes that were stored: other threads may own the rest of it, and neither commit nor recovery touches that. A line that names four
//! blocks, each by its address and a bit a byte, is followed by their copies. Records are told from older ones by the sequence number's
//! low bits above the address; the commit record is durable after all of them, so they need no check.

use super::Tx;
use super::block_log::{accesses, bytes, copy_at, log_bytes, name, name_at};
use super::record::RECORDS;
use crate::sites;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, Mem, Val, Width};

impl<M: Mem> Tx<'_, '_, M> {
    #[inline(always)]
    fn copy(&self, block: u64, at: Addr) -> At<M::Dep> {
        At::new(Addr(self.log + copy_at(block) + at.0 % LINE_BYTES))
    }
    /// The number of the block of a line, if it has one. Most accesses are to the block of the one before.
    #[inline(always)]
    fn block_of(&mut self, line: u64) -> Option<usize> {
        if line != self.block.0 {
            self.block = (line, self.pm.lists.blocks.find(line)?);
        }
        Some(self.block.1)
    }
    #[inline(always)]
    fn new_block(&mut self, line: u64) -> usize {
        let block = self.pm.lists.blocks.len();
        self.pm.lists.blocks.set(line, 0);
        self.block = (line, block);
        block
    }
    /// Stores to the copy of the block, a new one at its first store.
    #[inline(always)]
    pub(super) fn block_write(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        let line = at.addr.0 / LINE_BYTES;
        let block = match self.block_of(line) {
            Some(block) => block,
            None => self.new_block(line),
        };
        *self.pm.lists.blocks.at_mut(block) |= bytes(at.addr, width);
        if Self::MISTAKES {
            let end = log_bytes(block as u64 + 1);
            assert!(
                end <= self.rt.log_bytes,
                "the log area is too small for this transaction"
            );
        }
        let copy = self.copy(block as u64, at.addr);
        self.pm.m.store_n(copy, v, width);
        self.pm.m.compute(sites::LOG_RECORD);
    }
    /// Where the transaction's own store to these bytes is, if there was one.
    #[inline(always)]
    pub(super) fn block_copy(&mut self, at: Addr, width: Width) -> Option<At<M::Dep>> {
        let block = self.block_of(at.0 / LINE_BYTES)?;
        let wanted = bytes(at, width);
        (self.pm.lists.blocks.at(block).1 & wanted == wanted).then(|| self.copy(block as u64, at))
    }
    /// Names the blocks and starts them on their way to memory; returns their number.
    #[inline(always)]
    pub(super) fn blocks_logged(&mut self) -> u64 {
        let blocks = self.pm.lists.blocks.len() as u64;
        for i in 0..blocks {
            let (line, bytes) = self.pm.lists.blocks.at(i as usize);
            let at = At::new(Addr(self.log + name_at(i)));
            self.pm.m.store(at, Val::lit(name(line, self.seq)));
            self.pm.m.store(at.field(8), Val::lit(bytes));
        }
        if blocks > 0 {
            let (first, end) = (self.log + RECORDS, self.log + copy_at(blocks - 1) + LINE_BYTES);
            self.pm.persist(At::new(Addr(first)), end - first);
        }
        blocks
    }
    /// Copies what was logged to its home.
    #[inline(always)]
    pub(super) fn blocks_applied(&mut self) {
        for i in 0..self.pm.lists.blocks.len() {
            let (line, bytes) = self.pm.lists.blocks.at(i);
            accesses(bytes, |offset, width| {
                let home = At::new(Addr(line * LINE_BYTES + offset));
                let new = self.pm.m.load_n(self.copy(i as u64, home.addr), width);
                self.store(home, new, width);
            });
        }
        self.pm.lists.blocks.clear();
    }
}
