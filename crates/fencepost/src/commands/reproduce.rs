//! `reproduce`.

use super::shared::{is_built, jobs, write_table};
use crate::args::{ReproduceArgs, ScaleArg};
use crate::exit::{CLEAN, VIOLATION};
use crate::interrupt;
use crate::layout::{entry, table};
use crate::output::Out;
use crate::progress::Runs;
use fencepost_papers::experiment::score::Row;
use fencepost_papers::experiment::scoreboard::to_table;
use fencepost_papers::experiment::spec::{Scale, experiment, is_folder, names};
use fencepost_papers::reproduce::{Options, Reproduction, reproduce as lab_reproduce};
use fencepost_run::store::Store;
use fencepost_run::{BadInput, LabError};
use fencepost_table::Format;
use std::fmt::Write as _;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// Characters of a note on the screen; the scoreboard's file has all of it.
const LONGEST_NOTE: usize = 150;

/// Reproduces one paper, or all.
pub(super) fn reproduce(args: &ReproduceArgs, out: &Out) -> Result<u8, LabError> {
    let known = names();
    let papers: Vec<&str> = match args.paper.as_str() {
        "all" => known.clone(),
        p => match known.iter().find(|k| **k == p) {
            Some(k) => vec![*k],
            None if is_folder(p) => vec![p],
            None if Path::new(p).is_dir() => {
                let e = BadInput::new(format!("`{p}` is no paper"));
                return Err(e.hint(format!("for the folder of that name write `./{p}`")).into());
            }
            None => return Err(BadInput::unknown("paper", p, known.into_iter().chain(["all"])).into()),
        },
    };
    if let Some(format) = args.format {
        is_built(format)?;
    }
    let several = papers.len() > 1;
    if several && !args.reading.is_empty() {
        return Err(BadInput::new("--reading belongs to one paper")
            .hint("name it: `fencepost reproduce dpo --reading ...`")
            .into());
    }
    let mut done = Vec::new();
    for paper in papers {
        // Whose experiment is refused leaves no folder behind.
        experiment(paper)?;
        let root = match (&args.output, several) {
            (Some(dir), false) => dir.clone(),
            (Some(dir), true) => dir.join(paper),
            (None, _) => PathBuf::from("runs").join(Path::new(paper).file_name().unwrap_or(paper.as_ref())),
        };
        let store = Store::open(&root)?;
        let scale = if args.scale == ScaleArg::Full {
            Scale::Full
        } else {
            Scale::Quick
        };
        let options = Options {
            paper,
            scale,
            seed: args.seed,
            seeds: args
                .seeds
                .map_or(if scale == Scale::Full { 5 } else { 1 }, NonZeroU64::get),
            asked: &args.reading,
            readings: args.readings,
            jobs: jobs(args.jobs),
            store: &store,
        };
        let folder = root.display();
        interrupt::will_say(format!(
            "finished runs are in {folder}; the same command goes on from there"
        ));
        let progress = Runs::new(out, paper);
        let result = lab_reproduce(&options, &|n| progress.total(n), &|cell, step| {
            progress.step(cell, step);
        });
        drop(progress);
        let result = result?;
        if let Some(format) = args.format.filter(|f| *f != Format::Csv) {
            write_table(&store, "scoreboard", &to_table(&result.rows), format)?;
        }
        done.push(result);
    }
    out.document(&done, || {
        done.iter().map(|r| text(r, out)).collect::<Vec<_>>().join("\n")
    })?;
    let clean = done.iter().all(|r| r.unexpected.is_empty());
    Ok(if clean { CLEAN } else { VIOLATION })
}

/// A claim under the readings, in a few words.
fn range(x: &Row) -> String {
    let by = if x.decided_by.is_empty() {
        String::new()
    } else {
        format!(" by {}", x.decided_by)
    };
    match (x.holds.as_str(), x.low.as_str()) {
        ("", _) => String::new(),
        (holds, "") => format!("holds {holds}{by}"),
        (holds, low) => format!("{low} to {}, holds {holds}{by}", x.high),
    }
}

