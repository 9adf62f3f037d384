//! One configuration text, parsed into settings that remember where they stand and what their comment says.

use crate::error::BadInput;
use crate::source::{Place, Source};
use fencepost_kernel::params::Raw;
use std::sync::Arc;
use toml_edit::{Item, Table, Value};

/// One `key = value`, with the section it stands in.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Section, dotted ("l1", "design"); empty at the top of the file.
    pub section: String,
    /// Key within the section.
    pub key: String,
    /// The value.
    pub value: Raw,
    /// Where the key stands.
    pub key_place: Place,
    /// Where the value stands.
    pub value_place: Place,
    /// The comment on the same line: presets say there whether the paper states the value or we chose it, and why.
    pub note: Option<String>,
}

/// A parsed configuration text.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    /// Presets or files this one builds on, first the most basic.
    pub extends: Vec<(String, Place)>,
    /// One sentence about the preset.
    pub about: Option<String>,
    /// Settings in the order of the text.
    pub settings: Vec<Setting>,
}

/// Parses a TOML text. Tables nest into dotted sections; arrays are refused but in `extends`.
pub fn parse(source: &Arc<Source>) -> Result<Layer, BadInput> {
    let doc = toml_edit::Document::parse(source.text.as_str()).map_err(|e| {
        let message = e.message().trim().replace('\n', "; ");
        BadInput::new(format!("not valid TOML: {message}")).at(Place::new(source, e.span()))
    })?;
    let mut layer = Layer::default();
    collect(source, "", doc.as_table(), &mut layer)?;
    Ok(layer)
}

fn collect(source: &Arc<Source>, section: &str, table: &Table, layer: &mut Layer) -> Result<(), BadInput> {
    for (key, item) in table {
        let key_place = Place::new(source, table.key(key).and_then(|k| k.span()));
        match (section, key, item) {
            ("", "extends", Item::Value(v)) => layer.extends = extends(source, v)?,
            ("", "about", Item::Value(Value::String(s))) => layer.about = Some(s.value().clone()),
            ("", "about", _) => return Err(BadInput::new("`about` must be a text").at(key_place)),
            (_, _, Item::Table(t)) => collect(source, &join(section, key), t, layer)?,
            (_, _, Item::Value(v)) => layer.settings.push(setting(source, section, key, key_place, v)?),
            (_, _, Item::ArrayOfTables(_) | Item::None) => {
                return Err(BadInput::new(format!("`{key}` must be a table or a value")).at(key_place));
            }
        }
    }
    Ok(())
}

fn join(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}

fn setting(source: &Arc<Source>, section: &str, key: &str, key_place: Place, v: &Value) -> Result<Setting, BadInput> {
    let value_place = Place::new(source, v.span());
    let value = raw(v).ok_or_else(|| {
        let found = v.type_name();
        BadInput::new(format!(
            "`{key}` must be a number, a text, true or false; found {found}"
        ))
        .at(value_place.clone())
    })?;
    Ok(Setting {
        section: section.to_owned(),
        key: key.to_owned(),
        value,
        note: comment_after(source, value_place.span.end),
        key_place,
        value_place,
    })
}

/// The comment between the end of a value and the end of its line.
fn comment_after(source: &Source, end: usize) -> Option<String> {
    let rest = source.text.get(end..)?.lines().next()?.trim_start();
    let comment = rest.strip_prefix('#')?.trim();
    (!comment.is_empty()).then(|| comment.to_owned())
}

fn raw(v: &Value) -> Option<Raw> {
    Some(match v {
        Value::String(s) => Raw::Text(s.value().clone()),
        Value::Integer(i) => Raw::Int(*i.value()),
        Value::Float(f) => Raw::Float(*f.value()),
        Value::Boolean(b) => Raw::Bool(*b.value()),
        _ => return None,
    })
}

fn extends(source: &Arc<Source>, v: &Value) -> Result<Vec<(String, Place)>, BadInput> {
    let bad = |v: &Value| {
        BadInput::new("`extends` must be a preset's name, a path, or a list of them")
            .at(Place::new(source, v.span()))
            .hint("for example extends = \"ddr3-1600\"")
    };
    let one = |v: &Value| match v {
        Value::String(s) => Ok((s.value().clone(), Place::new(source, v.span()))),
        other => Err(bad(other)),
    };
    match v {
        Value::Array(list) => list.iter().map(one).collect(),
        other => Ok(vec![one(other)?]),
    }
}

/// Advice on the form of a setting.
pub const EXAMPLE: &str = "write SECTION.KEY=VALUE, for example --set pm.media.write_pulse=300ns";

/// Reads the argument of `--set PATH=VALUE`. A value that is not TOML is taken as a bare string ("300ns").
pub fn parse_set(argument: &str) -> Result<Setting, BadInput> {
    let source = Source::new("--set", argument);
    let whole = Place::new(&source, Some(0..argument.len()));
    let bad = |message: &str| BadInput::new(message.to_owned()).at(whole.clone()).hint(EXAMPLE);
    let (path, text) = argument.split_once('=').ok_or_else(|| bad("no `=` in this setting"))?;
    // A key without its section is refused where the sections are known.
    let (section, key) = path.trim().rsplit_once('.').unwrap_or(("", path.trim()));
    let value = (text.trim().parse::<Value>().ok())
        .and_then(|v| raw(&v))
        .unwrap_or_else(|| Raw::Text(text.trim().to_owned()));
    Ok(Setting {
        section: section.to_owned(),
        key: key.to_owned(),
        value,
        key_place: Place::new(&source, Some(0..path.len())),
        value_place: Place::new(&source, Some(path.len() + 1..argument.len())),
        note: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn sections_keys_comments_and_places() {
        let text =
            "extends = [\"a\", \"b\"]\nabout = \"x\"\n[l1]\nways = 4 # paper: Table II\n[l1.deep]\nhit = \"2ns\"\n";
        let layer = parse(&Source::new("t.toml", text)).unwrap();
        assert_eq!(
            layer.extends.iter().map(|e| e.0.as_str()).collect::<Vec<_>>(),
            ["a", "b"]
        );
        let s = &layer.settings;
        assert_eq!((s[0].section.as_str(), s[0].key.as_str()), ("l1", "ways"));
        assert_eq!(s[0].value, Raw::Int(4));
        assert_eq!(s[0].note.as_deref(), Some("paper: Table II"));
        assert_eq!(s[0].key_place.to_string(), "t.toml:4:1");
        assert_eq!((s[1].section.as_str(), s[1].key.as_str()), ("l1.deep", "hit"));
        assert_eq!(s[1].note, None);
    }
    #[test]
    fn broken_toml_names_its_line() {
        let e = parse(&Source::new("t.toml", "[l1]\nways = = 4\n")).unwrap_err();
        assert_eq!(e.place.unwrap().line_column().0, 2);
        assert!(parse(&Source::new("t.toml", "[l1]\nways = [1]\n")).is_err());
        assert!(parse(&Source::new("t.toml", "[[l1]]\nways = 1\n")).is_err());
    }
    #[test]
    fn set_takes_quantities_without_quotes() {
        assert_eq!(parse_set("pm.pulse=300ns").unwrap().value, Raw::Text("300ns".into()));
        assert_eq!(parse_set("l1.ways=8").unwrap().value, Raw::Int(8));
        assert_eq!(parse_set("a.b.c=true").unwrap().section, "a.b");
        assert_eq!(parse_set("ways=8").unwrap().section, "");
        assert!(parse_set("").is_err());
        assert!(parse_set("l1.ways").is_err());
    }
}
