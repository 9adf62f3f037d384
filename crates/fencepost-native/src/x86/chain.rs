//! A clock: additions that depend on one another, one a cycle.

use std::hint::black_box;

/// Additions of a chain: so many cycles.
pub(super) const CHAINED: f64 = 100.0;
/// A clock: additions one behind the other.
pub(super) fn chain() {
    let mut x = 1;
    (0..CHAINED as u32).for_each(|_| x = add(x));
    black_box(x);
}

/// An addition that the compiler can neither fold nor leave out. One behind the other they are a clock.
#[inline(always)]
pub(super) fn add(mut x: u64) -> u64 {
    #[allow(unsafe_code, reason = "an instruction that must stay")]
    // SAFETY: an addition of registers.
    unsafe {
        std::arch::asm!("add {x}, 1", x = inout(reg) x, options(nomem, nostack));
    }
    x
}
