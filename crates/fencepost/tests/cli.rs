//! Documents, exit codes, and what is refused.

use crate::common::{Folder, code, fencepost, json, refused, stderr};
use serde_json::Value;

const SMALL: [&str; 6] = ["--ops", "20", "--warmup", "2", "--threads", "2"];

#[test]
fn lists_are_documents() {
    let all = json(&["list"]);
    let kinds: Vec<&str> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "designs",
            "programs",
            "machines",
            "media",
            "contracts",
            "experiments",
            "readings"
        ]
    );
    let designs = json(&["list", "designs"]);
    let words: Vec<&str> = designs[0]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["word"].as_str().unwrap())
        .collect();
    for word in ["volatile", "so", "so-adr", "delegated", "delegated-merge"] {
        assert!(words.contains(&word), "{words:?}");
    }
}

#[test]
fn a_run_has_every_promised_field_and_adds_up() {
    let r = json(&[&["run", "cq", "-d", "so", "--check", "--media", "pcm"][..], &SMALL].concat());
    for field in [
        "schema",
        "program",
        "design",
        "machine",
        "media",
        "threads",
        "ops",
        "seed",
        "config_digest",
        "time_ps",
        "instructions",
        "ipc",
        "ops_per_s",
        "stalls",
        "pm_reads",
        "pm_writes",
        "durable_events",
        "log_digest",
        "check",
        "host",
    ] {
        assert!(!r[field].is_null(), "no `{field}`");
    }
    for field in ["seconds", "minstr_per_s", "mops_per_s", "peak_rss_bytes"] {
        assert!(r["host"][field].as_f64().is_some_and(|v| v > 0.0), "no host.{field}");
    }
    assert_eq!(r["check"]["violations"], 0);
    assert_eq!(
        r["check"]["points"].as_u64(),
        r["durable_events"].as_u64().map(|n| n + 1)
    );
    // Busy time and stalls of two threads fit into twice the run's time, and fill most of it.
    let stalls: u64 = r["stalls"]
        .as_object()
        .unwrap()
        .values()
        .map(|v| v.as_u64().unwrap())
        .sum();
    let (sum, time) = (stalls + r["busy_ps"].as_u64().unwrap(), r["time_ps"].as_u64().unwrap());
    assert!(sum <= 2 * time && sum > time, "{sum} of {time}");
}

#[test]
fn a_log_that_nobody_keeps_is_mentioned() {
    let note =
        |design: &str| json(&[&["run", "sps", "-d", design, "--log", "redo"][..], &SMALL].concat())["note"].clone();
    for design in ["loc-wal", "volatile"] {
        let text = note(design).as_str().map(str::to_owned).unwrap_or_default();
        assert!(text.contains("--log redo") && text.contains(design), "{text}");
    }
    assert!(note("so").is_null());
}

#[test]
fn same_seed_same_log_and_another_seed_another() {
    let digest = |seed: &str| {
        let r = json(
            &[
                &[
                    "run",
                    "sps",
                    "-d",
                    "delegated",
                    "--seed",
                    seed,
                    "--set",
                    "program.entries=256",
                ][..],
                &SMALL,
            ]
            .concat(),
        );
        (r["log_digest"].clone(), r["config_digest"].clone())
    };
    assert_eq!(digest("1"), digest("1"));
    assert_ne!(digest("1").0, digest("2").0);
}

#[test]
fn a_broken_promise_is_found_with_exit_code_one_and_replays() {
    let args = [
        &["run", "cq", "-d", "so-adr", "--media", "pcm", "--check", "--json"][..],
        &SMALL,
    ]
    .concat();
    let o = fencepost(&args);
    assert_eq!(code(&o), 1, "{}", stderr(&o));
    let r: Value = serde_json::from_slice(&o.stdout).unwrap();
    assert!(r["warning"].as_str().unwrap().contains("cannot keep"));
    let w = &r["check"]["witnesses"];
    assert!(w.as_array().is_some_and(|w| !w.is_empty()));
    if let Some(id) = w[0]["replay"].as_str() {
        let again = fencepost(&["replay", id, "--json"]);
        assert_eq!(code(&again), 1, "{}", stderr(&again));
    }
}

#[test]
fn crash_states_of_a_contract_are_explored_and_replayed() {
    let clean = json(&["crash", "cq", "-d", "delegated", "--ops", "2", "--budget", "20000"]);
    assert_eq!(clean["verdict"], "clean", "{clean}");
    assert!(clean["log_prefixes"].as_u64().unwrap() > 0 && clean["crash_points"].as_u64().unwrap() > 0);
    let o = fencepost(&[
        "crash",
        "cq",
        "--contract",
        "none",
        "--ops",
        "3",
        "--budget",
        "20000",
        "--json",
    ]);
    assert_eq!(code(&o), 1, "no promise convicts every program: {}", stderr(&o));
    let found: Value = serde_json::from_slice(&o.stdout).unwrap();
    assert_eq!(
        (found["verdict"].as_str(), found["log_prefixes"].as_u64()),
        (Some("violated"), Some(0))
    );
    let id = found["witness"]["replay"].as_str().unwrap();
    let again = fencepost(&["replay", id, "--json"]);
    assert_eq!(code(&again), 1, "{}", stderr(&again));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["witness"]["why"], found["witness"]["why"]);
}

