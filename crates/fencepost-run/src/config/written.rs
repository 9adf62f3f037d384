//! A resolved configuration as text, and its digest.

use super::paths::declared;
use super::resolve::Resolved;
use super::section::Origin;
use fencepost_kernel::params::Field;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

impl Resolved {
    /// Every section with its keys, kinds of value and values, in order.
    pub fn sections(&self) -> Vec<(String, Vec<(String, String)>)> {
        let r = &self.request;
        let text = |s: &str| s.to_owned();
        let mut run = vec![
            ("program", r.program.clone()),
            ("variant", self.program.variant.name().to_owned()),
            ("log", self.program.scheme.name().to_owned()),
            ("design", r.design.clone()),
            ("machine", r.machine.clone()),
            ("media", self.machine.media.clone()),
            ("dram", self.machine.dram.clone()),
            ("threads", self.threads.to_string()),
            ("ops", r.ops.to_string()),
            ("warmup", r.warmup.to_string()),
            ("seed", r.seed.to_string()),
            ("ack", text(if r.ack_every { "every" } else { "end" })),
        ];
        run.extend(r.cycles.map(|n| ("cycles", n.to_string())));
        let mut out = vec![(text("run"), run.into_iter().map(|(k, v)| (text(k), v)).collect())];
        let list = |v: Vec<(Field, String)>| v.into_iter().map(|(f, v)| (f.name.to_owned(), v)).collect::<Vec<_>>();
        out.push((format!("program.{}", r.program), list(self.program_values())));
        out.push((format!("design.{}", r.design), list(self.design_values())));
        for (name, values) in self.machine.values() {
            out.push((name, values.into_iter().map(|(k, v)| (text(k), v)).collect()));
        }
        out.retain(|s| !s.1.is_empty());
        out
    }

    /// The resolved configuration as TOML; with `origins`, every value says where it came from.
    pub fn to_toml(&self, origins: bool) -> String {
        let mut out = String::new();
        for (section, values) in self.sections() {
            let _ = writeln!(out, "{}[{section}]", if out.is_empty() { "" } else { "\n" });
            if origins && section == "run" {
                out.push_str("# As `--machine`, this file stands for the machine, the program's and the design's values below.\n");
            }
            for (key, value) in values {
                let _ = write!(out, "{key} = {}", toml_value(&value));
                if origins && section != "run" {
                    let _ = write!(out, " # {}", self.origin_text(&section, &key));
                }
                out.push('\n');
            }
        }
        out
    }

    fn origin_text(&self, section: &str, key: &str) -> String {
        match self.origin(section, key) {
            Some(Origin {
                place,
                note: Some(note),
            }) => format!("{note} ({place})"),
            Some(Origin { place, note: None }) => format!("given ({place})"),
            None => match declared(section, key) {
                Some(field) => format!("default; {}", field.doc),
                None => "default".into(),
            },
        }
    }

    /// Digest of the resolved configuration: SHA-256 of its TOML without origins, in hexadecimal.
    pub fn digest(&self) -> String {
        let sum = Sha256::digest(self.to_toml(false).as_bytes());
        sum.iter().fold(String::new(), |mut s, b| {
            let _ = write!(s, "{b:02x}");
            s
        })
    }
}

/// A value as TOML: numbers and booleans bare, all else quoted.
fn toml_value(text: &str) -> String {
    if text.parse::<i64>().is_ok() || text == "true" || text == "false" {
        return text.to_owned();
    }
    toml_edit::Value::from(text).to_string()
}
