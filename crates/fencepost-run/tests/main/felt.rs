//! Every parameter of a design, of a program and of a machine does something: another value of it makes some run another run.
//!
//! A parameter that is read and not handed on changes no verdict and no test of its component, which is given its values directly.

use super::common::sizes;
use fencepost_kernel::params::Field;
use fencepost_run::config::{Resolved, reference};
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::run::run_resolved;

/// Values to try, as a configuration writes them; those that a parameter refuses are left out.
pub(crate) fn values(field: &Field) -> Vec<String> {
    let words = |w: &[&str]| w.iter().map(|w| (*w).to_owned()).collect();
    if let Some(names) = field.kind.strip_prefix("one of ") {
        return names.split_whitespace().map(str::to_owned).collect();
    }
    match field.kind {
        "true or false" => words(&["true", "false"]),
        kind if kind.starts_with("a time") => words(&["150ns", "2000ns", "0ns", "50000ns"]),
        kind if kind.starts_with("a size") => words(&["64B", "1KiB", "8B", "64MiB"]),
        kind if kind.starts_with("a clock rate") => words(&["1GHz", "4GHz"]),
        "a whole number" => words(&["1", "2", "0", "8", "20", "50", "1000"]),
        _ => panic!("{}: {}", field.name, field.kind),
    }
}

/// What came of a run, without what was asked for; why it could not be made counts as well.
pub(crate) fn outcome(request: &Request) -> Option<String> {
    let resolved = Resolved::resolve(request).ok()?;
    Some(match run_resolved(&resolved) {
        Ok(run) => format!(
            "{:?}",
            RunResult {
                config_digest: String::new(),
                note: None,
                ..run.without_host()
            }
        ),
        Err(error) => error.to_string(),
    })
}

/// Parameters of a section that change none of these runs.
fn unfelt(section: &str, fields: &[Field], never: &[&str], trials: &[Request]) -> Vec<String> {
    let usual: Vec<Option<String>> = trials.iter().map(outcome).collect();
    let felt = |field: &Field| {
        trials
            .iter()
            .zip(&usual)
            .filter(|(_, usual)| usual.is_some())
            .any(|(trial, usual)| {
                values(field).iter().any(|value| {
                    let set = format!("{section}.{}={value}", field.name);
                    let sets = trial.sets.iter().cloned().chain([set]).collect();
                    let other = outcome(&Request { sets, ..trial.clone() });
                    other.is_some() && other != *usual
                })
            })
    };
    let name = |field: &Field| format!("{section}.{}", field.name);
    let asked = fields.iter().filter(|f| !never.contains(&name(f).as_str()));
    asked.filter(|f| !felt(f)).map(name).collect()
}

