//! The deliberate mistakes that the transaction runtime can make. None of this exists in a fixed build.

use super::Tx;
use crate::choices::Variant;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, At, Buffered, Dialect, Fence, Mem, Span, Val, Width};

impl<M: Mem> Tx<'_, '_, M> {
    /// Starts the transaction wrongly, where the mistake stands at its start.
    pub(super) fn slip_at_begin(&mut self) {
        match self.rt.variant {
            Variant::MissingPcommit => self.mutilate(without_pcommit),
            Variant::MissingCommit => self.mutilate(without_commit),
            Variant::MisplacedCommit if self.pm.idiom().ranges => {
                self.pm.commit(Span {
                    at: Addr(self.log),
                    len: LINE_BYTES,
                });
                self.mutilate(without_commit);
            }
            Variant::MisplacedFence if self.logs() => self.pm.order(),
            _ => {}
        }
    }
    /// Runs the transaction under another dialect.
    fn mutilate(&mut self, other: fn(Dialect) -> Dialect) {
        let whole = self.pm.dialect;
        self.slips.dialect = Some(whole);
        self.pm.dialect = other(whole);
    }
    /// Undoes what the mistakes did to the thread.
    pub(super) fn slip_at_commit(&mut self) {
        if let Some(whole) = self.slips.dialect.take() {
            self.pm.dialect = whole;
        }
    }
    /// A store that is held back to the end of the transaction.
    pub(super) fn hold_back(&mut self, at: At<M::Dep>, value: Val<M::Dep>, width: Width) {
        self.pm.lists.late.set(at.addr.0, Buffered { at, value, width });
    }
    /// Emits the stores that were held back; true if there were any.
    pub(super) fn write_late(&mut self) -> bool {
        if !Self::MISTAKES || self.pm.lists.late.is_empty() {
            return false;
        }
        for i in 0..self.pm.lists.late.len() {
            let b = self.pm.lists.late.at(i).1;
            self.store(b.at, b.value, b.width);
        }
        self.pm.lists.late.clear();
        true
    }
    /// Whether this line's flush is to be left out.
    pub(super) fn skips_flush(&mut self, line: u64) -> bool {
        self.slips.unflushed == Some(line) || std::mem::take(&mut self.slips.flush)
    }
    /// Where assertions are on: a grouped write must lie in what was announced.
    pub(super) fn assert_announced(&self, at: At<M::Dep>, width: Width) {
        if cfg!(debug_assertions) && Self::MISTAKES {
            let inside = |r: &(u64, u64)| at.addr.0 >= r.0 && at.addr.0 + width.bytes() <= r.1;
            assert!(
                self.slips.announced.iter().any(inside),
                "a store to {} that no `protect` announced: grouped logging would lose its old value",
                at.addr
            );
        }
    }
    pub(super) fn remember_announced(&mut self, at: At<M::Dep>, len: u64) {
        if cfg!(debug_assertions) && Self::MISTAKES {
            self.slips.announced.push((at.addr.0, at.addr.0 + len));
        }
    }
}

/// The dialect with every `pcommit` taken out of its barriers.
fn without_pcommit(d: Dialect) -> Dialect {
    let strip = |fences: &'static [Fence]| -> &'static [Fence] {
        if fences.contains(&Fence::Pcommit) {
            &[Fence::Sfence]
        } else {
            fences
        }
    };
    Dialect {
        order: strip(d.order),
        log_to_data: strip(d.log_to_data),
        durable: strip(d.durable),
        ..d
    }
}
/// The dialect without commits of ranges.
fn without_commit(d: Dialect) -> Dialect {
    Dialect { ranges: false, ..d }
}
