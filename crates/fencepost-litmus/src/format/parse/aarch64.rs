//! AArch64 instructions.

mod memory;
mod operand;

use super::code::Reader;
use super::error::{Read, syntax};
use crate::format::op::{Alu, Barrier, Cond, FlushKind, Op, Operand, Reg, Width};
use operand::{operand, target};

/// A condition by its suffix.
fn cond(text: &str) -> Option<Cond> {
    Some(match text.to_ascii_uppercase().as_str() {
        "EQ" => Cond::Eq,
        "NE" => Cond::Ne,
        "LT" => Cond::Lt,
        "LE" => Cond::Le,
        "GT" => Cond::Gt,
        "GE" => Cond::Ge,
        "CC" | "LO" => Cond::Below,
        "CS" | "HS" => Cond::AboveEq,
        "LS" => Cond::BelowEq,
        "HI" => Cond::Above,
        "MI" => Cond::Negative,
        "PL" => Cond::NotNegative,
        _ => return None,
    })
}

/// A last operand with an optional shift or extension behind it, in a scratch register if need be.
fn shifted(r: &mut Reader<'_>, args: &[&str], width: Width) -> Read<Operand> {
    let value = operand(r, args[0])?;
    let Some(modifier) = args.get(1) else { return Ok(value) };
    let (kind, amount) = modifier.split_once(char::is_whitespace).unwrap_or((modifier, "#0"));
    let amount = Operand::Imm(r.constant(amount)?);
    let to = r.scratch("shift")?;
    let (alu, amount) = match kind.to_ascii_uppercase().as_str() {
        "LSL" => (Alu::ShiftLeft, amount),
        "LSR" => (Alu::ShiftRight, amount),
        "ASR" => (Alu::ShiftRightSigned, amount),
        "UXTW" | "UXTX" | "SXTW" | "SXTX" => {
            let signed = kind.eq_ignore_ascii_case("SXTW");
            let (alu, w) = match (signed, kind.to_ascii_uppercase().ends_with('W')) {
                (true, _) => (Alu::SignExtend, width),
                (_, true) => (Alu::Move, Width::WORD),
                _ => (Alu::Move, Width::DOUBLE),
            };
            r.alu(alu, to, Operand::Imm(0), value, w);
            r.alu(Alu::ShiftLeft, to, Operand::Reg(to), amount, width);
            return Ok(Operand::Reg(to));
        }
        _ => return syntax(format!("`{modifier}` is no shift")),
    };
    r.alu(alu, to, value, amount, width);
    Ok(Operand::Reg(to))
}

fn arithmetic(mnemonic: &str) -> Option<(Alu, bool)> {
    let (name, flags) = match mnemonic {
        "ADDS" | "SUBS" | "ANDS" | "BICS" => (&mnemonic[..3], true),
        _ => (mnemonic, false),
    };
    let alu = match name {
        "ADD" => Alu::Add,
        "SUB" => Alu::Sub,
        "AND" => Alu::And,
        "ORR" => Alu::Or,
        "EOR" => Alu::Xor,
        "BIC" => Alu::AndNot,
        "ORN" => Alu::OrNot,
        "EON" => Alu::XorNot,
        "LSL" => Alu::ShiftLeft,
        "LSR" => Alu::ShiftRight,
        "ASR" => Alu::ShiftRightSigned,
        "MUL" => Alu::Multiply,
        _ => return None,
    };
    Some((alu, flags))
}

/// One instruction; false if it is not known.
pub(super) fn instruction(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    if let (Some((alu, flags)), [to, a, b, ..]) = (arithmetic(mnemonic), args) {
        let (to, width) = target(r, to)?;
        let (a, b) = (
            operand(r, a)?,
            [*b].into_iter().chain(args.get(3).copied()).collect::<Vec<_>>(),
        );
        let b = shifted(r, &b, width)?;
        r.push(Op::Alu {
            alu,
            to,
            a,
            b,
            width,
            flags,
        });
        return Ok(true);
    }
    Ok(moves(r, mnemonic, args)?
        || selects(r, mnemonic, args)?
        || compares_if(r, mnemonic, args)?
        || jumps(r, mnemonic, args)?
        || barriers(r, mnemonic, args)?
        || memory::instruction(r, mnemonic, args)?)
}

/// Bits of a value from `first` on, extended by zeros or by their sign.
fn field(r: &mut Reader<'_>, to: Reg, value: Operand, (first, bits): (u64, u64), (signed, width): (bool, Width)) {
    let all = 8 * u64::from(width.0);
    let right = if signed { Alu::ShiftRightSigned } else { Alu::ShiftRight };
    r.alu(Alu::ShiftLeft, to, value, Operand::Imm(all - first - bits), width);
    r.alu(right, to, Operand::Reg(to), Operand::Imm(all - bits), width);
}

