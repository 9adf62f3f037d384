//! Memory consistency models: which candidate executions they allow.
//!
//! Every model keeps coherence (`po-loc | rf | co | fr` without a cycle) and atomicity (no write of another thread between the
//! read and the write of an atomic pair); the enumeration sees to both. What is here is the rest.

mod aarch64;
mod armv7;
mod graph;
mod power;
mod ppc;
mod sc;
mod tso;
mod weave;

use crate::format::test::Arch;
use crate::paths::path::Path;
use std::fmt;
use std::str::FromStr;

pub use graph::{Graph, Rows, Statics};
pub(crate) use power::preserved;

/// A consistency model.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Model {
    /// Sequential consistency.
    Sc,
    /// Total store order, of x86.
    Tso,
    /// ARMv7, every store reaching all other threads at once.
    Armv7Mca,
    /// ARMv7, not multi-copy-atomic (herd's `arm.cat`).
    Armv7,
    /// Arm v8 (Arm's published `aarch64.cat`).
    Aarch64,
    /// Power (herd's `ppc.cat`).
    Ppc,
}

/// No model has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown model `{0}`")]
pub struct UnknownModel(pub String);

impl Model {
    /// Every model.
    pub const ALL: [Model; 6] = [
        Model::Sc,
        Model::Tso,
        Model::Armv7Mca,
        Model::Armv7,
        Model::Aarch64,
        Model::Ppc,
    ];
    /// The name by which it is chosen.
    pub fn name(self) -> &'static str {
        match self {
            Model::Sc => "sc",
            Model::Tso => "tso",
            Model::Armv7Mca => "armv7-mca",
            Model::Armv7 => "armv7",
            Model::Aarch64 => "aarch64",
            Model::Ppc => "ppc",
        }
    }
    /// The model that tests of an instruction set are judged by unless asked otherwise.
    pub fn of(arch: Arch) -> Model {
        match arch {
            Arch::X86 | Arch::X86_64 => Model::Tso,
            Arch::Arm => Model::Armv7,
            Arch::AArch64 => Model::Aarch64,
            Arch::Ppc => Model::Ppc,
        }
    }
    /// The part that a path through one thread fixes.
    pub fn statics(self, path: &Path) -> Statics {
        match self {
            Model::Sc => sc::statics(path),
            Model::Tso => tso::statics(path),
            Model::Armv7Mca | Model::Armv7 => armv7::statics(path),
            Model::Aarch64 => aarch64::statics(path),
            Model::Ppc => ppc::statics(path),
        }
    }
    /// The axiom that a coherent candidate breaks and a cycle that shows it.
    pub fn broken(self, candidate: &Graph) -> Option<Broken> {
        let axioms = match self {
            Model::Sc => sc::axioms,
            Model::Tso => tso::axioms,
            Model::Armv7Mca => armv7::axioms_mca,
            Model::Armv7 => armv7::axioms,
            Model::Aarch64 => aarch64::axioms,
            Model::Ppc => ppc::axioms,
        };
        axioms(candidate)
            .into_iter()
            .find(|a| !a.1.acyclic())
            .map(|(axiom, rel)| Broken {
                axiom,
                cycle: rel.cycle(),
            })
    }
    /// Whether a coherent candidate is allowed.
    pub fn allows(self, candidate: &Graph) -> bool {
        match self {
            Model::Sc => sc::allows(candidate),
            Model::Tso => tso::allows(candidate),
            Model::Armv7Mca => armv7::allows_mca(candidate),
            Model::Armv7 => armv7::allows(candidate),
            Model::Aarch64 => aarch64::allows(candidate),
            Model::Ppc => ppc::allows(candidate),
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
impl FromStr for Model {
    type Err = UnknownModel;
    fn from_str(name: &str) -> Result<Model, UnknownModel> {
        let known = Model::ALL.into_iter().find(|m| m.name() == name);
        known.ok_or_else(|| UnknownModel(name.to_owned()))
    }
}

/// Which axiom a candidate breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name.
    pub axiom: &'static str,
    /// Events of a shortest cycle, in order; each is related to the next, the last to the first.
    pub cycle: Vec<usize>,
}