#[test]
fn comparisons_name_their_baseline() {
    let args = [
        &[
            "compare",
            "cq",
            "sps",
            "-d",
            "so,delegated",
            "--set",
            "program.sps.entries=256",
        ][..],
        &SMALL,
    ]
    .concat();
    let c = json(&args);
    assert_eq!(c["baseline"], "volatile");
    assert_eq!(c["slowdown"]["cq"]["volatile"], 1.0);
    assert!(c["slowdown"]["sps"]["so"].as_f64().unwrap() > 1.0);
    let digests = |c: &Value| -> Vec<Value> {
        c["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["log_digest"].clone())
            .collect()
    };
    assert_eq!(digests(&c).len(), 6);
    // The number of jobs changes nothing, and a second call with a folder repeats nothing.
    let dir = Folder::new("compare");
    let out = dir.arg().to_owned();
    let many = json(&[&args[..], &["--jobs", "4", "-o", &out]].concat());
    let again = json(&[&args[..], &["--jobs", "1", "-o", &out]].concat());
    assert_eq!((digests(&c), &many["runs"]), (digests(&again), &again["runs"]));
    let hosts = std::fs::read_dir(dir.path().join("host")).unwrap();
    let lines = hosts.map(|e| std::fs::read_to_string(e.unwrap().path()).unwrap().lines().count());
    assert_eq!(lines.sum::<usize>(), 6, "a run that is repeated is noted again");
}

/// Several seeds: what is printed is the mean over the runs of each seed alone.
#[test]
fn several_seeds_give_means_and_intervals() {
    let mean = |of: &dyn Fn(&str) -> f64| (of("3") + of("4") + of("5")) / 3.0;
    let run = |seed: &str| json(&[&["run", "cq", "-d", "so", "--seed", seed][..], &SMALL].concat());
    let all = json(&[&["run", "cq", "-d", "so", "--seed", "3", "--seeds", "3"][..], &SMALL].concat());
    let time = mean(&|seed| run(seed)["time_ps"].as_f64().unwrap());
    assert!((all["time_ps"]["mean"].as_f64().unwrap() - time).abs() < 1.0);
    assert!(all["time_ps"]["half"].as_f64().unwrap() > 0.0);
    let compare = |seed: &str| json(&[&["compare", "cq", "-d", "so", "--seed", seed][..], &SMALL].concat());
    let slowdown = mean(&|seed| compare(seed)["slowdown"]["cq"]["so"].as_f64().unwrap());
    let all = json(
        &[
            &["compare", "cq", "-d", "so", "--seed", "3", "--seeds", "3"][..],
            &SMALL,
        ]
        .concat(),
    );
    assert!((all["slowdown"]["cq"]["so"].as_f64().unwrap() - slowdown).abs() < 1e-9);
    assert!(all["spread"]["cq"]["so"].as_f64().unwrap() > 0.0);
    assert_eq!(all["runs"].as_array().unwrap().len(), 6);
    refused(&["run", "cq", "--seeds", "0"], &["--seeds"]);
}

#[test]
fn output_folders_hold_the_result_and_its_configuration() {
    let dir = Folder::new("output");
    let out = dir.arg().to_owned();
    json(&[&["run", "cq", "-o", &out][..], &SMALL].concat());
    let mut names: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["config.toml", "host", "result.json", "store.json"]);
    assert!(
        std::fs::read_to_string(dir.path().join("config.toml"))
            .unwrap()
            .contains("# paper: Table II")
    );
}

#[test]
fn unknown_names_come_with_the_nearest() {
    refused(&["run", "qc"], &["unknown program `qc`", "`cq`"]);
    refused(&["run", "cq", "-d", "delegate"], &["unknown design", "`delegated`"]);
    refused(&["run", "cq", "-m", "dop"], &["unknown machine", "`dpo`"]);
    refused(&["run", "cq", "--media", "pcn"], &["unknown medium", "`pcm`"]);
    refused(
        &["run", "cq", "--log", "undo-arry"],
        &["logging runtime", "`undo-array`"],
    );
    refused(
        &["run", "cq", "--variant", "missing-fnce"],
        &["variant", "`missing-fence`"],
    );
    refused(&["run", "cq", "--set", "l1.wyas=8"], &["--set:1:1", "`ways`"]);
    refused(&["run", "cq", "--set", "ll.ways=8"], &["unknown section", "`l1`"]);
    refused(&["crash", "cq", "--contract", "px68"], &["unknown contract", "`px86`"]);
    refused(&["list", "desings"], &["`designs`"]);
    refused(&["cost", "so-adl"], &["`so-adr`"]);
    refused(&["reproduce", "dop"], &["`dpo`"]);
}

