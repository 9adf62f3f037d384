//! The picture as SVG.

use super::state::{about, edges, file, gaps_of, stores, threads};
use crate::witness::{Placed, Witness};
use fencepost_pages::escape;
use std::fmt::Write as _;

/// Half the width of a thread's column, the height of a store, and the space above the first.
const HALF: f64 = 370.0;
const STEP: f64 = 64.0;
const TOP: f64 = 56.0;

/// The picture of a witness as SVG; `None` where it names no stores.
pub fn svg(w: &Witness) -> Option<String> {
    let stores = stores(w);
    let threads = threads(&stores)?;
    let (width, height) = (
        2.0 * HALF * threads.len() as f64,
        TOP + STEP * stores.len() as f64 + 20.0,
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\"><title>{}</title><desc>Durable stores stand left of the cut of their \
         thread, lost ones right of it, from the oldest at the top.</desc><defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#777\"/></marker></defs>",
        escape(&w.why)
    );
    for (i, thread) in threads.iter().enumerate() {
        column(&mut out, 2.0 * HALF * i as f64, height, *thread);
    }
    let place = |i: usize| {
        let s = stores[i];
        let column = threads.iter().position(|t| *t == s.thread).unwrap_or(0) as f64;
        let side = if s.durable { 0.95 } else { 1.05 };
        (2.0 * HALF * column + side * HALF, TOP + STEP * (i as f64 + 0.5))
    };
    for thread in &threads {
        let of: Vec<usize> = (0..stores.len()).filter(|i| stores[*i].thread == *thread).collect();
        for pair in of.windows(2) {
            let ((x1, y1), (x2, y2)) = (place(pair[0]), place(pair[1]));
            let _ = write!(
                out,
                "<line x1=\"{x1}\" y1=\"{}\" x2=\"{x2}\" y2=\"{}\" stroke=\"#777\" marker-end=\"url(#tip)\"/>",
                y1 + 9.0,
                y2 - 9.0
            );
        }
    }
    for e in edges(w) {
        let at = |order: usize| stores.iter().position(|s| s.order == order).map(place);
        if let (Some(from), Some(to)) = (at(e.before), at(e.after)) {
            edge(&mut out, from, to, e.rule);
        }
    }
    for (i, s) in stores.iter().enumerate() {
        store(&mut out, place(i), s);
    }
    for gap in gaps_of(w, &stores) {
        let (x, y) = place(gap.lost);
        let (cut, y) = (
            x - 0.05 * HALF,
            gap.durable.map_or(y + STEP / 2.0, |d| place(d).1 - STEP / 2.0),
        );
        let (from, to) = (cut - 0.75 * HALF, cut + 0.75 * HALF);
        let _ = write!(
            out,
            "<line class=\"fence\" x1=\"{from}\" x2=\"{to}\" y1=\"{y}\" y2=\"{y}\" stroke=\"#e69f00\" stroke-width=\"4\" \
             stroke-dasharray=\"8 5\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#a05a00\" font-weight=\"bold\">{}</text>",
            cut - 8.0,
            y - 7.0,
            gap.missing()
        );
    }
    out.push_str("</svg>\n");
    Some(out)
}

/// An edge as a bent arrow with its name.
fn edge(out: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), rule: Option<&str>) {
    let (class, colour, name) = match rule {
        Some(rule) => ("persists", "#6b4c9a", rule),
        None => ("happens", "#0072b2", "happens before"),
    };
    // Arrows within a thread bend away from its cut, those of the contract to one side and those of threads to the other.
    let bend = if rule.is_some() { -0.42 * HALF } else { 0.42 * HALF };
    let (x, y) = (f64::midpoint(x1, x2) + bend, f64::midpoint(y1, y2));
    let _ = write!(
        out,
        "<path class=\"{class}\" d=\"M{x1} {y1}Q{x} {y} {x2} {y2}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" marker-end=\"url(#tip)\"/>\
         <text x=\"{}\" y=\"{y}\" text-anchor=\"middle\" font-size=\"11\" fill=\"{colour}\">{}</text>",
        f64::midpoint(x1, x2) + bend / 2.0,
        escape(name)
    );
}

fn column(out: &mut String, x: f64, height: f64, thread: u8) {
    let cut = x + HALF;
    let _ = write!(
        out,
        "<text x=\"{cut}\" y=\"16\" text-anchor=\"middle\" font-weight=\"bold\" fill=\"currentColor\">thread {thread}</text>\
         <text x=\"{}\" y=\"38\" text-anchor=\"end\" fill=\"#00845f\">durable</text><text x=\"{}\" y=\"38\" fill=\"#c24a00\">lost</text>\
         <line class=\"cut\" x1=\"{cut}\" x2=\"{cut}\" y1=\"24\" y2=\"{height}\" stroke=\"#777\" stroke-dasharray=\"3 4\"/>",
        cut - 20.0,
        cut + 20.0
    );
}

fn store(out: &mut String, (x, y): (f64, f64), s: &Placed) {
    let (mark, anchor, by) = match s.durable {
        true => (
            format!(
                "<rect class=\"durable\" x=\"{}\" y=\"{}\" width=\"14\" height=\"14\" fill=\"#00845f\"/>",
                x - 7.0,
                y - 7.0
            ),
            "end",
            -14.0,
        ),
        false => (
            format!(
                "<circle class=\"lost\" cx=\"{x}\" cy=\"{y}\" r=\"7\" fill=\"none\" stroke=\"#c24a00\" stroke-width=\"2\"/><path d=\"M{} {}l8 8m0 -8l-8 8\" stroke=\"#c24a00\" stroke-width=\"2\"/>",
                x - 4.0,
                y - 4.0
            ),
            "start",
            14.0,
        ),
    };
    let _ = write!(
        out,
        "{mark}<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"currentColor\"><tspan font-weight=\"bold\">{}</tspan>\
         <tspan x=\"{}\" dy=\"15\">[{}] = {:#x}</tspan><tspan x=\"{}\" dy=\"15\" fill=\"#808080\">{}</tspan></text>",
        x + by,
        y - 8.0,
        escape(file(&s.source)),
        x + by,
        escape(&s.address),
        s.value,
        x + by,
        escape(&about(s))
    );
}
