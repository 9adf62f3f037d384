//! Arithmetic, widths and conditions.

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
