//! Verdicts and counters at default sizes: what is right is not convicted, and what must be violated is.

use crate::common::{code, fencepost};
use serde_json::Value;
use std::process::Output;

fn text(o: &Output) -> String {
    String::from_utf8_lossy(&[&o.stdout[..], &o.stderr[..]].concat()).into_owned()
}
fn json(args: &str) -> (i32, Value) {
    let args: Vec<&str> = args.split_whitespace().chain(["--json"]).collect();
    let o = fencepost(&args);
    let document = serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", text(&o)));
    (code(&o), document)
}
fn number(d: &Value, key: &str) -> u64 {
    d[key].as_u64().unwrap_or_else(|| panic!("no number `{key}` in {d}"))
}
/// Designs that keep versions in hardware.
const LOGGING_IN_HARDWARE: [&str; 5] = ["h-wal", "ec-wal", "loc-wal", "kiln", "loc-kiln"];

/// The logs of software threads lie behind 16 MiB of buckets and blocks, and nothing touches them where the hardware logs:
/// recovery may look into them all the same.
#[test]
fn recovery_may_look_into_every_log_of_the_layout() {
    for design in LOGGING_IN_HARDWARE {
        let (status, d) = json(&format!(
            "run hashmap -d {design} -m loc --check --points 3 --ops 3 --threads 3"
        ));
        assert_eq!(
            (status, number(&d["check"], "violations")),
            (0, 0),
            "{design}: {}",
            d["check"]
        );
    }
}

/// Lines of volatile memory that a transaction stored to are evicted before it is rolled back.
#[test]
fn volatile_bytes_on_their_way_to_memory_are_rolled_back() {
    let caches = "--set l1.size=256B --set l1.ways=2 --set llc.size=512B --set llc.ways=2 --set design.abort_every=3";
    for design in LOGGING_IN_HARDWARE {
        let (status, d) = json(&format!(
            "run memcached -d {design} -m dpo --check --points 20 --threads 3 --ops 10 --warmup 0 --seed 1 {caches}"
        ));
        assert_eq!(status, 0, "{design}: {d}");
        assert!(
            number(&d["counters"], "design.tx_aborts") > 0,
            "{design}: nothing was rolled back"
        );
    }
}

/// On a drained machine, what its controller took is in the medium or was merged; up to what its queue (64 entries) held when the
/// measured part began. The warm-up is twenty times as long as the measured part.
#[test]
fn counters_of_the_controllers_leave_the_warm_up_out() {
    let (_, d) = json("run sps -d so --threads 1 --warmup 400 --ops 20");
    let (c, taken) = (&d["counters"], number(&d, "pm_writes"));
    let done = number(c, "pm.writes") + number(c, "pm.coalesced");
    assert!(
        taken > 100 && done.abs_diff(taken) <= 64,
        "{done} stored or merged of {taken}"
    );
    // Clients go on while the server warms up. Of 420 operations 20 are measured.
    let clients = |warmup: u32, ops: u32| {
        let (_, d) = json(&format!(
            "run hash -d broi -m broi --set network.clients=2 --warmup {warmup} --ops {ops}"
        ));
        let c = &d["counters"];
        number(c, "network.transactions")
    };
    let (measured, all) = (clients(400, 20), clients(0, 420));
    assert!(all > 20 && measured * 4 < all, "{measured} of {all} transactions");
}

/// Nothing of a small run leaves the caches: memory is as it was, and that is no proof of anything.
#[test]
fn a_design_without_a_promise_is_convicted_though_nothing_became_durable() {
    for program in ["cq", "hash", "hashmap"] {
        let (status, d) = json(&format!("run {program} -d volatile --check --ops 20"));
        let c = &d["check"];
        assert_eq!((status, number(c, "violations")), (1, 1), "{program}: {c}");
        assert_eq!(c["expected_violations"], Value::Bool(true), "{program}");
    }
}

/// A budget in recoveries holds for all of them together: prefixes of the simulated log, contract cuts, second recoveries.
#[test]
fn every_recovery_counts_and_explorations_are_small() {
    for budget in [2, 10, 100] {
        let (status, d) = json(&format!("crash hashmap -d so --ops 4 --threads 1 --budget {budget}"));
        assert_eq!((status, d["verdict"].as_str()), (0, Some("bounded")), "{d}");
        let n = number(&d, "recoveries");
        assert!(
            n <= budget && n * 2 >= budget.min(10),
            "{n} recoveries, {budget} allowed"
        );
        let points = number(&d, "log_prefixes");
        assert!(points >= 1 && points <= (budget / 4).max(1), "{d}");
        let sizes = d["sizes"].as_array().expect("settings");
        assert!(sizes.iter().any(|s| s == "program.preload=3"), "{sizes:?}");
    }
    let (_, d) = json("crash cq -d so --ops 2 --full-size --budget 4");
    assert_eq!(d["sizes"], Value::Array(Vec::new()));
}

/// Sizes beyond any machine's memory.
#[test]
fn what_needs_more_memory_than_there_is_is_refused() {
    // 4 billion rows of stock.
    let large = ["--set", "program.warehouses=256", "--set", "program.items=16000000"];
    for command in [
        &["run", "tpcc", "-d", "so"][..],
        &["crash", "tpcc", "-d", "so", "--full-size"],
    ] {
        let o = fencepost(&[command, &large].concat());
        assert!(code(&o) == 2 && text(&o).contains("MiB of memory"), "{}", text(&o));
    }
}

#[test]
fn what_is_left_out_ends_with_exit_code_4_where_everything_is_required() {
    let bounded = "crash cq --contract px86 --budget 5";
    assert_eq!(json(bounded).0, 0);
    let (status, d) = json(&format!("{bounded} --require-complete"));
    assert_eq!((status, d["verdict"].as_str()), (4, Some("bounded")));
    assert_eq!(json("crash cq --contract px86 --ops 2 --require-complete").0, 0);
    // All crash states were covered, and not all recoveries interrupted.
    let interrupted = "crash sdg --contract rcbsp --ops 2 --threads 2 --seed 650 --budget 3324";
    let (status, d) = json(interrupted);
    let again = &d["during_recovery"];
    assert_eq!(
        (status, d["verdict"].as_str(), &again["complete"]),
        (0, Some("clean"), &false.into())
    );
    assert_eq!(json(&format!("{interrupted} --require-complete")).0, 4);
    assert_eq!(
        json("crash cq -d volatile --require-complete").0,
        1,
        "a violation goes first"
    );
    let o = fencepost(&["crash", "cq", "--contract", "px86", "--budget", "5"]);
    let said = text(&o);
    let first = said.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("bounded: ") && first.contains(" crash states covered"),
        "{first}"
    );
}

/// A budget of a checked run: a number of crash points, or a time, in which as many as possible are examined.
#[test]
fn a_checked_run_takes_a_budget() {
    let run = |budget: &str| {
        let (status, d) = json(&format!(
            "run hashmap -d themis -m themis --check --ops 20 --budget {budget}"
        ));
        let (points, total) = (number(&d["check"], "points"), number(&d["check"], "points_total"));
        assert!(status == 0 && points < total, "{budget}: {d}");
        points
    };
    assert_eq!(run("7"), 7);
    assert!(run("4s") > 1);
    for nothing in ["0", "0s", "soon"] {
        let o = fencepost(&["run", "cq", "-d", "so", "--check", "--budget", nothing]);
        assert_eq!(code(&o), 2, "{}", text(&o));
    }
}
