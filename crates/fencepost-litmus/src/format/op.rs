//! What an instruction does, the same for every instruction set: readers translate into these.

mod alu;

pub use alu::{Alu, Cond, Width, flags_of};

/// A register of a thread, by number; see [`crate::format::test::Registers`].
pub type Reg = u8;

/// A source operand.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A constant, or the address of a location.
    Imm(u64),
    /// A register.
    Reg(Reg),
}

/// A memory address: base plus shifted index plus displacement.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A register or a location.
    pub base: Operand,
    /// A register, shifted left, sign-extended from 32 bits if `true`.
    pub index: Option<(Reg, u8, bool)>,
    /// Displacement in bytes.
    pub offset: u64,
}

impl Address {
    /// Just a base.
    pub fn at(base: Operand) -> Address {
        Address {
            base,
            index: None,
            offset: 0,
        }
    }
}

/// Ordering that an access asks for.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Load-acquire.
    pub acquire: bool,
    /// Load-acquire of the weaker, processor-consistent kind (`LDAPR`).
    pub acquire_pc: bool,
    /// Store-release.
    pub release: bool,
}

/// A fence.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Barrier {
    /// All accesses before, all accesses after: `mfence`, `dmb`, `sync`.
    Full,
    /// As `Full`, and it waits for flushes: `dsb`.
    FullSync,
    /// Loads before, everything after: `dmb ld`.
    Load,
    /// As `Load`, of a `dsb`.
    LoadSync,
    /// Stores before, stores after: `dmb st`.
    Store,
    /// As `Store`, of a `dsb`.
    StoreSync,
    /// `sfence` of x86: nothing more among ordinary stores; waits for flushes and non-temporal stores.
    Sfence,
    /// `lfence` of x86.
    Lfence,
    /// `lwsync` of Power.
    Light,
    /// `eieio` of Power.
    Eieio,
    /// `isb`, `isync`: context synchronisation.
    Isync,
    /// `pcommit` of x86.
    Pcommit,
    /// A persist barrier of epoch and strand persistency.
    Persist,
    /// Begins a new strand.
    NewStrand,
}

/// A flush of a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum FlushKind {
    /// `clflush`: ordered like a store.
    Strong,
    /// `clflushopt`, `clwb`, `dc cvap`.
    Weak,
}

/// How the success of a store-exclusive is told.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Success {
    /// A register: 0 is success.
    Register(Reg),
    /// The flags: equal is success.
    Flags,
}

/// One instruction, or a part of one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Arithmetic; `flags`: also compares the result with zero.
    Alu {
        /// What.
        alu: Alu,
        /// Result.
        to: Reg,
        /// Operands.
        a: Operand,
        /// Operands.
        b: Operand,
        /// Width of the result.
        width: Width,
        /// Whether the flags are set: of the subtraction, or of the result against zero.
        flags: bool,
    },
    /// Compares, sets the flags.
    Compare {
        /// Operands.
        a: Operand,
        /// Operands.
        b: Operand,
        /// Width of the comparison.
        width: Width,
    },
    /// Sets flags from a value and zero, of the bitwise and of two operands.
    Test {
        /// Operands.
        a: Operand,
        /// Operands.
        b: Operand,
        /// Width of the comparison.
        width: Width,
    },
    /// `to = cond ? a : alu(b)`.
    Select {
        /// Condition.
        cond: Cond,
        /// Result.
        to: Reg,
        /// Value if the condition holds.
        a: Operand,
        /// Value otherwise, before `else_add` and `else_not`.
        b: Operand,
        /// Added to `b`.
        else_add: u64,
        /// Whether `b` is complemented first.
        else_not: bool,
        /// Width of the result.
        width: Width,
    },
    /// Compares if the condition holds of the flags; otherwise sets them.
    CompareIf {
        /// Condition.
        cond: Cond,
        /// Operands.
        a: Operand,
        /// Operands.
        b: Operand,
        /// The flags where it does not hold, as [`flags_of`] makes them.
        otherwise: u64,
        /// Width of the comparison.
        width: Width,
    },
    /// A load.
    Load {
        /// Result.
        to: Reg,
        /// Where.
        at: Address,
        /// Access size.
        width: Width,
        /// Whether the result is extended by its sign.
        signed: bool,
        /// Acquire.
        order: Order,
        /// Whether it makes a reservation.
        exclusive: bool,
    },
    /// A store.
    Store {
        /// What.
        value: Operand,
        /// Where.
        at: Address,
        /// Access size.
        width: Width,
        /// Release.
        order: Order,
        /// Non-temporal.
        nt: bool,
    },
    /// A store-exclusive.
    StoreExclusive {
        /// What.
        value: Operand,
        /// Where.
        at: Address,
        /// Access size.
        width: Width,
        /// Release.
        order: Order,
        /// How success is told.
        success: Success,
    },
    /// Reads and writes one location: `mem = alu(mem, value)`, old value to `to`.
    Rmw {
        /// What is computed from the old value and the operand.
        alu: Alu,
        /// The old value's register; `None`: the instruction has no result.
        to: Option<Reg>,
        /// Operand.
        value: Operand,
        /// Where.
        at: Address,
        /// Access size.
        width: Width,
        /// Acquire, release.
        order: Order,
        /// Whether it is atomic (locked).
        atomic: bool,
        /// Whether the flags are set of the result.
        flags: bool,
    },
    /// Compare and swap: `old = mem; if old == expected then mem = new`, old value to `to`.
    CompareSwap {
        /// Compared with memory, and the old value's register.
        expected: Reg,
        /// Written if equal.
        new: Operand,
        /// Where.
        at: Address,
        /// Access size.
        width: Width,
        /// Acquire, release.
        order: Order,
        /// Whether it is atomic (locked).
        atomic: bool,
        /// Whether the flags tell success (x86).
        flags: bool,
    },
    /// A fence.
    Fence(Barrier),
    /// A flush of a line.
    Flush {
        /// Any address in the line.
        at: Address,
        /// Which.
        kind: FlushKind,
    },
    /// A jump on flags.
    Branch {
        /// Condition.
        cond: Cond,
        /// Instruction to go to.
        target: usize,
    },
    /// A jump on a register: on zero (or on a bit clear), or the opposite.
    BranchZero {
        /// What is tested.
        reg: Reg,
        /// Bits that count.
        mask: u64,
        /// Whether it jumps when zero.
        zero: bool,
        /// Instruction to go to.
        target: usize,
    },
    /// A jump.
    Jump {
        /// Instruction to go to.
        target: usize,
    },
    /// Nothing.
    Nop,
}
