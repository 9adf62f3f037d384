//! Executions as pictures, with the cycle of the axiom that forbids them.

use crate::condition::Atom;
use crate::execution::{Flow, Solution};
use crate::models::{Broken, Model};
use crate::program::{Program, ProgramError};
use crate::relation::{Rel, bits};
use std::fmt::Write as _;

/// One access.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    thread: usize,
    row: usize,
    label: String,
    initial: bool,
}

/// An edge and whether it is part of the cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Arrow {
    from: usize,
    to: usize,
    name: &'static str,
    cycle: bool,
}

/// An execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    title: String,
    threads: Vec<usize>,
    nodes: Vec<Node>,
    arrows: Vec<Arrow>,
    /// The axiom that forbids it; none if it is allowed.
    pub broken: Option<Broken>,
}

/// An execution in which the test's condition holds: one that the model allows if there is one, else one that it forbids, with
/// the axiom and the cycle. `None` if the condition holds in no coherent execution.
///
/// # Errors
/// If there are too many candidates.
pub fn witness(program: &Program<'_>, model: Model) -> Result<Option<Picture>, ProgramError> {
    let mut best: Option<Picture> = None;
    program.candidates(model, |solution| {
        let value = |atom: &Atom| solution.value(atom);
        if !program.test.condition.holds(&value) {
            return Flow::Go;
        }
        let broken = model.broken(solution.graph);
        let allowed = broken.is_none();
        let shorter = |p: &Picture| match (&p.broken, &broken) {
            (Some(old), Some(new)) => new.cycle.len() < old.cycle.len(),
            (old, new) => old.is_some() && new.is_none(),
        };
        if best.as_ref().is_none_or(shorter) {
            best = Some(Picture::new(solution, model, broken));
        }
        if allowed { Flow::Stop } else { Flow::Go }
    })?;
    Ok(best)
}

fn letter(n: usize) -> String {
    match u8::try_from(n) {
        Ok(n) if n < 26 => char::from(b'a' + n).to_string(),
        _ => format!("e{n}"),
    }
}

impl Picture {
    fn new(solution: &Solution<'_>, model: Model, broken: Option<Broken>) -> Picture {
        let g = solution.graph;
        let test = solution.program.test;
        let node = |n: usize| {
            let (thread, event) = solution.event(n);
            let kind = if event.is_read() {
                "R"
            } else if event.is_write() {
                "W"
            } else {
                "flush"
            };
            let place = test.locations.show(event.addr);
            let value = if event.is_read() || event.is_write() {
                format!("={}", test.locations.show(event.value))
            } else {
                String::new()
            };
            let initial = event.is_read() && !(0..g.n).any(|w| g.rf.has(w, n));
            Node {
                thread,
                row: n - solution.first[thread],
                label: format!("{}: {kind} {place}{value}", letter(n)),
                initial,
            }
        };
        let mut picture = Picture {
            title: format!("{} under {model}", test.name),
            threads: test.threads.iter().map(|t| t.id).collect(),
            nodes: (0..g.n).map(node).collect(),
            arrows: Vec::new(),
            broken,
        };
        let mut po = Rel::empty(g.n);
        for n in 1..g.n {
            if g.thread[n] >> (n - 1) & 1 == 1 {
                po.add(n - 1, n);
            }
        }
        // Of coherence and from-read only the steps that do not follow from others are drawn.
        let co = g.co.and(&minus(&g.co, &g.co.then(&g.co)));
        let fr = minus(&g.fr, &g.fr.then(&g.co));
        let cycle = picture.broken.as_ref().map_or(Vec::new(), |b| b.cycle.clone());
        let in_cycle =
            |a: usize, b: usize| (0..cycle.len()).any(|i| cycle[i] == a && cycle[(i + 1) % cycle.len()] == b);
        for (name, rel) in [("po", &po), ("rf", &g.rf), ("co", &co), ("fr", &fr)] {
            for from in 0..g.n {
                for to in bits(rel.row(from)) {
                    let cycle = in_cycle(from, to);
                    picture.arrows.push(Arrow { from, to, name, cycle });
                }
            }
        }
        // Steps of the cycle that are none of these: what the model preserves.
        for i in 0..cycle.len() {
            let (from, to) = (cycle[i], cycle[(i + 1) % cycle.len()]);
            if !picture.arrows.iter().any(|a| a.from == from && a.to == to) {
                let name = if g.thread[from] >> to & 1 == 1 {
                    "ordered"
                } else {
                    "propagates"
                };
                picture.arrows.push(Arrow {
                    from,
                    to,
                    name,
                    cycle: true,
                });
            }
        }
        picture
    }

    /// What is said under the title.
    fn verdict(&self) -> String {
        match &self.broken {
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
                let initial = if node.initial { " (initial)" } else { "" };
                let _ = writeln!(out, "e{n} [label=\"{}{initial}\"];", node.label);
            }
            out.push_str("}\n");
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
        const COLUMN: usize = 190;
        const ROW: usize = 70;
        let rows = self.nodes.iter().map(|n| n.row + 1).max().unwrap_or(1);
        let (width, height) = (COLUMN * self.threads.len() + 60, ROW * rows + 110);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
             <path d=\"M0 0 8 4 0 8z\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"12\" y=\"20\" font-weight=\"bold\">{}</text>\n<text x=\"12\" y=\"40\">{}</text>\n",
            escape(&self.title),
            escape(&self.verdict())
        );
        let at = |n: usize| (100 + COLUMN * self.nodes[n].thread, 100 + ROW * self.nodes[n].row);
        for (t, id) in self.threads.iter().enumerate() {
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"70\" text-anchor=\"middle\" fill=\"#666\">P{id}</text>",
                100 + COLUMN * t
            );
        }
        for (n, node) in self.nodes.iter().enumerate() {
            let (x, y) = at(n);
            let fill = if node.initial { "#777" } else { "black" };
            let label = escape(&node.label);
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"{fill}\">{label}</text>"
            );
        }
        for (i, a) in self.arrows.iter().enumerate() {
            let colour = match (a.cycle, a.name) {
                (true, _) => "#c00",
                (_, "po") => "#333",
                (_, "rf") => "#080",
                (_, "co") => "#04a",
                _ => "#a60",
            };
            let weight = if a.cycle { 2 } else { 1 };
            let ((x1, y1), (x2, y2)) = (at(a.from), at(a.to));
            // Labels keep off the line's middle, where lines meet.
            let share = 3 + i % 3;
            let between = |a: usize, b: usize| (a * (8 - share) + b * share) / 8;
            let (y1, y2) = if y2 > y1 {
                (y1 + 5, y2 - 14)
            } else if y2 < y1 {
                (y1 - 14, y2 + 5)
            } else {
                (y1 - 5, y2 - 5)
            };
            let side = |from: usize, to: usize| {
                if to > from {
                    from + 48
                } else if to < from {
                    from - 48
                } else {
                    from
                }
            };
            let (x1, x2) = (side(x1, x2), side(x2, x1));
            let _ = writeln!(
                out,
                "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{colour}\" stroke-width=\"{weight}\" marker-end=\"url(#a)\"/>\
                 <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{}</text>",
                between(x1, x2) + 4,
                between(y1, y2),
                a.name
            );
        }
        out + "</svg>\n"
    }
}

fn minus(a: &Rel, b: &Rel) -> Rel {
    let mut out = *a;
    (0..a.events()).for_each(|i| out.remove_row(i, b.row(i)));
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
