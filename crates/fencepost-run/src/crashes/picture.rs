//! A crash state as a picture: the stores of each thread in program order, those that are durable left of the cut, those that are
//! lost right of it, and the fence that is missing where it would stand.

use crate::witness::{Placed, Witness};
use fencepost_pages::{Page, escape};
use std::fmt::Write as _;

/// Where nothing orders a store that is lost before a younger one of its thread that is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Index of the lost store.
    pub lost: usize,
    /// Index of the durable one; none where the operation had ended, which promised that its stores are durable.
    pub durable: Option<usize>,
    /// Whether a flush is missing too.
    pub flush: bool,
}

/// Half the width of a thread's column, the height of a store, and the space above the first.
const HALF: f64 = 370.0;
const STEP: f64 = 64.0;
const TOP: f64 = 56.0;

/// The stores of a witness in the order of execution; empty where it names no state.
pub fn stores(w: &Witness) -> Vec<&Placed> {
    let mut all: Vec<&Placed> = w.state.iter().flat_map(|s| &s.stores).collect();
    all.sort_by_key(|s| s.order);
    all
}

/// The gaps of a state, one before each durable store and at most one at the end of a thread. Stores come in the order of execution;
/// `completed` is the last operation that each thread had completed.
pub fn gaps(stores: &[&Placed], completed: &[Option<u32>]) -> Vec<Gap> {
    let mut out: Vec<Gap> = Vec::new();
    for (lost, a) in stores.iter().enumerate().filter(|(_, s)| !s.durable) {
        let younger = |(_, b): &(usize, &&Placed)| b.thread == a.thread && b.durable;
        let durable = stores.iter().enumerate().skip(lost + 1).find(younger).map(|d| d.0);
        let last = completed.get(usize::from(a.thread)).copied().flatten();
        let ended = a.operation.zip(last).is_some_and(|(k, last)| k <= last);
        if durable.is_none() && !ended {
            continue;
        }
        // One fence orders every lost store before it: the last of them shows where.
        let same = |g: &&mut Gap| g.durable == durable && stores[g.lost].thread == a.thread;
        let flush = a.lost.as_deref() == Some("never flushed");
        match out.iter_mut().find(same) {
            Some(gap) => (gap.lost, gap.flush) = (lost, gap.flush || flush),
            None => out.push(Gap { lost, durable, flush }),
        }
    }
    out
}

impl Gap {
    /// What is missing there, in words.
    pub fn missing(&self) -> String {
        let what = if self.flush {
            "a flush and a fence are missing"
        } else {
            "a fence is missing"
        };
        let place = if self.durable.is_some() {
            "here"
        } else {
            "before the operation ends"
        };
        format!("{what} {place}")
    }
}

fn gaps_of(w: &Witness, stores: &[&Placed]) -> Vec<Gap> {
    let completed = w.state.as_ref().and_then(|s| s.completed.as_deref());
    gaps(stores, completed.unwrap_or_default())
}

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

