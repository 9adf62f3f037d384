//! A page for each machine, with every value and where it comes from, and the list of all parameters.

use super::parts::{MARK, table};
use crate::config::machine::MachineConfig;
use crate::config::presets::{self, Kind};
use crate::config::{self, document, raw_text};
use crate::error::LabError;
use crate::request::Request;
use crate::{config::Resolved, listing};
use std::fmt::Write as _;

/// The pages.
///
/// # Errors
/// A preset cannot be read, which is a defect.
pub(super) fn pages() -> Result<Vec<(String, String)>, LabError> {
    let mut list = format!(
        "{MARK}# Machines\n\nA machine preset gives every value and says who states it.\n\n| machine | what it is |\n|---|---|\n"
    );
    let mut out = Vec::new();
    for entry in listing::entries("machines")? {
        let _ = writeln!(list, "| [`{0}`](machines/{0}.md) | {1} |", entry.name, entry.about);
        out.push((
            format!("docs/machines/{}.md", entry.name),
            page(&entry.name, &entry.about)?,
        ));
    }
    out.push(("docs/machines.md".into(), list));
    out.push(("docs/parameters.md".into(), parameters()));
    Ok(out)
}

fn page(name: &str, about: &str) -> Result<String, LabError> {
    let config = MachineConfig::load(name, None)?;
    let mut out = format!(
        "{MARK}# {name}\n\n{about}\n\nPersistent memory is `{}`, volatile memory `{}`. Every value, as `fencepost config show -m {name}` prints it; what \
         each means and which values it may have stands in [parameters](../parameters.md).\n\n```sh\nfencepost config show -m {name}\n```\n\n",
        config.media, config.dram
    );
    let request = Request {
        machine: name.into(),
        ..Request::default()
    };
    let of_machine = |s: &str| !["run", "design", "program"].contains(&s.split('.').next().unwrap_or(s));
    for section in document(&Resolved::resolve(&request)?).sections {
        if section.values.is_empty() || !of_machine(&section.name) {
            continue;
        }
        let _ = write!(
            out,
            "## `[{}]`\n\n| value | | who says so |\n|---|---|---|\n",
            section.name
        );
        for v in section.values {
            let note = v.note.unwrap_or_else(|| "default".into()).replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | {} | {note} |", v.key, v.value);
        }
        out.push('\n');
    }
    of_designs(&mut out, &config);
    out.truncate(out.trim_end().len());
    out.push('\n');
    Ok(out)
}

/// What the preset sets of designs, if anything.
fn of_designs(out: &mut String, config: &MachineConfig) {
    if config.others.is_empty() {
        return;
    }
    out.push_str("## Of designs\n\nOn this machine these differ from the designs' own defaults.\n\n| value | | who says so |\n|---|---|---|\n");
    for s in &config.others {
        let note = s.note.clone().unwrap_or_default().replace('|', "\\|");
        let _ = writeln!(out, "| `{}.{}` | {} | {note} |", s.section, s.key, raw_text(&s.value));
    }
}

fn parameters() -> String {
    let mut out = format!(
        "{MARK}# Parameters\n\nEvery section of a machine. Set any of them in a file or with `--set SECTION.KEY=VALUE`. [Machines](machines.md) give every \
         value and say where it comes from. Parameters of a [design](designs.md) or a [program](programs.md) stand on its page; each has a section of \
         its own, `[design.NAME]` or `[program.NAME]`.\n\n"
    );
    for (name, fields) in config::reference() {
        let _ = write!(out, "## `[{name}]`\n\n");
        table(&mut out, &fields);
    }
    out.push_str("## `[memory]`\n\n| parameter | value | meaning |\n|---|---|---|\n| `dram` | a medium | Medium of volatile memory. |\n| `pm` | a medium | Medium of persistent memory, unless `--media` names another. |\n\n");
    let media = presets::names(Kind::Media)
        .iter()
        .map(|m| format!("`{m}`"))
        .collect::<Vec<_>>();
    let _ = writeln!(out, "Media are {}.", media.join(", "));
    out
}
