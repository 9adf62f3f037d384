//! Every checkable statement of the five papers.

use crate::embedded::EMBEDDED;
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
pub struct Claim {
    /// Identifier, such as `DPO-T1-PCM`.
    pub id: String,
    /// Paper, in capitals as in the id's table.
    pub paper: String,
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
}
impl Claim {
    /// The paper's value as a number, when it is one.
    pub fn number(&self) -> Option<f64> {
        self.value.parse().ok()
    }
}

/// Words of the papers, as the command line spells them, with their names in the claims table.
pub const PAPERS: [(&str, &str); 5] = [
    ("dpo", "DPO"),
    ("themis", "THEMIS"),
    ("broi", "BROI"),
    ("loc", "LOC"),
    ("fgc", "FGC"),
];

/// Every claim, in the table's order.
pub fn all() -> Vec<Claim> {
    let text = EMBEDDED
        .iter()
        .find(|e| e.0 == "experiments/claims.csv")
        .map_or("", |e| e.1);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader
        .deserialize()
        .map(|row| row.expect("the embedded claims table is well-formed; a test reads it"))
        .collect()
}

/// The claims of one paper.
pub fn of_paper(paper: &str) -> Result<Vec<Claim>, BadInput> {
    let Some((_, name)) = PAPERS.iter().find(|p| p.0 == paper) else {
        return Err(BadInput::unknown("paper", paper, PAPERS.map(|p| p.0)));
    };
    Ok(all().into_iter().filter(|c| c.paper == *name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    #[test]
    fn the_table_is_complete_and_ids_are_unique() {
        let claims = all();
        assert_eq!(claims.len(), 183);
        assert_eq!(claims.iter().map(|c| &c.id).collect::<BTreeSet<_>>().len(), 183);
        let per_paper: usize = PAPERS.iter().map(|p| of_paper(p.0).unwrap().len()).sum();
        assert_eq!(per_paper, 183);
        assert!(of_paper("dop").unwrap_err().hint.unwrap().contains("`dpo`"));
    }
}
