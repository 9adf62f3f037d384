//! Undo logging: array and linked list, grouped and per store, inline and as a library.

use super::record::{MAX_PAYLOAD, UNIT, code, fold, library_head, previous, range_code, seal, units};
use super::{COMMIT, NO_LINE, Tx};
use crate::choices::Variant;
use crate::sites;
use fencepost_kernel::planted;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, Flavour, Mem, Mode, Shape, Val, Width};

impl<M: Mem> Tx<'_, '_, M> {
    #[inline(always)]
    fn flavour(&self) -> Flavour {
        match self.mode() {
            Mode::Undo { flavour, .. } => flavour,
            _ => Flavour::Inline,
        }
    }
    #[inline(always)]
    fn is_list(&self) -> bool {
        matches!(self.mode(), Mode::Undo { shape: Shape::List, .. })
    }
    /// Per store: logs the old value, orders the record before what follows, and remembers the line.
    #[inline(always)]
    pub(super) fn undo_before_store(&mut self, at: At<M::Dep>, width: Width) {
        match self.flavour() {
            Flavour::Inline => {
                self.inline_record(at, width);
                self.seal_from(self.cursor - UNIT);
                self.dirty(at.addr);
            }
            Flavour::Library if M::FIXED.is_some() => self.library_call(at, width),
            Flavour::Library => self.library_store(at, width),
        }
        if self.slip(Variant::WrongStoreOrder) && !self.slips.committed_early {
            self.undo_commit_early();
        }
    }
    /// The mistake of the wrong store order: the commit mark before the data.
    pub(super) fn undo_commit_early(&mut self) {
        self.slips.committed_early = true;
        self.undo_commit_mark();
        self.order();
    }
    /// Appends the record of one access, written where the store stands.
    #[inline(always)]
    fn inline_record(&mut self, at: At<M::Dep>, width: Width) {
        let old = self.pm.m.load_n(at, width);
        let named = at.pointer().map(|a| a | code(width));
        if self.is_list() {
            self.assert_fits(3);
            self.log_word(self.cursor, Val::lit(self.previous));
            self.log_word(self.cursor + 8, named);
            self.log_word(self.cursor + 16, old);
            self.previous = self.cursor;
        } else {
            self.assert_fits(3);
            let named = named.map(|a| a | self.previous);
            let check = |a, o| seal(self.seq, fold(fold(0, a), o));
            let last = named.join(old, check);
            self.log_word(self.cursor, named);
            self.log_word(self.cursor + 8, old);
            self.log_word(self.cursor + 16, last);
            self.previous = previous(1);
        }
        self.cursor += UNIT;
        self.pm.m.compute(sites::LOG_RECORD);
    }
    /// The library's entry point for a store. Out of line, as a library is.
    #[inline(never)]
    fn library_call(&mut self, at: At<M::Dep>, width: Width) {
        self.library_store(at, width);
    }
    #[inline(always)]
    fn library_store(&mut self, at: At<M::Dep>, width: Width) {
        if self.pm.lists.logged.find(at.addr.0).is_none() {
            self.pm.lists.logged.set(at.addr.0, width.bytes());
            self.record(at, width.bytes(), width);
            self.undo_seal();
        }
        self.dirty(at.addr);
    }
    /// Grouped: logs a range as one object, in pieces of at most [`MAX_PAYLOAD`] bytes. `once`: unless an object there has a record.
    #[inline(always)]
    pub(super) fn undo_protect(&mut self, at: At<M::Dep>, len: u64, once: bool) {
        if once || self.flavour() == Flavour::Library {
            let logged = &mut self.pm.lists.logged;
            if logged.find(at.addr.0).is_some_and(|i| logged.at(i).1 >= len) {
                return;
            }
            logged.set(at.addr.0, len);
        }
        if self.flavour() == Flavour::Library && M::FIXED.is_some() {
            self.library_range(at, len);
        } else {
            self.range(at, len);
        }
        self.remember_announced(at, len);
    }
    #[inline(never)]
    fn library_range(&mut self, at: At<M::Dep>, len: u64) {
        self.range(at, len);
    }
    #[inline(always)]
    fn range(&mut self, at: At<M::Dep>, len: u64) {
        let part = len > 8 && planted!("tx.range-logged-in-part", "every word of an announced range is logged");
        let (mut done, logged) = (0, if part { 8 } else { len });
        while done < logged {
            let bytes = (logged - done).min(MAX_PAYLOAD);
            self.record(at.field(done), bytes, Width::B8);
            done += bytes;
        }
        if len == 8 {
            // A word lies on one line.
            return self.dirty(at.addr);
        }
        let mut line = at.addr.0 / LINE_BYTES;
        while line <= (at.addr.0 + len - 1) / LINE_BYTES {
            self.dirty(Addr(line * LINE_BYTES));
            line += 1;
        }
    }
    /// Appends a record of any length, in the flavour's form.
    #[inline(always)]
    fn record(&mut self, at: At<M::Dep>, bytes: u64, width: Width) {
        let (library, list) = (self.flavour() == Flavour::Library, self.is_list());
        let words = bytes.div_ceil(8);
        self.assert_fits(4 + words);
        if library && self.cursor + (4 + words) * 8 > self.log + self.rt.log_bytes {
            full();
        }
        let node = self.cursor;
        let (mut to, mut check) = (node, 0);
        if list {
            check = fold(check, self.previous);
            self.log_word(to, Val::lit(self.previous));
            to += 8;
        }
        let link = if list { 0 } else { self.previous };
        if library {
            let head = library_head(self.thread, bytes, link);
            check = fold(fold(check, head), at.addr.0);
            self.log_word(to, Val::lit(head));
            self.log_word(to + 8, at.pointer());
            to += 16;
        } else {
            let code = if bytes >= 8 { range_code(bytes) } else { code(width) };
            let named = at.pointer().map(|a| a | code | link);
            check = fold(check, named.v);
            self.log_word(to, named);
            to += 8;
        }
        let mut dep = at.dep;
        for i in 0..words {
            let old = self.pm.m.load_n(at.field(i * 8), width);
            check = fold(check, old.v);
            dep = dep.max(old.dep);
            self.log_word(to + i * 8, old);
        }
        to += words * 8;
        if library || !list {
            let v = seal(self.seq, check);
            self.log_word(to, Val { v, dep });
            to += 8;
        }
        self.cursor = node + units((to - node) / 8) * UNIT;
        self.previous = if list {
            node
        } else {
            previous((self.cursor - node) / UNIT)
        };
        self.pm.m.compute(sites::LOG_RECORD);
    }
    /// Orders the records written since the last barrier before whatever data follows.
    #[inline(always)]
    pub(super) fn undo_seal(&mut self) {
        if self.sealed == self.cursor {
            return;
        }
        self.seal_from(self.sealed);
        self.sealed = self.cursor;
    }
    /// Orders the records from `from` on before whatever data follows.
    #[inline(always)]
    fn seal_from(&mut self, from: u64) {
        let flushed = !planted!(
            "tx.record-not-flushed",
            "a log record is flushed before the data that it protects is stored"
        );
        if flushed {
            self.pm.log_persist(At::new(Addr(from)), self.cursor - from);
        }
        if self.is_list() {
            // Splice: only once the nodes are whole.
            self.log_link();
            self.log_mark(COMMIT, self.previous);
        }
        self.log_to_data();
    }
    /// One 8-byte store ends the transaction and kills its records.
    #[inline(always)]
    fn undo_commit_mark(&mut self) {
        let v = if self.is_list() { 0 } else { u64::from(self.seq) };
        self.log_mark(COMMIT, v);
    }
    #[inline(always)]
    pub(super) fn undo_commit(&mut self) {
        self.write_late();
        if self.cursor != self.first_record() {
            self.flush_dirty();
            let ordered = !planted!(
                "tx.mark-before-data",
                "data is durable before the mark that ends its transaction"
            );
            if ordered {
                self.order();
            }
            if !(Self::MISTAKES && self.slips.committed_early) {
                self.undo_commit_mark();
                self.order();
            }
        }
        if self.flavour() == Flavour::Library || !self.pm.lists.logged.is_empty() {
            self.pm.lists.logged.clear();
        }
    }
    /// Remembers that the line of `addr` is to be flushed. Inline: unless it is the same as the one before. Library: a set.
    #[inline(always)]
    pub(super) fn dirty(&mut self, addr: Addr) {
        if self.pm.idiom().flush.is_none() {
            // A region only needs to know that something was stored before it.
            self.line = 0;
            return;
        }
        let line = addr.0 / LINE_BYTES;
        if self.flavour() == Flavour::Library {
            self.pm.lists.line_set.set(line, ());
        } else if line != self.line {
            self.line = line;
            self.pm.lists.lines.push(line);
        }
    }
    /// Flushes the remembered lines.
    #[inline(always)]
    pub(super) fn flush_dirty(&mut self) {
        if self.flavour() == Flavour::Library {
            for i in 0..self.pm.lists.line_set.len() {
                let line = self.pm.lists.line_set.at(i).0;
                self.flush_line(line);
            }
            self.pm.lists.line_set.clear();
            return;
        }
        self.line = NO_LINE;
        let Some(n) = self.pm.lists.lines.few() else {
            return self.flush_many();
        };
        let mut i = 0;
        while i < n {
            let line = self.pm.lists.lines.line(i);
            self.flush_line(line);
            i += 1;
        }
        self.pm.lists.lines.clear();
    }
    #[cold]
    #[inline(never)]
    fn flush_many(&mut self) {
        for line in self.pm.lists.lines.take() {
            self.flush_line(line);
        }
    }
    #[inline(always)]
    fn flush_line(&mut self, line: u64) {
        let forgets = planted!(
            "tx.data-not-flushed",
            "what a transaction stored is flushed before it ends"
        );
        if !(forgets || Self::MISTAKES && self.skips_flush(line)) {
            self.pm.persist_line(line);
        }
    }
}

#[cold]
#[inline(never)]
fn full() -> ! {
    panic!("the log area is too small for this transaction")
}
