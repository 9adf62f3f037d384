//! Redo logging: entries; commit record; in-place writes; truncation. Each phase durable before the next.

use super::record::{Check, Head, UNIT};
use super::{APPLIED, COMMIT, RECORDS, Tx};
use crate::sites;
use crate::words::Variant;
use fencepost_kernel::{Addr, At, Mem, Val, Width};

/// Low bits of the commit record that count its entries; the sequence number is above them.
pub(super) const COUNT_BITS: u32 = 24;

impl<M: Mem> Tx<'_, M> {
    /// Logs the new value and keeps it back until commit.
    #[track_caller]
    pub(super) fn redo_write(&mut self, at: At<M::Dep>, v: Val<M::Dep>, width: Width) {
        let head = Head {
            seq: self.seq,
            thread: self.thread,
            bytes: width.bytes(),
            previous: 0,
        };
        // What the record holds is what replay stores: a narrow value without the bits that would not be stored.
        let v = v.map(|x| width.extract(x, 0));
        let check = Check::new().add(head.pack()).add(at.addr.0).add(v.v).end();
        let to = self.cursor;
        self.log_word(to, Val::lit(head.pack()));
        self.log_word(
            to + 8,
            Val {
                v: at.addr.0,
                dep: at.dep,
            },
        );
        self.log_word(to + 16, v);
        self.log_word(
            to + 24,
            Val {
                v: check,
                dep: v.dep.max(at.dep),
            },
        );
        self.cursor += UNIT;
        self.records += 1;
        self.lists.writes.put(at, v, width);
        self.pm.m.compute(sites::LOG_RECORD);
    }
    #[track_caller]
    pub(super) fn redo_commit(&mut self) {
        if self.lists.writes.is_empty() && self.lists.dirty.is_empty() && self.lists.late.is_empty() {
            return;
        }
        self.pm
            .log_persist(At::new(Addr(self.log.0 + RECORDS)), self.cursor - RECORDS);
        self.flush_dirty();
        self.order();
        let wrong = self.rt.variant == Variant::WrongStoreOrder;
        if wrong {
            self.redo_apply();
            self.write_late();
            self.flush_dirty();
            self.order();
        }
        self.log_mark(COMMIT, (u64::from(self.seq) << COUNT_BITS) | self.records);
        self.order();
        if !wrong {
            self.redo_apply();
            self.flush_dirty();
            self.order();
        }
        self.log_mark(APPLIED, u64::from(self.seq));
        self.order();
    }
    #[track_caller]
    fn redo_apply(&mut self) {
        for i in 0..self.lists.writes.len() {
            let b = self.lists.writes.at(i);
            self.store(b.at, b.value, b.width);
        }
        self.lists.writes.clear();
    }
}
