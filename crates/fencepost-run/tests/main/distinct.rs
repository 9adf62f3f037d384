//! No two designs are one: some run of every pair of them differs, with clients over a network as well as without.

use fencepost_run::config::Resolved;
use fencepost_run::request::Request;
use fencepost_run::run::run_resolved;
use std::collections::BTreeMap;

/// Program, machine, settings.
type Where = (&'static str, &'static str, &'static [&'static str]);

const LOCAL: [Where; 5] = [
    ("hash", "dpo", &[]),
    ("hash", "fgc", &[]),
    ("cq", "dpo", &[]),
    ("sps", "loc", &[]),
    ("hashmap", "themis", &[]),
];
const CLIENTS: [Where; 1] = [("hash", "broi", &["network.clients=2"])];

/// What a run came to: its time and the order of its persists.
fn outcome(design: &str, (program, machine, sets): Where, own: Option<&str>) -> Option<(u64, String)> {
    let sets = sets.iter().copied().chain(own);
    let request = Request {
        program: program.into(),
        design: design.into(),
        machine: machine.into(),
        ops: 30,
        warmup: 100,
        sets: sets.map(|s| s.replace("{}", design)).collect(),
        ..Request::default()
    };
    let run = run_resolved(&Resolved::resolve(&request).ok()?).ok()?;
    Some((run.time_ps, run.log_digest))
}

/// Pairs that come to the same wherever both run.
fn alike(designs: &[&str], trials: &[Where], own: Option<&str>) -> Vec<String> {
    let all: BTreeMap<&str, Vec<_>> = designs
        .iter()
        .map(|d| (*d, trials.iter().map(|t| outcome(d, *t, own)).collect()))
        .collect();
    let mut alike = Vec::new();
    for (i, a) in designs.iter().enumerate() {
        for b in &designs[i + 1..] {
            let mut both = all[a].iter().zip(&all[b]).filter(|(a, b)| a.is_some() && b.is_some());
            let first = both.next();
            if first.into_iter().chain(both).all(|(a, b)| a == b) && first.is_some() {
                alike.push(format!("{a} and {b}"));
            }
        }
    }
    alike
}

#[test]
fn every_design_is_one_of_its_own() {
    let designs: Vec<&str> = fencepost_designs::all().iter().map(|d| d.name).collect();
    assert_eq!(alike(&designs, &LOCAL, None), [""; 0]);
    // The server of `net-bsp` is that of `broi` unless it is told otherwise, and clients of `broi` speak this protocol.
    assert_eq!(alike(&designs, &CLIENTS, None), ["broi and net-bsp"]);
}

/// A client that waits for each epoch's ACK is not one that sends the next at once, whatever serves it.
#[test]
fn protocols_differ_on_every_server() {
    for server in ["merge", "broi"] {
        let set = format!("design.{{}}.server={server}");
        assert!(outcome("net-sync", CLIENTS[0], Some(&set)).is_some(), "{server}");
        assert_eq!(
            alike(&["net-sync", "net-bsp"], &CLIENTS, Some(&set)),
            [""; 0],
            "{server}"
        );
    }
}
