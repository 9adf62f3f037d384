//! Pictures: what stands in them, as SVG and for Graphviz.

use crate::executions::models::Broken;
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Distance between threads, and between accesses of one.
const COLUMN: usize = 190;
const ROW: usize = 70;

/// One access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub thread: usize,
    pub row: usize,
    pub label: String,
    /// Drawn in grey: it reads an initial value, or is lost.
    pub faint: bool,
    /// Of a store to persistent memory after a power failure: whether it is durable or lost.
    pub durable: Option<bool>,
}

/// An edge and whether it is part of the cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrow {
    pub from: usize,
    pub to: usize,
    pub name: String,
    pub cycle: bool,
}

/// An execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub(super) title: String,
    pub(super) threads: Vec<usize>,
    pub(super) nodes: Vec<Node>,
    pub(super) arrows: Vec<Arrow>,
    /// A lost store and a durable one after it in its thread, which nothing orders: a fence is missing before the second.
    pub(super) gaps: Vec<[usize; 2]>,
    /// What is said under the title instead of the axiom and its cycle.
    pub(super) note: String,
    /// The axiom that forbids it; none if it is allowed.
    pub broken: Option<Broken>,
}

/// How events are called.
pub(super) fn letter(n: usize) -> String {
    match u8::try_from(n) {
        Ok(n) if n < 26 => char::from(b'a' + n).to_string(),
        _ => format!("e{n}"),
    }
}

impl Picture {
    /// What is said under the title.
    fn verdict(&self) -> String {
        match &self.broken {
            _ if !self.note.is_empty() => self.note.clone(),
            None => "allowed".into(),
            Some(b) => {
                let events: Vec<String> = b.cycle.iter().chain(b.cycle.first()).map(|n| letter(*n)).collect();
                format!("forbidden by {}: {}", b.axiom, events.join(" → "))
            }
        }
    }

    /// In the language of Graphviz.
    pub fn dot(&self) -> String {
        let mut out = format!(
            "digraph execution {{\nlabel=\"{}\\n{}\";\nnode [shape=plaintext];\n",
            self.title,
            self.verdict()
        );
        for (t, id) in self.threads.iter().enumerate() {
            let _ = writeln!(out, "subgraph cluster_{t} {{ label=\"P{id}\";");
            for (n, node) in self.nodes.iter().enumerate().filter(|(_, n)| n.thread == t) {
                let faint = if node.faint { ", fontcolor=grey" } else { "" };
                let _ = writeln!(out, "e{n} [label=\"{}\"{faint}];", node.label);
            }
            out.push_str("}\n");
        }
        for (n, node) in self.nodes.iter().enumerate() {
            let style = match node.durable {
                Some(true) => "shape=box, color=\"#00845f\"",
                Some(false) => "shape=box, style=dashed, color=\"#c24a00\"",
                None => continue,
            };
            let _ = writeln!(out, "e{n} [{style}];");
        }
        for [lost, durable] in &self.gaps {
            let _ = writeln!(
                out,
                "e{lost} -> e{durable} [style=bold, color=\"#e69f00\", label=\"a fence is missing here\", constraint=false];"
            );
        }
        for a in &self.arrows {
            let style = if a.cycle { ", color=red, penwidth=2" } else { "" };
            let rank = if a.name == "po" { "" } else { ", constraint=false" };
            let _ = writeln!(out, "e{} -> e{} [label=\"{}\"{style}{rank}];", a.from, a.to, a.name);
        }
        out + "}\n"
    }

