//! Undo logging: array and linked list, grouped and per store.

use super::record::{Check, Head, MAX_PAYLOAD, UNIT, units};
use super::{COMMIT, Mode, Tx};
use crate::sites;
use crate::words::Variant;
use fencepost_kernel::{Addr, At, Mem, Val, Width};

impl<M: Mem> Tx<'_, M> {
    /// Logs a range as one object, in pieces of at most [`MAX_PAYLOAD`] bytes, unless it is logged already.
    #[track_caller]
    pub(super) fn undo_protect(&mut self, at: At<M::Dep>, len: u64) {
        if self.is_covered(at.addr, len) {
            return;
        }
        let mut done = 0;
        while done < len {
            let bytes = (len - done).min(MAX_PAYLOAD);
            self.undo_record(at.field(done), bytes, Width::B8);
            done += bytes;
        }
        self.lists.covered.push((at.addr.0, at.addr.0 + len));
    }
    fn is_covered(&self, at: Addr, len: u64) -> bool {
        self.lists
            .covered
            .iter()
            .rev()
            .any(|(from, to)| at.0 >= *from && at.0 + len <= *to)
    }
    /// Makes a write legal: its old value is logged, and ordered before it.
    #[track_caller]
    pub(super) fn undo_before_write(&mut self, at: At<M::Dep>, width: Width) {
        if !(self.grouped && self.is_covered(at.addr, width.bytes())) {
            self.undo_record(at, width.bytes(), width);
            if self.grouped {
                self.lists.covered.push((at.addr.0, at.addr.0 + width.bytes()));
            }
        }
        self.undo_seal();
        if self.rt.variant == Variant::WrongStoreOrder && !self.committed_early {
            self.committed_early = true;
            self.undo_commit_mark();
            self.order();
        }
    }
    /// Appends one record: type and size, thread and sequence, address, old value, check. List nodes begin with the
    /// pointer to the node before.
    #[track_caller]
    fn undo_record(&mut self, at: At<M::Dep>, bytes: u64, width: Width) {
        let list = self.mode == Mode::UndoList;
        let previous = if list { 0 } else { self.previous };
        let head = Head {
            seq: self.seq,
            thread: self.thread,
            bytes,
            previous,
        };
        let node = self.cursor;
        let mut to = node;
        let mut check = Check::new();
        if list {
            check = check.add(self.previous);
            self.log_word(to, Val::lit(self.previous));
            to += 8;
        }
        check = check.add(head.pack()).add(at.addr.0);
        self.log_word(to, Val::lit(head.pack()));
        self.log_word(
            to + 8,
            Val {
                v: at.addr.0,
                dep: at.dep,
            },
        );
        let mut dep = at.dep;
        for i in 0..head.words() {
            let old = self.pm.m.load_n(at.field(i * 8), width);
            check = check.add(old.v);
            dep = dep.max(old.dep);
            self.log_word(to + 16 + i * 8, old);
            self.pm
                .m
                .compute(if i == 0 { sites::LOG_RECORD } else { sites::LOG_WORD });
        }
        self.log_word(to + 16 + head.words() * 8, Val { v: check.end(), dep });
        self.records += 1;
        if list {
            self.previous = self.log.0 + node;
            self.cursor = (to + (head.words() + 3) * 8).next_multiple_of(2 * UNIT);
        } else {
            self.previous = units(bytes);
            self.cursor += self.previous * UNIT;
        }
    }
    /// Orders the records written since the last barrier before whatever data follows.
    #[track_caller]
    fn undo_seal(&mut self) {
        if self.sealed == self.cursor {
            return;
        }
        let (from, len) = (At::new(Addr(self.log.0 + self.sealed)), self.cursor - self.sealed);
        self.pm.log_persist(from, len);
        if self.mode == Mode::UndoList {
            // Splice: only once the nodes are whole.
            self.order();
            let newest = self.previous;
            self.log_mark(COMMIT, newest);
        }
        self.log_to_data();
        self.sealed = self.cursor;
    }
    /// One 8-byte store ends the transaction and kills its records.
    #[track_caller]
    fn undo_commit_mark(&mut self) {
        let v = if self.mode == Mode::UndoList {
            0
        } else {
            u64::from(self.seq)
        };
        self.log_mark(COMMIT, v);
    }
    #[track_caller]
    pub(super) fn undo_commit(&mut self) {
        self.write_late();
        if self.records == 0 && self.lists.dirty.is_empty() {
            return;
        }
        self.flush_dirty();
        self.order();
        if !self.committed_early {
            self.undo_commit_mark();
            self.order();
        }
    }
}
