//! `experiments/<paper>/figures.toml`: the figures of a paper that its report draws again.

use super::rule::{Form, Over};
use super::spec::{is_folder, read, text};
use fencepost_run::BadInput;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A figure of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Short name, unique in the paper.
    pub id: String,
    /// Where it stands in the paper.
    pub place: String,
    /// What it shows, with what everything is relative to.
    pub title: String,
    /// Whether it is the one that answers first.
    #[serde(default)]
    pub main: bool,
    /// Experiment whose runs it shows.
    #[serde(default)]
    pub tag: String,
    /// The mean over programs that the paper takes.
    #[serde(default)]
    pub over: Option<Over>,
    /// What is compared, as rules on metrics name it; execution time where absent.
    #[serde(default)]
    pub metric: Option<String>,
    /// The metric of `base`, where it is another one.
    #[serde(default)]
    pub base_metric: Option<String>,
    /// Whether bars begin at zero, not at the value that means no difference.
    #[serde(default)]
    pub from_zero: bool,
    /// How ratios are expressed.
    #[serde(default)]
    pub form: Form,
    /// Media shown; all of the experiment's where empty.
    #[serde(default)]
    pub media: Vec<String>,
    /// The bars of every program.
    #[serde(default)]
    pub bar: Vec<Bar>,
    /// A figure whose every bar is a claim of its own: the claims by label. It has no bars besides.
    #[serde(default)]
    pub claims: BTreeMap<String, String>,
}

/// One bar: `point` relative to `base`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    /// Name in the figure.
    pub name: String,
    /// Design point.
    pub point: String,
    /// Design point that it is relative to.
    pub base: String,
    /// Experiment, where it is not the figure's.
    #[serde(default)]
    pub tag: Option<String>,
    /// Claim that states the mean of the bar, where its rule does not say so by itself.
    #[serde(default)]
    pub stated: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    figure: Vec<Figure>,
}

/// The figures of one paper, the main one first.
///
/// # Errors
/// There is no such paper; its file is not well-formed.
pub fn of_paper(paper: &str) -> Result<Vec<Figure>, BadInput> {
    // An experiment of the user's own needs none.
    if text(paper, "figures.toml")?.is_none() && is_folder(paper) {
        return Ok(Vec::new());
    }
    let mut figures = read::<Figures>(paper, "figures.toml")?.figure;
    figures.sort_by_key(|f| !f.main);
    Ok(figures)
}

impl Figure {
    /// The experiment of a bar.
    pub fn tag_of<'a>(&'a self, bar: &'a Bar) -> &'a String {
        bar.tag.as_ref().unwrap_or(&self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::claims;
    use crate::experiment::spec::{Experiment, names};
    use std::collections::BTreeSet;

    #[test]
    fn figures_show_runs_and_claims_that_there_are() {
        for paper in names() {
            let figures = of_paper(paper).unwrap_or_else(|e| panic!("{e}"));
            let e: Experiment = read(paper, "experiment.toml").unwrap_or_else(|e| panic!("{e}"));
            let claims = claims::of_paper(paper).unwrap_or_else(|e| panic!("{e}"));
            let claim = |id: &String| claims.iter().any(|c| c.id == *id);
            assert_eq!(
                figures.iter().filter(|f| f.main).count(),
                1,
                "{paper}: one figure answers first"
            );
            let ids: BTreeSet<&String> = figures.iter().map(|f| &f.id).collect();
            assert_eq!(ids.len(), figures.len(), "{paper}: two figures have one name");
            for f in &figures {
                let place = format!("{paper} {}", f.id);
                assert!(f.bar.is_empty() != f.claims.is_empty(), "{place}: bars or claims");
                assert!(f.claims.values().all(claim), "{place}: a claim that there is not");
                for b in &f.bar {
                    let run = |p: &String| {
                        let here = e.matrix.iter().filter(|m| m.tag == *f.tag_of(b));
                        here.into_iter().any(|m| m.points.contains(p))
                    };
                    assert!(run(&b.point) && run(&b.base), "{place} {}: never run", b.name);
                    assert!(b.stated.iter().all(claim), "{place} {}: no such claim", b.name);
                }
            }
        }
    }
}
