//! What there is: designs, programs, machines, media, contracts, experiments, readings.

use crate::experiment::readings::{Input, Quote, Readings};
use crate::experiment::spec::{self, Experiment};
use fencepost_run::LabError;
use fencepost_run::listing::{self, Entry, Section};

/// Kinds that can be listed.
pub const KINDS: [&str; 7] = [
    "designs",
    "programs",
    "machines",
    "media",
    "contracts",
    "experiments",
    "readings",
];

/// Lists one kind, or all.
pub fn list(kind: Option<&str>) -> Result<Vec<Section>, LabError> {
    let wanted: Vec<&'static str> = match kind {
        None => KINDS.to_vec(),
        Some(k) => match KINDS.iter().find(|x| **x == k) {
            Some(found) => vec![*found],
            None => return Err(fencepost_run::BadInput::unknown("kind of list", k, KINDS).into()),
        },
    };
    wanted
        .into_iter()
        .map(|kind| {
            Ok(Section {
                kind,
                entries: entries(kind)?,
            })
        })
        .collect()
}

fn entries(kind: &str) -> Result<Vec<Entry>, LabError> {
    Ok(match kind {
        "readings" => {
            let papers: Vec<Vec<Entry>> = spec::names().into_iter().map(open_inputs).collect::<Result<_, _>>()?;
            papers.concat()
        }
        "experiments" => spec::names().into_iter().map(experiment).collect::<Result<_, _>>()?,
        of_a_run => listing::entries(of_a_run)?,
    })
}

/// The open inputs of a paper, each with its readings and where the primary comes from.
fn open_inputs(paper: &str) -> Result<Vec<Entry>, LabError> {
    let e: Experiment = spec::read(paper, "experiment.toml")?;
    let entry = |i: &Input| {
        let names: Vec<&str> = i.reading.iter().map(|r| r.name.as_str()).collect();
        let mut more = vec![
            ("readings", names.join(", ")),
            ("primary", format!("{} (rule {} of precedence)", i.primary, i.rule)),
        ];
        let quoted = |quotes: &[Quote]| {
            let one = |q: &Quote| format!("{} \"{}\"", q.0, q.1);
            quotes.iter().map(one).collect::<Vec<_>>().join(" ")
        };
        let texts = [
            ("quotes", quoted(&i.quotes)),
            ("silent", i.silent.clone()),
            ("conclusion", i.conclusion.clone()),
            ("against", quoted(&i.against)),
            ("doubt", i.doubt.clone()),
        ];
        more.extend(texts.into_iter().filter(|t| !t.1.is_empty()));
        Entry {
            name: format!("{paper} {}", i.name),
            about: i.about.clone(),
            more,
        }
    };
    Ok(Readings::of_paper(paper, &e)?.input.iter().map(entry).collect())
}

fn experiment(name: &str) -> Result<Entry, LabError> {
    let e: Experiment = spec::read(name, "experiment.toml")?;
    Ok(Entry {
        name: name.into(),
        about: e.about,
        more: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn every_kind_lists_something_and_every_word_has_a_sentence() {
        for s in list(None).unwrap() {
            assert!(!s.entries.is_empty(), "{}", s.kind);
            assert!(s.entries.iter().all(|e| !e.about.is_empty()), "{s:?}");
        }
        assert!(list(Some("desings")).unwrap_err().to_string().contains("`designs`"));
    }
}
