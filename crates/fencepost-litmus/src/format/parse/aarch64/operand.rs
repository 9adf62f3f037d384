//! Operands of AArch64.

use super::super::code::Reader;
use super::super::error::Read;
use super::super::names;
use crate::format::op::{Operand, Reg, Width};

/// Whether the operand is a zero register.
pub(super) fn is_zero(text: &str) -> bool {
    matches!(text.to_ascii_uppercase().as_str(), "WZR" | "XZR")
}

/// Where results to the zero register go.
pub(super) fn target(r: &mut Reader<'_>, text: &str) -> Read<(Reg, Width)> {
    let (reg, width) = r.reg(text)?;
    Ok(if is_zero(text) {
        (r.scratch("zr")?, width)
    } else {
        (reg, width)
    })
}

/// A register or a constant.
pub(super) fn operand(r: &mut Reader<'_>, text: &str) -> Read<Operand> {
    if is_zero(text) {
        return Ok(Operand::Imm(0));
    }
    if names::aarch64(text).is_some() || text.starts_with('%') {
        return Ok(Operand::Reg(r.reg(text)?.0));
    }
    Ok(Operand::Imm(r.constant(text)?))
}