/// The rows as a table that fits the terminal, then what each stands on.
fn scoreboard(rows: &[Row], whole_notes: bool) -> String {
    let row = |x: &Row| {
        let measured = match x.spread.is_empty() {
            true => x.measured.clone(),
            false => format!("{} ±{}", x.measured, x.spread),
        };
        let (kind, verdict) = (x.kind.name().into(), x.verdict.name().into());
        vec![
            x.id.clone(),
            kind,
            x.paper.clone(),
            measured,
            x.ratio.clone(),
            verdict,
            range(x),
        ]
    };
    let mut head = vec!["claim", "kind", "paper", "measured", "ratio", "verdict", "readings"];
    let mut cells: Vec<Vec<String>> = rows.iter().map(row).collect();
    if cells.iter().all(|c| c[6].is_empty()) {
        // Only with `--readings` is there a range.
        head.pop();
        cells.iter_mut().for_each(|c| c.truncate(6));
    }
    let note = |x: &Row| match whole_notes || x.note.chars().count() <= LONGEST_NOTE {
        true => x.note.clone(),
        false => x.note.chars().take(LONGEST_NOTE - 3).chain("...".chars()).collect(),
    };
    let widest = rows.iter().map(|x| x.id.chars().count()).max().unwrap_or(0);
    let notes = rows.iter().filter(|x| !x.note.is_empty());
    let notes: String = notes.map(|x| entry(0, widest, &x.id, &note(x))).collect();
    format!("{}\nwhat each stands on\n{notes}\n", table(&head, &cells))
}

fn text(r: &Reproduction, out: &Out) -> String {
    let mut t = format!("{}: {} runs executed, {} already there\n", r.paper, r.ran, r.resumed);
    if !r.missing_programs.is_empty() {
        let _ = writeln!(t, "programs not yet built: {}", r.missing_programs.join(", "));
    }
    if !r.missing_designs.is_empty() {
        let _ = writeln!(t, "designs not yet built: {}", r.missing_designs.join(", "));
    }
    if !r.diagnostics.is_empty() && !out.quiet {
        t.push_str("\nwhat the paper's numbers imply, beside ours (diagnostics, not targets)\n");
        let off = |off| if off { "more than 2x off" } else { "" };
        let rows = r.diagnostics.iter().map(|d| {
            let (name, program, value) = (d.name.clone(), d.program.clone(), d.value.clone());
            vec![name, program, value, d.implied.clone(), off(d.off).to_owned()]
        });
        t.push_str(&table(
            &["figure", "program", "ours", "implied", ""],
            &rows.collect::<Vec<_>>(),
        ));
        t.push('\n');
    }
    if !r.implied.is_empty() && !out.quiet {
        t.push_str("\nwork between persists, beside what the paper's figures imply (a diagnostic, not a target)\n");
        let row = |i: &fencepost_papers::experiment::implied::ImpliedRow| {
            vec![
                i.program.clone(),
                i.ns_per_flush.clone(),
                i.implied_ns_per_flush.clone(),
                i.flushes_per_op.clone(),
                i.implied_flushes_per_op.clone(),
                i.op_ns.clone(),
                i.implied_op_ns.clone(),
                if i.off {
                    "more than 2x off".into()
                } else {
                    String::new()
                },
            ]
        };
        let head = [
            "program",
            "ns/flush",
            "implied",
            "flushes/op",
            "implied",
            "ns/op",
            "implied",
            "",
        ];
        t.push_str(&table(&head, &r.implied.iter().map(row).collect::<Vec<_>>()));
        t.push('\n');
    }
    if !out.quiet {
        t.push_str(&scoreboard(&r.rows, out.verbose > 0));
    }
    for (kind, verdicts) in &r.counts {
        let counts: Vec<String> = verdicts.iter().map(|(verdict, n)| format!("{n} {verdict}")).collect();
        let _ = writeln!(t, "{} {kind}: {}", r.paper, counts.join(", "));
    }
    for u in &r.unexpected {
        let _ = writeln!(t, "UNEXPECTED: {u}");
    }
    let _ = writeln!(t, "results in {}", r.folder);
    t
}
