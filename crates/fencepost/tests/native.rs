//! `native`: the real CPU, where it has the instructions.

use crate::common::{Folder, code, command, fencepost, json, refused, stderr};
use serde_json::Value;

/// A document of `native`, or why this CPU cannot.
fn native(args: &[&str]) -> Option<Value> {
    let o = fencepost(&[&["native"], args, &["--json"]].concat());
    let text = stderr(&o);
    if code(&o) == 2 && text.contains("need an x86-64 CPU") {
        println!("skipped: {text}");
        return None;
    }
    assert!(code(&o) < 2, "{args:?}: {text}");
    Some(serde_json::from_slice(&o.stdout).expect("one document"))
}

#[test]
fn a_native_run_has_every_promised_field() {
    let args = ["sps", "--ops", "400", "--warmup", "100", "--variant", "ideal"];
    let Some(r) = native(&args) else { return };
    for field in [
        "program",
        "variant",
        "flush_instruction",
        "memory",
        "threads",
        "ops",
        "check",
    ] {
        assert!(!r[field].is_null(), "no `{field}`");
    }
    assert_eq!(
        (&r["variant"], &r["threads"], &r["ops"]),
        (&"ideal".into(), &1.into(), &400.into())
    );
    assert_eq!(r["ns_per_op_min"], r["ideal"]["min"]);
    assert_eq!(r["ns_per_op_median"], r["ideal"]["median"]);
    assert_eq!(r["check"]["violations"], 0);
    let text = fencepost(&["native", "cq", "--ops", "200", "--log", "ido"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let instruction = r["flush_instruction"].as_str().expect("a text");
    for part in [
        instruction,
        "page cache",
        "baseline over ideal",
        "recovered and audited",
        "temporary file",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn killed_at_any_moment_the_file_recovers_in_another_process() {
    let Some(one) = native(&["sps", "--kill", "20"]) else {
        return;
    };
    assert_eq!((&one["kills"], &one["violations"]), (&20.into(), &0.into()), "{one}");
    assert!(
        one["inside"].as_u64() > Some(0) && one["operations"].as_u64() > Some(20),
        "{one}"
    );
    let two = native(&["cq", "--kill", "5", "--threads", "2", "--log", "redo"]).expect("as above");
    assert_eq!(two["violations"], 0, "{two}");
}
/// Where a kill falls is chance, and how often it falls between the two halves is the host's (two of five here): series of kills
/// go on until one convicts, and only an end of all of them says that nothing would.
#[test]
fn a_kill_between_the_halves_of_an_update_is_convicted() {
    for seed in 1..=40 {
        let seed = seed.to_string();
        let args = ["sps", "--kill", "12", "--mistake", "non-atomic-update", "--seed", &seed];
        let Some(r) = native(&args) else { return };
        if r["violations"] == 0 {
            continue;
        }
        let why = r["why"].as_str().expect("a reason");
        assert!(why.contains("prefix") || why.contains("half"), "{r}");
        return;
    }
    panic!("480 kills, and none is convicted");
}
#[test]
#[ignore = "minutes: a thousand kills of each program"]
fn a_thousand_kills() {
    for (program, log) in [
        ("sps", "undo-array"),
        ("cq", "undo-array"),
        ("cq", "redo"),
        ("cq", "raw"),
        ("hash", "undo-array"),
        ("rbtree", "undo-array"),
    ] {
        let Some(r) = native(&[program, "--kill", "1000", "--threads", "2", "--log", log]) else {
            return;
        };
        println!("{r}");
        assert_eq!(r["violations"], 0, "{r}");
    }
}

#[test]
fn native_refusals_name_the_way_out() {
    refused(&["native"], &["<PROGRAM>"]);
    refused(&["native", "spss"], &["unknown program `spss`", "did you mean `sps`"]);
    refused(&["native", "sps", "--log", "raw"], &["unknown logging runtime `raw`"]);
    refused(
        &["native", "sps", "--set", "l1.ways=2"],
        &["sets nothing of a real CPU"],
    );
    if native(&["cq", "--ops", "20"]).is_some() {
        refused(
            &["native", "cq", "--log", "redo", "--variant", "ideal"],
            &["no fence between log and data"],
        );
        let folder = Folder::new("native");
        let other = folder.file("other", "precious");
        refused(&["native", "cq", "--pm", &other], &["it holds something else"]);
        assert_eq!(std::fs::read(&other).expect("still there"), b"precious");
    }
}

/// A CPU that lacks flush instructions, as far as the command can tell.
#[test]
fn a_cpu_without_the_instructions_is_told_so() {
    if native(&["cq", "--ops", "20"]).is_none() {
        return;
    }
    let all = ["--without", "clwb", "--without", "clflushopt", "--without", "clflush"];
    let folder = Folder::new("without");
    let [memory, machine] = ["memory", "machine.toml"].map(|f| format!("{}/{f}", folder.arg()));
    for args in [
        &["native", "sps", "--pm", &memory][..],
        &["native", "sps", "--kill", "2", "--pm", &memory],
        &["native", "--calibrate", &machine],
    ] {
        refused(
            &[args, &all].concat(),
            &["none of clwb, clflushopt and clflush", "-d x86-adr"],
        );
    }
    for file in [memory, machine] {
        assert!(!std::path::Path::new(&file).exists(), "{file} was made");
    }
    let last = ["sps", "--ops", "20", "--without", "clwb", "--without", "clflushopt"];
    let r = native(&last).expect("every x86-64 CPU of today has clflush");
    assert_eq!(
        (&r["flush_instruction"], &r["check"]["violations"]),
        (&"clflush".into(), &0.into())
    );
}

/// Every command of the page parses; and its promises about files hold.
#[test]
fn the_page_shows_commands_that_exist() {
    let page = include_str!("../../../docs/native.md");
    let lines: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("fencepost ")).collect();
    assert!(lines.len() > 4, "the page shows commands");
    for line in lines {
        let line = line.split('#').next().expect("a part");
        let args: Vec<&str> = line.split_whitespace().collect();
        let o = command(&args).arg("--help").output().expect("the command starts");
        assert_eq!(code(&o), 0, "{line}");
    }
}

#[test]
fn a_calibrated_machine_is_accepted_and_simulates_what_was_measured() {
    let folder = Folder::new("calibrate");
    let file = folder.file("here.toml", "");
    let Some(c) = native(&["--calibrate", &file]) else {
        return;
    };
    assert!(c["measured"]["pair_hot"]["min"].as_f64() > Some(0.0), "{c}");
    let r = json(&[
        "run",
        "sps",
        "-d",
        "x86-adr",
        "-m",
        &file,
        "--ops",
        "20",
        "--warmup",
        "2",
        "--threads",
        "1",
    ]);
    assert!(r["time_ps"].as_u64() > Some(0));
}
