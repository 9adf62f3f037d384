//! Units and ids. Everything that crosses a public boundary has a type; absence is `Option`, never a magic number.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::{Add, AddAssign, Mul, Sub};

/// Bytes in a cache line, in every machine this project models.
pub const LINE_BYTES: u64 = 64;
/// First byte address of persistent memory; everything below is volatile DRAM.
pub const PM_BASE: u64 = 1 << 40;
/// First byte of the persistent memory that machines reserve for hardware logs, far above what programs lay out.
pub const LOG_BASE: Addr = Addr::pm(1 << 38);
/// Bytes of a stretch of memory, as a power of two: what is kept by address has a table for each stretch. Persistent memory and its
/// region for hardware logs begin one each, so that no table is long because of where its region lies.
pub const STRETCH: u32 = 38;
/// Stretches that tables are kept for: up to the first one of the hardware logs.
pub const STRETCHES: usize = 6;
const _: () = assert!(LOG_BASE.0 >> STRETCH == STRETCHES as u64 - 1 && PM_BASE.is_multiple_of(1 << STRETCH));

/// Simulated time, or a span of it, in integer picoseconds.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ps(pub u64);

impl Ps {
    /// The beginning of time; also the empty span.
    pub const ZERO: Ps = Ps(0);
    /// A span of whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Ps {
        Ps(ns * 1000)
    }
    /// The span in nanoseconds, for printing.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1000.0
    }
    /// `self - other`, or zero when `other` is later.
    pub fn saturating_sub(self, other: Ps) -> Ps {
        Ps(self.0.saturating_sub(other.0))
    }
}
impl Add for Ps {
    type Output = Ps;
    fn add(self, o: Ps) -> Ps {
        Ps(self.0 + o.0)
    }
}
impl AddAssign for Ps {
    fn add_assign(&mut self, o: Ps) {
        self.0 += o.0;
    }
}
impl Sub for Ps {
    type Output = Ps;
    fn sub(self, o: Ps) -> Ps {
        Ps(self.0 - o.0)
    }
}
impl Mul<u64> for Ps {
    type Output = Ps;
    fn mul(self, n: u64) -> Ps {
        Ps(self.0 * n)
    }
}
impl fmt::Display for Ps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            p if p % 1000 != 0 => write!(f, "{p}ps"),
            p => write!(f, "{}ns", p / 1000),
        }
    }
}

/// A clock rate in hertz.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Hertz(pub u64);
impl Hertz {
    /// One clock period, rounded to the nearest picosecond.
    pub fn period(self) -> Ps {
        Ps((1_000_000_000_000 + self.0 / 2) / self.0)
    }
}

/// A capacity in bytes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bytes(pub u64);

/// A byte address.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Addr(pub u64);
impl Addr {
    /// The persistent-memory address at this offset from [`PM_BASE`].
    pub const fn pm(offset: u64) -> Addr {
        Addr(PM_BASE + offset)
    }
    /// The line this byte lies in.
    pub const fn line(self) -> LineAddr {
        LineAddr(self.0 / LINE_BYTES)
    }
    /// Index (0..8) of the aligned 8-byte word within its line.
    pub const fn word_in_line(self) -> usize {
        ((self.0 % LINE_BYTES) / 8) as usize
    }
    /// This address rounded down to its aligned 8-byte word.
    pub const fn word(self) -> Addr {
        Addr(self.0 & !7)
    }
    /// Whether the byte lies in persistent memory.
    pub const fn is_persistent(self) -> bool {
        self.0 >= PM_BASE
    }
}
impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.checked_sub(PM_BASE) {
            Some(offset) => write!(f, "pm+{offset:#x}"),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

/// A cache line: byte address divided by [`LINE_BYTES`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LineAddr(pub u64);
impl LineAddr {
    /// Address of the line's first byte.
    pub const fn base(self) -> Addr {
        Addr(self.0 * LINE_BYTES)
    }
    /// Whether the line lies in persistent memory.
    pub const fn is_persistent(self) -> bool {
        self.0 >= PM_BASE / LINE_BYTES
    }
}
impl fmt::Display for LineAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.base())
    }
}

/// A physical core; its hardware threads share its private caches.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CoreId(pub u8);
impl CoreId {
    /// The cores whose bits are set in a mask, in order.
    #[inline]
    pub fn all_in(mut mask: u64) -> impl Iterator<Item = CoreId> {
        std::iter::from_fn(move || {
            let core = (mask != 0).then(|| CoreId(mask.trailing_zeros() as u8));
            mask &= mask.wrapping_sub(1);
            core
        })
    }
    /// For indexing arrays that have one entry per core.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
/// A hardware thread: what x86 calls a logical processor, Arm a processing element, RISC-V a hart. Software thread `t` runs on
/// hardware thread `t`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HwThread(pub u8);
impl HwThread {
    /// For indexing arrays that have one entry per hardware thread.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Identifies one store of an execution: its position, from 1, in the order in which stores performed
/// (equivalently: an index into [`crate::Trace::stores`] plus one).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StoreId(NonZeroU32);
impl StoreId {
    /// The id of the store at `index` of the store table. Fails beyond `u32::MAX - 1` stores.
    pub fn from_index(index: usize) -> Option<StoreId> {
        u32::try_from(index + 1).ok().and_then(NonZeroU32::new).map(StoreId)
    }
    /// Index into the store table.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Division by a fixed number: a multiplication, because a hardware division costs tens of cycles on the hottest paths.
///
/// Exact for every dividend below 2^64 / divisor, which for picoseconds and clock periods is hours of simulated time.
#[derive(Copy, Clone, Debug)]
pub struct Divider {
    divisor: u64,
    /// (2^64 - 1) / divisor, rounded down. What is lost by that, one more in the dividend makes up for.
    magic: u64,
}
impl Divider {
    /// A divider by `divisor`, which must be at least 1 and below 2^32.
    pub const fn new(divisor: u64) -> Divider {
        assert!(divisor >= 1 && divisor < 1 << 32);
        Divider {
            divisor,
            magic: u64::MAX / divisor,
        }
    }
    /// `n / divisor`.
    pub const fn floor(self, n: u64) -> u64 {
        self.below(n + 1)
    }
    /// `n / divisor`, rounded up.
    pub const fn ceil(self, n: u64) -> u64 {
        self.below(n + self.divisor)
    }
    /// `(n - 1) / divisor`.
    const fn below(self, n: u64) -> u64 {
        ((n as u128 * self.magic as u128) >> 64) as u64
    }
    /// The divisor.
    pub const fn divisor(self) -> u64 {
        self.divisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn dividers_divide() {
        let mut r = crate::rng::Stream::new(3, "divide");
        for d in (1..200).chain([333, 370, 400, 500, 625, 1000, 1_000_000]) {
            let q = Divider::new(d);
            for _ in 0..200 {
                let below = (u64::MAX / d / 2) >> r.below(40);
                let n = r.below(below);
                for n in [n, n / d * d, (n / d * d).saturating_sub(1)] {
                    assert_eq!((q.floor(n), q.ceil(n)), (n / d, n.div_ceil(d)), "{n} / {d}");
                }
            }
        }
    }
}
