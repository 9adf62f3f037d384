//! Advice on paths: where a key stands that was given without its section, or with a wrong one.

use super::layer::{EXAMPLE, Setting};
use super::parts;
use crate::error::{BadInput, nearest};
use fencepost_kernel::params::Field;
use std::sync::LazyLock;

/// Places listed at most.
const SHOWN: usize = 6;

/// Every section that could stand in a configuration, of machines, designs and programs, with its parameters.
pub fn every_section() -> Vec<(String, Vec<Field>)> {
    let machine = parts::reference().into_iter();
    let mut sections: Vec<_> = machine.map(|(section, fields)| (section.to_owned(), fields)).collect();
    for d in fencepost_designs::all() {
        sections.push((format!("design.{}", d.name), (d.params)()));
    }
    for p in fencepost_programs::programs() {
        sections.push((format!("program.{}", p.name), p.fields));
    }
    sections
}

/// The same, put into words once: a sweep asks for every value of every cell.
static DECLARED: LazyLock<Vec<(String, Vec<Field>)>> = LazyLock::new(every_section);

/// Every path that could be set, as a section and a key.
fn all() -> Vec<(String, &'static str)> {
    let keys = |(section, fields): &'static (String, Vec<Field>)| fields.iter().map(move |f| (section.clone(), f.name));
    DECLARED.iter().flat_map(keys).collect()
}

/// What is declared of `section`.`key`: kind of value, range, one sentence.
pub fn declared(section: &str, key: &str) -> Option<&'static Field> {
    let fields = &DECLARED.iter().find(|s| s.0 == section)?.1;
    fields.iter().find(|f| f.name == key)
}

/// Every path that `--set` takes, as `config show` prints it.
pub fn settable() -> Vec<String> {
    all()
        .into_iter()
        .map(|(section, key)| format!("{section}.{key}"))
        .collect()
}

/// Where a key of this name, or of the nearest one, stands.
fn places(key: &str) -> Vec<String> {
    let all = all();
    let names: Vec<&str> = all.iter().map(|p| p.1).collect();
    let Some(name) = names
        .iter()
        .copied()
        .find(|n| *n == key)
        .or_else(|| nearest(key, &names))
    else {
        return Vec::new();
    };
    let here = all.iter().filter(|p| p.1 == name);
    here.map(|(section, name)| format!("`{section}.{name}`")).collect()
}

fn listed(places: &[String]) -> String {
    let more = if places.len() > SHOWN { ", .." } else { "" };
    format!("{}{more}", places[..places.len().min(SHOWN)].join(", "))
}

/// A key was given without its section.
pub(super) fn without_section(s: &Setting) -> BadInput {
    let places = places(&s.key);
    let hint = match places.is_empty() {
        true => format!("{EXAMPLE}; `fencepost config show` lists every value"),
        false => format!("did you mean {}?", listed(&places)),
    };
    BadInput::new(format!("`{}` stands in no section", s.key))
        .at(s.key_place.clone())
        .hint(hint)
}

/// `[memory]` and `[run]` say what the rest of a file is applied to.
pub(super) fn only_in_files(s: &Setting) -> BadInput {
    let option = match s.key.as_str() {
        "pm" => "media",
        key => key,
    };
    BadInput::new(format!("`{}.{}` stands in files only", s.section, s.key))
        .at(s.key_place.clone())
        .hint(format!("on the command line, --{option} where there is such an option"))
}

/// A section that does not exist: the nearest one that does, or where its key stands.
pub(super) fn unknown_section<'a>(s: &Setting, known: impl Iterator<Item = &'a str>) -> BadInput {
    let known: Vec<&str> = known.collect();
    let e = BadInput::unknown("section", &s.section, known.iter().copied()).at(s.key_place.clone());
    let exact = places(&s.key);
    match nearest(&s.section, &known) {
        None if !exact.is_empty() => e.hint(format!("did you mean {}?", listed(&exact))),
        _ => e,
    }
}
