//! Checking as users and scripts see it: crash points of runs, contracts, witnesses, recorded logs.

use crate::common::{code, fencepost};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Output;

fn text(o: &Output) -> String {
    String::from_utf8_lossy(&[&o.stdout[..], &o.stderr[..]].concat()).into_owned()
}
fn json(args: &[&str]) -> (i32, Value) {
    let o = fencepost(&[args, &["--json"]].concat());
    let document = serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", text(&o)));
    (code(&o), document)
}
fn file(name: &str, content: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("fencepost-checking-{}-{name}", std::process::id()));
    std::fs::write(&path, content).expect("the temporary folder is writable");
    path
}

const SMALL: [&str; 6] = ["--ops", "20", "--warmup", "10", "--threads", "2"];

/// Every durable event is a crash point, those of the warm-up too; a smaller number is met exactly.
#[test]
fn a_checked_run_tries_every_durable_event_or_as_many_as_asked_for() {
    let run = |more: &[&str]| {
        let args = [&["run", "cq", "-d", "delegated", "--check"], &SMALL[..], more].concat();
        let (_, d) = json(&args);
        let n = |v: &Value| v.as_u64().expect("a number");
        let check = &d["check"];
        (n(&check["points"]), n(&check["points_total"]), n(&d["durable_events"]))
    };
    let (points, total, durable) = run(&[]);
    assert_eq!((points, total), (durable + 1, durable + 1));
    // The measured part alone has fewer: 40 of 60 operations.
    let without = {
        let args = [
            "run",
            "cq",
            "-d",
            "delegated",
            "--check",
            "--ops",
            "20",
            "--warmup",
            "0",
            "--threads",
            "2",
        ];
        json(&args).1["durable_events"].as_u64().expect("a number")
    };
    assert!(durable > without, "{durable} with warm-up, {without} without");
    for asked in [1, 7, 100] {
        assert_eq!(run(&["--points", &asked.to_string()]), (asked, total, durable));
    }
    let o = fencepost(&["run", "cq", "-d", "so", "--check", "--points", "0"]);
    assert_eq!(code(&o), 2, "{}", text(&o));
}

/// The commonest published ordering bug: the token durable before its key and value. Found, line named, exit code 1, and
/// the state can be run again.
#[test]
fn a_token_durable_before_its_record_is_found_and_replayed() {
    let args = [
        "crash",
        "commitstore",
        "--contract",
        "px86",
        "--variant",
        "missing-log-fence",
    ];
    let known = fencepost(&["crash", "commitstore", "--contract", "px86", "--variant", "x"]);
    assert_eq!(code(&known), 2);
    for variant in ["token-first", "missing-fence", "missing-flush"] {
        let args = [&args[..5], &[variant]].concat();
        let (status, found) = json(&args);
        let witness = &found["witness"];
        assert_eq!((status, found["verdict"].as_str()), (1, Some("violated")), "{variant}");
        let why = witness["why"].as_str().expect("a reason");
        assert!(why.contains("token"), "{variant}: {why}");
        let named = witness["source"].as_array().expect("lines");
        assert!(!named.is_empty(), "{variant}");
        assert!(
            named
                .iter()
                .all(|s| s.as_str().is_some_and(|s| s.contains("commitstore.rs:"))),
            "{variant}: {named:?}"
        );
        let again = fencepost(&["replay", witness["replay"].as_str().expect("an id")]);
        assert_eq!(code(&again), 1, "{}", text(&again));
        assert!(text(&again).contains(why), "{}", text(&again));
    }
}

