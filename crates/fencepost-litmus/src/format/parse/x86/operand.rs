//! Registers and operands of x86.

use super::super::code::Reader;
use super::super::error::{Read, syntax};
use super::super::{init, names, number};
use crate::format::op::{Address, Operand, Width};

/// An operand.
#[derive(Copy, Clone)]
pub(super) enum Arg {
    Value(Operand),
    Memory(Address),
}

fn location(r: &mut Reader<'_>, text: &str) -> Read<Address> {
    let mut at = Address::at(Operand::Imm(0));
    for part in text.split('+').map(str::trim).filter(|p| !p.is_empty()) {
        if names::x86(part).is_some() {
            match at.base {
                Operand::Imm(n) => (at.base, at.offset) = (Operand::Reg(r.reg(part)?.0), at.offset.wrapping_add(n)),
                Operand::Reg(_) => at.index = Some((r.reg(part)?.0, 0, false)),
            }
        } else {
            let n = init::value(part, r.locations)?;
            at.offset = at.offset.wrapping_add(n);
        }
    }
    Ok(at)
}

/// An operand as written, and its width if it is a register.
pub(super) fn argument(r: &mut Reader<'_>, text: &str) -> Read<(Arg, Option<Width>)> {
    if let Some(inside) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        return Ok((Arg::Memory(location(r, inside)?), None));
    }
    if let Some((offset, inside)) = text.strip_suffix(')').and_then(|t| t.split_once('(')) {
        // displacement(base, index, scale)
        let mut parts = inside.splitn(3, ',');
        let [base, index, scale] = [(); 3].map(|()| parts.next().unwrap_or("").trim());
        let base = if base.eq_ignore_ascii_case("%rip") { "" } else { base };
        let mut at = location(r, &format!("{base}+{offset}"))?;
        if !index.is_empty() {
            let shift = match scale {
                "" | "1" => 0,
                "2" => 1,
                "4" => 2,
                "8" => 3,
                _ => return syntax(format!("`{text}`: a scale is 1, 2, 4 or 8")),
            };
            at.index = Some((r.reg(index)?.0, shift, false));
        }
        return Ok((Arg::Memory(at), None));
    }
    if names::x86(text).is_some() {
        let (reg, width) = r.reg(text)?;
        return Ok((Arg::Value(Operand::Reg(reg)), Some(width)));
    }
    if let Some(constant) = text.strip_prefix(['$', '#']) {
        let n = init::value(constant, r.locations)?;
        return Ok((Arg::Value(Operand::Imm(n)), None));
    }
    if number::number(text).is_some() {
        return Ok((Arg::Value(Operand::Imm(r.constant(text)?)), None));
    }
    Ok((Arg::Memory(location(r, text)?), None))
}
