//! What an instruction does, the same for every instruction set: readers translate into these.

/// A register of a thread, by number; see [`crate::test::Registers`].
pub type Reg = u8;

/// A source operand.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A constant, or the address of a location.
    Imm(u64),
    /// A register.
    Reg(Reg),
}

/// Bytes of an access or of an arithmetic result: 1, 2, 4 or 8.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Width(pub u8);

impl Width {
    /// One byte.
    pub const BYTE: Width = Width(1);
    /// Two bytes.
    pub const HALF: Width = Width(2);
    /// Four bytes.
    pub const WORD: Width = Width(4);
    /// Eight bytes.
    pub const DOUBLE: Width = Width(8);
    /// The value cut to the width.
    pub fn cut(self, value: u64) -> u64 {
        if self.0 >= 8 {
            value
        } else {
            value & ((1 << (8 * self.0)) - 1)
        }
    }
    /// The value cut to the width, then extended by its sign.
    pub fn signed(self, value: u64) -> i64 {
        let unused = 64 - 8 * u32::from(self.0.min(8));
        ((value << unused) as i64) >> unused
    }
}

/// Arithmetic on two operands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each is named for what it computes
pub enum Alu {
    Add,
    Sub,
    /// Subtracts the first from the second.
    Rsb,
    And,
    Or,
    Xor,
    /// First and not second.
    AndNot,
    /// First or not second.
    OrNot,
    /// First exclusive-or not second.
    XorNot,
    /// The second operand.
    Move,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    Multiply,
    MaxSigned,
    MinSigned,
    MaxUnsigned,
    MinUnsigned,
    /// The second operand, signs of 32 bits extended.
    SignExtend,
}

impl Alu {
    /// The result at a width.
    pub fn of(self, a: u64, b: u64, width: Width) -> u64 {
        let (sa, sb) = (width.signed(a), width.signed(b));
        let (ua, ub) = (width.cut(a), width.cut(b));
        let bits = 8 * u64::from(width.0);
        width.cut(match self {
            Alu::Add => a.wrapping_add(b),
            Alu::Sub => a.wrapping_sub(b),
            Alu::Rsb => b.wrapping_sub(a),
            Alu::And => a & b,
            Alu::Or => a | b,
            Alu::Xor => a ^ b,
            Alu::AndNot => a & !b,
            Alu::OrNot => a | !b,
            Alu::XorNot => a ^ !b,
            Alu::Move => b,
            Alu::ShiftLeft => a.checked_shl(ub as u32).unwrap_or(0),
            Alu::ShiftRight => ua.checked_shr(ub as u32).unwrap_or(0),
            Alu::ShiftRightSigned => (sa >> ub.min(bits.saturating_sub(1)).min(63)) as u64,
            Alu::Multiply => a.wrapping_mul(b),
            Alu::MaxSigned => sa.max(sb) as u64,
            Alu::MinSigned => sa.min(sb) as u64,
            Alu::MaxUnsigned => ua.max(ub),
            Alu::MinUnsigned => ua.min(ub),
            Alu::SignExtend => Width::WORD.signed(b) as u64,
        })
    }
}

/// A condition on the flags.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the usual comparisons of the operands compared last
pub enum Cond {
    Eq,
    Ne,
    /// Signed.
    Lt,
    Le,
    Gt,
    Ge,
    /// Unsigned.
    Below,
    BelowEq,
    Above,
    AboveEq,
    Negative,
    NotNegative,
}

impl Cond {
    /// The opposite condition.
    pub fn opposite(self) -> Cond {
        match self {
            Cond::Eq => Cond::Ne,
            Cond::Ne => Cond::Eq,
            Cond::Lt => Cond::Ge,
            Cond::Ge => Cond::Lt,
            Cond::Gt => Cond::Le,
            Cond::Le => Cond::Gt,
            Cond::Below => Cond::AboveEq,
            Cond::AboveEq => Cond::Below,
            Cond::Above => Cond::BelowEq,
            Cond::BelowEq => Cond::Above,
            Cond::Negative => Cond::NotNegative,
            Cond::NotNegative => Cond::Negative,
        }
    }
    /// Whether it holds of flags as [`flags_of`] makes them.
    pub fn holds(self, flags: u64) -> bool {
        let [eq, lt, below, negative] = [0, 1, 2, 3].map(|bit| flags >> bit & 1 == 1);
        match self {
            Cond::Eq => eq,
            Cond::Ne => !eq,
            Cond::Lt => lt,
            Cond::Ge => !lt,
            Cond::Gt => !lt && !eq,
            Cond::Le => lt || eq,
            Cond::Below => below,
            Cond::AboveEq => !below,
            Cond::Above => !below && !eq,
            Cond::BelowEq => below || eq,
            Cond::Negative => negative,
            Cond::NotNegative => !negative,
        }
    }
}

/// The flags after a comparison of two values.
pub fn flags_of(a: u64, b: u64, width: Width) -> u64 {
    let (sa, sb) = (width.signed(a), width.signed(b));
    let difference = width.signed(a.wrapping_sub(b));
    let below = width.cut(a) < width.cut(b);
    u64::from(sa == sb) | u64::from(sa < sb) << 1 | u64::from(below) << 2 | u64::from(difference < 0) << 3
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
