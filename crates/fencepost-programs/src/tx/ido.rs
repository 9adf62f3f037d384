//! iDO logging: a record of a region's inputs before the region, nothing per store.

use super::record::{fold, seal};
use super::region::{MAX_INPUTS, Region, SLOT, head};
use super::{COMMIT, NO_LINE, RECORDS, Tx};
use crate::choices::Variant;
use crate::sites;
use fencepost_kernel::{Addr, At, Mem, Mode, Val};

impl<M: Mem> Tx<'_, '_, M> {
    /// An idempotent region begins: it reads only `inputs` and what it does not overwrite. Under iDO the previous region's
    /// stores become durable, then the inputs are logged, ordered before this region's stores.
    ///
    /// # Panics
    /// If there are more than [`MAX_INPUTS`] inputs.
    #[track_caller]
    #[inline(always)]
    pub fn region(&mut self, id: u8, inputs: &[Val<M::Dep>]) {
        let outer = self.enter();
        match self.mode() {
            Mode::Ido if M::FIXED.is_some() => self.ido_region(id, inputs),
            Mode::Ido => self.region_called(id, inputs),
            _ => {}
        }
        self.leave(outer);
    }
    #[inline(never)]
    fn region_called(&mut self, id: u8, inputs: &[Val<M::Dep>]) {
        self.ido_region(id, inputs);
    }
    /// Whether regions are logged at all: ask before gathering inputs costs anything.
    #[inline(always)]
    pub fn has_regions(&self) -> bool {
        self.mode() == Mode::Ido
    }
    #[inline(always)]
    fn ido_region(&mut self, id: u8, inputs: &[Val<M::Dep>]) {
        self.ido_end_region();
        if self.slip(Variant::WrongStoreOrder) {
            let mut region = Region {
                id,
                len: inputs.len(),
                inputs: [Val::lit(0); MAX_INPUTS],
                position: self.regions,
            };
            region.inputs[..inputs.len()].copy_from_slice(inputs);
            self.slips.region = Some(region);
        } else {
            self.ido_record(id, self.regions, inputs);
        }
        self.regions += 1;
    }
    /// Makes the stores since the last record durable.
    #[inline(always)]
    fn ido_end_region(&mut self) {
        if Self::MISTAKES
            && let Some(r) = self.slips.region.take()
        {
            self.ido_record(r.id, r.position, &r.inputs[..r.len]);
        }
        if self.line != NO_LINE {
            self.flush_dirty();
            self.order();
        }
    }
    #[inline(always)]
    fn ido_record(&mut self, id: u8, position: u64, inputs: &[Val<M::Dep>]) {
        assert!(
            inputs.len() <= MAX_INPUTS,
            "a region has more inputs than its record holds"
        );
        let at = self.log + RECORDS + (position % 2) * SLOT;
        let head = head(self.seq, position, id, inputs.len());
        let mut check = fold(0, head);
        let mut dep = M::Dep::default();
        self.log_word(at, Val::lit(head));
        let mut to = at + 8;
        for input in inputs {
            check = fold(check, input.v);
            dep = dep.max(input.dep);
            self.log_word(to, *input);
            to += 8;
        }
        let v = seal(self.seq, check);
        self.log_word(to, Val { v, dep });
        self.pm.m.compute(sites::REGION_RECORD);
        self.pm.log_persist(At::new(Addr(at)), to + 8 - at);
        self.log_to_data();
    }
    #[inline(always)]
    pub(super) fn ido_commit(&mut self) {
        if self.regions == 0 && (!Self::MISTAKES || self.pm.lists.late.is_empty()) {
            return;
        }
        self.ido_end_region();
        if self.write_late() {
            self.flush_dirty();
            self.order();
        }
        self.log_mark(COMMIT, u64::from(self.seq));
        self.order();
    }
}
