//! What a test's instructions are on a design: only those that the design gives its contract's meaning.

use fencepost_designs::info::Honours;
use fencepost_kernel::{Addr, Fence, Flush};
use fencepost_litmus::op::{Barrier, FlushKind};

/// What becomes of a barrier.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Lowered {
    /// This fence.
    Fence(Fence),
    /// Everything after waits for the loads before.
    Loads,
    /// Nothing: the core orders that by itself, or the design has no use for it.
    Nothing,
}

/// How a test is written for a design.
#[derive(Copy, Clone, Debug)]
pub(super) struct Lowering {
    honours: Honours,
    /// Whether cores keep the order of stores.
    pub tso: bool,
}

impl Lowering {
    /// For a design that covers these instructions, on cores of this kind.
    pub(super) fn new(honours: Honours, tso: bool) -> Lowering {
        Lowering { honours, tso }
    }
    /// A barrier; where the design does not have it, the next stronger one that it has.
    pub(super) fn barrier(&self, barrier: Barrier) -> Lowered {
        let full = match self.tso {
            true => [Fence::Mfence, Fence::Dmb, Fence::Dsb],
            false => [Fence::Dmb, Fence::Mfence, Fence::Dsb],
        };
        let chosen = match barrier {
            Barrier::Full | Barrier::Light => self.first(&full),
            Barrier::FullSync => self.first(&[Fence::Dsb, Fence::Mfence]).or(self.first(&full)),
            // Where flushes mean nothing, `sfence` is the fence that orders persists.
            Barrier::Sfence => self.first(&[Fence::Sfence]).or(self.first(&full)),
            Barrier::Store | Barrier::StoreSync | Barrier::Eieio => {
                let stores = self.first(&[Fence::DmbSt, Fence::Sfence]);
                stores.or(self.first(&full))
            }
            Barrier::Persist => self.first(&[Fence::PersistBarrier]).or(self.first(&full)),
            Barrier::NewStrand => self.first(&[Fence::NewStrand]),
            Barrier::Pcommit => self.first(&[Fence::Pcommit]),
            Barrier::Load | Barrier::LoadSync | Barrier::Lfence => return Lowered::Loads,
            // What it orders comes as dependences.
            Barrier::Isync => None,
        };
        chosen.map_or(Lowered::Nothing, Lowered::Fence)
    }
    fn first(&self, wanted: &[Fence]) -> Option<Fence> {
        wanted.iter().copied().find(|f| self.honours.fences.contains(f))
    }
    /// A flush; `None` where the hardware persists by itself.
    pub(super) fn flush(&self, kind: FlushKind) -> Option<Flush> {
        let wanted: &[Flush] = match kind {
            FlushKind::Strong => &[Flush::Clflush],
            FlushKind::Weak => &[Flush::Clwb, Flush::CvAp, Flush::ClflushOpt, Flush::Clflush],
        };
        wanted.iter().copied().find(|f| self.honours.flushes.contains(f))
    }
    /// Whether a non-temporal store to an address is one here. To volatile memory it is a store: the bytes of volatile lines that go past
    /// the caches are not modelled.
    pub(super) fn non_temporal(&self, nt: bool, addr: Addr) -> bool {
        nt && self.honours.nt_stores && addr.is_persistent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_a_design_does_not_have_become_stronger_ones() {
        let x86 = Lowering::new(Honours::X86, true);
        assert_eq!(x86.barrier(Barrier::Sfence), Lowered::Fence(Fence::Sfence));
        assert_eq!(x86.barrier(Barrier::FullSync), Lowered::Fence(Fence::Mfence));
        assert_eq!(x86.flush(FlushKind::Strong), Some(Flush::Clflush));
        let arm = Lowering::new(Honours::ARM_BARRIERS, false);
        assert_eq!(arm.barrier(Barrier::Sfence), Lowered::Fence(Fence::Dmb));
        assert_eq!(arm.barrier(Barrier::FullSync), Lowered::Fence(Fence::Dsb));
        assert_eq!(arm.barrier(Barrier::Load), Lowered::Loads);
        assert_eq!(arm.barrier(Barrier::Isync), Lowered::Nothing);
        assert_eq!(arm.flush(FlushKind::Weak), None);
    }
}
