//! Power instructions.

use super::code::Reader;
use super::error::{Read, syntax};
use super::names;
use crate::format::op::{Address, Alu, Barrier, Cond, Op, Operand, Order, Success, Width};
use crate::format::test::FLAGS;

fn operand(r: &mut Reader<'_>, text: &str) -> Read<Operand> {
    if names::ppc(text).is_some() || text.starts_with('%') {
        return Ok(Operand::Reg(r.reg(text)?.0));
    }
    Ok(Operand::Imm(r.constant(text)?))
}

/// `d(rA)`.
fn displaced(r: &mut Reader<'_>, text: &str) -> Read<Address> {
    let Some((offset, base)) = text.strip_suffix(')').and_then(|t| t.split_once('(')) else {
        return syntax(format!("`{text}` is no address"));
    };
    let offset = if offset.trim().is_empty() {
        0
    } else {
        r.constant(offset)?
    };
    let base = operand(r, base.trim())?;
    Ok(Address {
        base,
        index: None,
        offset,
    })
}

/// `rA,rB`; a literal 0 or `r0` as the first is nothing.
fn indexed(r: &mut Reader<'_>, a: &str, b: &str) -> Read<Address> {
    let (b, _) = r.reg(b)?;
    if a == "0" || a == "r0" {
        return Ok(Address::at(Operand::Reg(b)));
    }
    let base = operand(r, a)?;
    Ok(Address {
        base,
        index: Some((b, 0, false)),
        offset: 0,
    })
}

fn arithmetic(name: &str) -> Option<Alu> {
    Some(match name {
        "ADD" | "ADDI" => Alu::Add,
        // `subf rT,rA,rB` is rB - rA.
        "SUBF" => Alu::Rsb,
        "SUB" | "SUBI" => Alu::Sub,
        "AND" | "ANDI" => Alu::And,
        "OR" | "ORI" => Alu::Or,
        "XOR" | "XORI" => Alu::Xor,
        "MULLW" | "MULLI" | "MULL" => Alu::Multiply,
        "SLWI" | "SLDI" | "SLW" => Alu::ShiftLeft,
        "SRWI" | "SRDI" | "SRW" => Alu::ShiftRight,
        "SRAWI" | "SRAW" => Alu::ShiftRightSigned,
        _ => return None,
    })
}

fn width(letter: Option<&u8>) -> Option<Width> {
    Some(match letter? {
        b'B' => Width::BYTE,
        b'H' => Width::HALF,
        b'W' => Width::WORD,
        b'D' => Width::DOUBLE,
        _ => return None,
    })
}

/// One instruction; false if it is not known.
pub(super) fn instruction(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let barrier = match mnemonic {
        "SYNC" | "HWSYNC" => Some(Barrier::Full),
        "LWSYNC" => Some(Barrier::Light),
        "EIEIO" => Some(Barrier::Eieio),
        "ISYNC" => Some(Barrier::Isync),
        _ => None,
    };
    if let Some(barrier) = barrier {
        r.push(Op::Fence(barrier));
        return Ok(true);
    }
    Ok(registers(r, mnemonic, args)? || jump(r, mnemonic, args) || memory(r, mnemonic, args)?)
}

