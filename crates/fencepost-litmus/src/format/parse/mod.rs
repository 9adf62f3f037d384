//! Reads herd's `.litmus` files.

mod aarch64;
mod arm;
mod code;
mod error;
mod final_part;
mod init;
mod names;
mod number;
mod ppc;
mod sections;
mod x86;

use crate::format::condition::Atom;
use crate::format::test::{Arch, Locations, Test, Thread};
use code::{Reader, operands};
pub use error::ReadError;
use error::{Read, unsupported};
use sections::Sections;

/// Reads a test.
///
/// # Errors
/// What cannot be read or is not modelled, with its place.
pub fn parse(text: &str) -> Result<Test, ReadError> {
    let sections = Sections::split(text)?;
    let arch = sections.arch;
    let mut locations = Locations::default();
    let init = init::read(arch, &sections.init, &mut locations)?;
    let mut threads = Vec::new();
    for (id, column) in &sections.columns {
        let mut reader = Reader::new(arch, &mut locations);
        let initial = init.of_thread(*id, &mut reader)?;
        for (line, cell) in column.iter().enumerate() {
            if let Some(text) = reader.labels(cell, line) {
                instruction(&mut reader, text)?;
            }
        }
        threads.push(reader.thread(*id, column.clone(), initial)?);
    }
    let ids: Vec<usize> = threads.iter().map(|t| t.id).collect();
    let mut ends = final_part::Reader {
        arch,
        ids: &ids,
        threads: &mut threads,
        locations: &mut locations,
    };
    let (quantifier, condition) = ends.condition(&sections.condition)?;
    let filter = sections.filter.as_deref().map(|f| ends.prop(f)).transpose()?;
    let crash = sections.headers.iter().find(|(key, _)| key == "Crash");
    let crash = crash.map(|(_, text)| ends.crash(text)).transpose()?;
    let listed = ends.listed(sections.locations.as_deref().unwrap_or(""))?;
    init.extra_registers(&mut threads)?;
    let mut shown: Vec<Atom> = Vec::new();
    let mut show = |a: &Atom| {
        if !shown.contains(a) {
            shown.push(a.clone());
        }
    };
    condition.atoms(&mut show);
    listed.iter().for_each(&mut show);
    check(&threads)?;
    Ok(Test {
        arch,
        name: sections.name,
        headers: sections.headers,
        locations,
        threads,
        quantifier,
        condition,
        condition_text: sections.condition.split_whitespace().collect::<Vec<_>>().join(" "),
        crash,
        filter,
        shown,
    })
}

fn check(threads: &[Thread]) -> Read<()> {
    if threads.len() > 16 {
        return unsupported("more than 16 threads");
    }
    Ok(())
}

/// One instruction.
fn instruction(reader: &mut Reader<'_>, text: &str) -> Read<()> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mnemonic = word.to_ascii_uppercase();
    let args = operands(rest);
    let known = match reader.arch {
        Arch::X86 | Arch::X86_64 => x86::instruction(reader, &mnemonic, rest)?,
        Arch::Arm => arm::instruction(reader, &mnemonic, &args)?,
        Arch::AArch64 => aarch64::instruction(reader, &mnemonic, &args)?,
        Arch::Ppc => ppc::instruction(reader, &mnemonic, &args)?,
    };
    if known {
        Ok(())
    } else {
        unsupported(format!("instruction `{text}`"))
    }
}
