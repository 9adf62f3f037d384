//! The page of one run, or of two on one clock.

use super::Timeline;
use crate::error::LabError;
use fencepost_pages::{Page, escape};
use serde::Serialize;

const BODY: &str = include_str!("timeline.html");
const STYLE: &str = include_str!("timeline.css");
const SCRIPTS: [&str; 3] = [
    include_str!("model.js"),
    include_str!("lanes.js"),
    include_str!("crash.js"),
];

/// Where a page opens.
#[derive(Copy, Clone, Debug, Default, Serialize)]
pub struct Opened {
    /// Durable events before the power failure that is shown first, if one is.
    pub events: Option<u64>,
}

#[derive(Serialize)]
struct Data<'a> {
    runs: &'a [Timeline],
    opened: Opened,
}

/// The page.
///
/// # Errors
/// A defect of ours.
pub fn render(runs: &[Timeline], command: &str, opened: Opened) -> Result<String, LabError> {
    let designs: Vec<&str> = runs.iter().map(|r| r.design.as_str()).collect();
    let program = runs.first().map_or("", |r| r.program.as_str());
    let title = format!("{program} on {}", designs.join(" and "));
    let body = BODY
        .replace("{title}", &escape(&title))
        .replace("{command}", &escape(command));
    let page = Page {
        title: &format!("fencepost: {title}"),
        body: &body,
        style: STYLE,
        scripts: &SCRIPTS,
        plots: false,
    };
    let rendered = page.render(&Data { runs, opened });
    rendered.map_err(|e| LabError::Internal(format!("timeline: {e}")))
}
