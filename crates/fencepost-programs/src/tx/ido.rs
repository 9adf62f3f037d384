//! iDO logging: a record of a region's inputs before the region, nothing per store.

use super::record::Check;
use super::{COMMIT, Mode, RECORDS, Tx};
use crate::sites;
use crate::words::Variant;
use fencepost_kernel::{Addr, At, Mem, Val};

/// Inputs a region may have: what fits a slot beside head and check.
pub const MAX_INPUTS: usize = 22;
/// Bytes of one of the two alternating record slots.
pub(super) const SLOT: u64 = 192;

/// The record of an idempotent region: which one, and the values live into it.
#[derive(Copy, Clone, Debug)]
pub struct Region<D> {
    /// The program's number for the region, from 1 ("address of its first instruction").
    pub id: u8,
    /// How many inputs.
    pub len: usize,
    /// The values live into it.
    pub inputs: [Val<D>; MAX_INPUTS],
    /// Position of the region within its transaction, from 0.
    pub position: u64,
}

/// Head word of a region record.
pub(super) fn head(seq: u32, position: u64, id: u8, len: usize) -> u64 {
    (u64::from(seq) << 32) | (position << 16) | (u64::from(id) << 8) | len as u64
}

impl<M: Mem> Tx<'_, M> {
    /// An idempotent region begins: it reads only `inputs` and what it does not overwrite. Under iDO the previous region's
    /// stores become durable, then the inputs are logged, ordered before this region's stores.
    ///
    /// # Panics
    /// If there are more than [`MAX_INPUTS`] inputs.
    #[track_caller]
    pub fn region(&mut self, id: u8, inputs: &[Val<M::Dep>]) {
        if self.mode != Mode::Ido {
            return;
        }
        let mut region = Region {
            id,
            len: inputs.len(),
            inputs: [Val::lit(0); MAX_INPUTS],
            position: self.regions,
        };
        region.inputs[..inputs.len()].copy_from_slice(inputs);
        self.ido_end_region();
        self.regions += 1;
        if self.rt.variant == Variant::WrongStoreOrder {
            self.region = Some(region);
        } else {
            self.ido_record(&region);
        }
    }
    /// Makes the stores since the last record durable.
    #[track_caller]
    fn ido_end_region(&mut self) {
        if let Some(held_back) = self.region.take() {
            self.ido_record(&held_back);
        }
        if !self.lists.dirty.is_empty() {
            self.flush_dirty();
            self.order();
        }
    }
    #[track_caller]
    fn ido_record(&mut self, region: &Region<M::Dep>) {
        let at = RECORDS + (region.position % 2) * SLOT;
        let head = head(self.seq, region.position, region.id, region.len);
        let mut check = Check::new().add(head);
        let mut dep = M::Dep::default();
        self.log_word(at, Val::lit(head));
        self.pm.m.compute(sites::REGION_RECORD);
        for (i, input) in region.inputs[..region.len].iter().enumerate() {
            check = check.add(input.v);
            dep = dep.max(input.dep);
            self.log_word(at + 8 + i as u64 * 8, *input);
            self.pm.m.compute(sites::LOG_WORD);
        }
        let bytes = 8 * (region.len as u64 + 2);
        self.log_word(at + bytes - 8, Val { v: check.end(), dep });
        self.pm.log_persist(At::new(Addr(self.log.0 + at)), bytes);
        self.log_to_data();
    }
    #[track_caller]
    pub(super) fn ido_commit(&mut self) {
        if self.regions == 0 && self.lists.dirty.is_empty() && self.lists.late.is_empty() {
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