/// A run in which much meets: program, machine, threads, operations of each, and settings, in which `{}` is the name of the design.
pub(crate) type Trial = (&'static str, &'static str, u32, u32, &'static str);

pub(crate) fn request(design: &str, caches: &str, (program, machine, threads, ops, sets): Trial) -> Request {
    let own = caches
        .split_whitespace()
        .chain(sets.split_whitespace())
        .map(|s| s.replace("{}", design));
    Request {
        program: program.into(),
        design: design.into(),
        machine: machine.into(),
        threads: Some(threads),
        ops,
        warmup: 0,
        sets: sizes(program).into_iter().chain(own).collect(),
        ..Request::default()
    }
}

/// Caches of four lines and eight.
const SMALL: &str = "l1.size=256B l1.ways=2 llc.size=512B llc.ways=2";
/// Caches of one line and two.
const TINY: &str = "l1.size=64B l1.ways=1 llc.size=128B llc.ways=1";

/// Parameters of designs that no run of one feels, and why.
const NEVER_BY_DESIGN: [&str; 4] = [
    // One epoch pointer for a core: a FENCE closes no other buffer's epoch.
    "design.delegated-merge.epoch_rule",
    "design.net-sync.epoch_rule",
    "design.net-bsp.epoch_rule",
    // Ranges that are bound pass it by, and these runs write little else.
    "design.per-task-commit-dram-cache.dram_cache",
];

/// One after the other, until a parameter is felt: caches, program and the rest of a trial.
pub(crate) const OF_DESIGNS: &[(&str, Trial)] = &[
    (SMALL, ("random", "dpo", 4, 30, "")),
    ("", ("hashmap", "loc", 4, 30, "")),
    (SMALL, ("random", "fgc", 4, 30, "")),
    (SMALL, ("hash", "broi", 4, 30, "")),
    ("", ("cq", "themis", 4, 30, "")),
    (SMALL, ("random", "dpo", 4, 30, "design.{}.abort_every=3")),
    (
        TINY,
        (
            "random",
            "loc",
            4,
            90,
            "l2.size=64B l2.ways=1 design.{}.log_path=2000ns",
        ),
    ),
    (
        TINY,
        (
            "random",
            "broi",
            8,
            90,
            "design.{}.path_latency=2000ns program.random.lines=9",
        ),
    ),
    (
        "",
        ("random", "broi", 8, 90, "network.clients=4 program.random.lines=9"),
    ),
    (
        "",
        ("hash", "broi", 8, 300, "network.clients=4 pm.controller.write_queue=8"),
    ),
    (
        "",
        (
            "random",
            "dpo",
            8,
            90,
            "program.random.lines=3 design.{}.pcommit=exclusive",
        ),
    ),
    (
        SMALL,
        (
            "sps",
            "fgc",
            8,
            90,
            "pm.module.entries=0 pm.module.dram_cache=0B program.sps.entries=65536",
        ),
    ),
];

#[test]
fn every_parameter_of_a_design_is_felt() {
    for design in fencepost_designs::all() {
        let trials: Vec<Request> = OF_DESIGNS.iter().map(|(c, t)| request(design.name, c, *t)).collect();
        let section = format!("design.{}", design.name);
        assert_eq!(unfelt(&section, &(design.params)(), &NEVER_BY_DESIGN, &trials), [""; 0]);
    }
}

#[test]
fn every_parameter_of_a_program_is_felt() {
    for about in fencepost_programs::programs() {
        // A transaction of SQLite's writes pages.
        let most = if about.name == "sqlite" { 5 } else { 90 };
        let on =
            |design, machine, threads, ops: u32| request(design, "", (about.name, machine, threads, ops.min(most), ""));
        let sizes = match about.name {
            "cq" => "program.cq.shape=ring",
            "memcached" => "program.memcached.largest=512B",
            _ => "",
        };
        let trials = [
            on("x86-adr", "dpo", 4, 30),
            on("delegated", "broi", 4, 30),
            on("loc-wal", "loc", 4, 90),
            request("x86-adr", "", (about.name, "dpo", 4, 30, sizes)),
        ];
        let logged = Request {
            log: (about.name == "sqlite").then(|| "sqlite-wal".into()),
            ..trials[0].clone()
        };
        let trials = [&trials[..], &[logged]].concat();
        let section = format!("program.{}", about.name);
        assert_eq!(unfelt(&section, &about.fields, &[], &trials), [""; 0]);
    }
}

/// Parameters of machines that no run feels, and why.
pub(crate) const NEVER_BY_MACHINE: [&str; 14] = [
    // Of programs driven by traces of several processes.
    "machine.processes",
    // Idle cores do nothing.
    "core.cores",
    // Instructions are not fetched.
    "l1i.size",
    "l1i.ways",
    "l1i.latency",
    "l1i.mshrs",
    "l1i.writeback_buffer",
    // A core has one set of miss registers, and one buffer for what may not leave: those of its first level.
    "l2.mshrs",
    "l2.writeback_buffer",
    // Volatile memory has neither durability nor epochs.
    "dram.controller.durable_at",
    "dram.media.durable_at",
    "dram.controller.rows_ahead",
    // These runs feel it in persistent memory alone, where the same controller has it.
    "dram.controller.read_priority",
    // The design says it.
    "network.protocol",
];

/// Runs in which much of a machine matters.
pub(crate) fn on_machines() -> [Request; 18] {
    let dram = |more: &str| {
        let volatile = "program.random.volatile_lines=2000 program.random.handed_on=40 program.random.length=20";
        let mut dram = request("volatile", TINY, ("random", "dpo", 8, 90, volatile));
        let own = ["loads=1", "stores=1"].map(|s| format!("program.random.{s}"));
        dram.sets.extend(
            own.into_iter()
                .chain(more.split_whitespace().map(|s| format!("dram.{s}"))),
        );
        dram
    };
    let large = |design, machine, more: &str| {
        let mut run = request(
            design,
            TINY,
            ("sps", machine, 8, 90, "program.sps.entries=65536 core.cores=8"),
        );
        run.sets.extend(more.split_whitespace().map(str::to_owned));
        run
    };
    let held = "core.cores=8 pm.media.write_pulse=2000ns program.random.nt_stores=20 program.random.lines=40";
    [
        request("x86-adr", SMALL, ("random", "dpo", 4, 30, "")),
        request("delegated", SMALL, ("random", "broi", 4, 30, "")),
        request("per-task-commit", SMALL, ("hash", "fgc", 4, 30, "")),
        request("loc-wal", SMALL, ("hash", "loc", 4, 30, "")),
        request("volatile", SMALL, ("hash", "dpo", 8, 90, "")),
        request("net-bsp", "", ("hash", "broi", 8, 90, "network.clients=4")),
        request(
            "net-bsp",
            "",
            ("hash", "broi", 8, 90, "network.clients=4 network.lost_acks=20"),
        ),
        request(
            "net-bsp",
            "",
            ("hash", "broi", 8, 90, "network.clients=4 client.workload=blocks"),
        ),
        request("themis", TINY, ("random", "themis", 8, 90, held)),
        request("x86-adr", "", ("hashmap", "dpo", 4, 30, "core.threads_per_core=2")),
        request(
            "so-adr",
            TINY,
            ("random", "fgc", 8, 90, "pm.module.entries=8 program.random.lines=40"),
        ),
        dram("media.ranks=2 media.row_size=128B controller.write_queue=16 media.write_pulse=150ns"),
        dram(
            "media.bank_groups=2 media.row_size=128B media.t_ccd_l=100ns media.writes=buffered media.write_pulse=2000ns",
        ),
        dram("controller.write_queue=4 controller.drain_low=5 media.write_pulse=150ns"),
        large(
            "so-adr",
            "dpo",
            "pm.media.ranks=2 pm.media.row_size=128B pm.media.t_refi=2000ns",
        ),
        large(
            "so-adr",
            "dpo",
            "pm.media.bank_groups=2 pm.media.row_size=128B pm.media.t_ccd_l=100ns",
        ),
        large(
            "so-adr",
            "themis",
            "pm.media.writes=buffered pm.media.write_pulse=2000ns",
        ),
        large(
            "delegated",
            "dpo",
            "pm.media.banks=2 pm.controller.write_queue=8 pm.controller.drain_low=5",
        ),
    ]
}

#[test]
fn every_parameter_of_a_machine_is_felt() {
    let trials = on_machines();
    for trial in &trials {
        assert!(outcome(trial).is_some(), "{:?}", trial.sets);
    }
    let mut lost = Vec::new();
    for (section, fields) in reference() {
        // Runs of clients and of volatile memory say little of the rest. Writes of clients fill the queue of persistent memory.
        let own = |trial: &Request| match trial.design.as_str() {
            "net-bsp" => ["network", "client", "pm.controller"].contains(&section),
            "volatile" => section.starts_with("dram"),
            _ => !["network", "client"].contains(&section) && !section.starts_with("dram"),
        };
        let trials: Vec<Request> = trials.iter().filter(|t| own(t)).cloned().collect();
        lost.extend(unfelt(section, &fields, &NEVER_BY_MACHINE, &trials));
    }
    assert_eq!(lost, [""; 0]);
}
