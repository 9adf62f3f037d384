//! `whisper`.

use crate::args::WhisperArgs;
use crate::exit::CLEAN;
use crate::layout::table;
use crate::output::Out;
use fencepost_papers::whisper::{Line, whisper as lab_whisper};
use fencepost_run::request::Request;
use fencepost_run::{LabError, short};

/// Counts how the programs persist.
pub(super) fn whisper(args: &WhisperArgs, out: &Out) -> Result<u8, LabError> {
    let lines = lab_whisper(&Request {
        design: args.design.clone(),
        machine: args.machine.clone(),
        threads: Some(args.threads.get()),
        ops: args.ops.get(),
        seed: args.seed,
        ..Request::default()
    })?;
    out.document(&lines, || text(&lines))?;
    Ok(CLEAN)
}

const COLUMNS: [&str; 7] = [
    "program",
    "front",
    "pm stores %",
    "points/op",
    "one line %",
    "on own %",
    "on others %",
];

fn text(lines: &[Line]) -> String {
    let cell = |l: &Line, i: usize| l.figures.get(i).map_or_else(|| "none".to_owned(), |f| short(f.here));
    let row = |l: &Line| {
        let figures = (0..COLUMNS.len() - 2).map(|i| cell(l, i));
        let front = match l.front {
            None => "",
            Some("none") => "no",
            Some(_) => "yes",
        };
        let names = [l.program.clone(), front.to_owned()];
        names.into_iter().chain(figures).collect::<Vec<_>>()
    };
    let suite = lines.iter().find(|l| !l.figures.is_empty()).map(|l| {
        let published = l.figures.iter().map(|f| f.published.to_owned());
        ["WHISPER".to_owned(), String::new()]
            .into_iter()
            .chain(published)
            .collect()
    });
    let rows: Vec<Vec<String>> = lines.iter().map(row).chain(suite).collect();
    let mut t = table(&COLUMNS, &rows);
    t.push_str(
        "Stores to persistent memory, ordering points of an operation (median), epochs that write\n\
         one line, epochs that depend on one of their thread and of another. WHISPER's are of its\n\
         whole applications; here are transactions alone, and those with a front: with the\n\
         application's work in volatile memory around them (program.NAME.front=application).\n",
    );
    for l in lines.iter().filter(|l| l.figures.is_empty()) {
        t.push_str(&format!(
            "{}: no operation stored to persistent memory; give more (--ops)\n",
            l.program
        ));
    }
    t
}