/// What a contract says of a line, and of torn words, can be varied; a replay id remembers it.
#[test]
fn tearing_switches_change_what_is_explored_and_are_replayed() {
    let states = |more: &[&str]| {
        let args = [&["crash", "sps", "--contract", "px86", "--ops", "1"], more].concat();
        let (status, d) = json(&args);
        assert_eq!((status, d["complete"].as_bool()), (0, Some(true)), "{more:?}");
        (
            d["states_total"].as_u64().expect("counted"),
            d["line_order"].as_str().expect("a word").to_owned(),
            d["grain"].as_u64().expect("bytes"),
        )
    };
    let (fifo, none) = (states(&[]), states(&["--line-order", "none"]));
    let (bytes, lines) = (states(&["--grain", "1"]), states(&["--grain", "64"]));
    assert_eq!((&fifo.1[..], fifo.2, &none.1[..]), ("fifo", 8, "none"));
    assert!(
        lines.0 <= fifo.0 && fifo.0 < none.0 && fifo.0 < bytes.0,
        "{lines:?} {fifo:?} {none:?} {bytes:?}"
    );

    let args = [
        "crash",
        "cq",
        "--contract",
        "px86",
        "--variant",
        "missing-flush",
        "--line-order",
        "none",
        "--grain",
        "64",
    ];
    let (_, d) = json(&args);
    let id = d["witness"]["replay"].as_str().expect("an id");
    assert!(id.contains("line-order:none") && id.contains("grain:64"), "{id}");
    assert_eq!(code(&fencepost(&["replay", id])), 1);
}

#[test]
fn a_budget_says_what_it_covered_and_nothing_is_refused() {
    for budget in ["0", "0s"] {
        let o = fencepost(&["crash", "cq", "--contract", "px86", "--budget", budget]);
        assert_eq!(code(&o), 2, "{}", text(&o));
        assert!(text(&o).contains("explores nothing"), "{}", text(&o));
    }
    for budget in [1u64, 5, 20] {
        let (status, d) = json(&["crash", "cq", "--contract", "px86", "--budget", &budget.to_string()]);
        assert_eq!((status, d["verdict"].as_str()), (0, Some("bounded")));
        let n = |key: &str| d[key].as_u64().expect(key);
        assert!(
            n("recoveries") <= budget && n("states_covered") < n("states_total"),
            "{d}"
        );
        assert!(n("states_covered") >= 1);
    }
}

/// Log prefixes and contract cuts are counted apart; the verdict is the worse of both.
#[test]
fn prefixes_and_cuts_are_counted_apart_and_either_convicts() {
    let count = |d: &Value, key: &str| d[key].as_u64().expect("a number");
    // What the run left behind breaks, what the contract allows would not.
    let (status, d) = json(&["crash", "cq", "-d", "so-adr", "--media", "pcm", "--ops", "4"]);
    assert_eq!((status, count(&d, "log_violations")), (1, 1));
    assert_eq!(d["witness"]["kind"].as_str(), Some("log prefix"));
    assert!(count(&d, "log_prefixes") <= count(&d, "log_prefixes_total"));
    // The other way round: nothing reached memory, so only the contract shows it.
    let (status, d) = json(&["crash", "cq", "-d", "volatile"]);
    assert_eq!((status, count(&d, "log_violations")), (1, 0));
    assert_eq!(d["witness"]["kind"].as_str(), Some("contract cut"));
    // Several schedules are counted, too.
    let (status, d) = json(&[
        "crash",
        "cq",
        "-d",
        "delegated",
        "--ops",
        "2",
        "--threads",
        "2",
        "--schedules",
        "3",
    ]);
    assert_eq!((status, count(&d, "schedules"), count(&d, "log_violations")), (0, 3, 0));
}

#[test]
fn volatile_is_convicted_on_every_program() {
    let (_, list) = json(&["list", "programs"]);
    let entries = list[0]["entries"].as_array().expect("entries");
    assert!(entries.len() >= 6);
    for entry in entries {
        let program = entry["word"].as_str().expect("a word");
        if program == "random" {
            continue; // It has no order that a lost store could break.
        }
        // Enough operations for a store to be among them: a cache is mostly read.
        let (status, d) = json(&["crash", program, "-d", "volatile", "--ops", "60"]);
        assert_eq!((status, d["verdict"].as_str()), (1, Some("violated")), "{program}");
    }
}

