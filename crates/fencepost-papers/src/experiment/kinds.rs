//! What stands behind each claim's row: `experiments/kinds.csv` maps every claim to its kind.

use crate::embedded::EMBEDDED;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What a row of the scoreboard rests on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A value, order or trend that simulation or a real CPU produced.
    Measured,
    /// A semantic rule that a test holds the mechanism to.
    Rule,
    /// Storage by the paper's formula, with the value from first principles beside it.
    Storage,
    /// An input repeated: a preset that holds the paper's number, or storage that divides a literal back out.
    Echo,
}
impl Kind {
    /// All kinds, those that say how good a reproduction is first.
    pub const ALL: [Kind; 4] = [Kind::Measured, Kind::Rule, Kind::Storage, Kind::Echo];
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Measured => "measured",
            Kind::Rule => "rule",
            Kind::Storage => "storage",
            Kind::Echo => "echo",
        }
    }
}

/// The kind of every claim, by id.
fn table() -> &'static BTreeMap<String, Kind> {
    static TABLE: OnceLock<BTreeMap<String, Kind>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let text = EMBEDDED
            .iter()
            .find(|e| e.0 == "experiments/kinds.csv")
            .map_or("", |e| e.1);
        let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize::<(String, Kind)>();
        rows.map(|r| r.expect("the embedded table is well-formed; a test reads it"))
            .collect()
    })
}

/// The kind of a claim; claims that are not in the table are measured ones.
pub fn of(id: &str) -> Kind {
    table().get(id).copied().unwrap_or(Kind::Measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::rule::{Rule, Rules};
    use crate::experiment::spec::{names, read};

    #[test]
    fn every_claim_has_a_kind_and_its_rule_is_of_that_kind() {
        let claims = crate::claims::all();
        assert_eq!(table().len(), claims.len());
        assert!(claims.iter().all(|c| table().contains_key(&c.id)));
        for paper in names() {
            let rules: Rules = read(paper, "expected.toml").unwrap_or_else(|e| panic!("{e}"));
            for (id, rule) in &rules {
                let kind = of(id);
                let fits = match rule {
                    // A test of a rule, or of a trend among runs, of storage, of an input: never a plain claim of semantics.
                    Rule::Check { .. } => kind == Kind::Rule || !id.contains("-SEM") || kind == Kind::Measured,
                    Rule::Cost { .. } | Rule::Costs { .. } => matches!(kind, Kind::Storage | Kind::Echo),
                    Rule::Parameter { .. } | Rule::Programs { .. } => kind == Kind::Echo,
                    Rule::Quoted { .. } | Rule::NotRun { .. } => true,
                    _ => kind == Kind::Measured,
                };
                assert!(fits, "{paper} {id}: {rule:?} is not `{}`", kind.name());
            }
        }
    }
}
