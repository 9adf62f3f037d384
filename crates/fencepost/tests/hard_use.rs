//! Odd inputs and surroundings: what is said, where, and with which exit code.

use crate::common::{Folder, code, command, fencepost, json, refused, stderr};
use serde_json::Value;
use std::process::Stdio;

const SMALL: [&str; 6] = ["--ops", "5", "--warmup", "1", "--threads", "1"];

#[test]
fn a_number_is_told_how_to_be_written() {
    refused(
        &["run", "cq", "--set", "pm.media.write_pulse=300"],
        &["300ns", "--set:1:22"],
    );
    refused(&["run", "cq", "--ops", "1k"], &["write 1000"]);
    refused(&["run", "cq", "--ops", "many"], &["a whole number"]);
    refused(
        &["compare", "cq", "-d", "so", "--jobs", "0"],
        &["from 1 to", "one per host core"],
    );
    refused(
        &["run", "hash", "--set", "program.hash.buckets=9223372036854775807"],
        &["at most 67108864", "--set:1:22"],
    );
    refused(
        &["run", "rbtree", "--set", "program.preload=1000000"],
        &["exceeds keys", "--set:1:17"],
    );
    refused(
        &["run", "cq", "--set", "l1.latency=18446744073709551615ps"],
        &["at most 10ms", "--set:1:12"],
    );
}

/// What no run of clients over a network can be, as against what the machine gets wrong.
#[test]
fn clients_that_cannot_be_are_refused() {
    let run = ["run", "hashmap", "-d", "net-bsp", "-m", "broi", "--ops", "5"];
    let with = |more: &[&'static str]| [&run[..], more].concat();
    for threads in ["0", "33", "256"] {
        refused(&with(&["--threads", threads]), &["are clients", "from 1 to 32"]);
    }
    // Two latencies of 1000 ns, and the headers at 54 gigabits a second.
    refused(
        &with(&["--set", "network.timeout=2us"]),
        &["`network.timeout` of 2000ns", "before an ACK"],
    );
    let o = fencepost(&with(&["--threads", "32"]));
    assert_eq!(code(&o), 0, "{}", stderr(&o));
}

/// A budget that ends while the machine still runs is no verdict, and no success.
#[test]
fn a_budget_bounds_the_simulated_run_as_well() {
    let out = fencepost(&["crash", "cq", "-d", "so", "--ops", "3000", "--budget", "1ms", "--json"]);
    assert_eq!(code(&out), 2, "{}", stderr(&out));
    let found: Value = serde_json::from_slice(&out.stdout).expect("one document");
    assert_eq!(found["verdict"], "nothing explored");
    assert_eq!(found["log_prefixes"], 0);
}

#[test]
fn what_is_missing_is_named() {
    refused(&["crash", "cq"], &["--contract", "-d so"]);
    refused(
        &["run", "cq", "-m", "absent.toml"],
        &["no such file: absent.toml", "dpo"],
    );
    refused(
        &["judge", "absent.log", "--contract", "px86"],
        &["absent.log", "no such file"],
    );
    refused(&["run", "cq", "--set", "ways=8"], &["`l1.ways`"]);
    // The low watermark is the preset's; the high one was set.
    refused(
        &["run", "cq", "--set", "pm.controller.drain_high=40"],
        &["--set:1:26", "drain_low"],
    );
}

#[test]
fn a_value_for_what_does_not_run_is_said() {
    let r = json(
        &[
            &["run", "cq", "-d", "so", "--set", "design.delegated.entries=4"][..],
            &SMALL,
        ]
        .concat(),
    );
    assert!(
        r["note"]
            .as_str()
            .is_some_and(|n| n.contains("design.delegated.entries")),
        "{r}"
    );
    let c = json(&[&["compare", "cq", "-d", "so, delegated"][..], &SMALL].concat());
    assert_eq!(c["runs"].as_array().map(Vec::len), Some(3));
}

#[test]
fn an_error_is_a_document_too() {
    for args in [
        &["run", "qc", "--json"][..],
        &["run", "--json"],
        &["run", "cq", "--ops", "x", "--json"],
    ] {
        let o = fencepost(args);
        assert_eq!(code(&o), 2);
        let d: Value = serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}"));
        assert_eq!(d["exit_code"], 2);
        assert!(d["error"]["message"].as_str().is_some_and(|m| !m.is_empty()), "{d}");
    }
    let o = fencepost(&["run", "cq", "--set", "l1.ways=0", "--json"]);
    let d: Value = serde_json::from_slice(&o.stdout).unwrap();
    assert_eq!(d["error"]["place"], "--set:1:9");
}

#[test]
fn long_and_hidden_characters_do_not_reach_the_terminal() {
    let long = "x".repeat(100_000);
    let o = fencepost(&["run", &long]);
    assert!(code(&o) == 2 && o.stderr.len() < 10_000, "{} bytes", o.stderr.len());
    let dir = Folder::new("hidden");
    let machine = dir.file(
        "m.toml",
        format!("extends = \"dpo\"\n\"\\u001b[31mred\" = 1 # {long}\n"),
    );
    for args in [
        &["run", "\x1b[31mcq"][..],
        &["run", "cq", "-m", &machine],
        &["run", "cq", "--ops", "\x1b[2J"],
    ] {
        let o = fencepost(args);
        assert_eq!(code(&o), 2);
        assert!(!o.stderr.contains(&0x1b) && o.stderr.len() < 10_000, "{}", stderr(&o));
    }
}

