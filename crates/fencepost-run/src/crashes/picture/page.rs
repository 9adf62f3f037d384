//! The picture on a page.

use super::{dot::dot, svg::svg};
use crate::witness::Witness;
use fencepost_pages::{Page, escape};
use std::fmt::Write as _;

/// A page with the picture, and what the command prints beside it.
///
/// # Errors
/// None; a page of text has a form in JSON.
pub fn page(title: &str, text: &str, witness: Option<&Witness>) -> Result<String, serde_json::Error> {
    let picture = witness.and_then(svg);
    let graph = witness.and_then(dot);
    let mut body = format!("<header><h1>{}</h1></header><main>", escape(title));
    match (&picture, witness) {
        (Some(svg), Some(w)) => {
            let _ = write!(
                body,
                "<div class=\"card\"><p class=\"bad\"><b>{}</b></p></div><figure class=\"scroll\" tabindex=\"0\">{svg}<figcaption>Grey arrows are program order, \
                 purple ones what the contract makes durable first, with its rule, blue ones what another thread had seen. The dotted line is the cut: what is left of it is durable when the power \
                 fails, what is right of it is lost.</figcaption></figure>",
                escape(&w.why)
            );
        }
        _ => body.push_str("<p>No crash state to draw.</p>"),
    }
    let _ = write!(body, "<h2>In words</h2><pre>{}</pre>", escape(text));
    if let Some(graph) = graph {
        let _ = write!(
            body,
            "<details><summary>As a graph for Graphviz</summary><pre>{}</pre></details>",
            escape(&graph)
        );
    }
    body.push_str("</main>");
    Page {
        title,
        body: &body,
        style: "",
        scripts: &[],
        plots: false,
    }
    .render(&())
}
