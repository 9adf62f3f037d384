//! What there is: designs, programs, machines, media, contracts.

use crate::config::machine::MachineConfig;
use crate::config::presets::{self, Kind};
use crate::error::LabError;
use fencepost_contract::ContractKind;
use fencepost_designs::Environment;
use serde::Serialize;

/// A name with its explanation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The name; `word` in the command's JSON.
    #[serde(rename = "word")]
    pub name: String,
    /// One sentence.
    pub about: String,
    /// Further facts, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<(&'static str, String)>,
}

/// A kind of thing with everything of that kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// Plural, as `list` takes it.
    pub kind: &'static str,
    /// What there is.
    pub entries: Vec<Entry>,
}

/// Kinds that can be listed.
pub const KINDS: [&str; 5] = ["designs", "programs", "machines", "media", "contracts"];

/// Everything of one of [`KINDS`].
///
/// # Errors
/// A preset that cannot be read, or another kind.
pub fn entries(kind: &str) -> Result<Vec<Entry>, LabError> {
    Ok(match kind {
        "designs" => fencepost_designs::all().iter().map(design).collect(),
        "programs" => fencepost_programs::programs().iter().map(program).collect(),
        "machines" => presets::names(Kind::Machine)
            .into_iter()
            .map(machine)
            .collect::<Result<_, _>>()?,
        "media" => presets::names(Kind::Media)
            .into_iter()
            .map(medium)
            .collect::<Result<_, _>>()?,
        "contracts" => ContractKind::ALL.into_iter().map(contract).collect(),
        _ => return Err(crate::BadInput::unknown("kind of list", kind, KINDS).into()),
    })
}

fn design(d: &fencepost_designs::DesignInfo) -> Entry {
    Entry {
        name: d.name.into(),
        about: d.summary.into(),
        more: vec![
            ("paper", d.paper.short.into()),
            (
                "contract at device",
                (d.contract)(Environment::new(false, false)).name().into(),
            ),
            (
                "contract at controller",
                (d.contract)(Environment::new(true, false)).name().into(),
            ),
        ],
    }
}
fn program(p: &fencepost_programs::About) -> Entry {
    let schemes: Vec<&str> = p.schemes.iter().map(|s| s.name()).collect();
    Entry {
        name: p.name.into(),
        about: p.about.into(),
        more: vec![("log", schemes.join(" "))],
    }
}
fn about(kind: Kind, name: &str) -> Result<String, LabError> {
    let layers = presets::layers(kind, name)?;
    Ok(layers.last().and_then(|l| l.about.clone()).unwrap_or_default())
}
fn machine(name: &str) -> Result<Entry, LabError> {
    let m = MachineConfig::load(name, None)?;
    let threads = m.spec.hw_threads().to_string();
    Ok(Entry {
        name: name.into(),
        about: about(Kind::Machine, name)?,
        more: vec![("threads", threads), ("media", m.media)],
    })
}
fn medium(name: &str) -> Result<Entry, LabError> {
    Ok(Entry {
        name: name.into(),
        about: about(Kind::Media, name)?,
        more: Vec::new(),
    })
}
fn contract(c: ContractKind) -> Entry {
    Entry {
        name: c.name().into(),
        about: c.row().summary.into(),
        more: Vec::new(),
    }
}
