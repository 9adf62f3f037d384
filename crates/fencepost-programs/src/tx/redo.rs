//! Redo logging: entries; commit record; in-place writes; truncation. Each phase durable before the next. Entries are words or cache
//! blocks (`blocks`).

use super::record::{UNIT, code, fold, seal};
use super::{APPLIED, COMMIT, Tx};
use crate::choices::Variant;
use crate::sites;
use fencepost_kernel::planted;
use fencepost_kernel::{Addr, At, Buffered, Mem, Mode, Val, Width};

/// Low bits of the commit record that count its entries; the sequence number is above them.
pub(super) const COUNT_BITS: u32 = 24;

impl<M: Mem> Tx<'_, '_, M> {
    /// Logs the new value and keeps it back until commit.
    #[inline(always)]
    pub(super) fn redo_write(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        // What the record holds is what replay stores: a narrow value without the bits that would not be stored.
        let value = v.map(|x| width.extract(x, 0));
        let named = at.pointer().map(|a| a | code(width));
        self.assert_fits(3);
        self.log_word(self.cursor, named);
        self.log_word(self.cursor + 8, value);
        let last = named.join(value, |a, x| seal(self.seq, fold(fold(0, a), x)));
        self.log_word(self.cursor + 16, last);
        self.cursor += UNIT;
        self.pm.lists.writes.set(at.addr.0, Buffered { at, value, width });
        self.pm.m.compute(sites::LOG_RECORD);
    }
    #[inline(always)]
    pub(super) fn redo_commit(&mut self) {
        let records = match self.mode() {
            Mode::RedoBlock => self.blocks_logged(),
            _ => self.words_logged(),
        };
        if records == 0 && (!Self::MISTAKES || self.pm.lists.late.is_empty()) {
            return;
        }
        self.flush_dirty();
        self.order();
        let wrong = self.slip(Variant::WrongStoreOrder);
        if wrong {
            self.redo_apply();
            self.write_late();
            self.flush_dirty();
            self.order();
        }
        self.log_mark(COMMIT, (u64::from(self.seq) << COUNT_BITS) | records);
        let committed_first = !planted!(
            "tx.applied-before-committed",
            "a redo transaction is committed before it is applied"
        );
        if committed_first {
            self.order();
        }
        if !wrong {
            self.redo_apply();
            self.flush_dirty();
            let data_first = !planted!(
                "tx.log-truncated-early",
                "a redo log is truncated after its data is durable"
            );
            if data_first {
                self.order();
            }
        }
        self.log_mark(APPLIED, u64::from(self.seq));
        self.order();
    }
    /// Starts the records on their way to memory; returns their number.
    #[inline(always)]
    fn words_logged(&mut self) -> u64 {
        let (first, bytes) = (self.first_record(), self.cursor - self.first_record());
        if bytes > 0 {
            self.pm.log_persist(At::new(Addr(first)), bytes);
        }
        bytes / UNIT
    }
    #[inline(always)]
    fn redo_apply(&mut self) {
        if self.mode() == Mode::RedoBlock {
            return self.blocks_applied();
        }
        for i in 0..self.pm.lists.writes.len() {
            let b = self.pm.lists.writes.at(i).1;
            self.store(b.at, b.value, b.width);
        }
        self.pm.lists.writes.clear();
    }
}