#[test]
fn impossible_sizes_and_values_are_refused_with_their_place() {
    for (set, words) in [
        ("l1.ways=0", ["at least 1", "--set:1:9"]),
        ("l1.size=48KiB", ["power of two", "--set:1:9"]),
        ("core.rob=0", ["at least 1", "--set:1:10"]),
        ("pm.controller.write_queue=0", ["write_queue", "--set:1:27"]),
        ("pm.media.write_pulse=fast", ["a time such as", "--set:1:22"]),
        ("core.cores=300", ["whole number", "--set:1:12"]),
    ] {
        refused(&["run", "cq", "--set", set], &words);
    }
    refused(&["run", "cq", "--threads", "9"], &["8 hardware threads"]);
    refused(&["run", "cq", "--threads", "0"], &["at least one thread"]);
    refused(&["run", "cq", "--ops", "0"], &["at least one operation"]);
    refused(
        &["run", "cq", "-d", "delegated", "--set", "design.entries=0"],
        &["entries"],
    );
    refused(&["crash", "cq", "-d", "so", "--budget", "soon"], &["no budget"]);
    refused(&["compare", "cq", "-d", "so", "--jobs", "0"], &["--jobs"]);
    refused(&["replay", "nonsense"], &["not a replay id"]);
}

#[test]
fn bad_files_and_folders_are_refused_and_nothing_is_left_behind() {
    refused(&["run", "cq", "-m", "./absent.toml"], &["absent.toml"]);
    refused(&["memtrace", "./absent.trace", "--media", "pcm"], &["absent.trace"]);
    let dir = Folder::new("bad");
    let machine = dir.path().join("m.toml");
    std::fs::write(&machine, "extends = \"dpo\"\n[l1]\nwyas = 8\n").unwrap();
    refused(
        &["run", "cq", "-m", &machine.to_string_lossy()],
        &["m.toml:3:1", "`ways`"],
    );
    std::fs::write(&machine, "extends = \"dpo\"\n[l1]\nways = = 8\n").unwrap();
    refused(&["run", "cq", "-m", &machine.to_string_lossy()], &["m.toml:3", "TOML"]);
    std::fs::write(&machine, "extends = \"dpo\"\n[l1]\nways = 8\n").unwrap();
    let shown = json(&["config", "show", "-m", &machine.to_string_lossy()]);
    assert!(shown["sections"].as_array().unwrap().iter().any(|s| s["name"] == "l1"));
    let trace = dir.path().join("t.trace");
    std::fs::write(&trace, "R 0x40\nZ 0x80\n").unwrap();
    refused(
        &["memtrace", &trace.to_string_lossy(), "--media", "pcm"],
        &["t.trace:2:1"],
    );
    // A file where the folder should be.
    refused(&["run", "cq", "-o", &trace.to_string_lossy()], &["t.trace"]);
    refused(
        &["reproduce", "dpo", "-o", &trace.join("x").to_string_lossy()],
        &["t.trace"],
    );
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(left.len(), 2);
}

#[test]
fn memory_traces_count_their_requests() {
    let dir = Folder::new("trace");
    let file = dir.path().join("t.trace");
    let text: String = (0..100)
        .map(|i| format!("{} {:#x}\n", if i % 4 == 0 { "W" } else { "R" }, i * 64))
        .collect();
    std::fs::write(&file, text).unwrap();
    let m = json(&["memtrace", &file.to_string_lossy(), "--media", "ddr3-1600"]);
    assert_eq!(
        (m["requests"].as_u64(), m["reads"].as_u64(), m["writes"].as_u64()),
        (Some(100), Some(75), Some(25))
    );
    assert!(m["cycles"].as_u64().unwrap() > 100 && m["host"]["seconds"].as_f64().is_some());
}

#[test]
fn costs_citations_and_differences() {
    let costs = json(&["cost", "delegated"]);
    let items = costs[0]["items"].as_array().unwrap();
    let paper: u64 = items.iter().filter_map(|i| i["paper_bits"].as_u64()).sum();
    assert_eq!(paper / 8, 896, "the paper's bytes per core");
    assert!(
        json(&["cite", "delegated"])["bibtex"]
            .as_str()
            .unwrap()
            .contains("Delegated Persist Ordering")
    );
    let diff = json(&["config", "diff", "cq", "--set", "l1.ways=8"]);
    assert_eq!(diff.as_array().unwrap().len(), 1);
    assert_eq!(diff[0]["path"], "l1.ways");
}
