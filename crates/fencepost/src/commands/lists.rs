//! Commands that look something up: list, cost, cite.

use crate::exit::CLEAN;
use crate::layout::{entry, table};
use crate::output::Out;
use fencepost_papers::listing;
use fencepost_run::{LabError, cite as lab_cite, cost as lab_cost};
use std::fmt::Write as _;

/// `list`.
pub(super) fn list(kind: Option<&str>, out: &Out) -> Result<u8, LabError> {
    let sections = listing::list(kind)?;
    out.document(&sections, || {
        let mut text = String::new();
        for s in &sections {
            let width = s.entries.iter().map(|e| e.name.len()).max().unwrap_or(0);
            let _ = writeln!(text, "{}{}", if text.is_empty() { "" } else { "\n" }, s.kind);
            for e in &s.entries {
                text.push_str(&entry(2, width, &e.name, &e.about));
                for (name, value) in e.more.iter().filter(|_| out.verbose > 0 || s.kind == "readings") {
                    text.push_str(&entry(4, 0, "", &format!("{name}: {value}")));
                }
            }
        }
        text
    })?;
    Ok(CLEAN)
}

/// `cost`.
pub(super) fn cost(design: Option<&str>, machine: &str, sets: &[String], out: &Out) -> Result<u8, LabError> {
    let costs = lab_cost::cost(design, machine, sets)?;
    out.document(&costs, || {
        let mut text = String::new();
        for b in &costs {
            let _ = writeln!(
                text,
                "{}{} on {}",
                if text.is_empty() { "" } else { "\n" },
                b.design,
                b.machine
            );
            if b.items.is_empty() {
                text.push_str("  no storage\n");
                continue;
            }
            let bytes = |bits: u64| fencepost_run::short(bits as f64 / 8.0);
            let row = |i: &lab_cost::CostLine| {
                let paper = i.paper_bits.map_or(String::new(), |b| b.to_string());
                let paper_bytes = i.paper_bits.map_or(String::new(), bytes);
                vec![
                    i.what.clone(),
                    i.bits.to_string(),
                    bytes(i.bits),
                    paper,
                    paper_bytes,
                    i.note.clone(),
                ]
            };
            let rows: Vec<Vec<String>> = b.items.iter().map(row).collect();
            text.push_str(&table(
                &["structure", "bits", "bytes", "paper bits", "paper bytes", "note"],
                &rows,
            ));
        }
        text
    })?;
    Ok(CLEAN)
}

/// `cite`.
pub(super) fn cite(design: &str, out: &Out) -> Result<u8, LabError> {
    let c = lab_cite::cite(design)?;
    out.document(&c, || match c.bibtex.is_empty() {
        true => format!("`{}` is nobody's in particular: {}\n", c.design, c.summary),
        false => format!("{}\n", c.bibtex),
    })?;
    Ok(CLEAN)
}
