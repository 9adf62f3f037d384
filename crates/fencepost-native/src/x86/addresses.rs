//! Where the addresses of programs lie in this process.

use fencepost_kernel::Addr;
use fencepost_kernel::units::PM_BASE;

/// Added to every address: an instruction's displacement can hold it, so translation costs nothing.
pub const OFFSET: u64 = 0x2000_0000;

/// Address 0 of volatile memory, and the first byte of persistent memory.
pub const PARTS: [u64; 2] = [0, PM_BASE];

/// The byte of this process that stands for `addr`.
#[inline(always)]
pub fn host<T>(addr: Addr) -> *mut T {
    (addr.0 + OFFSET) as *mut T
}
