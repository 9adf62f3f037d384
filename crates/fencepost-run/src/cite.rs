//! How to cite a design.

use crate::config::find_design;
use crate::error::LabError;
use serde::Serialize;

/// Where a design was published.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Citation {
    /// Design.
    pub design: String,
    /// One sentence about it.
    pub summary: String,
    /// Short name of the paper.
    pub paper: String,
    /// Title.
    pub title: String,
    /// Venue and year.
    pub venue: String,
    /// BibTeX entry; empty where there is nothing to cite.
    pub bibtex: String,
}

/// The citation of a design.
pub fn cite(name: &str) -> Result<Citation, LabError> {
    let d = find_design(name)?;
    Ok(Citation {
        design: d.name.into(),
        summary: d.summary.into(),
        paper: d.paper.short.into(),
        title: d.paper.title.into(),
        venue: d.paper.venue.into(),
        bibtex: d.paper.bibtex.into(),
    })
}
