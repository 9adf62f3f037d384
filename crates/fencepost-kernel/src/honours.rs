//! The instructions that a design gives a meaning to.
//!
//! The type lives here so that programs that are drawn at random can be drawn from it; the values live with the designs.

use crate::fence::Fence;
use crate::ops::Flush;

/// What software may issue on a design with the meaning that the design's contract gives it. What is not listed executes, but
/// nobody checks what it promises.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Honours {
    /// Flush instructions that make their line durable once a fence has waited for them.
    pub flushes: &'static [Flush],
    /// Fences and persist barriers.
    pub fences: &'static [Fence],
    /// Non-temporal stores.
    pub nt_stores: bool,
    /// Hardware transactions: `tx_begin`, `tx_commit`, `tx_abort`, `tx_flush`.
    pub transactions: bool,
}

impl Honours {
    /// x86: write-back instructions with fences, non-temporal stores. The Arm barriers are what lock code uses on relaxed cores.
    pub const X86: Honours = Honours {
        flushes: &[Flush::Clwb, Flush::ClflushOpt, Flush::Clflush],
        fences: &[Fence::Sfence, Fence::Mfence, Fence::Dmb, Fence::DmbSt],
        nt_stores: true,
        transactions: false,
    };
    /// Arm barriers and no flush: the hardware persists every store by itself.
    pub const ARM_BARRIERS: Honours = Honours {
        flushes: &[],
        fences: &[Fence::Dmb, Fence::DmbSt, Fence::Dsb],
        nt_stores: true,
        transactions: false,
    };
    /// Plain stores in hardware transactions.
    pub const TRANSACTIONS: Honours = Honours {
        flushes: &[],
        fences: &[Fence::Dmb],
        nt_stores: false,
        transactions: true,
    };
}
