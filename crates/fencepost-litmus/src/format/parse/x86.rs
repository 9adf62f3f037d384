//! x86 instructions: Intel's operand order in `X86` files, AT&T's in `X86_64` files.

mod operand;

use super::code::{Reader, operands};
use super::error::{Read, syntax};
use crate::format::op::{Address, Alu, Barrier, Cond, FlushKind, Op, Operand, Order, Reg, Width};
use crate::format::test::Arch;
use operand::{Arg, argument};

fn condition(suffix: &str) -> Option<Cond> {
    Some(match suffix {
        "E" | "Z" => Cond::Eq,
        "NE" | "NZ" => Cond::Ne,
        "L" | "NGE" => Cond::Lt,
        "LE" | "NG" => Cond::Le,
        "G" | "NLE" => Cond::Gt,
        "GE" | "NL" => Cond::Ge,
        "B" | "C" | "NAE" => Cond::Below,
        "BE" | "NA" => Cond::BelowEq,
        "A" | "NBE" => Cond::Above,
        "AE" | "NB" | "NC" => Cond::AboveEq,
        "S" => Cond::Negative,
        "NS" => Cond::NotNegative,
        _ => return None,
    })
}

fn arithmetic(name: &str) -> Option<Alu> {
    Some(match name {
        "ADD" | "INC" => Alu::Add,
        "SUB" | "DEC" => Alu::Sub,
        "AND" => Alu::And,
        "OR" => Alu::Or,
        "XOR" => Alu::Xor,
        "SHL" | "SAL" => Alu::ShiftLeft,
        "SHR" => Alu::ShiftRight,
        _ => return None,
    })
}

const NAMES: [&str; 28] = [
    "MOV",
    "MOVNTI",
    "MOVNT",
    "XCHG",
    "XADD",
    "CMPXCHG",
    "ADD",
    "SUB",
    "AND",
    "OR",
    "XOR",
    "SHL",
    "SAL",
    "SHR",
    "INC",
    "DEC",
    "NEG",
    "NOT",
    "CMP",
    "TEST",
    "CLFLUSH",
    "CLFLUSHOPT",
    "CLWB",
    "CMOV",
    "SET",
    "LEA",
    "JMP",
    "NOP",
];

/// The name without a size suffix, and the size.
fn sized(mnemonic: &str) -> (&str, Option<Width>) {
    if NAMES.contains(&mnemonic) {
        return (mnemonic, None);
    }
    let width = match mnemonic.as_bytes().last() {
        Some(b'B') => Width::BYTE,
        Some(b'W') => Width::HALF,
        Some(b'L') => Width::WORD,
        Some(b'Q') => Width::DOUBLE,
        _ => return (mnemonic, None),
    };
    let name = &mnemonic[..mnemonic.len() - 1];
    if NAMES.contains(&name) {
        (name, Some(width))
    } else {
        (mnemonic, None)
    }
}

/// One instruction; false if it is not known.
pub(super) fn instruction(r: &mut Reader<'_>, mnemonic: &str, rest: &str) -> Read<bool> {
    if mnemonic == "LOCK" {
        let rest = rest.trim_start_matches([';', ' ']);
        let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        return body(r, &word.to_ascii_uppercase(), rest, true);
    }
    body(r, mnemonic, rest, false)
}

fn simple(r: &mut Reader<'_>, mnemonic: &str, rest: &str) -> Read<bool> {
    let barrier = match mnemonic {
        "MFENCE" => Barrier::Full,
        "SFENCE" => Barrier::Sfence,
        "LFENCE" => Barrier::Lfence,
        "PCOMMIT" => Barrier::Pcommit,
        "PBARRIER" => Barrier::Persist,
        "NEWSTRAND" => Barrier::NewStrand,
        "NOP" | "ENDBR64" => {
            r.push(Op::Nop);
            return Ok(true);
        }
        "RET" => {
            r.leave();
            return Ok(true);
        }
        "JMP" => {
            r.jump(Op::Jump { target: 0 }, rest);
            return Ok(true);
        }
        _ => {
            let Some(cond) = mnemonic.strip_prefix('J').and_then(condition) else {
                return Ok(false);
            };
            r.jump(Op::Branch { cond, target: 0 }, rest);
            return Ok(true);
        }
    };
    r.push(Op::Fence(barrier));
    Ok(true)
}

/// Operands in Intel's order: destination first.
fn arguments(r: &mut Reader<'_>, rest: &str) -> Read<(Vec<Arg>, Option<Width>)> {
    let mut width = None;
    let mut args = Vec::new();
    for text in operands(rest) {
        let (arg, w) = argument(r, text)?;
        width = width.or(w);
        args.push(arg);
    }
    if r.arch == Arch::X86_64 && !rest.contains('[') {
        args.reverse();
    }
    Ok((args, width))
}

fn body(r: &mut Reader<'_>, mnemonic: &str, rest: &str, locked: bool) -> Read<bool> {
    if simple(r, mnemonic, rest)? {
        return Ok(true);
    }
    let (name, suffix) = sized(mnemonic);
    let (args, width) = arguments(r, rest)?;
    let width = suffix.or(width).unwrap_or(Width::WORD);
    if let (Some(cond), [Arg::Value(Operand::Reg(to)), from]) =
        (name.strip_prefix("CMOV").and_then(condition), &args[..])
    {
        let a = read(r, *from, width)?;
        let b = Operand::Reg(*to);
        r.push(Op::Select {
            cond,
            to: *to,
            a,
            b,
            else_add: 0,
            else_not: false,
            width,
        });
        return Ok(true);
    }
    if let (Some(cond), [Arg::Value(Operand::Reg(to))]) = (name.strip_prefix("SET").and_then(condition), &args[..]) {
        let (a, b) = (Operand::Imm(1), Operand::Imm(0));
        r.push(Op::Select {
            cond,
            to: *to,
            a,
            b,
            else_add: 0,
            else_not: false,
            width,
        });
        return Ok(true);
    }
    Ok(moves(r, name, &args, width)?
        || exchanges(r, name, &args, width, locked)?
        || sums(r, name, &args, width, locked)?)
}

