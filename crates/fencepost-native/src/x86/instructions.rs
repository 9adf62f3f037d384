//! The instructions that persist. Each is inlined to exactly itself.
#![allow(
    unsafe_code,
    reason = "assembly: the intrinsics for clwb and clflushopt need compile-time features"
)]

use super::addresses::OFFSET;
use crate::native_report::FlushWith;
use fencepost_kernel::Addr;
use std::arch::asm;

/// `movnti` of a word of the mapping.
///
/// # Safety
/// The word is mapped, writable and aligned.
#[inline(always)]
pub(super) unsafe fn movnti(addr: Addr, v: u64) {
    // SAFETY: as the caller promises. The memory clobber keeps it between the accesses around it.
    unsafe {
        asm!("movnti qword ptr [{a} + {o}], {v}", a = in(reg) addr.0, o = const OFFSET, v = in(reg) v, options(nostack, preserves_flags));
    }
}

/// Starts the write-back of the line of a byte of the mapping.
///
/// # Safety
/// The byte is mapped, and the CPU has the instruction ([`FlushWith::found`] said so).
#[inline(always)]
pub(super) unsafe fn flush(addr: Addr, with: FlushWith) {
    // SAFETY: as the caller promises.
    unsafe {
        match with {
            FlushWith::Clwb => {
                asm!("clwb byte ptr [{a} + {o}]", a = in(reg) addr.0, o = const OFFSET, options(nostack, preserves_flags));
            }
            FlushWith::ClflushOpt => {
                asm!("clflushopt byte ptr [{a} + {o}]", a = in(reg) addr.0, o = const OFFSET, options(nostack, preserves_flags));
            }
            FlushWith::Clflush => {
                asm!("clflush byte ptr [{a} + {o}]", a = in(reg) addr.0, o = const OFFSET, options(nostack, preserves_flags));
            }
        }
    }
}

/// `sfence`.
#[inline(always)]
pub(super) fn sfence() {
    // SAFETY: SSE is part of x86-64; a fence touches no memory. The clobber orders it for the compiler too.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) }
}
/// `mfence`.
#[inline(always)]
pub(super) fn mfence() {
    // SAFETY: SSE2 is part of x86-64; a fence touches no memory.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) }
}
