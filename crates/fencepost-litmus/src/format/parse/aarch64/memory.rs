//! Loads, stores, exclusives and atomics of AArch64.

use super::super::code::{Reader, operands};
use super::super::error::{Read, syntax};
use super::super::names;
use super::operand::{is_zero, operand, target};
use crate::format::op::{Address, Alu, Op, Operand, Order, Success, Width};

/// An address and what its base register is advanced by, before or after.
struct Place {
    at: Address,
    before: u64,
    after: u64,
}

fn place(r: &mut Reader<'_>, args: &[&str]) -> Read<Place> {
    let text = args[0];
    let (inside, pre) = match text.strip_suffix('!') {
        Some(rest) => (rest.trim(), true),
        None => (text, false),
    };
    let Some(inside) = inside.strip_prefix('[').and_then(|t| t.strip_suffix(']')) else {
        return syntax(format!("`{text}` is no address"));
    };
    let parts = operands(inside);
    let Some(base) = parts.first() else {
        return syntax("`[]` is no address");
    };
    let mut at = Address::at(Operand::Reg(r.reg(base)?.0));
    let mut before = 0;
    match parts.get(1) {
        None => {}
        Some(index) if names::aarch64(index).is_some() || index.starts_with('%') => {
            let modifier = parts.get(2).copied().unwrap_or("");
            let (kind, amount) = modifier.split_once(char::is_whitespace).unwrap_or((modifier, "#0"));
            let shift = r.constant(amount)? as u8;
            let kind = kind.to_ascii_uppercase();
            if is_zero(index) {
                return Ok(Place { at, before, after: 0 });
            }
            let (index, width) = r.reg(index)?;
            let index = if width == Width::WORD && kind == "UXTW" {
                let to = r.scratch("index")?;
                r.set(to, Operand::Reg(index), Width::WORD);
                to
            } else {
                index
            };
            at.index = Some((index, shift, kind == "SXTW"));
        }
        Some(offset) => {
            let offset = r.constant(offset)?;
            if pre {
                before = offset;
            } else {
                at.offset = offset;
            }
        }
    }
    let after = match args.get(1) {
        Some(by) => r.constant(by)?,
        None => 0,
    };
    Ok(Place { at, before, after })
}

/// What the size suffix says: bytes, and the mnemonic without it.
fn sized(mnemonic: &str) -> (&str, Option<Width>) {
    if let Some(rest) = mnemonic.strip_suffix('B') {
        (rest, Some(Width::BYTE))
    } else if let Some(rest) = mnemonic.strip_suffix('H') {
        (rest, Some(Width::HALF))
    } else {
        (mnemonic, None)
    }
}

/// One memory instruction; false if it is not known.
pub(super) fn instruction(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    Ok(loads_stores(r, mnemonic, args)? || exclusive_store(r, mnemonic, args)? || atomics(r, mnemonic, args)?)
}

fn load_kind(name: &str) -> Option<(Order, bool)> {
    let none = Order::default();
    let acquire = Order { acquire: true, ..none };
    Some(match name {
        "LDR" | "LDUR" => (none, false),
        "LDAR" | "LDLAR" => (acquire, false),
        "LDAPR" | "LDAPUR" => (
            Order {
                acquire_pc: true,
                ..none
            },
            false,
        ),
        "LDXR" => (none, true),
        "LDAXR" => (acquire, true),
        _ => return None,
    })
}

fn loads_stores(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let (signed, plain) = match mnemonic {
        "LDRSB" | "LDRSH" | "LDRSW" | "LDURSW" => (true, "LDR"),
        _ => (false, mnemonic),
    };
    let (name, size) = match mnemonic {
        "LDRSB" => (plain, Some(Width::BYTE)),
        "LDRSH" => (plain, Some(Width::HALF)),
        "LDRSW" | "LDURSW" => (plain, Some(Width::WORD)),
        _ => sized(plain),
    };
    if let (Some((order, exclusive)), [to, at @ ..]) = (load_kind(name), args)
        && !at.is_empty()
    {
        let (to, width) = target(r, to)?;
        let place = place(r, at)?;
        let width = size.unwrap_or(width);
        r.advance(place.at, place.before);
        r.push(Op::Load {
            to,
            at: place.at,
            width,
            signed,
            order,
            exclusive,
        });
        r.advance(place.at, place.after);
        return Ok(true);
    }
    let release = match name {
        "STR" | "STUR" => false,
        "STLR" | "STLUR" | "STLLR" => true,
        _ => return pair(r, mnemonic, args),
    };
    let [value, at @ ..] = args else { return Ok(false) };
    if at.is_empty() {
        return Ok(false);
    }
    let (_, width) = r.reg(value)?;
    let value = operand(r, value)?;
    let place = place(r, at)?;
    r.advance(place.at, place.before);
    let order = Order {
        release,
        ..Order::default()
    };
    r.push(Op::Store {
        value,
        at: place.at,
        width: size.unwrap_or(width),
        order,
        nt: false,
    });
    r.advance(place.at, place.after);
    Ok(true)
}

