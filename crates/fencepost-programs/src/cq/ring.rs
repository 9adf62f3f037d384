//! The queue as a circular buffer: entries in a row of slots, the counts of those taken and of those put in place of the two pointers.
//!
//! An entry becomes part of the queue by the count of those put, its commit point, so an insertion persists two lines and a
//! deletion one. A slot is used again when its entry was taken: who takes says so in DRAM (`freed`, stored with release after its
//! commit), so a durable entry in a used slot implies a durable deletion of the one before.

use super::slots::Ring;
use super::*;
use crate::tx::Region;
use fencepost_kernel::Violation;

/// What a deletion took, and the number of entries taken from then on.
type Taken<D> = (Outcome, Option<Val<D>>);

impl Cq {
    /// Puts a value behind the last entry; where all slots are in use, nothing happens.
    #[inline(always)]
    pub(super) fn put<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        ring: Ring,
        value: u64,
    ) -> Result<Outcome, Rollback> {
        let lock = At::new(self.locks.addr(1));
        pm.lock(lock);
        let freed = pm.m.load_acquire(At::new(ring.freed));
        pm.acquire_fences();
        let result = self.put_locked(pm, (thread, k), ring, value, freed.v);
        if let Ok(Some(last)) = result {
            pm.release_fences();
            pm.m.store_release(At::new(self.published), last);
        }
        pm.unlock(lock);
        result.map(|put| match put {
            Some(_) => Outcome {
                kind: INSERTED,
                words: [value, 0, 0],
            },
            None => Outcome::default(),
        })
    }
    /// The transaction: the number of the last entry from now on, or none where `freed` leaves no slot.
    #[inline(always)]
    fn put_locked<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        ring: Ring,
        value: u64,
        freed: u64,
    ) -> Result<Option<Val<M::Dep>>, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let tail = At::new(self.tail);
        let last = tx.read(tail);
        if last.v - freed == ring.count() {
            tx.commit();
            return Ok(None);
        }
        let last = last.map(|n| n + 1);
        let split = tx.slip(Variant::NonAtomicUpdate);
        let entry = ring.slot_of(last).field(VALUE);
        tx.fresh(entry, Val::lit(if split { 0 } else { value }));
        tx.step();
        tx.protect(tail, 8);
        tx.region(REGION_LINK, &[last]);
        if tx.slip(Variant::UnflushedLink) {
            tx.write_unflushed(tail, last);
        } else {
            tx.write(tail, last);
        }
        tx.step();
        tx.commit();
        if split {
            let mut second = self.rt.begin_part(pm, thread, k, 1)?;
            second.update(entry, Val::lit(value));
            second.step();
            second.commit();
        }
        Ok(Some(last))
    }
    /// Takes the first entry, unless there is none.
    #[inline(always)]
    pub(super) fn take<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        ring: Ring,
    ) -> Result<Outcome, Rollback> {
        let lock = At::new(self.locks.addr(0));
        pm.lock(lock);
        let newest = pm.m.load_acquire(At::new(self.published));
        pm.acquire_fences();
        let result = self.take_locked(pm, (thread, k), ring, newest.v);
        if let Ok((_, Some(taken))) = result {
            pm.release_fences();
            pm.m.store_release(At::new(ring.freed), taken);
        }
        pm.unlock(lock);
        result.map(|(outcome, _)| outcome)
    }
    /// The transaction: what was taken, and the number of entries taken from now on.
    #[inline(always)]
    fn take_locked<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        ring: Ring,
        newest: u64,
    ) -> Result<Taken<M::Dep>, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let head = At::new(self.head);
        let taken = tx.read(head);
        if taken.v == newest {
            tx.commit();
            return Ok((Outcome::default(), None));
        }
        let taken = taken.map(|n| n + 1);
        let value = tx.read(ring.slot_of(taken).field(VALUE));
        tx.region(REGION_UNLINK, &[taken]);
        // The mistake: every third element is handed out but stays in the queue.
        let forgets = value.v.is_multiple_of(3) && tx.slip(Variant::SemanticMistake);
        if !forgets {
            tx.update(head, taken);
            tx.step();
        }
        tx.commit();
        let outcome = Outcome {
            kind: DELETED,
            words: [value.v, 0, 0],
        };
        Ok((outcome, (!forgets).then_some(taken)))
    }

    /// iDO: re-executes the interrupted region.
    pub(super) fn resume_ring<M: Mem<Dep = ()>>(&self, m: &mut M, region: &Region<()>) -> Result<(), Violation> {
        let count = region.inputs[0];
        match region.id {
            REGION_LINK => m.store(At::new(self.tail), count),
            REGION_UNLINK => m.store(At::new(self.head), count),
            _ => {
                return Err(Violation {
                    why: "a region record belongs to no operation of the queue".into(),
                    at: None,
                });
            }
        }
        Ok(())
    }
    /// The audit's first step: both counts.
    pub(super) fn audit_counts<M: Mem<Dep = ()>>(&self, model: &CqModel, m: &mut M, mut cut: Cut) -> Flow<CqAudit> {
        let wrong = |at: Addr, why: &str| Flow::Done(Err(Violation::at(at, why)));
        let taken = m.load(At::new(self.head)).v;
        if model.history.observe(&mut cut, HEAD_REGISTER, taken).is_err() {
            return wrong(
                self.head,
                "as many entries were taken as after no prefix of the operations",
            );
        }
        let last = m.load(At::new(self.tail)).v;
        if model.history.observe(&mut cut, TAIL_REGISTER, last).is_err() {
            return wrong(
                self.tail,
                "as many entries were put as after no prefix of the operations",
            );
        }
        match taken <= last {
            true => Flow::Next(CqAudit::Slot { position: taken, last }),
            false => wrong(self.head, "more entries were taken than put"),
        }
    }
    /// The entry behind `position`.
    pub(super) fn audit_slot<M: Mem<Dep = ()>>(
        &self,
        model: &CqModel,
        m: &mut M,
        (position, last): (u64, u64),
    ) -> Flow<CqAudit> {
        let Some(ring) = self.ring.filter(|_| position < last) else {
            return Flow::Done(Ok(()));
        };
        let position = position + 1;
        let at = ring.slot::<()>(position);
        if model.values.get(position as usize) != Some(&m.load(at.field(VALUE)).v) {
            let why = "an entry of the queue is not whole or holds another operation's value";
            return Flow::Done(Err(Violation::at(at.addr, why)));
        }
        Flow::Next(CqAudit::Slot { position, last })
    }
}
