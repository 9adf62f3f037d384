//! The vocabulary of operations that a program hands to a back end.

/// Cache-line flush instructions.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Flush {
    /// x86 `clwb`: write back, keep the line.
    Clwb,
    /// x86 `clflushopt`: write back and invalidate, weakly ordered.
    ClflushOpt,
    /// x86 `clflush`: write back and invalidate, ordered like a store.
    Clflush,
    /// Arm `DC CVAP`: clean to the point of persistence.
    CvAp,
}

/// Atomic read-modify-write operations; each returns the old value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rmw {
    /// Store `new` if the word equals `expect`.
    Cas {
        /// Value the word must have.
        expect: u64,
        /// Value stored on success.
        new: u64,
    },
    /// Wrapping addition.
    Add(u64),
    /// Unconditional exchange.
    Swap(u64),
}
impl Rmw {
    /// What it writes over `old`; `None` if nothing.
    pub fn applied(self, old: u64) -> Option<u64> {
        match self {
            Rmw::Add(n) => Some(old.wrapping_add(n)),
            Rmw::Swap(n) => Some(n),
            Rmw::Cas { expect, new } => (old == expect).then_some(new),
        }
    }
}

/// Width of an access in bytes. Every access is naturally aligned.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// One byte.
    B1,
    /// Two bytes.
    B2,
    /// Four bytes.
    B4,
    /// Eight bytes, the persist grain.
    B8,
}
impl Width {
    /// Size in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Width::B1 => 1,
            Width::B2 => 2,
            Width::B4 => 4,
            Width::B8 => 8,
        }
    }
    /// Extracts the field at byte address `addr` from its 8-byte word.
    pub const fn extract(self, word: u64, addr: u64) -> u64 {
        match self {
            Width::B8 => word,
            w => (word >> ((addr % 8) * 8)) & ((1 << (w.bytes() * 8)) - 1),
        }
    }
    /// The word after storing `value` at byte address `addr`.
    pub const fn insert(self, word: u64, addr: u64, value: u64) -> u64 {
        match self {
            Width::B8 => value,
            w => {
                let shift = (addr % 8) * 8;
                let mask = ((1u64 << (w.bytes() * 8)) - 1) << shift;
                (word & !mask) | ((value << shift) & mask)
            }
        }
    }
}

/// A hardware transaction of one thread; numbered from 1 in begin order.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxId(pub u32);

/// A write sub-queue of a per-task-committing controller.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u8);
impl QueueId {
    /// The queue of every line that no range holds.
    pub const DEFAULT: QueueId = QueueId(0);
}

/// The hardware rolled transactions back; functional memory is already restored. Re-run operations from `op`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Rollback {
    /// First operation of the calling thread whose effects are gone.
    pub op: u32,
}

/// Identifies a stretch of instructions between memory operations; an index into the measured table of sites.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(pub u16);

/// What an operation did, for the oracle: a program-defined kind and up to three words.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Outcome {
    /// Program-defined kind of effect; 0 means the operation changed nothing.
    pub kind: u8,
    /// Program-defined details (keys, values, addresses).
    pub words: [u64; 3],
}
