//! Where things lie: fixed offsets, handed out once when a program is built.

use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, Bytes};

/// First byte used in either memory, so that no object has address 0 (the null pointer) or persistent offset 0.
const FIRST: u64 = 4096;

/// Hands out address ranges in the two memories; everything is line-aligned.
#[derive(Clone, Debug)]
pub struct Layout {
    dram: u64,
    pm: u64,
}

/// How much of each memory a program may touch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Volatile memory: locks and volatile indexes.
    pub dram: Bytes,
    /// Persistent memory: structures, logs and allocation pools.
    pub pm: Bytes,
}

impl Default for Layout {
    fn default() -> Self {
        Layout { dram: FIRST, pm: FIRST }
    }
}

impl Layout {
    /// Reserves `bytes` of volatile memory, on lines of its own.
    pub fn dram(&mut self, bytes: u64) -> Addr {
        let at = self.dram;
        self.dram += bytes.next_multiple_of(LINE_BYTES);
        Addr(at)
    }
    /// Reserves `bytes` of persistent memory, on lines of its own.
    pub fn pm(&mut self, bytes: u64) -> Addr {
        let at = self.pm;
        self.pm += bytes.next_multiple_of(LINE_BYTES);
        Addr::pm(at)
    }
    /// Reserves `bytes` of persistent memory at a multiple of `align`.
    pub fn pm_aligned(&mut self, bytes: u64, align: u64) -> Addr {
        self.pm = self.pm.next_multiple_of(align);
        self.pm(bytes)
    }
    /// Everything reserved so far.
    pub fn footprint(&self) -> Footprint {
        Footprint {
            dram: Bytes(self.dram),
            pm: Bytes(self.pm),
        }
    }
}

/// A table of locks, each on a line of its own, in volatile memory.
#[derive(Copy, Clone, Debug)]
pub struct Locks {
    base: Addr,
    count: u64,
}
impl Locks {
    /// Reserves `count` locks (at least one).
    pub fn new(layout: &mut Layout, count: u64) -> Locks {
        let count = count.max(1);
        Locks {
            base: layout.dram(count * LINE_BYTES),
            count,
        }
    }
    /// Number of locks.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// The lock that guards object `index`: objects are striped over the locks.
    pub fn stripe(&self, index: u64) -> u64 {
        index % self.count
    }
    /// Address of lock `stripe`.
    pub fn addr(&self, stripe: u64) -> Addr {
        debug_assert!(stripe < self.count);
        Addr(self.base.0 + stripe * LINE_BYTES)
    }
}