/// The worked example of docs/checking.md, as it stands there.
#[test]
fn a_recorded_log_is_judged_and_a_malformed_one_refused_with_its_line() {
    let guide = include_str!("../../../docs/checking.md");
    let start = guide.find("\nfencepost-log 1").expect("the example") + 1;
    let example = &guide[start..start + guide[start..].find("```").expect("its end")];
    let log = file("example.log", example);
    let path = log.to_str().expect("a path");
    let (status, d) = json(&["judge", path, "--contract", "px86", "--complete"]);
    assert_eq!(
        (status, d["verdict"].as_str(), d["reordered"].as_u64()),
        (0, Some("clean"), Some(1))
    );
    let o = fencepost(&["judge", path, "--contract", "strict-tso"]);
    assert_eq!(code(&o), 1, "{}", text(&o));
    assert!(
        text(&o).contains("queue.c:10") && text(&o).contains("queue.c:12"),
        "{}",
        text(&o)
    );

    let broken = file("broken.log", &example.replace("0 clwb", "0 clbw"));
    let o = fencepost(&["judge", broken.to_str().expect("a path"), "--contract", "px86"]);
    assert_eq!(code(&o), 2, "{}", text(&o));
    let said = text(&o);
    assert!(
        said.contains("broken.log:3") && said.contains("clbw") && said.contains("clwb"),
        "{said}"
    );
    for args in [
        ["judge", "/nonexistent.log", "--contract", "px86"],
        ["judge", path, "--contract", "px68"],
    ] {
        let o = fencepost(&args);
        assert_eq!(code(&o), 2, "{}", text(&o));
    }
    for f in [log, broken] {
        let _ = std::fs::remove_file(f);
    }
}

/// Faults of the search through a recorded log and of the reading of logs change what these commands say.
#[test]
fn faults_of_searches_and_logs_are_convicted() {
    if !fencepost_run::fault::ENABLED {
        return;
    }
    let logs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fencepost-battery/logs");
    let log = |name: &str| logs.join(name).display().to_string();
    let crash = |name: &str| {
        let script = if name == "pattern.log" {
            "pattern.sh"
        } else {
            "audit.sh"
        };
        let recover = format!("sh {}", log(script));
        [
            "crash",
            "--log",
            &log(name),
            "--contract",
            "px86",
            "--recover",
            &recover,
        ]
        .map(str::to_owned)
    };
    let judge = |name: &str| ["judge", &log(name), "--contract", "px86", "--complete", "-q"].map(str::to_owned);
    let reads = ["--reads", "report"].map(str::to_owned);
    let code = |args: &[String], fault: &str| {
        let mut c = std::process::Command::new(env!("CARGO_BIN_EXE_fencepost"));
        c.args(args).env("FENCEPOST_FAULT", fault);
        c.output().expect("the command starts").status.code()
    };
    for (fault, args, sound, broken) in [
        ("external.failure-ignored", crash("bad.log").to_vec(), 1, 0),
        ("external.word-left-out", crash("good.log").to_vec(), 0, 1),
        ("external.acked-too-few", crash("unflushed.log").to_vec(), 1, 0),
        (
            "external.read-forgotten",
            [&crash("pattern.log")[..], &reads].concat(),
            1,
            0,
        ),
        ("judge.ack-not-read", crash("unflushed.log").to_vec(), 1, 0),
        ("judge.flush-of-next-line", crash("good.log").to_vec(), 0, 1),
        ("judge.durable-left-out", judge("early.log").to_vec(), 0, 1),
    ] {
        assert_eq!(code(&args, ""), Some(sound), "{args:?}");
        assert_eq!(code(&args, fault), Some(broken), "{fault}: {args:?}");
    }
}

