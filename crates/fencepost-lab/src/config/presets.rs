//! Presets: machines, media and designs by name, embedded in the binary; a path names a file on disk instead.

use super::layer::{self, Layer};
use super::source::{Place, Source};
use crate::error::{BadInput, LabError};
use std::path::Path;
use std::sync::Arc;

/// Every embedded file: path below the project's root, and text.
pub static EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// What a preset describes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole machine.
    Machine,
    /// A memory device.
    Media,
    /// Parameters of a design.
    Design,
}
impl Kind {
    /// The folder of this kind below `presets/`.
    pub const fn folder(self) -> &'static str {
        match self {
            Kind::Machine => "machines",
            Kind::Media => "media",
            Kind::Design => "designs",
        }
    }
    const fn what(self) -> &'static str {
        match self {
            Kind::Machine => "machine",
            Kind::Media => "medium",
            Kind::Design => "design preset",
        }
    }
}

/// Names of the embedded presets of one kind, sorted.
pub fn names(kind: Kind) -> Vec<&'static str> {
    let prefix = format!("presets/{}/", kind.folder());
    (EMBEDDED.iter())
        .filter_map(|(path, _)| path.strip_prefix(&prefix)?.strip_suffix(".toml"))
        .collect()
}

/// The text of a preset, by name or, with a `/` or a `.toml` ending, by path.
pub fn source(kind: Kind, word: &str) -> Result<Arc<Source>, LabError> {
    if word.contains('/') || word.ends_with(".toml") {
        let text = std::fs::read_to_string(word).map_err(|e| LabError::file("read", Path::new(word), e))?;
        return Ok(Source::new(word, text));
    }
    let path = format!("presets/{}/{word}.toml", kind.folder());
    match EMBEDDED.iter().find(|e| e.0 == path) {
        Some((name, text)) => Ok(Source::new(*name, *text)),
        None => Err(BadInput::unknown(kind.what(), word, names(kind)).into()),
    }
}

/// A preset and everything it extends, the most basic first. A preset that extends itself is an error.
pub fn layers(kind: Kind, word: &str) -> Result<Vec<Layer>, LabError> {
    let mut out = Vec::new();
    gather(kind, word, None, &mut Vec::new(), &mut out)?;
    Ok(out)
}

fn gather(
    kind: Kind,
    word: &str,
    from: Option<&Place>,
    open: &mut Vec<String>,
    out: &mut Vec<Layer>,
) -> Result<(), LabError> {
    let place_it = |e: LabError| match (e, from) {
        (LabError::Input(b), Some(p)) if b.place.is_none() => b.at(p.clone()).into(),
        (LabError::File { path, why, .. }, Some(p)) => BadInput::new(format!("cannot read {}: {why}", path.display()))
            .at(p.clone())
            .into(),
        (e, _) => e,
    };
    let text = source(kind, word).map_err(place_it)?;
    if open.contains(&text.name) {
        return Err(place_it(
            BadInput::new(format!("`{word}` extends itself"))
                .hint(format!("the chain is {} -> {}", open.join(" -> "), text.name))
                .into(),
        ));
    }
    open.push(text.name.clone());
    let layer = layer::parse(&text)?;
    for (base, place) in &layer.extends {
        gather(kind, &relative(word, base), Some(place), open, out)?;
    }
    open.pop();
    out.push(layer);
    Ok(())
}

/// A file names its bases relative to itself.
fn relative(word: &str, base: &str) -> String {
    let by_path = base.contains('/') || base.ends_with(".toml");
    match Path::new(word).parent() {
        Some(folder) if by_path && Path::new(base).is_relative() => folder.join(base).to_string_lossy().into_owned(),
        _ => base.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn every_preset_parses_and_its_bases_exist() {
        for kind in [Kind::Machine, Kind::Media, Kind::Design] {
            for word in names(kind) {
                assert!(!layers(kind, word).unwrap().is_empty(), "{word}");
            }
        }
    }
    #[test]
    fn a_cycle_and_an_absent_base_are_bad_input_with_a_place() {
        let dir = std::env::temp_dir().join(format!("fencepost-presets-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = |n: &str, t: &str| {
            std::fs::write(dir.join(n), t).unwrap();
            dir.join(n).to_string_lossy().into_owned()
        };
        let a = file("a.toml", "extends = \"./b.toml\"\n");
        file("b.toml", "extends = \"./a.toml\"\n");
        let e = layers(Kind::Media, &a).unwrap_err();
        assert!(e.to_string().contains("extends itself"), "{e}");
        let c = file("c.toml", "\nextends = \"nosuch\"\n");
        let e = layers(Kind::Media, &c).unwrap_err();
        assert!(e.to_string().contains("c.toml:2:11"), "{e}");
        let d = file("d.toml", "extends = \"./gone.toml\"\n");
        assert_eq!(layers(Kind::Media, &d).unwrap_err().exit_code(), 2);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