#[test]
fn a_message_on_a_pipe_stays_on_its_line() {
    let o = fencepost(&["run", "cq", "-d", "nonesuch"]);
    let text = stderr(&o);
    let known = text.lines().find(|l| l.contains("known:")).expect("a hint");
    assert!(known.contains("volatile") && known.contains("loc-kiln"), "{text}");
}

#[cfg(unix)]
#[test]
fn endless_and_huge_inputs_are_refused() {
    refused(&["run", "cq", "-m", "/dev/zero"], &["larger than"]);
    refused(&["judge", "/dev/zero", "--contract", "px86"], &["a line of more than"]);
    refused(&["memtrace", "/dev/zero", "--media", "pcm"], &["a line of more than"]);
    refused(&["judge", "/", "--contract", "px86"], &["folder"]);
    let dir = Folder::new("huge");
    let line = dir.file("long.log", format!("fencepost-log 1\n# {}\n", "x".repeat(10 << 20)));
    refused(
        &["judge", &line, "--contract", "px86"],
        &["long.log:2", "a line of more than"],
    );
}

#[test]
fn a_byte_order_mark_is_accepted_everywhere() {
    let dir = Folder::new("bom");
    let machine = dir.file("m.toml", "\u{feff}extends = \"dpo\"\n");
    json(&[&["run", "cq", "-m", &machine][..], &SMALL].concat());
    let log = dir.file(
        "l.log",
        "\u{feff}fencepost-log 1\n0 store pm+0x00 1\ndurable pm+0x00 : 0=1\n",
    );
    json(&["judge", &log, "--contract", "px86"]);
    let trace = dir.file("t.trace", "\u{feff}R 0x40\n");
    assert_eq!(json(&["memtrace", &trace, "--media", "pcm"])["requests"], 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_noticed() {
    for args in [
        &["--help"][..],
        &["run", "--help"],
        &["--version"],
        &["list"],
        &["completions", "bash"],
        &["man"],
    ] {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("it exists");
        let o = command(args)
            .stdout(Stdio::from(full))
            .output()
            .expect("the command starts");
        assert_eq!(code(&o), 2, "{args:?}: {}", stderr(&o));
        assert!(stderr(&o).contains("full"), "{}", stderr(&o));
    }
}

#[test]
fn completions_and_pages_know_every_command() {
    let commands = ["run", "compare", "crash", "judge", "reproduce", "replay", "completions"];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let o = fencepost(&["completions", shell]);
        let text = String::from_utf8_lossy(&o.stdout).into_owned();
        assert!(code(&o) == 0 && commands.iter().all(|c| text.contains(c)), "{shell}");
    }
    let dir = Folder::new("man");
    json(&["man", "-o", dir.arg()]);
    for c in commands {
        let page = std::fs::read_to_string(dir.path().join(format!("fencepost-{c}.1"))).expect(c);
        assert!(page.contains(".TH"), "{c}");
    }
}

/// What `config show` prints is a machine file.
#[test]
fn a_printed_configuration_can_be_run() {
    let dir = Folder::new("shown");
    let shown = fencepost(&["config", "show", "cq", "-m", "loc", "--set", "l1.ways=8"]);
    let file = dir.file("shown.toml", &shown.stdout);
    let digest = |machine: &[&str]| json(&[&["run", "cq", "-m"], machine, &SMALL].concat())["log_digest"].clone();
    assert_eq!(digest(&["loc", "--set", "l1.ways=8"]), digest(&[&file]));
}

/// Planted faults that the environment asks for are there, or refused; one that nothing acted on is said.
#[test]
fn faults_that_are_asked_for_are_planted_or_refused() {
    let run = |fault: &str, design: &str| {
        let args = [
            "run",
            "sps",
            "-d",
            design,
            "--ops",
            "5",
            "--warmup",
            "0",
            "--threads",
            "2",
            "--json",
        ];
        let o = command(&args).env("FENCEPOST_FAULT", fault).output();
        o.expect("the command starts")
    };
    let document = |o: &std::process::Output| serde_json::from_slice::<Value>(&o.stdout).expect("one document");
    for (fault, hint) in [
        ("core.flush-not-sen", "did you mean `core.flush-not-sent`?"),
        ("core.flush-not-sent,nonsense", "xtask -- faults"),
    ] {
        let o = run(fault, "so");
        assert_eq!(code(&o), 2, "{fault}");
        let says = document(&o)["error"].to_string();
        assert!(
            says.contains(if fencepost_run::fault::ENABLED {
                hint
            } else {
                "--features faults"
            }),
            "{says}"
        );
    }
    if !fencepost_run::fault::ENABLED {
        return;
    }
    // `volatile` flushes nothing, so that no flush can get lost.
    let (acted, idle) = (
        run("core.flush-not-sent", "so"),
        run(" core.flush-not-sent ,", "volatile"),
    );
    assert!(
        code(&acted) == 0 && document(&acted)["warnings"].is_null(),
        "{}",
        stderr(&acted)
    );
    assert_eq!(code(&idle), 0);
    let warning = document(&idle)["warnings"][0].to_string();
    assert!(warning.contains("`core.flush-not-sent` never acted"), "{warning}");
    assert!(stderr(&idle).contains("never acted"), "{}", stderr(&idle));
    assert!(document(&run("", "so"))["warnings"].is_null());
}
