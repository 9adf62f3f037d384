//! A page for each program, and their list.

use super::parts::{MARK, table};
use fencepost_programs::registry::About;
use std::fmt::Write as _;

pub(super) fn pages() -> Vec<(String, String)> {
    let list = format!("{MARK}{}", fencepost_programs::page::page());
    let mut out = vec![("docs/programs.md".to_owned(), list)];
    let each = fencepost_programs::programs();
    out.extend(each.iter().map(|p| (format!("docs/programs/{}.md", p.name), page(p))));
    out
}

fn page(p: &About) -> String {
    let mut out = format!("{MARK}# {}\n\nA program of the registry: {}.\n\n", p.name, p.about);
    let _ = write!(
        out,
        "```sh\nfencepost run {} -d x86-adr -m themis --ops 6 --warmup 0 --threads 2{} --check --points 20\n```\n\n",
        p.name,
        p.small
            .iter()
            .map(|(k, v)| format!(" --set program.{}.{k}={v}", p.name))
            .collect::<String>()
    );
    if !p.fields.is_empty() {
        let _ = write!(out, "## Parameters\n\nSection `[program.{}]`.\n\n", p.name);
        table(&mut out, &p.fields);
    }
    out.push_str("## Logging\n\nThe first is its natural one; `--log` takes another. Deliberate mistakes (`--variant`) must be convicted: [which breaks where](../variants.md).\n\n");
    out.push_str("| logging | deliberate mistakes |\n|---|---|\n");
    for (scheme, variants) in &p.variants {
        let names = variants.iter().map(|v| v.name()).filter(|n| *n != "correct");
        let names: Vec<String> = names.map(|n| format!("`{n}`")).collect();
        let _ = writeln!(out, "| `{}` | {} |", scheme.name(), names.join(" "));
    }
    let counts: Vec<_> = fencepost_programs::page::counts()
        .into_iter()
        .filter(|c| c.program == p.name)
        .collect();
    if !counts.is_empty() {
        out.push_str("\n## Instructions of an operation\n\nAs compiled for the processor, beside the same operation written by hand ([what is measured](../programs.md#what-is-measured)).\n\n");
        out.push_str("| way | ours | by hand |\n|---|---|---|\n");
        for c in counts {
            let hand = c.reference.map_or_else(String::new, |r| format!("{r:.0}"));
            let _ = writeln!(out, "| {} | {:.0} | {hand} |", c.way, c.ours);
        }
    }
    out
}
