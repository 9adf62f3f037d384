//! ARM (A32) instructions.

use super::code::{Reader, operands};
use super::error::{Read, syntax};
use super::names;
use crate::format::op::{Address, Alu, Barrier, Cond, FlushKind, Op, Operand, Order, Success, Width};

fn cond(suffix: &str) -> Option<Option<Cond>> {
    Some(Some(match suffix {
        "" | "AL" => return Some(None),
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
    }))
}

fn operand(r: &mut Reader<'_>, text: &str) -> Read<Operand> {
    if names::arm(text).is_some() || text.starts_with('%') {
        return Ok(Operand::Reg(r.reg(text)?.0));
    }
    Ok(Operand::Imm(r.constant(text)?))
}

fn place(r: &mut Reader<'_>, text: &str) -> Read<Address> {
    let Some(inside) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) else {
        return syntax(format!("`{text}` is no address"));
    };
    let parts = operands(inside);
    let mut at = Address::at(operand(r, parts.first().copied().unwrap_or(""))?);
    if let Some(second) = parts.get(1) {
        match operand(r, second)? {
            Operand::Imm(n) => at.offset = n,
            Operand::Reg(index) => {
                let shift = match parts.get(2) {
                    None => 0,
                    Some(s) => r.constant(s.trim_start_matches(|c: char| c.is_alphabetic() || c == ' '))? as u8,
                };
                at.index = Some((index, shift, false));
            }
        }
    }
    Ok(at)
}

fn arithmetic(name: &str) -> Option<Alu> {
    Some(match name {
        "ADD" => Alu::Add,
        "SUB" => Alu::Sub,
        "RSB" => Alu::Rsb,
        "AND" => Alu::And,
        "ORR" => Alu::Or,
        "EOR" => Alu::Xor,
        "BIC" => Alu::AndNot,
        "LSL" => Alu::ShiftLeft,
        "LSR" => Alu::ShiftRight,
        "ASR" => Alu::ShiftRightSigned,
        "MUL" => Alu::Multiply,
        _ => return None,
    })
}

/// One instruction; false if it is not known.
pub(super) fn instruction(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    if barrier(r, mnemonic, args)? || jump(r, mnemonic, args) {
        return Ok(true);
    }
    // A name, an `S` for flags, a condition: `MOVNE`, `ANDS`, `STREXEQ`.
    for cut in (0..=2).rev().map(|n| mnemonic.len().saturating_sub(n)) {
        let Some((name, suffix)) = mnemonic.split_at_checked(cut) else {
            continue;
        };
        let Some(cond) = cond(suffix) else { continue };
        let known = known(name);
        if !known {
            continue;
        }
        let Some(cond) = cond else { return plain(r, name, args) };
        // Executed if the condition holds: a jump over it.
        let label = format!("$over{}", r.next());
        r.jump(
            Op::Branch {
                cond: cond.opposite(),
                target: 0,
            },
            &label,
        );
        let read = plain(r, name, args)?;
        r.label(&label);
        return Ok(read);
    }
    Ok(false)
}

fn known(name: &str) -> bool {
    const OTHERS: [&str; 27] = [
        "MOVT", "UXTB", "UXTH", "MOV", "MVN", "MOVW", "CMP", "TST", "LDR", "STR", "LDRB", "STRB", "LDRH", "STRH",
        "LDREX", "STREX", "LDA", "STL", "LDAEX", "STLEX", "ANDS", "SUBS", "ADDS", "EORS", "ORRS", "MOVS", "BICS",
    ];
    arithmetic(name).is_some() || OTHERS.contains(&name)
}

