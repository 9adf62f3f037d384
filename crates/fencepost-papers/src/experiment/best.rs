//! `best.toml`: the best joint reading that a search of a paper found, kept so that a reproduction can run it again beside the
//! primaries. It was chosen by the paper's own results: it says what agrees with them, it is no reproduction.

use super::readings::{Choice, Readings};
use super::spec::{parse, text};
use fencepost_run::BadInput;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the file, in the folder of an experiment and in that of an inference.
pub const FILE: &str = "best.toml";

/// What a choice of readings that was inferred is labelled.
pub const LABEL: &str = "best";

/// `best.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Best {
    /// Every reading that is not primary, as `INPUT=READING`.
    pub readings: Vec<String>,
    /// Measured rows that it met in the search, at quick scale.
    pub met: usize,
    /// Measured rows that the primaries met there.
    pub met_by_text: usize,
    /// Measured rows.
    pub rows: usize,
    /// Joint readings that were tried at whole length.
    pub tried: usize,
    /// Joint readings that there are.
    pub possible: f64,
    /// Open inputs.
    pub inputs: usize,
    /// Seed of the search and its runs.
    pub seed: u64,
    /// By claim: the joint readings that met it, of all tried.
    #[serde(default)]
    pub met_in: BTreeMap<String, usize>,
    /// By claim: the readings that all of them take, where chance does not explain it.
    #[serde(default)]
    pub needs: BTreeMap<String, Vec<String>>,
}

impl Best {
    /// The choice that it is.
    ///
    /// # Errors
    /// The paper has no such input or reading (any more).
    pub fn choice(&self, readings: &Readings) -> Result<Choice, BadInput> {
        let choice = Choice::asked(readings, &self.readings).map_err(|e| {
            let hint = "it was inferred from other readings than there are: `fencepost infer` finds it anew";
            BadInput::new(format!("{FILE}: {e}")).hint(hint)
        })?;
        Ok(Choice {
            label: LABEL.into(),
            ..choice
        })
    }

    /// The file, with a word on what it is.
    ///
    /// # Errors
    /// It has no form in TOML, which is a defect.
    pub fn to_toml(&self, paper: &str) -> Result<String, toml_edit::ser::Error> {
        let text = toml_edit::ser::to_string_pretty(self)?;
        Ok(format!(
            "# The best joint reading that `fencepost infer {paper}` found: chosen by the paper's own results, no reproduction.\n\
             # In the folder of the experiment, `fencepost reproduce {paper}` runs it again and shows it beside the primaries.\n{text}"
        ))
    }
}

/// The best joint reading of a paper, where one was inferred and kept.
///
/// # Errors
/// The file is not well-formed.
pub fn of_paper(paper: &str) -> Result<Option<Best>, BadInput> {
    let found = text(paper, FILE)?;
    found.map(|(name, text)| parse(&name, &text)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::spec::{Experiment, names, read};

    #[test]
    fn a_kept_best_names_readings_that_there_are_and_is_not_the_primaries() {
        let mut kept = 0;
        for paper in names() {
            let Some(best) = of_paper(paper).unwrap() else { continue };
            let experiment: Experiment = read(paper, "experiment.toml").unwrap();
            let readings = Readings::of_paper(paper, &experiment).unwrap();
            let choice = best.choice(&readings).unwrap_or_else(|e| panic!("{paper}: {e}"));
            let primaries = Choice::primaries(&readings).taken;
            let changed = choice.taken.iter().zip(&primaries).filter(|(a, b)| a != b).count();
            assert_eq!(changed, best.readings.len(), "{paper}: a reading is primary by now");
            assert!(best.met <= best.rows && best.met_by_text <= best.met, "{paper}");
            assert!(best.met_in.values().all(|n| *n <= best.tried), "{paper}");
            kept += 1;
        }
        assert!(kept > 0);
    }
    #[test]
    fn the_file_is_read_as_it_was_written() {
        let best = Best {
            readings: vec!["a=x".into()],
            possible: 2.5e8,
            met_in: [("C-1".to_owned(), 3)].into(),
            needs: [("C-1".to_owned(), vec!["a=x".to_owned()])].into(),
            ..Best::default()
        };
        let text = best.to_toml("dpo").unwrap();
        assert_eq!(parse::<Best>("best.toml", &text).unwrap(), best);
        let none = best.choice(&Readings::default()).unwrap_err().to_string();
        assert!(none.contains("open input") && none.contains("best.toml"), "{none}");
    }
}
