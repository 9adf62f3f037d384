//! Reference pages, their pictures, and media presets, made from the registries so that they cannot drift.

mod designs;
mod machines;
mod parts;
mod picture;
mod programs;

use crate::error::LabError;
use fencepost_kernel::params::{Field, Params as _};
use fencepost_machine::memory::{MediaPreset, MediaSpec, Origin};
use fencepost_machine::seam::Cause;
use parts::MARK;
use std::fmt::Write as _;

/// The generated files that take no explorations: path below the project's root, and text.
///
/// # Errors
/// A picture's run or a preset fails, which is a defect.
pub fn pages() -> Result<Vec<(String, String)>, LabError> {
    let mut out: Vec<(String, String)> = MediaSpec::PRESETS.iter().map(media_preset).collect();
    out.extend(designs::pages()?);
    let first = ["so", "delegated"].map(|d| picture::request(d, "dpo"));
    out.push(("docs/figures/so-delegated.svg".into(), picture::on_one_clock(&first)?));
    out.extend(programs::pages());
    out.extend(machines::pages()?);
    out.push(("docs/stats.md".into(), stats()));
    Ok(out)
}

/// The generated files that take minutes.
pub fn explored_pages() -> Vec<(String, String)> {
    vec![("docs/variants.md".into(), variants())]
}

/// The table of deliberate mistakes. It takes explorations, which fail only on a defect of ours; then the page says so.
fn variants() -> String {
    let page = crate::variants::page().unwrap_or_else(|e| format!("# Deliberate mistakes\n\n{e}\n"));
    format!("{MARK}{page}")
}

/// A medium as a preset file: every value, with its origin.
fn media_preset(p: &MediaPreset) -> (String, String) {
    let spec = (p.spec)();
    let about = toml_edit::Value::from(p.doc);
    let mut out =
        format!("# generated from the media by `cargo run -p xtask -- generate`\nabout = {about}\n\n[media]\n");
    for f in MediaSpec::fields() {
        let value = spec.get(f.name).unwrap_or_default();
        let note = match p.marks.iter().find(|m| m.field == f.name) {
            Some(m) => format!("{}: {}", origin_name(m.origin), m.note),
            None => default_note(&f),
        };
        let bare = value.parse::<i64>().is_ok() || value == "true" || value == "false";
        let text = if bare { value } else { format!("\"{value}\"") };
        let _ = writeln!(out, "{} = {text} # {note}", f.name);
    }
    (format!("presets/media/{}.toml", p.name), out)
}
fn origin_name(o: Origin) -> &'static str {
    match o {
        Origin::Paper => "paper",
        Origin::Standard => "standard",
        Origin::Simulator => "simulator",
        Origin::Ours => "ours",
    }
}
/// What a medium does not change is as in DDR3-1600: timing by the standard, policies by choice.
fn default_note(f: &Field) -> String {
    if f.name.starts_with("t_") {
        return "standard: as in DDR3-1600 11-11-11 (JESD79-3)".into();
    }
    match f.name {
        "banks" | "bank_groups" => "standard: as in DDR3 (JESD79-3)".into(),
        "row_size" => "standard: eight x8 devices of 1 KiB each".into(),
        "durable_at" => "paper: durable when the medium has stored it".into(),
        "read_pulse" | "write_pulse" => "ours: the bus timing says it all".into(),
        _ => "ours: not stated; the usual choice".into(),
    }
}

fn stats() -> String {
    let mut out = format!(
        "{MARK}# Statistics\n\n## Stall causes\n\nFor every thread, busy time and these add up to its finish time. Time is charged to what the \
         oldest uncommitted instruction waits for.\n\n| cause | meaning |\n|---|---|\n"
    );
    for (name, doc) in Cause::NAMES.iter().zip(Cause::DOCS) {
        let _ = writeln!(out, "| `{name}` | {doc} |");
    }
    out.push_str("\nWhat a design counts stands on [its page](designs.md).\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn every_design_program_machine_and_section_has_its_place() {
        let pages = pages().unwrap();
        let text = |name: String| &pages.iter().find(|p| p.0 == name).unwrap_or_else(|| panic!("{name}")).1;
        for d in fencepost_designs::all() {
            assert!(text("docs/designs.md".into()).contains(&format!("(designs/{}.md)", d.name)));
            assert!(text(format!("docs/designs/{}.md", d.name)).contains("## Where order is kept"));
            assert!(text(format!("docs/designs/{}.svg", d.name)).contains("</svg>"));
        }
        for p in fencepost_programs::programs() {
            assert!(text("docs/programs.md".into()).contains(&format!("(programs/{}.md)", p.name)));
            assert!(text(format!("docs/programs/{}.md", p.name)).contains("## Logging"));
        }
        assert!(text("docs/machines/dpo.md".into()).contains("## `[core]`"));
        assert!(text("docs/parameters.md".into()).contains("| `write_queue` | a whole number |  | `64` |"));
    }
}
