//! A page for each design, with its picture, and their list.

use super::parts::{MARK, counters, table};
use super::picture;
use crate::config::presets::{self, Kind};
use crate::cost;
use crate::error::LabError;
use fencepost_designs::{DesignInfo, Environment};
use std::fmt::Write as _;

/// The pages and pictures.
///
/// # Errors
/// A picture's run fails, which is a defect.
pub(super) fn pages() -> Result<Vec<(String, String)>, LabError> {
    let mut out = vec![("docs/designs.md".to_owned(), list())];
    for d in fencepost_designs::all() {
        let request = picture::request(d.name, machine(d));
        out.push((format!("docs/designs/{}.svg", d.name), picture::picture(&request)?));
        out.push((format!("docs/designs/{}.md", d.name), page(d)?));
    }
    Ok(out)
}

/// The machine of the design's paper, else that of the delegated-ordering paper.
fn machine(d: &DesignInfo) -> &'static str {
    let all = presets::names(Kind::Machine);
    all.into_iter().find(|m| *m == d.paper.short).unwrap_or("dpo")
}

fn contract(d: &DesignInfo, durable_on_accept: bool) -> &'static str {
    (d.contract)(Environment::new(durable_on_accept, false)).name()
}

fn list() -> String {
    let mut out = format!(
        "{MARK}# Designs\n\nWhere a persist-ordering design keeps order decides what programs pay. Each has a page with a picture of one run.\n\n\
         | design | paper | contract, durable at device / at controller | summary |\n|---|---|---|---|\n"
    );
    for d in fencepost_designs::all() {
        let _ = writeln!(
            out,
            "| [`{n}`](designs/{n}.md) | {} | `{}` / `{}` | {} |",
            d.paper.short,
            contract(d, false),
            contract(d, true),
            d.summary,
            n = d.name
        );
    }
    out
}

fn page(d: &DesignInfo) -> Result<String, LabError> {
    let (text, machine) = (d.page(), machine(d));
    let mut out = format!("{MARK}# {}\n\n{}\n\n", d.name, text.title);
    let _ = write!(
        out,
        "![Where persists wait on {0}]({0}.svg)\n\nTwo transactions of one thread that swap entries of an array, on the machine `{machine}`. Red: the core waits for order or \
         durability. Blue: a store has performed and is in caches and buffers. Orange: the memory controller has it and it is not yet durable. At its end the thread waits for everything to be durable. The boxes have \
         the means over all persists of the run. The same run with everything in it:\n\n\
         ```sh\nfencepost timeline sps -d {0} -m {machine} --threads 1 --ops 2 --set program.sps.entries=64 -o timeline.html\n```\n\n",
        d.name
    );
    let _ = write!(
        out,
        "| | |\n|---|---|\n| summary | {} |\n| paper | {} |\n| contract | `{}` where writes are durable at the device, `{}` where the controller's queue is durable ([contracts](../contracts.md)) |\n\n",
        d.summary,
        paper(d),
        contract(d, false),
        contract(d, true)
    );
    for (heading, text) in &text.sections {
        let _ = write!(out, "## {heading}\n\n{text}\n\n");
    }
    let fields = (d.params)();
    if !fields.is_empty() {
        let _ = write!(out, "## Parameters\n\nSection `[design.{}]`.\n\n", d.name);
        table(&mut out, &fields);
    }
    storage(&mut out, d, machine)?;
    counters(&mut out, d);
    faults(&mut out, d);
    out.truncate(out.trim_end().len());
    out.push('\n');
    Ok(out)
}

fn paper(d: &DesignInfo) -> String {
    match d.paper.short {
        "-" => d.paper.title.into(),
        short => format!("{} ({short}, {})", d.paper.title, d.paper.venue),
    }
}

fn storage(out: &mut String, d: &DesignInfo, machine: &str) -> Result<(), LabError> {
    let items: Vec<_> = cost::cost(Some(d.name), machine, &[])?
        .into_iter()
        .flat_map(|t| t.items)
        .collect();
    if items.is_empty() {
        return Ok(());
    }
    let _ = write!(
        out,
        "## Storage on machine {machine}\n\n| structure | bits | by the paper's formula | how |\n|---|---|---|---|\n"
    );
    for i in items {
        let paper = i.paper_bits.map_or_else(String::new, |b| b.to_string());
        let _ = writeln!(out, "| {} | {} | {paper} | {} |", i.what, i.bits, i.note);
    }
    out.push('\n');
    Ok(())
}

fn faults(out: &mut String, d: &DesignInfo) {
    if d.faults.is_empty() {
        return;
    }
    out.push_str("## Rules that a test breaks\n\nEach can be broken on purpose, and the tests must notice.\n\n| fault | rule that it breaks |\n|---|---|\n");
    for f in d.faults {
        let _ = writeln!(out, "| `{}` | {} |", f.name, f.breaks);
    }
}