fn threads(stores: &[&Placed]) -> Option<Vec<u8>> {
    let mut all: Vec<u8> = stores.iter().map(|s| s.thread).collect();
    all.sort_unstable();
    all.dedup();
    (!all.is_empty()).then_some(all)
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

/// A place in the program without its folders.
fn file(source: &str) -> &str {
    source.rsplit('/').next().unwrap_or(source)
}

fn about(s: &Placed) -> String {
    let operation = s.operation.map(|k| format!("operation {k}"));
    operation
        .into_iter()
        .chain(s.lost.clone())
        .collect::<Vec<_>>()
        .join("; ")
}

/// The same as a graph for Graphviz.
pub fn dot(w: &Witness) -> Option<String> {
    let stores = stores(w);
    let threads = threads(&stores)?;
    let quote = |t: &str| t.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out = format!(
        "digraph crash {{\n  label=\"{}\";\n  node [shape=box];\n",
        quote(&w.why)
    );
    for thread in &threads {
        let _ = writeln!(out, "  subgraph cluster_{thread} {{\n    label=\"thread {thread}\";");
        let of: Vec<usize> = (0..stores.len()).filter(|i| stores[*i].thread == *thread).collect();
        for i in &of {
            let s = stores[*i];
            let style = if s.durable {
                "style=filled, fillcolor=\"#cdeee0\""
            } else {
                "style=dashed, color=\"#c24a00\""
            };
            let label = quote(&format!(
                "{}\n[{}] = {:#x}\n{}",
                file(&s.source),
                s.address,
                s.value,
                about(s)
            ));
            let _ = writeln!(out, "    s{i} [label=\"{}\", {style}];", label.replace('\n', "\\n"));
        }
        for pair in of.windows(2) {
            let _ = writeln!(out, "    s{} -> s{};", pair[0], pair[1]);
        }
        out.push_str("  }\n");
    }
    for gap in gaps_of(w, &stores) {
        let end = gap.durable.map_or_else(|| "end".to_owned(), |d| format!("s{d}"));
        let (lost, missing) = (gap.lost, gap.missing());
        let _ = writeln!(
            out,
            "  s{lost} -> {end} [style=bold, color=\"#e69f00\", label=\"{missing}\"];"
        );
    }
    out.push_str("}\n");
    Some(out)
}

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
                "<div class=\"card\"><p class=\"bad\"><b>{}</b></p></div><figure class=\"scroll\">{svg}<figcaption>Arrows are program order, the dotted \
                 line is the cut: what is left of it is durable when the power fails, what is right of it is lost.</figcaption></figure>",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::witness::CrashState;

    fn placed(order: usize, thread: u8, durable: bool, lost: Option<&str>) -> Placed {
        Placed {
            order,
            thread,
            operation: Some(1),
            source: "crates/a/src/b.rs:7".into(),
            address: "pm+0x40".into(),
            value: 5,
            durable,
            lost: lost.map(Into::into),
        }
    }
    fn witness(stores: Vec<Placed>) -> Witness {
        Witness {
            state: Some(CrashState {
                stores,
                ..CrashState::default()
            }),
            ..Witness::of("a < b")
        }
    }

    #[test]
    fn the_fence_stands_between_the_last_lost_store_and_the_durable_one_after_it() {
        let w = witness(vec![
            placed(9, 0, true, None),
            placed(3, 0, false, Some("flushed, not fenced")),
            placed(5, 0, false, Some("flushed, not fenced")),
            placed(7, 1, false, Some("never flushed")),
            placed(1, 1, true, None),
        ]);
        let all = stores(&w);
        let gap = |lost, durable| Gap {
            lost,
            durable,
            flush: false,
        };
        // Thread 0 stores at 3, 5 and 9; the durable store of thread 1 is older than its lost one.
        assert_eq!(gaps(&all, &[None, None]), [gap(2, Some(4))]);
        let ended = Gap {
            flush: true,
            ..gap(3, None)
        };
        assert_eq!(gaps(&all, &[None, Some(1)]), [gap(2, Some(4)), ended.clone()]);
        assert_eq!(
            ended.missing(),
            "a flush and a fence are missing before the operation ends"
        );
        assert_eq!(gaps(&all, &[None, Some(0)]).len(), 1, "operation 1 had not ended");
    }
    #[test]
    fn pictures_show_every_store_and_escape_their_texts() {
        let w = witness(vec![
            placed(1, 0, false, Some("never flushed")),
            placed(2, 0, true, None),
        ]);
        let svg = svg(&w).expect("a state");
        let count = |what: &str| svg.matches(what).count();
        assert_eq!(
            [
                count("class=\"lost\""),
                count("class=\"durable\""),
                count("class=\"fence\""),
                count("class=\"cut\"")
            ],
            [1; 4]
        );
        assert!(svg.contains("<title>a &lt; b</title>") && svg.contains("b.rs:7"));
        let dot = dot(&w).expect("a state");
        assert!(
            dot.contains("s0 -> s1;") && dot.contains("label=\"a flush and a fence are missing here\""),
            "{dot}"
        );
        assert_eq!(super::svg(&Witness::of("nothing known")), None);
    }
}