fn pair(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let (load, [a, b, at @ ..]) = (matches!(mnemonic, "LDP" | "LDNP"), args) else {
        return Ok(false);
    };
    if !load && !matches!(mnemonic, "STP" | "STNP") || at.is_empty() {
        return Ok(false);
    }
    let place = place(r, at)?;
    r.advance(place.at, place.before);
    let order = Order::default();
    let mut at = place.at;
    let base = r.scratch("pair")?;
    if load {
        // The first result may be the base register.
        r.set(base, at.base, Width::DOUBLE);
        at.base = Operand::Reg(base);
    }
    for reg in [a, b] {
        let (_, width) = r.reg(reg)?;
        if load {
            let (to, _) = target(r, reg)?;
            r.push(Op::Load {
                to,
                at,
                width,
                signed: false,
                order,
                exclusive: false,
            });
        } else {
            let value = operand(r, reg)?;
            r.push(Op::Store {
                value,
                at,
                width,
                order,
                nt: false,
            });
        }
        at.offset = at.offset.wrapping_add(u64::from(width.0));
    }
    r.advance(place.at, place.after);
    Ok(true)
}

fn exclusive_store(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let (name, size) = sized(mnemonic);
    let release = match name {
        "STXR" => false,
        "STLXR" => true,
        _ => return Ok(false),
    };
    let [status, value, at] = args else { return Ok(false) };
    let (status, _) = target(r, status)?;
    let (_, width) = r.reg(value)?;
    let value = operand(r, value)?;
    let at = place(r, &[at])?.at;
    let order = Order {
        release,
        ..Order::default()
    };
    let success = Success::Register(status);
    r.push(Op::StoreExclusive {
        value,
        at,
        width: size.unwrap_or(width),
        order,
        success,
    });
    Ok(true)
}

/// The operation of an atomic by its name, and the rest of the name.
fn atomic_kind(name: &str) -> Option<(Alu, &str)> {
    let kinds = [
        ("ADD", Alu::Add),
        ("CLR", Alu::AndNot),
        ("EOR", Alu::Xor),
        ("SET", Alu::Or),
        ("SMAX", Alu::MaxSigned),
        ("SMIN", Alu::MinSigned),
        ("UMAX", Alu::MaxUnsigned),
        ("UMIN", Alu::MinUnsigned),
    ];
    kinds
        .into_iter()
        .find_map(|(prefix, alu)| Some((alu, name.strip_prefix(prefix)?)))
}

/// Acquire and release by the suffix.
fn ordering(suffix: &str) -> Option<Order> {
    let (acquire, release) = match suffix {
        "" => (false, false),
        "A" => (true, false),
        "L" => (false, true),
        "AL" => (true, true),
        _ => return None,
    };
    Some(Order {
        acquire,
        acquire_pc: false,
        release,
    })
}

fn atomics(r: &mut Reader<'_>, mnemonic: &str, args: &[&str]) -> Read<bool> {
    let (name, size) = sized(mnemonic);
    if let Some(order) = name.strip_prefix("CAS").and_then(ordering) {
        let [expected, new, at] = args else { return Ok(false) };
        let (expected, width) = target(r, expected)?;
        if args[0].to_ascii_uppercase().ends_with("ZR") {
            r.set(expected, Operand::Imm(0), width);
        }
        let new = operand(r, new)?;
        let at = place(r, &[at])?.at;
        let width = size.unwrap_or(width);
        r.push(Op::CompareSwap {
            expected,
            new,
            at,
            width,
            order,
            atomic: true,
            flags: false,
        });
        return Ok(true);
    }
    let (alu, suffix, has_result) = if let Some(suffix) = name.strip_prefix("SWP") {
        (Alu::Move, suffix, true)
    } else if let Some((alu, suffix)) = name.strip_prefix("LD").and_then(atomic_kind) {
        (alu, suffix, true)
    } else if let Some((alu, suffix)) = name.strip_prefix("ST").and_then(atomic_kind) {
        (alu, suffix, false)
    } else {
        return Ok(false);
    };
    let Some(mut order) = ordering(suffix) else {
        return Ok(false);
    };
    let (value, to, at) = match (args, has_result) {
        ([value, to, at], true) => (value, Some(*to), at),
        ([value, at], false) => (value, None, at),
        _ => return Ok(false),
    };
    let (_, width) = r.reg(value)?;
    let to = match to.filter(|to| !is_zero(to)) {
        Some(to) => Some(target(r, to)?.0),
        None => None,
    };
    // Without a result there is no acquire.
    order.acquire &= to.is_some();
    let value = operand(r, value)?;
    let at = place(r, &[at])?.at;
    let width = size.unwrap_or(width);
    r.push(Op::Rmw {
        alu,
        to,
        value,
        at,
        width,
        order,
        atomic: true,
        flags: false,
    });
    Ok(true)
}
