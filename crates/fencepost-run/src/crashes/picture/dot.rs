//! The picture as a graph for Graphviz.

use super::state::{about, edges, file, gaps_of, stores, threads};
use crate::witness::Witness;
use std::fmt::Write as _;

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
    for e in edges(w) {
        let at = |order: usize| stores.iter().position(|s| s.order == order);
        if let (Some(from), Some(to)) = (at(e.before), at(e.after)) {
            let (name, colour) = e.rule.map_or(("happens before", "#0072b2"), |r| (r, "#6b4c9a"));
            let _ = writeln!(
                out,
                "  s{from} -> s{to} [color=\"{colour}\", label=\"{name}\", constraint=false];"
            );
        }
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
