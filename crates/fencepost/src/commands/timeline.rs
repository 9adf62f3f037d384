//! `timeline`.

use super::shared::write;
use crate::exit::CLEAN;
use crate::output::Out;
use crate::progress::CrashPoints;
use crate::timeline_args::TimelineArgs;
use fencepost_run::replay_key::{ReplayKey, What};
use fencepost_run::request::Request;
use fencepost_run::timeline::{Opened, Timeline, render, timeline as lab_timeline};
use fencepost_run::{BadInput, LabError};
use serde::Serialize;
use std::fmt::Write as _;

/// Designs that fit on one page.
const MOST: usize = 2;

/// What was written.
#[derive(Serialize)]
struct Written {
    file: String,
    bytes: usize,
    runs: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    design: String,
    events: usize,
    crash_points: usize,
    broken: usize,
}

/// Runs, and writes the page.
pub(super) fn timeline(args: &TimelineArgs, progress: &CrashPoints, out: &Out) -> Result<u8, LabError> {
    let (requests, opened) = asked(args)?;
    let runs: Vec<Timeline> = requests
        .iter()
        .map(|r| lab_timeline(r, opened.events, progress))
        .collect::<Result<_, _>>()?;
    let page = render(&runs, &command(args), opened)?;
    write(&args.output, &page)?;
    let line = |r: &Timeline| {
        let [crash_points, broken] = r.recovered();
        Line {
            design: r.design().to_owned(),
            events: r.events(),
            crash_points,
            broken,
        }
    };
    let written = Written {
        file: args.output.display().to_string(),
        bytes: page.len(),
        runs: runs.iter().map(line).collect(),
    };
    out.document(&written, || text(&written))?;
    Ok(CLEAN)
}

/// The runs that are asked for, and where the page opens.
fn asked(args: &TimelineArgs) -> Result<(Vec<Request>, Opened), LabError> {
    if let Some(id) = &args.replay {
        let key = ReplayKey::decode(id.trim())?;
        let What::Prefix { events, .. } = key.what else {
            let e = BadInput::new("this id names a state that a contract allows, not a moment of a simulated run");
            return Err(e
                .hint("ids that begin with `log?` are such moments; `fencepost replay` runs recovery on any")
                .into());
        };
        let opened = Opened { events: Some(events) };
        return Ok((
            vec![Request {
                budget: args.points,
                ..key.request
            }],
            opened,
        ));
    }
    let program = args.program.as_deref().unwrap_or_default();
    if args.designs.len() > MOST {
        let e = BadInput::new(format!("{} designs do not fit on one page", args.designs.len()));
        return Err(e.hint("name one or two: -d so,delegated").into());
    }
    let of = |design: &String| Request {
        budget: args.points,
        ..args.common.request(program, design, args.ops, 0)
    };
    Ok((args.designs.iter().map(of).collect(), Opened::default()))
}

fn command(args: &TimelineArgs) -> String {
    match &args.replay {
        Some(id) => format!("fencepost timeline --replay '{id}'"),
        None => {
            let c = &args.common;
            let mut text = format!(
                "fencepost timeline {} -d {} -m {} --ops {}",
                args.program.as_deref().unwrap_or_default(),
                args.designs.join(","),
                c.machine,
                args.ops
            );
            let mut option = |name: &str, value: Option<String>| {
                value.into_iter().for_each(|v| {
                    let _ = write!(text, " {name} {v}");
                });
            };
            option("--media", c.media.clone());
            option("--threads", c.threads.map(|n| n.to_string()));
            option("--seed", (c.seed != 1).then(|| c.seed.to_string()));
            option("--variant", c.variant.clone());
            option("--log", c.log.clone());
            c.sets.iter().for_each(|s| option("--set", Some(s.clone())));
            text
        }
    }
}

fn text(w: &Written) -> String {
    let mut t = format!("{}: {} kB\n", w.file, w.bytes.div_ceil(1000));
    for r in &w.runs {
        let verdict = match r.broken {
            0 => "recovery succeeds after all of them".to_owned(),
            n => format!("recovery fails after {n}"),
        };
        let _ = writeln!(
            t,
            "{}: {} events, {} crash points, {verdict}",
            r.design, r.events, r.crash_points
        );
    }
    t
}
