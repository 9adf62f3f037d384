//! Resolved configurations as documents, and the difference of two.

use super::paths::{declared, every_section};
use super::resolve::Resolved;
use crate::error::{BadInput, nearest};
use serde::Serialize;
use std::collections::BTreeMap;

/// A resolved configuration, for `config show --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// Digest of the values.
    pub config_digest: String,
    /// Sections in order.
    pub sections: Vec<DocumentSection>,
}
/// One section.
#[derive(Clone, Debug, Serialize)]
pub struct DocumentSection {
    /// Name, dotted.
    pub name: String,
    /// Its values, in order.
    pub values: Vec<DocumentValue>,
}
/// One value.
#[derive(Clone, Debug, Serialize)]
pub struct DocumentValue {
    /// Key.
    pub key: String,
    /// Value, as a configuration file would write it.
    pub value: String,
    /// File, line and column it came from; absent for defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The comment beside it: who states the value, or why we chose it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A configuration as a document.
pub fn document(r: &Resolved) -> Document {
    let value = |section: &str, key: String, value: String| {
        let origin = r.origin(section, &key);
        DocumentValue {
            place: origin.map(|o| o.place.to_string()),
            note: origin.and_then(|o| o.note.clone()),
            key,
            value,
        }
    };
    let section = |(name, values): (String, Vec<(String, String)>)| DocumentSection {
        values: values.into_iter().map(|(k, v)| value(&name, k, v)).collect(),
        name,
    };
    Document {
        config_digest: r.digest(),
        sections: r.sections().into_iter().map(section).collect(),
    }
}

/// One value of a configuration, with what is declared of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneValue {
    /// Section and key.
    pub path: String,
    /// Its value here; absent where the section is of a design or program that does not run here, or the machine lacks it.
    pub value: Option<String>,
    /// Where the value comes from and who states it.
    pub origin: String,
    /// What it is, in one sentence.
    pub about: String,
    /// Kind of value, with an example.
    pub kind: &'static str,
    /// Least and greatest value, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// Value where nothing is set.
    pub default: String,
}

/// One value by its path, such as `l1.ways` or `design.delegated.entries`.
pub fn one_value(r: &Resolved, path: &str) -> Result<OneValue, BadInput> {
    let (section, key) = path.rsplit_once('.').unwrap_or(("", path));
    let Some(field) = declared(section, key) else {
        let known: Vec<String> = (every_section().into_iter())
            .flat_map(|(s, fields)| fields.into_iter().map(move |f| format!("{s}.{}", f.name)))
            .collect();
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        let hint = match nearest(path, &names) {
            Some(near) => format!("did you mean `{near}`? `fencepost config show` lists every value"),
            None => "`fencepost config show` lists every value of a run".into(),
        };
        return Err(BadInput::new(format!("there is no value `{path}`")).hint(hint));
    };
    let mut sections = r.sections().into_iter();
    let values = sections.find(|s| s.0 == section).map(|s| s.1).unwrap_or_default();
    let value = values.into_iter().find(|v| v.0 == key).map(|v| v.1);
    let origin = match (&value, r.origin(section, key)) {
        (None, _) => "not part of this configuration".into(),
        (_, Some(o)) => match &o.note {
            Some(note) => format!("{note} ({})", o.place),
            None => format!("given ({})", o.place),
        },
        _ => "default".into(),
    };
    Ok(OneValue {
        path: path.into(),
        value,
        origin,
        about: field.doc.into(),
        kind: field.kind,
        range: field.range.clone(),
        default: field.default.clone(),
    })
}

/// One value that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Section and key.
    pub path: String,
    /// Value in the first configuration.
    pub before: Option<String>,
    /// Value in the second.
    pub after: Option<String>,
}

/// What differs between two configurations, by path.
pub fn difference(a: &Resolved, b: &Resolved) -> Vec<Change> {
    let flat = |r: &Resolved| -> BTreeMap<String, String> {
        let pairs = |(s, values): (String, Vec<(String, String)>)| {
            values.into_iter().map(move |(k, v)| (format!("{s}.{k}"), v))
        };
        r.sections().into_iter().flat_map(pairs).collect()
    };
    let (a, b) = (flat(a), flat(b));
    let mut paths: Vec<&String> = a.keys().chain(b.keys()).collect();
    paths.sort();
    paths.dedup();
    let change = |p: &String| Change {
        path: p.clone(),
        before: a.get(p).cloned(),
        after: b.get(p).cloned(),
    };
    paths.into_iter().map(change).filter(|c| c.before != c.after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    #[test]
    fn a_value_is_found_by_its_path() {
        let r = Resolved::resolve(&Request::default()).unwrap_or_else(|e| panic!("{e}"));
        let ways = one_value(&r, "l1.ways").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(ways.value.as_deref(), Some("4"));
        assert!(!ways.about.is_empty() && ways.origin.contains("Table II"), "{ways:?}");
        let other = one_value(&r, "design.delegated.entries").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(other.value, None);
        let wrong = one_value(&r, "l1.way").expect_err("no such value").to_string();
        assert!(wrong.contains("`l1.ways`"), "{wrong}");
    }
    #[test]
    fn a_difference_lists_what_was_set() {
        let base = Request::default();
        let other = Request {
            sets: vec!["l1.ways=8".into()],
            ..Request::default()
        };
        let of = |r: &Request| Resolved::resolve(r).unwrap_or_else(|e| panic!("{e}"));
        let changes = difference(&of(&base), &of(&other));
        assert_eq!(
            changes,
            [Change {
                path: "l1.ways".into(),
                before: Some("4".into()),
                after: Some("8".into())
            }]
        );
        let doc = document(&of(&other));
        let l1 = doc.sections.iter().find(|s| s.name == "l1").unwrap();
        let ways = l1.values.iter().find(|v| v.key == "ways").unwrap();
        assert_eq!((ways.value.as_str(), ways.place.as_deref()), ("8", Some("--set:1:9")));
    }
}
