//! A list of runs with what they yield, so that a change of structure shows that no simulated result moved.
//!
//! The list holds every design with every program, each pair on a machine of its own, and every design on every medium. A line is found by
//! the names in it, and a pair keeps its machine: what is added to a registry adds lines and moves none. `digests` compares the list
//! with the tree as it stands; `digests --write` records it anew, after a change that means to change results.

use crate::sources::root;
use fencepost_run::config::presets::{Kind, names};
use fencepost_run::listing;
use fencepost_run::request::Request;
use fencepost_run::run::run;
use std::collections::BTreeMap;
#[cfg(test)]
use std::collections::BTreeSet;
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

/// The names by which a line is found: program, design, machine, medium.
fn key(line: &str) -> &str {
    let end = line.match_indices(',').nth(3).map_or(line.len(), |comma| comma.0);
    &line[..end]
}

/// The recorded lines, by their names.
fn recorded() -> std::io::Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path())?;
    Ok(text
        .lines()
        .skip(1)
        .map(|l| (key(l).to_owned(), l.to_owned()))
        .collect())
}

/// The machine of a program and a design: the recorded one; for a new pair one that their names choose.
fn machine_of(program: &str, design: &str, recorded: &BTreeMap<String, String>) -> &'static str {
    let machines = names(Kind::Machine);
    let is_recorded = |m: &&'static str| recorded.contains_key(&format!("{program},{design},{m},-"));
    let chosen = program.bytes().chain(design.bytes()).map(usize::from).sum::<usize>() % machines.len();
    machines.iter().copied().find(is_recorded).unwrap_or(machines[chosen])
}

/// The configurations, in the order of the list: a program, a design, a machine and, where it is not the machine's own, a medium.
fn configurations(recorded: &BTreeMap<String, String>) -> Vec<Request> {
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
    for design in &designs {
        for program in &programs {
            out.push(request(program, design, machine_of(program, design, recorded), None));
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
fn list(step: usize, recorded: &BTreeMap<String, String>) -> Vec<String> {
    let all: Vec<Request> = configurations(recorded).into_iter().step_by(step).collect();
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
pub(crate) fn write() -> std::io::Result<()> {
    let mut text = String::from(HEADER);
    for l in list(1, &recorded().unwrap_or_default()) {
        let _ = write!(text, "\n{l}");
    }
    text.push('\n');
    std::fs::write(path(), text)
}

/// Every `step`th line that the record contradicts or does not have: what is recorded, and what the tree yields.
pub(crate) fn differences(step: usize) -> std::io::Result<Vec<(String, String)>> {
    let recorded = recorded()?;
    let old = |new: &String| recorded.get(key(new)).cloned().unwrap_or_else(|| "nothing".to_owned());
    let pairs = list(step, &recorded).into_iter().map(|new| (old(&new), new));
    Ok(pairs.filter(|(old, new)| old != new).collect())
}

/// Every 23rd line, and that the list has a line for every configuration of today and no other.
#[test]
fn a_sample_of_the_list_is_as_recorded() {
    let recorded = recorded().expect("the list is there");
    let name = |r: &Request| {
        let media = r.media.as_deref().unwrap_or("-");
        format!("{},{},{},{media}", r.program, r.design, r.machine)
    };
    let today: BTreeSet<String> = configurations(&recorded).iter().map(name).collect();
    let of_record: BTreeSet<String> = recorded.keys().cloned().collect();
    let differ: Vec<&String> = today.symmetric_difference(&of_record).collect();
    assert!(
        differ.is_empty(),
        "designs, programs, machines or media changed (`cargo run -p xtask -- digests --write`): {differ:?}"
    );
    let wrong = differences(23).expect("the list was read a moment ago");
    assert!(
        wrong.is_empty(),
        "simulated results moved (if that is meant: `digests --write`): {wrong:#?}"
    );
}

/// What is added to a registry leaves the machine of every other pair as it was.
#[test]
fn a_pair_keeps_its_machine() {
    let line = "cq,volatile,broi,-,a,b".to_owned();
    let recorded = BTreeMap::from([(key(&line).to_owned(), line.clone())]);
    assert_eq!(
        (key(&line), machine_of("cq", "volatile", &recorded)),
        ("cq,volatile,broi,-", "broi")
    );
    assert_eq!(
        machine_of("new", "design", &recorded),
        machine_of("new", "design", &BTreeMap::new())
    );
}
