//! A list of runs with what they yield, so that a change of structure shows that no simulated result moved.
//!
//! The list holds every design with every program, each time on the next machine, and every design on every medium. `digests` compares
//! it with the tree as it stands; `digests --write` records it anew, after a change that means to change results.

use crate::sources::root;
use fencepost_run::config::presets::{Kind, names};
use fencepost_run::listing;
use fencepost_run::request::Request;
use fencepost_run::run::run;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const HEADER: &str = "program,design,machine,media,log_digest,time_ps,instructions,counters";

fn path() -> PathBuf {
    root().join("xtask/digests.csv")
}

/// The words that `list` knows of one kind.
fn words(kind: &str) -> Vec<String> {
    let entries = listing::entries(kind).expect("a kind that can be listed");
    entries.into_iter().map(|e| e.name).collect()
}

/// The configurations, in the order of the list: a program, a design, a machine and, where it is not the machine's own, a medium.
fn configurations() -> Vec<Request> {
    let designs: Vec<String> = words("designs");
    let programs: Vec<String> = words("programs");
    let request = |program: &str, design: &str, machine: &str, media: Option<&str>| Request {
        program: program.into(),
        design: design.into(),
        machine: machine.into(),
        media: media.map(str::to_owned),
        ops: 12,
        warmup: 2,
        ..Request::default()
    };
    let mut out = Vec::new();
    let machines = names(Kind::Machine);
    for (d, design) in designs.iter().enumerate() {
        for (p, program) in programs.iter().enumerate() {
            out.push(request(program, design, machines[(d + p) % machines.len()], None));
        }
        out.extend(names(Kind::Media).iter().map(|m| request("cq", design, "dpo", Some(m))));
    }
    out
}

/// What one configuration yields, as a line of the list.
fn line(request: &Request) -> String {
    let name = format!(
        "{},{},{},{}",
        request.program,
        request.design,
        request.machine,
        request.media.as_deref().unwrap_or("-")
    );
    match run(request) {
        Ok(r) => {
            let counters = r.counters.iter().chain(&r.stalls);
            let counters = counters.fold(0u64, |h, (_, v)| {
                h.rotate_left(7) ^ v.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            });
            format!(
                "{name},{},{},{},{counters:016x}",
                r.log_digest, r.time_ps, r.instructions
            )
        }
        Err(e) => format!("{name},{},-,-,-", e.to_string().replace([',', '\n'], ";")),
    }
}

/// The list of today's tree: every `step`th configuration.
fn list(step: usize) -> Vec<String> {
    let all: Vec<Request> = configurations().into_iter().step_by(step).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(request) = all.get(i) else { return done };
            done.push((i, line(request)));
        }
    };
    let mut lines: Vec<(usize, String)> = thread::scope(|s| {
        let threads: Vec<_> = (0..thread::available_parallelism().map_or(1, usize::from))
            .map(|_| s.spawn(work))
            .collect();
        threads
            .into_iter()
            .flat_map(|t| t.join().expect("a run does not panic"))
            .collect()
    });
    lines.sort();
    lines.into_iter().map(|l| l.1).collect()
}

/// Records the list.
pub fn write() -> std::io::Result<()> {
    let mut text = String::from(HEADER);
    for l in list(1) {
        let _ = write!(text, "\n{l}");
    }
    text.push('\n');
    std::fs::write(path(), text)
}

/// The lines of the recorded list that the tree contradicts, with what it yields instead.
pub fn differences(step: usize) -> std::io::Result<Vec<(String, String)>> {
    let recorded = std::fs::read_to_string(path())?;
    let recorded = recorded.lines().skip(1).step_by(step).map(str::to_owned);
    Ok(recorded.zip(list(step)).filter(|(a, b)| a != b).collect())
}

/// Every 23rd line, and that the list has a line for every configuration of today.
#[test]
fn a_sample_of_the_list_is_as_recorded() {
    let text = std::fs::read_to_string(path()).expect("the list is there");
    assert_eq!(
        text.lines().count(),
        1 + configurations().len(),
        "designs, programs, machines or media changed: `cargo run -p xtask -- digests --write`"
    );
    let wrong = differences(23).expect("the list was read a moment ago");
    assert!(
        wrong.is_empty(),
        "simulated results moved (if that is meant: `digests --write`): {wrong:#?}"
    );
}
