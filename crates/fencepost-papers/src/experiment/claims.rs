//! Every checkable statement of the papers: `experiments/<paper>/claims.toml`, the one table of what a claim says and how its row comes about.

use super::kinds::Kind;
use super::rule::Rule;
use super::spec::{is_folder, names, read, text};
use fencepost_run::BadInput;
use serde::Deserialize;

/// What a claim is about, which decides how it is scored.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimKind {
    /// A measured value: within 20 %.
    Number,
    /// An order among programs or designs: as stated.
    Ordering,
    /// A direction, with thresholds fixed beforehand.
    Trend,
    /// A hardware cost: the paper's formula must give its number.
    Overhead,
    /// A rule: a test that runs in the same reproduce.
    Semantics,
}

/// One statement of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Identifier, such as `DPO-T1-PCM`.
    pub id: String,
    /// Where in the paper.
    pub section: String,
    /// The statement.
    pub claim: String,
    /// Experiment tag and conditions.
    pub config: String,
    /// What is measured.
    pub metric: String,
    /// The paper's value, as text.
    pub value: String,
    /// Unit of the value.
    pub unit: String,
    /// How it is scored.
    pub kind: ClaimKind,
    /// What its row rests on.
    pub rests_on: Kind,
    /// How it is measured.
    pub by: Rule,
}
impl Claim {
    /// The paper's value as a number, when it is one.
    pub fn number(&self) -> Option<f64> {
        self.value.parse().ok()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    claim: Vec<Claim>,
}

/// Every claim, paper by paper, in the order of the tables.
pub fn all() -> Vec<Claim> {
    let of = |paper| of_paper(paper).expect("the embedded tables are well-formed; a test reads them");
    names().into_iter().flat_map(of).collect()
}

/// The claims of one paper; an experiment in a folder need not make any.
///
/// # Errors
/// There is no such paper; its table is not well-formed.
pub fn of_paper(paper: &str) -> Result<Vec<Claim>, BadInput> {
    if is_folder(paper) && text(paper, "claims.toml")?.is_none() {
        return Ok(Vec::new());
    }
    Ok(read::<Table>(paper, "claims.toml")?.claim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::readings::Readings;
    use crate::experiment::spec::{Experiment, read};
    use std::collections::BTreeSet;

    #[test]
    fn the_tables_are_complete_and_ids_are_unique() {
        for paper in names() {
            of_paper(paper).unwrap_or_else(|e| panic!("{e}"));
        }
        let claims = all();
        assert_eq!(claims.len(), 183);
        assert_eq!(claims.iter().map(|c| &c.id).collect::<BTreeSet<_>>().len(), 183);
        assert!(of_paper("dop").unwrap_err().hint.unwrap().contains("`dpo`"));
    }
    #[test]
    fn a_rule_fits_what_its_row_rests_on() {
        let calibrations = names().into_iter().flat_map(|paper| {
            let e: Experiment = read(paper, "experiment.toml").unwrap_or_else(|e| panic!("{e}"));
            let readings = Readings::of_paper(paper, &e).unwrap_or_else(|e| panic!("{e}"));
            readings.calibration.into_iter().map(|c| c.claim)
        });
        let calibrates: BTreeSet<String> = calibrations.collect();
        for claim in all() {
            let (id, kind) = (&claim.id, claim.rests_on);
            let fits = match &claim.by {
                // A test of a rule, or of a trend among runs, of storage, of an input: never a plain claim of semantics.
                Rule::Check { .. } => kind == Kind::Rule || !id.contains("-SEM") || kind == Kind::Measured,
                Rule::Cost { .. } => matches!(kind, Kind::Storage | Kind::Echo),
                Rule::Parameter { .. } | Rule::Programs { .. } => kind == Kind::Echo,
                Rule::Quoted { .. } => true,
                Rule::NotRun { reason } => {
                    let admitted = ["figure-only", "synthesis", "hardware absent", "depends on"];
                    admitted.iter().any(|a| reason.starts_with(a))
                }
                _ if calibrates.contains(id) => kind == Kind::Calibrated,
                _ => kind == Kind::Measured,
            };
            assert!(fits, "{id}: {:?} is not `{}`", claim.by, kind.name());
        }
    }
}