/// The table of docs/checking.md: its command convicts every mistake of a recovery by hardware, and clears the recovery without one.
#[test]
fn mistakes_of_a_hardware_recovery_are_convicted_by_the_guides_command() {
    let guide = include_str!("../../../docs/checking.md");
    let command = guide.split("| `fencepost ").nth(1).and_then(|t| t.split('`').next());
    let words: Vec<&str> = command.expect("the command").split_whitespace().collect();
    let table = guide.split(command.expect("the command")).nth(1).expect("its table");
    let faults: Vec<&str> = table
        .lines()
        .skip(2)
        .map_while(|l| l.strip_prefix("| `")?.split('`').next())
        .collect();
    assert_eq!(faults.len(), 4, "{faults:?}");
    let run = |fault: &str, more: &[&str]| {
        let set = format!("{}{fault}", words.last().expect("a setting"));
        let args = [&words[..words.len() - 1], &[set.as_str()], more].concat();
        let o = fencepost(&args);
        (code(&o), text(&o))
    };
    for (i, fault) in faults.iter().enumerate() {
        let (status, said) = run(fault, &[]);
        assert_eq!(status, 1, "{fault}: {said}");
        // The first two are seen by a second failure alone.
        assert_eq!(run(fault, &["--nested", "0"]).0, i32::from(i >= 2), "{fault}");
    }
    assert_eq!(run("none", &[]).0, 0);
}

/// Of a place `FILE:LINE`, what that line says.
fn line_of(place: &str) -> String {
    let (file, line) = place.rsplit_once(':').expect("a file and a line");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let source = std::fs::read_to_string(path).expect("a file of the project");
    let number: usize = line.parse().expect("a number");
    source.lines().nth(number - 1).expect("a line").trim().to_owned()
}

/// A log record names the update that it is for, the mark the commit, each with the runtime's own line behind it: in text, documents and
/// pages, of recorded and of simulated executions.
#[test]
fn witnesses_name_the_programs_line_and_then_the_runtimes() {
    let (page, small) = (file("lines.html", ""), ["--ops", "6", "--threads", "2"]);
    let html = page.display().to_string();
    let design = [
        "crash",
        "cq",
        "-d",
        "delegated",
        "--variant",
        "missing-log-fence",
        "--html",
        &html,
    ];
    let contract = [
        "crash",
        "cq",
        "--contract",
        "px86",
        "--variant",
        "missing-flush",
        "--ops",
        "6",
    ];
    let mut met = [0; 3];
    for args in [[&design[..], &small].concat(), contract.to_vec()] {
        let (status, found) = json(&args);
        assert_eq!(status, 1, "{found}");
        let said = text(&fencepost(&[&args[..], &["--quiet"]].concat()));
        let lists = ["persisted", "missing"].map(|list| found["witness"][list].as_array().cloned().unwrap_or_default());
        for store in lists.concat() {
            let (program, rest) = store.as_str().and_then(|s| s.split_once(" (by ")).expect("two lines");
            let own = rest.split(')').next().expect("the end of a place");
            assert!(own.contains("/tx/"), "{store}");
            let name = |place: &str| place.rsplit('/').next().unwrap_or(place).to_owned();
            assert!(said.is_empty() || said.contains(&name(own)), "{said}");
            let (by, kind) = (line_of(program), line_of(own));
            let kind = ["log_word", "log_mark", "store"].iter().position(|k| kind.contains(k));
            met[kind.unwrap_or_else(|| panic!("{store}"))] += 1;
            let wanted: &[&str] = match kind {
                Some(0) => &["tx.update(", "tx.protect("],
                Some(1) => &["tx.commit()"],
                _ => &["tx.update(", "tx.write(", "tx.fresh("],
            };
            assert!(wanted.iter().any(|w| by.contains(w)), "{store}: {by}");
            if args == contract {
                continue;
            }
            let drawn = std::fs::read_to_string(&page).expect("the page");
            assert!(drawn.contains(&format!("by {}", name(own))), "{own}");
        }
    }
    let _ = std::fs::remove_file(&page);
    assert!(met.iter().all(|n| *n > 0), "{met:?}");
    let simulated = fencepost(&["run", "cq", "-d", "x86-adr", "--variant", "missing-flush", "--check"]);
    let said = text(&simulated).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("/cq/mod.rs:") && said.contains(" (by crates/fencepost-programs/src/tx/undo.rs:"),
        "{said}"
    );
}