    /// As a picture for a browser.
    pub fn svg(&self) -> String {
        let rows = self.nodes.iter().map(|n| n.row + 1).max().unwrap_or(1);
        let (title, verdict) = (self.title.chars().count(), self.verdict().chars().count());
        // Letters of the title, which is bold, and of the line below take about so much.
        let words = 24 + (title * 9).max(verdict * 8);
        let room = if self.arrows.iter().any(|a| self.is_bent(a)) {
            130
        } else {
            60
        };
        let (width, height) = (words.max(COLUMN * self.threads.len() + room), ROW * rows + 110);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
             <path d=\"M0 0 8 4 0 8z\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"12\" y=\"20\" font-weight=\"bold\">{}</text>\n<text x=\"12\" y=\"40\">{}</text>\n",
            escape(&self.title),
            escape(&self.verdict())
        );
        for (t, id) in self.threads.iter().enumerate() {
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"70\" text-anchor=\"middle\" fill=\"#666\">P{id}</text>",
                100 + COLUMN * t
            );
        }
        self.draw_nodes(&mut out);
        self.draw_gaps(&mut out);
        self.draw_arrows(&mut out);
        out + "</svg>\n"
    }
    /// Where an access stands.
    fn at(&self, n: usize) -> (usize, usize) {
        (100 + COLUMN * self.nodes[n].thread, 100 + ROW * self.nodes[n].row)
    }
    /// Whether an arrow goes around accesses of its thread that stand between.
    fn is_bent(&self, a: &Arrow) -> bool {
        let (from, to) = (&self.nodes[a.from], &self.nodes[a.to]);
        from.thread == to.thread && from.row.abs_diff(to.row) > 1
    }
    /// Accesses, and what a failure left of them.
    fn draw_nodes(&self, out: &mut String) {
        for (n, node) in self.nodes.iter().enumerate() {
            let (x, y) = self.at(n);
            let fill = if node.faint { "#777" } else { "black" };
            let label = escape(&node.label);
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"{fill}\">{label}</text>"
            );
            let (left, top) = (x.saturating_sub(86), y - 10);
            let mark = match node.durable {
                Some(true) => format!(
                    "<rect class=\"durable\" x=\"{left}\" y=\"{top}\" width=\"11\" height=\"11\" fill=\"#00845f\"/>"
                ),
                Some(false) => format!(
                    "<path class=\"lost\" d=\"M{left} {top}l10 10m0 -10l-10 10\" stroke=\"#c24a00\" stroke-width=\"2\"/>"
                ),
                None => continue,
            };
            let _ = writeln!(out, "{mark}");
        }
    }
    /// Fences that are missing.
    fn draw_gaps(&self, out: &mut String) {
        for gap in &self.gaps {
            let (x, y) = self.at(gap[1]);
            let _ = writeln!(
                out,
                "<line class=\"fence\" x1=\"{}\" x2=\"{}\" y1=\"{2}\" y2=\"{2}\" stroke=\"#e69f00\" stroke-width=\"4\" stroke-dasharray=\"8 5\"/>\
                 <text x=\"{x}\" y=\"{3}\" text-anchor=\"middle\" fill=\"#a05a00\" font-size=\"11\">a fence is missing here</text>",
                x - 88,
                x + 88,
                y - 24,
                y - 30
            );
        }
    }
    /// Relations.
    fn draw_arrows(&self, out: &mut String) {
        for (i, a) in self.arrows.iter().enumerate() {
            let colour = match (a.cycle, a.name.as_str()) {
                (true, _) => "#c00",
                (_, "po") => "#333",
                (_, "rf") => "#080",
                (_, "co") => "#04a",
                (_, "fr") => "#a60",
                _ => "#6b4c9a",
            };
            let weight = if a.cycle { 2 } else { 1 };
            let ((x1, y1), (x2, y2)) = (self.at(a.from), self.at(a.to));
            // Labels keep off the line's middle, where lines meet.
            let share = 3 + i % 3;
            let between = |a: usize, b: usize| (a * (8 - share) + b * share) / 8;
            let (y1, y2) = match y2.cmp(&y1) {
                Ordering::Greater => (y1 + 5, y2 - 14),
                Ordering::Less => (y1 - 14, y2 + 5),
                Ordering::Equal => (y1 - 5, y2 - 5),
            };
            let side = |from: usize, to: usize| match to.cmp(&from) {
                Ordering::Greater => from + 48,
                Ordering::Less => from - 48,
                Ordering::Equal => from,
            };
            let (x1, x2) = (side(x1, x2), side(x2, x1));
            if self.is_bent(a) {
                // Around what stands between.
                let (edge, out_to, middle) = (x1 + 52, x1 + 110, y1.midpoint(y2));
                let _ = writeln!(
                    out,
                    "<path d=\"M{edge} {y1}Q{out_to} {middle} {edge} {y2}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{weight}\" \
                     marker-end=\"url(#a)\"/><text x=\"{}\" y=\"{middle}\" fill=\"{colour}\">{}</text>",
                    x1 + 84,
                    a.name
                );
                continue;
            }
            let _ = writeln!(
                out,
                "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{colour}\" stroke-width=\"{weight}\" marker-end=\"url(#a)\"/>\
                 <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{}</text>",
                between(x1, x2) + 4,
                between(y1, y2),
                a.name
            );
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
