//! `infer`.

use super::shared::jobs;
use crate::args::InferArgs;
use crate::exit::CLEAN;
use crate::interrupt;
use crate::layout::table;
use crate::output::Out;
use crate::progress::Runs;
use fencepost_papers::experiment::spec::experiment;
use fencepost_papers::infer::{Inference, Joint, Options, infer as lab_infer, write};
use fencepost_run::LabError;
use fencepost_run::store::Store;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Searches the joint readings of a paper.
pub(super) fn infer(args: &InferArgs, out: &Out) -> Result<u8, LabError> {
    // Who names no paper leaves no folder behind.
    experiment(&args.paper)?;
    let default = || PathBuf::from("runs").join(format!("{}-infer", args.paper));
    let root = args.output.clone().unwrap_or_else(default);
    let store = Store::open(&root)?;
    let options = Options {
        paper: &args.paper,
        tries: args.tries.get(),
        first: &args.first,
        from: &args.from,
        splits: args.splits,
        full: args.full,
        seed: args.seed,
        jobs: jobs(args.jobs),
        store: &store,
        ahead: &|_| Ok(()),
    };
    interrupt::will_say(format!(
        "finished runs are in {}; the same command goes on from there",
        root.display()
    ));
    let progress = Runs::new(out, &args.paper);
    progress.total(options.tries);
    let result = lab_infer(&options, &|tried, what| progress.at(tried, what), &|_, _| {});
    drop(progress);
    let result = result?;
    write(&result, &store)?;
    out.document(&result, || text(&result))?;
    Ok(CLEAN)
}

fn joint(t: &mut String, what: &str, j: &Joint, of: usize) {
    let full = j
        .met_at_full
        .map_or_else(String::new, |n| format!(", {n} at full scale"));
    let readings = match j.readings.is_empty() {
        true => "every primary".to_owned(),
        false => j.readings.join(" "),
    };
    let _ = writeln!(t, "{what}: {} of {of} measured rows{full}\n    {readings}", j.met);
}

fn text(r: &Inference) -> String {
    let mut t = format!(
        "{}: {} joint readings of {:.1e} tried ({} inputs), {} in part, {} impossible; {} runs asked for, {} different, {} executed now\n",
        r.paper, r.tried, r.possible, r.inputs, r.in_part, r.impossible, r.runs_asked, r.runs_distinct, r.ran
    );
    joint(&mut t, "by the text", &r.by_text, r.rows.len());
    joint(
        &mut t,
        "best joint reading (inferred from the figures, not a reproduction)",
        &r.best,
        r.rows.len(),
    );
    let mark = |met: bool| if met { "met" } else { "" };
    let rows = r.rows.iter().map(|l| {
        let range = if l.low.is_empty() {
            String::new()
        } else {
            format!("{} to {}", l.low, l.high)
        };
        let met_in = l.met_in.map_or_else(|| "not searched".to_owned(), |n| n.to_string());
        vec![
            l.id.clone(),
            l.paper.clone(),
            l.by_text.clone(),
            mark(l.by_text_met).into(),
            l.best.clone(),
            mark(l.best_met).into(),
            range,
            met_in,
        ]
    });
    let head = ["claim", "paper", "by the text", "", "best joint", "", "range", "met in"];
    t.push_str(&table(&head, &rows.collect::<Vec<_>>()));
    t.push_str("\nnecessary in everything tried:\n");
    for n in &r.needs {
        let _ = writeln!(
            t,
            "    {} needs {} ({} joint readings meet it)",
            n.id, n.reading, n.met_in
        );
    }
    let _ = writeln!(t, "\nnever met together, each met alone: {}", pairs(r));
    let none = |list: &[String]| {
        if list.is_empty() {
            "none".to_owned()
        } else {
            list.join(", ")
        }
    };
    let _ = writeln!(t, "met by none of the {} tried: {}", r.tried, none(&r.unreached));
    t.push_str("\nheld out: inputs inferred from one half of the claims, and what they meet of the other\n");
    let rows = r.held_out.iter().enumerate().map(|(i, h)| {
        let of = |met: usize, all: usize| format!("{met} of {all}");
        vec![
            (i + 1).to_string(),
            of(h.seen_met, h.seen),
            of(h.predicted, h.hidden),
            of(h.by_text, h.hidden),
        ]
    });
    t.push_str(&table(
        &["split", "seen", "predicted", "by the text"],
        &rows.collect::<Vec<_>>(),
    ));
    let _ = writeln!(
        t,
        "\nresults in {}; with best.toml from there in the folder of the experiment, `reproduce {}` shows the best joint reading, too",
        r.folder, r.paper
    );
    t
}

fn pairs(r: &Inference) -> String {
    let list: Vec<String> = r.never_together.iter().map(|[a, b]| format!("{a} and {b}")).collect();
    if list.is_empty() {
        "none".to_owned()
    } else {
        list.join("; ")
    }
}