fn jump(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> bool {
    let [.., label] = args else { return false };
    let target = 0;
    match (mnemonic, args) {
        ("B", [_]) => r.jump(Op::Jump { target }, label),
        ("BX", ["LR" | "lr"]) => r.leave(),
        ("CBZ" | "CBNZ", [reg, _]) => {
            let Ok((reg, _)) = r.reg(reg) else { return false };
            let zero = mnemonic == "CBZ";
            r.jump(
                Op::BranchZero {
                    reg,
                    mask: 0xffff_ffff,
                    zero,
                    target,
                },
                label,
            );
        }
        (_, [_]) => match mnemonic.strip_prefix('B').and_then(cond) {
            Some(Some(cond)) => r.jump(Op::Branch { cond, target }, label),
            _ => return false,
        },
        _ => return false,
    }
    true
}

fn barrier(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let stores = args.first().is_some_and(|a| a.to_ascii_uppercase().ends_with("ST"));
    let barrier = match mnemonic {
        "DMB" if stores => Barrier::Store,
        "DMB" => Barrier::Full,
        "DSB" if stores => Barrier::StoreSync,
        "DSB" => Barrier::FullSync,
        "ISB" => Barrier::Isync,
        "NOP" => {
            r.push(Op::Nop);
            return Ok(true);
        }
        "DC" => {
            let [op, at] = args else { return Ok(false) };
            if !op.to_ascii_uppercase().starts_with("CVA") {
                return Ok(false);
            }
            let at = Address::at(operand(r, at)?);
            r.push(Op::Flush {
                at,
                kind: FlushKind::Weak,
            });
            return Ok(true);
        }
        _ => return Ok(false),
    };
    r.push(Op::Fence(barrier));
    Ok(true)
}

fn plain(r: &mut Reader<'_>, name: &str, args: &[&str]) -> Read<bool> {
    let width = Width::WORD;
    let (base, flags) = match name.strip_suffix('S') {
        Some(base) if arithmetic(base).is_some() || base == "MOV" => (base, true),
        _ => (name, false),
    };
    match (base, args) {
        ("MOV" | "MOVW" | "MVN", [to, from]) => {
            let (to, _) = r.reg(to)?;
            let b = operand(r, from)?;
            let alu = if base == "MVN" { Alu::OrNot } else { Alu::Move };
            r.push(Op::Alu {
                alu,
                to,
                a: Operand::Imm(0),
                b,
                width,
                flags,
            });
        }
        ("MOVT", [to, from]) => {
            let (to, _) = r.reg(to)?;
            let high = r.constant(from)? << 16;
            r.alu(Alu::And, to, Operand::Reg(to), Operand::Imm(0xffff), width);
            r.alu(Alu::Or, to, Operand::Reg(to), Operand::Imm(high), width);
        }
        ("UXTB" | "UXTH", [to, from]) => {
            let (to, _) = r.reg(to)?;
            let value = operand(r, from)?;
            let bits = if base == "UXTB" { Width::BYTE } else { Width::HALF };
            r.alu(Alu::Move, to, Operand::Imm(0), value, bits);
        }
        ("CMP" | "TST", [a, b]) => {
            let (a, b) = (operand(r, a)?, operand(r, b)?);
            r.push(if base == "TST" {
                Op::Test { a, b, width }
            } else {
                Op::Compare { a, b, width }
            });
        }
        (_, [to, rest @ ..]) if arithmetic(base).is_some() && !rest.is_empty() => {
            let (to_reg, _) = r.reg(to)?;
            let a = operand(r, if rest.len() > 1 { rest[0] } else { to })?;
            let b = operand(r, rest[rest.len().min(2) - 1])?;
            let Some(alu) = arithmetic(base) else { return Ok(false) };
            r.push(Op::Alu {
                alu,
                to: to_reg,
                a,
                b,
                width,
                flags,
            });
        }
        _ => return memory(r, name, args),
    }
    Ok(true)
}

fn memory(r: &mut Reader<'_>, name: &str, args: &[&str]) -> Read<bool> {
    let width = match name.as_bytes().last() {
        Some(b'B') => Width::BYTE,
        Some(b'H') => Width::HALF,
        _ => Width::WORD,
    };
    let acquire = name.starts_with("LDA");
    let release = name.starts_with("STL");
    let order = Order {
        acquire,
        release,
        ..Order::default()
    };
    match (name, args) {
        ("LDR" | "LDRB" | "LDRH" | "LDA" | "LDREX" | "LDAEX", [to, at]) => {
            let (to, _) = r.reg(to)?;
            let at = place(r, at)?;
            r.push(Op::Load {
                to,
                at,
                width,
                signed: false,
                order,
                exclusive: name.ends_with("EX"),
            });
        }
        ("STR" | "STRB" | "STRH" | "STL", [value, at]) => {
            let value = operand(r, value)?;
            let at = place(r, at)?;
            r.push(Op::Store {
                value,
                at,
                width,
                order,
                nt: false,
            });
        }
        ("STREX" | "STLEX", [status, value, at]) => {
            let success = Success::Register(r.reg(status)?.0);
            let value = operand(r, value)?;
            let at = place(r, at)?;
            r.push(Op::StoreExclusive {
                value,
                at,
                width,
                order,
                success,
            });
        }
        _ => return Ok(false),
    }
    Ok(true)
}
