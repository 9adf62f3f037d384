//! Presets: machines, media and designs by name, embedded in the binary; a path names a file on disk instead.

use super::layer::{self, Layer};
use crate::error::{BadInput, LabError};
use crate::input;
use crate::source::{Place, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Every embedded file: path below the project's root, and text.
pub static EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// How deep files may extend one another.
const DEEPEST: usize = 64;

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

/// Whether there is a preset or a file of this name.
///
/// # Errors
/// There is none, with the nearest name; a file that cannot be read.
pub fn find(kind: Kind, name: &str) -> Result<(), BadInput> {
    match source(kind, name) {
        Ok(_) => Ok(()),
        Err(LabError::Input(e)) => Err(*e),
        Err(e) => Err(BadInput::new(e.to_string())),
    }
}

/// Whether a name is a path: it has a `/` or ends in `.toml`.
fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// The text of a preset, by name or by path.
fn source(kind: Kind, name: &str) -> Result<Arc<Source>, LabError> {
    if is_path(name) {
        let absent = |e: LabError| match e {
            LabError::File { why, .. } if why.kind() == std::io::ErrorKind::NotFound => {
                let known = names(kind).join(", ");
                let hint = format!("a name with `/` or `.toml` is a file; without, a preset: {known}");
                BadInput::new(format!("no such file: {name}")).hint(hint).into()
            }
            e => e,
        };
        let text = input::read(Path::new(name), input::CONFIGURATION).map_err(absent)?;
        return Ok(Source::new(name, text));
    }
    let path = format!("presets/{}/{name}.toml", kind.folder());
    match EMBEDDED.iter().find(|e| e.0 == path) {
        Some((name, text)) => Ok(Source::new(*name, *text)),
        None => {
            let e = BadInput::unknown(kind.what(), name, names(kind));
            let file = Path::new(name).is_file();
            Err(match file {
                true => e.hint(format!("for the file of that name write `./{name}`")).into(),
                false => e.into(),
            })
        }
    }
}

/// A preset and everything it extends, the most basic first and each once. A preset that extends itself is an error.
pub fn layers(kind: Kind, name: &str) -> Result<Vec<Layer>, LabError> {
    let mut gathered = Gathered {
        kind,
        open: Vec::new(),
        seen: BTreeSet::new(),
        layers: Vec::new(),
    };
    gathered.gather(name, None)?;
    Ok(gathered.layers)
}

struct Gathered {
    kind: Kind,
    /// Identities of the files under way, from the first to the one being read.
    open: Vec<String>,
    /// Identities of all files met, so that what several files extend is read once.
    seen: BTreeSet<String>,
    layers: Vec<Layer>,
}
impl Gathered {
    fn gather(&mut self, name: &str, from: Option<&Place>) -> Result<(), LabError> {
        let identity = identity(name);
        let placed = |e: LabError| match (e, from) {
            (LabError::Input(b), Some(p)) if b.place.is_none() => b.at(p.clone()).into(),
            (e @ LabError::File { .. }, Some(p)) => BadInput::new(e.to_string()).at(p.clone()).into(),
            (e, _) => e,
        };
        if self.open.contains(&identity) {
            let chain = self.open.join(" -> ");
            let e = BadInput::new(format!("`{name}` extends itself"));
            return Err(placed(e.hint(format!("the chain is {chain} -> {identity}")).into()));
        }
        if self.open.len() >= DEEPEST {
            let e = BadInput::new(format!("files extend one another more than {DEEPEST} deep"));
            return Err(placed(e.into()));
        }
        if !self.seen.insert(identity.clone()) {
            return Ok(());
        }
        let layer = parsed(self.kind, name, placed)?;
        self.open.push(identity);
        for (base, place) in &layer.extends {
            self.gather(&relative(name, base), Some(place))?;
        }
        self.open.pop();
        self.layers.push(layer);
        Ok(())
    }
}

/// A preset with its settings. Those that are embedded are parsed once: a search resolves tens of thousands of configurations.
fn parsed(kind: Kind, name: &str, placed: impl Fn(LabError) -> LabError) -> Result<Layer, LabError> {
    static PARSED: Mutex<BTreeMap<(&str, String), Layer>> = Mutex::new(BTreeMap::new());
    let read = || -> Result<Layer, LabError> { Ok(layer::parse(&source(kind, name).map_err(placed)?)?) };
    if is_path(name) {
        return read();
    }
    let key = (kind.folder(), name.to_owned());
    let known = || PARSED.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(layer) = known().get(&key) {
        return Ok(layer.clone());
    }
    let layer = read()?;
    known().insert(key, layer.clone());
    Ok(layer)
}

/// What makes two names the same file.
fn identity(name: &str) -> String {
    let canonical = is_path(name).then(|| Path::new(name).canonicalize().ok()).flatten();
    canonical.map_or_else(|| name.to_owned(), |p| p.to_string_lossy().into_owned())
}

/// A file names its bases relative to itself.
pub(super) fn relative(name: &str, base: &str) -> String {
    match Path::new(name).parent() {
        Some(folder) if is_path(base) && Path::new(base).is_relative() => {
            folder.join(base).to_string_lossy().into_owned()
        }
        _ => base.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Folder(std::path::PathBuf);
    impl Folder {
        fn new(name: &str) -> Folder {
            let dir = std::env::temp_dir().join(format!("fencepost-presets-{name}-{}", std::process::id()));
            fs::create_dir_all(&dir).unwrap();
            Folder(dir)
        }
        fn file(&self, name: &str, text: &str) -> String {
            fs::write(self.0.join(name), text).unwrap();
            self.0.join(name).to_string_lossy().into_owned()
        }
    }
    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn every_preset_parses_and_its_bases_exist() {
        for kind in [Kind::Machine, Kind::Media, Kind::Design] {
            for name in names(kind) {
                assert!(!layers(kind, name).unwrap().is_empty(), "{name}");
            }
        }
    }
    #[test]
    fn a_cycle_and_an_absent_base_are_bad_input_with_a_place() {
        let dir = Folder::new("cycle");
        let a = dir.file("a.toml", "extends = \"./b.toml\"\n");
        dir.file("b.toml", "extends = \"./a.toml\"\n");
        let e = layers(Kind::Media, &a).unwrap_err();
        assert!(e.to_string().contains("extends itself"), "{e}");
        let c = dir.file("c.toml", "\nextends = \"nosuch\"\n");
        let e = layers(Kind::Media, &c).unwrap_err();
        assert!(e.to_string().contains("c.toml:2:11"), "{e}");
        let d = dir.file("d.toml", "extends = \"./gone.toml\"\n");
        let e = layers(Kind::Media, &d).unwrap_err();
        assert!(e.exit_code() == 2 && e.to_string().contains("d.toml:1:11"), "{e}");
    }
    /// Twenty files, each of which extends the next one twice over: a million paths, twenty files.
    #[test]
    fn what_many_files_extend_is_read_once() {
        let dir = Folder::new("diamond");
        dir.file("0.toml", "[media]\nbanks = 8\n");
        for i in 1..=20 {
            let base = i - 1;
            dir.file(&format!("{i}a.toml"), &format!("extends = \"./{base}.toml\"\n"));
            dir.file(&format!("{i}b.toml"), &format!("extends = \"./{base}.toml\"\n"));
            let both = format!("extends = [\"./{i}a.toml\", \"./{i}b.toml\"]\n");
            dir.file(&format!("{i}.toml"), &both);
        }
        let top = dir.0.join("20.toml").to_string_lossy().into_owned();
        assert_eq!(layers(Kind::Media, &top).unwrap().len(), 61);
    }
    #[test]
    fn a_long_chain_is_refused() {
        let dir = Folder::new("chain");
        for i in 0..100 {
            dir.file(&format!("{i}.toml"), &format!("extends = \"./{}.toml\"\n", i + 1));
        }
        let top = dir.0.join("0.toml").to_string_lossy().into_owned();
        let e = layers(Kind::Media, &top).unwrap_err();
        assert!(e.to_string().contains("64 deep"), "{e}");
    }
}