/// An operand's value; a load into a scratch register if it is in memory.
fn read(r: &mut Reader<'_>, arg: Arg, width: Width) -> Read<Operand> {
    match arg {
        Arg::Value(v) => Ok(v),
        Arg::Memory(at) => {
            let to = r.scratch("load")?;
            load(r, to, at, width);
            Ok(Operand::Reg(to))
        }
    }
}

fn load(r: &mut Reader<'_>, to: Reg, at: Address, width: Width) {
    let order = Order::default();
    r.push(Op::Load {
        to,
        at,
        width,
        signed: false,
        order,
        exclusive: false,
    });
}

fn moves(r: &mut Reader<'_>, name: &str, args: &[Arg], width: Width) -> Read<bool> {
    match (name, args) {
        ("MOV", [Arg::Value(Operand::Reg(to)), Arg::Memory(at)]) => load(r, *to, *at, width),
        ("MOV", [Arg::Value(Operand::Reg(to)), Arg::Value(v)]) => r.set(*to, *v, width),
        ("MOV" | "MOVNTI" | "MOVNT", [Arg::Memory(at), Arg::Value(value)]) => {
            let (nt, order) = (name != "MOV", Order::default());
            r.push(Op::Store {
                value: *value,
                at: *at,
                width,
                order,
                nt,
            });
        }
        ("CMP" | "TEST", [a, b]) => {
            let (a, b) = (read(r, *a, width)?, read(r, *b, width)?);
            r.push(if name == "TEST" {
                Op::Test { a, b, width }
            } else {
                Op::Compare { a, b, width }
            });
        }
        ("CLFLUSH", [Arg::Memory(at)]) => r.push(Op::Flush {
            at: *at,
            kind: FlushKind::Strong,
        }),
        ("CLFLUSHOPT" | "CLWB", [Arg::Memory(at)]) => r.push(Op::Flush {
            at: *at,
            kind: FlushKind::Weak,
        }),
        ("MOV" | "MOVNTI", _) => return syntax("a move from memory to memory"),
        _ => return Ok(false),
    }
    Ok(true)
}

/// A locked instruction is a full fence before and after, whether it writes or not.
fn locked_op(r: &mut Reader<'_>, locked: bool, op: Op) {
    if locked {
        r.push(Op::Fence(Barrier::Full));
    }
    r.push(op);
    if locked {
        r.push(Op::Fence(Barrier::Full));
    }
}

fn exchanges(r: &mut Reader<'_>, name: &str, args: &[Arg], width: Width, locked: bool) -> Read<bool> {
    let order = Order::default();
    match (name, args) {
        (
            "XCHG",
            [Arg::Memory(at), Arg::Value(Operand::Reg(reg))] | [Arg::Value(Operand::Reg(reg)), Arg::Memory(at)],
        ) => {
            let value = Operand::Reg(*reg);
            let to = Some(*reg);
            locked_op(
                r,
                true,
                Op::Rmw {
                    alu: Alu::Move,
                    to,
                    value,
                    at: *at,
                    width,
                    order,
                    atomic: true,
                    flags: false,
                },
            );
        }
        ("XADD", [Arg::Memory(at), Arg::Value(Operand::Reg(reg))]) => {
            let (value, to) = (Operand::Reg(*reg), Some(*reg));
            locked_op(
                r,
                locked,
                Op::Rmw {
                    alu: Alu::Add,
                    to,
                    value,
                    at: *at,
                    width,
                    order,
                    atomic: locked,
                    flags: true,
                },
            );
        }
        ("CMPXCHG", [Arg::Memory(at), Arg::Value(new)]) => {
            let expected = r.number("AX")?;
            let new = *new;
            locked_op(
                r,
                locked,
                Op::CompareSwap {
                    expected,
                    new,
                    at: *at,
                    width,
                    order,
                    atomic: locked,
                    flags: true,
                },
            );
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn sums(r: &mut Reader<'_>, name: &str, args: &[Arg], width: Width, locked: bool) -> Read<bool> {
    let Some(alu) = arithmetic(name) else { return Ok(false) };
    let (to, value) = match (name, args) {
        ("INC" | "DEC", [to]) => (*to, Arg::Value(Operand::Imm(1))),
        (_, [to, value]) => (*to, *value),
        _ => return Ok(false),
    };
    let value = read(r, value, width)?;
    match to {
        Arg::Value(Operand::Reg(to)) => {
            let a = Operand::Reg(to);
            r.push(Op::Alu {
                alu,
                to,
                a,
                b: value,
                width,
                flags: true,
            });
        }
        Arg::Memory(at) => {
            let order = Order::default();
            locked_op(
                r,
                locked,
                Op::Rmw {
                    alu,
                    to: None,
                    value,
                    at,
                    width,
                    order,
                    atomic: locked,
                    flags: true,
                },
            );
        }
        Arg::Value(Operand::Imm(_)) => return syntax("a constant cannot be written"),
    }
    Ok(true)
}
