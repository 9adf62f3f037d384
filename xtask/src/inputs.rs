//! `inputs PAPER [--least PERCENT] [--programs N] [--points N] [-o DIR]`: parameters that move a paper's headline and that nothing declares.

use fencepost_papers::infer::{Moved, Options, Stated, audit};
use fencepost_run::LabError;
use fencepost_run::store::Store;
use std::process::ExitCode;

/// What moves a headline by less is not looked at, in percent.
const LEAST: f64 = 3.0;

const USAGE: &str =
    "usage: cargo run --profile quick -p xtask -- inputs PAPER [--least PERCENT] [--programs N] [--points N] [-o DIR]";

/// Runs it; 1 if a parameter moves the headline and is neither stated by a source, nor an input, nor settled with a reason.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let (mut paper, mut least, mut folder) = (None, LEAST, None);
    let (mut programs, mut points) = (usize::MAX, usize::MAX);
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        match (*word, rest.as_slice().first()) {
            ("--least", Some(n)) if n.parse::<f64>().is_ok() => {
                (least, _) = (n.parse().unwrap_or(LEAST), rest.next());
            }
            ("--programs", Some(n)) if n.parse::<usize>().is_ok_and(|n| n > 0) => {
                (programs, _) = (n.parse().unwrap_or(usize::MAX), rest.next());
            }
            ("--points", Some(n)) if n.parse::<usize>().is_ok_and(|n| n > 1) => {
                (points, _) = (n.parse().unwrap_or(usize::MAX), rest.next());
            }
            ("-o", Some(dir)) => (folder, _) = (Some((*dir).to_owned()), rest.next()),
            (word, _) if !word.starts_with('-') && paper.is_none() => paper = Some(word),
            _ => return refuse(USAGE),
        }
    }
    let Some(paper) = paper else { return refuse(USAGE) };
    let folder = folder.unwrap_or_else(|| format!("runs/{paper}-inputs"));
    match moved(paper, (programs, points), &folder) {
        Ok(all) => say(&all, least),
        Err(e) => refuse(&e.to_string()),
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}

fn moved(paper: &str, kept: (usize, usize), folder: &str) -> Result<Vec<Moved>, LabError> {
    let store = Store::open(folder.as_ref())?;
    let options = Options {
        paper,
        tries: 0,
        first: &[],
        from: &[],
        splits: 0,
        full: false,
        seed: 1,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        store: &store,
        ahead: &|_| Ok(()),
    };
    audit(&options, kept, &|path| eprintln!("{path}"), &|_, _| {})
}

fn say(all: &[Moved], least: f64) -> ExitCode {
    let mut open = 0;
    for m in all.iter().filter(|m| m.by * 100.0 >= least) {
        let who = match &m.stated {
            Stated::Source(note) => format!("stated: {note}"),
            Stated::Input(name) => format!("input {name}"),
            Stated::Settled(reason) => format!("settled: {reason}"),
            Stated::Open(note) => {
                open += 1;
                format!("OPEN {note}")
            }
        };
        println!(
            "{:6.1} %  {} = {}, tried {} ({}): {who}",
            m.by * 100.0,
            m.path,
            m.value,
            m.tried,
            m.figure
        );
    }
    println!(
        "{} parameters varied, {open} move the headline by {least} % and are open",
        all.len()
    );
    ExitCode::from(u8::from(open > 0))
}
