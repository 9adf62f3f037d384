//! What stands behind each claim's row.

use serde::{Deserialize, Serialize};

/// What a row of the scoreboard rests on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A value, order or trend that simulation or a real CPU produced.
    Measured,
    /// A row of the paper's characterisation of its workloads, by which an input of ours was fixed: no result.
    Calibrated,
    /// A semantic rule that a test holds the mechanism to.
    Rule,
    /// Storage by the paper's formula, with the value from first principles beside it.
    Storage,
    /// An input repeated: a preset that holds the paper's number, or storage that divides a literal back out.
    Echo,
}
impl Kind {
    /// All kinds, those that say how good a reproduction is first.
    pub const ALL: [Kind; 5] = [Kind::Measured, Kind::Calibrated, Kind::Rule, Kind::Storage, Kind::Echo];
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Measured => "measured",
            Kind::Calibrated => "calibrated",
            Kind::Rule => "rule",
            Kind::Storage => "storage",
            Kind::Echo => "echo",
        }
    }
}