fn moves(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let [to_name, from @ ..] = args else { return Ok(false) };
    if from.is_empty() {
        return Ok(false);
    }
    match mnemonic {
        "MOVN" => {
            let (to, width) = target(r, to_name)?;
            let value = shifted(r, from, width)?;
            r.alu(Alu::OrNot, to, Operand::Imm(0), value, width);
        }
        "SXTB" | "SXTH" => {
            let (to, width) = target(r, to_name)?;
            let value = operand(r, from[0])?;
            field(
                r,
                to,
                value,
                (0, if mnemonic == "SXTB" { 8 } else { 16 }),
                (true, width),
            );
        }
        "UBFX" | "SBFX" => {
            let (to, width) = target(r, to_name)?;
            let [value, first, bits] = from else { return Ok(false) };
            let value = operand(r, value)?;
            let (first, bits) = (r.constant(first)?, r.constant(bits)?);
            if bits == 0 || first.saturating_add(bits) > 8 * u64::from(width.0) {
                return syntax(format!("`{mnemonic}`: no bits {first}, {bits}"));
            }
            field(r, to, value, (first, bits), (mnemonic == "SBFX", width));
        }
        "MADD" | "MSUB" => {
            let (to, width) = target(r, to_name)?;
            let [a, b, c] = from else { return Ok(false) };
            let (a, b, c) = (operand(r, a)?, operand(r, b)?, operand(r, c)?);
            let product = r.scratch("product")?;
            r.alu(Alu::Multiply, product, a, b, width);
            let alu = if mnemonic == "MADD" { Alu::Add } else { Alu::Sub };
            r.alu(alu, to, c, Operand::Reg(product), width);
        }
        "MOV" | "MOVZ" | "UXTW" | "UXTB" | "UXTH" | "SXTW" | "MVN" | "NEG" => {
            let (to, width) = target(r, to_name)?;
            let value = shifted(r, from, width)?;
            let (alu, a, width) = match mnemonic {
                "UXTB" => (Alu::Move, value, Width::BYTE),
                "UXTH" => (Alu::Move, value, Width::HALF),
                "UXTW" => (Alu::Move, value, Width::WORD),
                "SXTW" => (Alu::SignExtend, value, width),
                "MVN" => (Alu::OrNot, Operand::Imm(0), width),
                "NEG" => (Alu::Sub, Operand::Imm(0), width),
                _ => (Alu::Move, Operand::Imm(0), width),
            };
            r.alu(alu, to, a, value, width);
        }
        "MOVK" => {
            let (to, width) = target(r, to_name)?;
            let shift = match from.get(1) {
                None => 0,
                Some(s) => r.constant(s.trim_start_matches(|c: char| c.is_alphabetic() || c == ' '))?,
            };
            if shift > 48 {
                return syntax(format!("`{}`: a shift of 0, 16, 32 or 48", from[1]));
            }
            let value = r.constant(from[0])?;
            r.alu(Alu::AndNot, to, Operand::Reg(to), Operand::Imm(0xffff << shift), width);
            r.alu(Alu::Or, to, Operand::Reg(to), Operand::Imm(value << shift), width);
        }
        "CMP" | "TST" | "CMN" => {
            let (_, width) = r.reg(to_name)?;
            let a = operand(r, to_name)?;
            let mut b = shifted(r, from, width)?;
            if mnemonic == "CMN" {
                let minus = r.scratch("minus")?;
                r.alu(Alu::Sub, minus, Operand::Imm(0), b, width);
                b = Operand::Reg(minus);
            }
            r.push(if mnemonic == "TST" {
                Op::Test { a, b, width }
            } else {
                Op::Compare { a, b, width }
            });
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn selects(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let (Some(to), Some(last)) = (args.first(), args.last()) else {
        return Ok(false);
    };
    let known = [
        "CSEL", "CSINC", "CSINV", "CSNEG", "CSET", "CSETM", "CINC", "CINV", "CNEG",
    ];
    if !known.contains(&mnemonic) {
        return Ok(false);
    }
    let Some(mut cond) = cond(last) else {
        return syntax(format!("`{last}` is no condition"));
    };
    let (to, width) = target(r, to)?;
    let (a, b) = match (mnemonic, args) {
        ("CSET" | "CSETM", _) => (Operand::Imm(0), Operand::Imm(0)),
        ("CINC" | "CINV" | "CNEG", [_, n, _]) => (operand(r, n)?, operand(r, n)?),
        (_, [_, n, m, _]) => (operand(r, n)?, operand(r, m)?),
        _ => return Ok(false),
    };
    if matches!(mnemonic, "CSET" | "CSETM" | "CINC" | "CINV" | "CNEG") {
        cond = cond.opposite();
    }
    r.push(Op::Select {
        cond,
        to,
        a,
        b,
        else_add: u64::from(matches!(mnemonic, "CSINC" | "CSET" | "CINC" | "CSNEG" | "CNEG")),
        else_not: matches!(mnemonic, "CSINV" | "CSNEG" | "CSETM" | "CINV" | "CNEG"),
        width,
    });
    Ok(true)
}

/// `ccmp` and `ccmn`: a comparison, or the flags `nzcv` where the condition does not hold.
fn compares_if(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let ("CCMP" | "CCMN", [first, second, nzcv, condition]) = (mnemonic, args) else {
        return Ok(false);
    };
    let Some(cond) = cond(condition) else {
        return syntax(format!("`{condition}` is no condition"));
    };
    let (_, width) = r.reg(first)?;
    let (a, mut b) = (operand(r, first)?, operand(r, second)?);
    if mnemonic == "CCMN" {
        let minus = r.scratch("minus")?;
        r.alu(Alu::Sub, minus, Operand::Imm(0), b, width);
        b = Operand::Reg(minus);
    }
    let nzcv = r.constant(nzcv)?;
    if nzcv > 15 {
        return syntax(format!("`{nzcv}`: flags are four bits"));
    }
    let [v, c, z, n] = [0, 1, 2, 3].map(|bit| nzcv >> bit & 1);
    r.push(Op::CompareIf {
        cond,
        a,
        b,
        otherwise: z | (n ^ v) << 1 | (1 - c) << 2 | n << 3,
        width,
    });
    Ok(true)
}

fn jumps(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let target = 0;
    match (mnemonic, args) {
        ("RET", []) => r.leave(),
        ("B", [label]) => r.jump(Op::Jump { target }, label),
        ("CBZ" | "CBNZ", [reg, label]) => {
            let (reg, width) = r.reg(reg)?;
            let (mask, zero) = (width.cut(u64::MAX), mnemonic == "CBZ");
            r.jump(
                Op::BranchZero {
                    reg,
                    mask,
                    zero,
                    target,
                },
                label,
            );
        }
        ("TBZ" | "TBNZ", [reg, bit, label]) => {
            let (reg, _) = r.reg(reg)?;
            let (mask, zero) = (1 << (r.constant(bit)? & 63), mnemonic == "TBZ");
            r.jump(
                Op::BranchZero {
                    reg,
                    mask,
                    zero,
                    target,
                },
                label,
            );
        }
        (_, [label]) => {
            let suffix = mnemonic.strip_prefix("B.").or_else(|| mnemonic.strip_prefix('B'));
            let Some(cond) = suffix.and_then(cond) else {
                return Ok(false);
            };
            r.jump(Op::Branch { cond, target }, label);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn barriers(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let domain = args.first().map_or("SY".to_owned(), |a| a.to_ascii_uppercase());
    let kind = if domain.ends_with("LD") {
        1
    } else if domain.ends_with("ST") {
        2
    } else {
        0
    };
    let known = [
        "SY", "LD", "ST", "ISH", "ISHLD", "ISHST", "NSH", "NSHLD", "NSHST", "OSH", "OSHLD", "OSHST",
    ];
    let barrier = match (mnemonic, kind) {
        ("DMB", 0) => Barrier::Full,
        ("DMB", 1) => Barrier::Load,
        ("DMB", _) => Barrier::Store,
        ("DSB", 0) => Barrier::FullSync,
        ("DSB", 1) => Barrier::LoadSync,
        ("DSB", _) => Barrier::StoreSync,
        ("ISB", _) => Barrier::Isync,
        // A hint has no effect that is seen.
        ("NOP" | "PRFM" | "YIELD", _) => {
            r.push(Op::Nop);
            return Ok(true);
        }
        ("DC", _) => {
            let ([_, at], "CVAP" | "CVADP") = (args, domain.as_str()) else {
                return Ok(false);
            };
            let at = crate::format::op::Address::at(Operand::Reg(r.reg(at)?.0));
            r.push(Op::Flush {
                at,
                kind: FlushKind::Weak,
            });
            return Ok(true);
        }
        _ => return Ok(false),
    };
    if mnemonic != "ISB" && !known.contains(&domain.as_str()) {
        return syntax(format!("`{domain}` is no barrier option"));
    }
    r.push(Op::Fence(barrier));
    Ok(true)
}