fn registers(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let (name, flags) = match mnemonic.strip_suffix('.') {
        Some(name) => (name, true),
        None => (mnemonic, false),
    };
    let word = Width::DOUBLE;
    match (name, args) {
        ("LI" | "MR", [to, value]) => {
            let (to, _) = r.reg(to)?;
            let b = operand(r, value)?;
            r.push(Op::Alu {
                alu: Alu::Move,
                to,
                a: Operand::Imm(0),
                b,
                width: word,
                flags,
            });
        }
        ("NOR", [to, a, b]) if !flags => {
            let (to, _) = r.reg(to)?;
            let (a, b) = (operand(r, a)?, operand(r, b)?);
            r.alu(Alu::Or, to, a, b, word);
            r.alu(Alu::OrNot, to, Operand::Imm(0), Operand::Reg(to), word);
        }
        ("NEG", [to, value]) => {
            let (to, _) = r.reg(to)?;
            let b = operand(r, value)?;
            r.push(Op::Alu {
                alu: Alu::Sub,
                to,
                a: Operand::Imm(0),
                b,
                width: word,
                flags,
            });
        }
        ("CMPW" | "CMPWI" | "CMPD" | "CMPDI" | "CMPLW" | "CMPLWI", [.., a, b]) => {
            if args.len() == 3 && !matches!(args[0], "cr0" | "0") {
                return Ok(false);
            }
            let (a, b) = (operand(r, a)?, operand(r, b)?);
            let width = if name.contains('D') { word } else { Width::WORD };
            r.push(Op::Compare { a, b, width });
        }
        ("NOP", _) => r.push(Op::Nop),
        (_, [to, a, b]) => {
            let Some(alu) = arithmetic(name) else { return Ok(false) };
            let (to, _) = r.reg(to)?;
            let (a, b) = (operand(r, a)?, operand(r, b)?);
            let width = if name.ends_with('W') || name.ends_with("WI") {
                Width::WORD
            } else {
                word
            };
            r.push(Op::Alu {
                alu,
                to,
                a,
                b,
                width,
                flags,
            });
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn jump(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> bool {
    let Some(label) = args.last() else {
        if mnemonic == "BLR" {
            r.leave();
        }
        return mnemonic == "BLR";
    };
    if args.len() == 2 && args[0] != "cr0" || args.len() > 2 {
        return false;
    }
    let cond = match mnemonic.trim_end_matches(['+', '-']) {
        "B" => {
            r.jump(Op::Jump { target: 0 }, label);
            return true;
        }
        "BEQ" => Cond::Eq,
        "BNE" => Cond::Ne,
        "BLT" => Cond::Lt,
        "BLE" | "BNG" => Cond::Le,
        "BGT" => Cond::Gt,
        "BGE" | "BNL" => Cond::Ge,
        _ => return false,
    };
    r.jump(Op::Branch { cond, target: 0 }, label);
    true
}

fn memory(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let order = Order::default();
    if let ("LWARX" | "LDARX", [to, a, b]) = (mnemonic, args) {
        let width = if mnemonic == "LWARX" {
            Width::WORD
        } else {
            Width::DOUBLE
        };
        let at = indexed(r, a, b)?;
        let (to, _) = r.reg(to)?;
        r.push(Op::Load {
            to,
            at,
            width,
            signed: false,
            order,
            exclusive: true,
        });
        return Ok(true);
    }
    if let ("STWCX." | "STDCX.", [value, a, b]) = (mnemonic, args) {
        let width = if mnemonic == "STWCX." {
            Width::WORD
        } else {
            Width::DOUBLE
        };
        let (at, value) = (indexed(r, a, b)?, operand(r, value)?);
        debug_assert_eq!(FLAGS, 0);
        r.push(Op::StoreExclusive {
            value,
            at,
            width,
            order,
            success: Success::Flags,
        });
        return Ok(true);
    }
    let bytes = mnemonic.as_bytes();
    let load = match bytes.first() {
        Some(b'L') => true,
        Some(b'S') if mnemonic.starts_with("ST") => false,
        _ => return Ok(false),
    };
    let rest = if load { &mnemonic[1..] } else { &mnemonic[2..] };
    let Some(width) = width(rest.as_bytes().first()) else {
        return Ok(false);
    };
    // `lwz`, `lhz`, `lbz`, `ld`, `stw`, ... and the same with `x`.
    let at = match (rest[1..].trim_start_matches('Z'), args) {
        ("", [_, at]) => displaced(r, at)?,
        ("X", [_, a, b]) => indexed(r, a, b)?,
        _ => return Ok(false),
    };
    if load {
        let (to, _) = r.reg(args[0])?;
        r.push(Op::Load {
            to,
            at,
            width,
            signed: false,
            order,
            exclusive: false,
        });
    } else {
        let value = operand(r, args[0])?;
        r.push(Op::Store {
            value,
            at,
            width,
            order,
            nt: false,
        });
    }
    Ok(true)
}
