//! The initial state.

use super::code::Reader;
use super::error::{Read, syntax, unsupported};
use super::names::{register, tight};
use super::number::number;
use crate::format::op::Reg;
use crate::format::test::{Arch, Locations, Thread};

/// Initial values of registers; those of memory go into [`Locations`].
pub(super) struct Init {
    /// Thread number, if one is named, register and value.
    registers: Vec<(Option<usize>, String, u64)>,
}

/// Bytes of a C type.
fn size_of(ty: &str) -> Option<u8> {
    let ty = ty.trim();
    if ty.ends_with('*') {
        return Some(8);
    }
    let last = ty.split_whitespace().next_back()?;
    Some(match last {
        "char" | "int8_t" | "uint8_t" => 1,
        "short" | "int16_t" | "uint16_t" => 2,
        "int" | "unsigned" | "int32_t" | "uint32_t" | "atomic_int" => 4,
        "long" | "int64_t" | "uint64_t" | "intptr_t" | "uintptr_t" | "size_t" => 8,
        _ => return None,
    })
}

/// A number, a location or a location with a displacement.
pub(super) fn value(text: &str, locations: &mut Locations) -> Read<u64> {
    let text = text.trim().trim_start_matches('&');
    let text = text
        .strip_prefix('(')
        .and_then(|t| t.strip_suffix(')'))
        .unwrap_or(text)
        .trim();
    if let Some(n) = number(text) {
        return Ok(n);
    }
    if let Some((name, index)) = text.strip_suffix(']').and_then(|t| t.split_once('[')) {
        let at = locations.address(name.trim());
        let Some(n) = number(index) else {
            return syntax(format!("`{text}`: no index"));
        };
        return Ok(at.wrapping_add(n.wrapping_mul(u64::from(locations.element(at)))));
    }
    if let Some((name, offset)) = text.split_once('+')
        && let Some(n) = number(offset)
    {
        return Ok(locations.address(name.trim()).wrapping_add(n));
    }
    if !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_.".contains(c)) && !text.contains(':') {
        return Ok(locations.address(text));
    }
    unsupported(format!("value `{text}`"))
}

fn split_entries(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut out) = (0i32, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' => depth -= 1,
            ';' if depth == 0 => {
                out.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    out.push(&text[start..]);
    out
}

/// Reads the initial state.
pub(super) fn read(arch: Arch, text: &str, locations: &mut Locations) -> Read<Init> {
    let mut init = Init { registers: Vec::new() };
    let text = tight(text);
    for entry in split_entries(&text)
        .into_iter()
        .map(str::trim)
        .filter(|e| !e.is_empty())
    {
        let (left, right) = match entry.split_once('=') {
            Some((l, r)) => (l.trim(), Some(r.trim())),
            None => (entry, None),
        };
        // The name is the last word, a type may stand before it.
        let cut = left
            .trim_end_matches([']', '[', ' '])
            .rfind([' ', '*'])
            .map_or(0, |i| i + 1);
        let (ty, name) = (left[..cut].trim(), left[cut..].trim());
        let size = if ty.is_empty() { None } else { size_of(ty) };
        if !ty.is_empty() && size.is_none() {
            return unsupported(format!("type `{ty}`"));
        }
        if name.contains(':') || name.starts_with('%') {
            init.registers.extend(register_entry(arch, name, right, locations)?);
        } else {
            memory_entry(name, size, right, locations)?;
        }
    }
    Ok(init)
}

fn register_entry(
    arch: Arch,
    name: &str,
    right: Option<&str>,
    locations: &mut Locations,
) -> Read<Option<(Option<usize>, String, u64)>> {
    let (thread, name) = match name.split_once(':') {
        None => (None, name),
        Some((thread, name)) => match thread.trim().trim_start_matches('P').parse() {
            Ok(id) => (Some(id), name.trim()),
            Err(_) => return syntax(format!("`{thread}` is no thread")),
        },
    };
    let Some((canonical, _)) = register(arch, name) else {
        return unsupported(format!("register `{name}`"));
    };
    let value = right.map(|r| value(r, locations)).transpose()?;
    Ok(value.map(|v| (thread, canonical, v)))
}

fn memory_entry(name: &str, size: Option<u8>, right: Option<&str>, locations: &mut Locations) -> Read<()> {
    let name = match name.strip_prefix('[') {
        Some(inner) => inner.trim_end_matches(']').trim(),
        None => name,
    };
    if let Some((array, length)) = name.strip_suffix(']').and_then(|n| n.split_once('[')) {
        let values: Vec<&str> = match right {
            None => Vec::new(),
            Some(list) => list.trim().trim_matches(['{', '}']).split(',').collect(),
        };
        let length = if length.trim().is_empty() {
            Some(values.len() as u64)
        } else {
            number(length)
        };
        let Some(length) = length.filter(|n| *n < crate::format::test::STRIDE / 8) else {
            return syntax(format!("`{name}`: no length"));
        };
        if values.len() as u64 > length {
            return syntax(format!("`{name}` has fewer elements than values"));
        }
        let (at, element) = (locations.address(array.trim()), size.unwrap_or(4));
        locations.declare(at, element, length.max(2));
        for (i, text) in values.into_iter().enumerate().filter(|(_, t)| !t.trim().is_empty()) {
            let v = value(text, locations)?;
            locations.initial.insert(at + i as u64 * u64::from(element), v);
        }
        return Ok(());
    }
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "_.+$".contains(c)) {
        return unsupported(format!("initial value of `{name}`"));
    }
    let at = match name.split_once('+') {
        Some((base, offset)) => match number(offset) {
            Some(n) => locations.address(base).wrapping_add(n),
            None => return syntax(format!("`{name}`: no displacement")),
        },
        None => locations.address(name),
    };
    if let Some(size) = size {
        locations.declare(at, size, 1);
    }
    if let Some(right) = right {
        if right.contains('{') {
            return unsupported(format!("initial value `{right}` of `{name}`"));
        }
        let v = value(right, locations)?;
        locations.initial.insert(at, v);
    }
    Ok(())
}

impl Init {
    /// The initial registers of a thread.
    pub(super) fn of_thread(&self, id: usize, reader: &mut Reader<'_>) -> Read<Vec<(Reg, u64)>> {
        let own = self.registers.iter().filter(|(t, ..)| t.is_none_or(|t| t == id));
        own.map(|(_, name, v)| Ok((reader.number(name)?, *v))).collect()
    }
    /// Entries must name threads that exist.
    pub(super) fn extra_registers(&self, threads: &mut [Thread]) -> Read<()> {
        for (thread, name, _) in &self.registers {
            if let Some(id) = thread
                && !threads.iter().any(|t| t.id == *id)
            {
                return syntax(format!("`{id}:{name}`: there is no thread P{id}"));
            }
        }
        Ok(())
    }
}
