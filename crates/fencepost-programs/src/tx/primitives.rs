//! What every way of logging is made of: stores in place, barriers, words of the log.

use super::transaction::Caller;
use super::{RECORDS, Tx};
use crate::choices::Variant;
use fencepost_kernel::planted;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, LogPath, Mem, Val, Width};
use std::panic::Location;

impl<M: Mem> Tx<'_, '_, M> {
    /// The runtime begins to work for the line of the program that called it: what it stores is named by that line and, second, by its
    /// own. Returns what [`Tx::leave`] wants.
    #[track_caller]
    #[inline(always)]
    pub(super) fn enter(&mut self) -> Caller {
        self.pm.m.work_for(Some(Location::caller()))
    }
    /// The runtime returns to the program.
    #[inline(always)]
    pub(super) fn leave(&mut self, outer: Caller) {
        self.pm.m.work_for(outer);
    }
    /// A store in place, its line remembered for the flush at commit.
    #[track_caller]
    #[inline(always)]
    pub(super) fn store(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        if self.logs() {
            self.dirty(at.addr);
            self.store_tracked(at, v, width);
        } else {
            self.pm.m.store_n(at, v, width);
        }
    }
    /// A store to a line that is remembered already.
    #[track_caller]
    #[inline(always)]
    pub(super) fn store_tracked(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        if Self::MISTAKES && std::mem::take(&mut self.slips.early_flush) {
            self.pm.persist(at, width.bytes());
        }
        self.pm.m.store_n(at, v, width);
    }
    /// An ordering barrier of the transaction (the deliberate mistakes drop the first).
    #[track_caller]
    #[inline(always)]
    pub(super) fn order(&mut self) {
        if !(Self::MISTAKES && std::mem::take(&mut self.slips.order)) {
            self.pm.order();
        }
    }
    /// The barrier between the records of a list and the link to them, an ordering barrier as others are.
    #[track_caller]
    #[inline(always)]
    pub(super) fn log_link(&mut self) {
        if !(Self::MISTAKES && std::mem::take(&mut self.slips.order)) {
            self.pm.log_link();
        }
    }
    /// The barrier between log and data.
    #[track_caller]
    #[inline(always)]
    pub(super) fn log_to_data(&mut self) {
        let left_out = planted!(
            "tx.record-not-ordered",
            "a log record is durable before the data that it protects"
        );
        if !self.slip(Variant::MissingLogFence) && !left_out {
            self.pm.log_to_data();
        }
    }
    #[inline(always)]
    pub(super) fn first_record(&self) -> u64 {
        self.log + RECORDS
    }
    /// The log is sized for the program's largest transaction; code for a fixed build relies on it.
    #[inline(always)]
    pub(super) fn assert_fits(&self, words: u64) {
        if Self::MISTAKES {
            let end = self.log + self.rt.log_bytes;
            assert!(
                self.cursor + words * 8 <= end,
                "the log area is too small for this transaction"
            );
        }
    }
    #[track_caller]
    #[inline(always)]
    pub(super) fn log_word(&mut self, at: u64, v: Val<M::Dep>) {
        self.pm.log_store(At::new(Addr(at)), v);
    }
    /// Stores one of the words that end or truncate a transaction, and starts its way to memory.
    #[track_caller]
    #[inline(always)]
    pub(super) fn log_mark(&mut self, offset: u64, v: u64) {
        let at = At::new(Addr(self.log + offset));
        self.pm.log_store(at, Val::lit(v));
        if self.pm.idiom().log_path == LogPath::Temporal {
            self.pm.persist_line(at.addr.0 / LINE_BYTES);
        }
    }
}
