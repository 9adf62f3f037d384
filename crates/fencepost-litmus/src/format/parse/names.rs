//! Names of registers.

use crate::format::test::Arch;

/// Without blanks around colons: `1: X0` is the register `1:X0`.
pub(super) fn tight(text: &str) -> String {
    let parts: Vec<&str> = text.split(':').collect();
    let last = parts.len() - 1;
    let trimmed = parts.iter().enumerate().map(|(i, part)| {
        let part = if i > 0 { part.trim_start() } else { part };
        if i < last { part.trim_end() } else { part }
    });
    trimmed.collect::<Vec<_>>().join(":")
}

/// The canonical name of a register and the bytes that its written name covers; `None`: not a register.
pub(super) fn register(arch: Arch, name: &str) -> Option<(String, u8)> {
    if let Some(rest) = name.strip_prefix('%')
        && !arch.is_x86()
    {
        return Some((format!("%{rest}"), 8));
    }
    match arch {
        Arch::X86 | Arch::X86_64 => x86(name),
        Arch::Arm => arm(name),
        Arch::AArch64 => aarch64(name),
        Arch::Ppc => ppc(name),
    }
}

/// `EAX`, `rax`, `%eax`, `AL`, `r8d`.
pub(super) fn x86(name: &str) -> Option<(String, u8)> {
    let upper = name.trim_start_matches('%').to_ascii_uppercase();
    const LETTERS: [&str; 4] = ["A", "B", "C", "D"];
    const NAMED: [&str; 4] = ["SI", "DI", "SP", "BP"];
    for letter in LETTERS {
        let bytes = match upper.strip_suffix('X').or_else(|| upper.strip_suffix('L')) {
            Some(rest) if rest.strip_suffix(letter) == Some("R") => 8,
            Some(rest) if rest.strip_suffix(letter) == Some("E") => 4,
            Some(rest) if rest == letter && upper.ends_with('X') => 2,
            Some(rest) if rest == letter => 1,
            _ => continue,
        };
        return Some((format!("{letter}X"), bytes));
    }
    for named in NAMED {
        let bytes = match upper.strip_suffix(named) {
            Some("R") => 8,
            Some("E") => 4,
            Some("") => 2,
            _ => continue,
        };
        return Some((named.into(), bytes));
    }
    let digits = upper.strip_prefix('R')?;
    let (digits, bytes) = match digits.strip_suffix(['D', 'W', 'B']) {
        Some(rest) if digits.ends_with('D') => (rest, 4),
        Some(rest) if digits.ends_with('W') => (rest, 2),
        Some(rest) => (rest, 1),
        None => (digits, 8),
    };
    let n: u8 = digits.parse().ok().filter(|n| (8..16).contains(n))?;
    Some((format!("R{n}"), bytes))
}

/// `Rn`.
pub(super) fn arm(name: &str) -> Option<(String, u8)> {
    let upper = name.to_ascii_uppercase();
    let n: u8 = upper.strip_prefix('R')?.parse().ok().filter(|n| *n <= 14)?;
    Some((format!("R{n}"), 4))
}

/// `Wn`, `Xn`, zero registers.
pub(super) fn aarch64(name: &str) -> Option<(String, u8)> {
    let upper = name.to_ascii_uppercase();
    let (kind, n) = upper.split_at_checked(1)?;
    let bytes = match kind {
        "W" => 4,
        "X" => 8,
        _ => return None,
    };
    if n == "ZR" {
        return Some(("XZR".into(), bytes));
    }
    let n: u8 = n.parse().ok().filter(|n| *n <= 30)?;
    Some((format!("X{n}"), bytes))
}

/// `rn`.
pub(super) fn ppc(name: &str) -> Option<(String, u8)> {
    let n: u8 = name.strip_prefix(['r', 'R'])?.parse().ok().filter(|n| *n <= 31)?;
    Some((format!("r{n}"), 8))
}
