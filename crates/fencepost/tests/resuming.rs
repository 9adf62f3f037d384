//! Commands that are killed and started again: nothing half-written, nothing lost, the same result.

use crate::common::{Folder, code, command, fencepost, files, refused, stderr};
use std::process::Stdio;
use std::time::{Duration, Instant};

const COMPARE: [&str; 14] = [
    "compare",
    "cq",
    "sps",
    "hash",
    "-d",
    "so,delegated",
    "--ops",
    "30",
    "--warmup",
    "2",
    "--threads",
    "2",
    "--set",
    "program.sps.entries=256",
];

#[test]
fn a_command_killed_at_any_moment_goes_on_to_the_same_end() {
    let whole = Folder::new("whole");
    let begun = Instant::now();
    let o = fencepost(&[&COMPARE[..], &["--jobs", "2", "-o", whole.arg()]].concat());
    assert_eq!(code(&o), 0, "{}", stderr(&o));
    let (took, expected) = (begun.elapsed(), files(whole.path()));
    assert_eq!(
        expected.len(),
        2 * 9 + 2,
        "a result and a configuration each, the comparison, and whose it is"
    );
    // Weyl's sequence of the golden ratio spreads the moments over the whole run.
    let mut moment = 0u64;
    let mut random = move || {
        moment = moment.wrapping_add(0x9e37_79b9_7f4a_7c15);
        moment >> 32
    };
    for round in 0..4 {
        let folder = Folder::new(&format!("killed-{round}"));
        let args = [&COMPARE[..], &["--jobs", "2", "-o", folder.arg()]].concat();
        for _ in 0..=round {
            let mut child = command(&args)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts");
            let wait = (took.as_micros() as u64 * random()) >> 32;
            std::thread::sleep(Duration::from_micros(wait));
            let _ = child.kill();
            child.wait().expect("it ends");
        }
        let o = fencepost(&args);
        assert_eq!(code(&o), 0, "{}", stderr(&o));
        assert_eq!(files(folder.path()), expected, "round {round}");
    }
}

/// A result that was edited, or that another version wrote, is not taken for one of this version.
#[test]
fn a_changed_result_is_run_again() {
    let folder = Folder::new("changed");
    let args = [
        "compare",
        "cq",
        "-d",
        "so",
        "--ops",
        "5",
        "--warmup",
        "1",
        "--threads",
        "1",
        "-o",
        folder.arg(),
    ];
    assert_eq!(code(&fencepost(&args)), 0);
    let expected = files(folder.path());
    let runs: Vec<_> = std::fs::read_dir(folder.path().join("runs"))
        .expect("runs")
        .flatten()
        .collect();
    let json = |e: &&std::fs::DirEntry| e.path().extension().is_some_and(|x| x == "json");
    for (i, entry) in runs.iter().filter(json).enumerate() {
        let text = std::fs::read_to_string(entry.path()).expect("text");
        let changed = match i {
            0 => text.replace("\"pm_writes\": ", "\"pm_writes\": 1"),
            _ => text.replace("\"by\": \"", "\"by\": \"0"),
        };
        assert_ne!(text, changed);
        std::fs::write(entry.path(), changed).expect("writable");
    }
    assert_eq!(code(&fencepost(&args)), 0);
    assert_eq!(files(folder.path()), expected);
}

/// A command writes only over what the same command wrote; another version of it may.
#[test]
fn results_of_other_runs_are_not_written_over() {
    let folder = Folder::new("others");
    let run = |ops| ["run", "cq", "--ops", ops, "--threads", "1", "-o", folder.arg()];
    assert_eq!(code(&fencepost(&run("5"))), 0);
    let before = files(folder.path());
    refused(
        &run("6"),
        &["result of another run: run cq -d volatile", "another folder"],
    );
    assert_eq!(code(&fencepost(&run("5"))), 0);
    assert_eq!(files(folder.path()), before);
    let compare = |design| {
        [
            "compare",
            "cq",
            "-d",
            design,
            "--ops",
            "5",
            "--threads",
            "1",
            "-o",
            folder.arg(),
        ]
    };
    assert_eq!(code(&fencepost(&compare("so"))), 0);
    refused(&compare("delegated"), &["compare cq -d so", "another folder"]);
    folder.file("store.json", "{ \"format\": 99 }");
    refused(&run("5"), &["newer version", "format 99"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_command_says_how_to_go_on() {
    let folder = Folder::new("interrupted");
    // The first run is short; those of the second program take far longer than the signal.
    let args = [
        "compare",
        "cq",
        "sps",
        "-d",
        "so",
        "--ops",
        "2000",
        "--jobs",
        "1",
        "--set",
        "program.sps.swaps=64",
        "-o",
        folder.arg(),
    ];
    let mut child = command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    while !folder.path().join("runs").exists() {
        assert!(
            child.try_wait().expect("a child").is_none(),
            "it ended without a result"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let interrupt = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupt.expect("kill starts").success());
    let o = child.wait_with_output().expect("it ends");
    assert_eq!(code(&o), 130, "{}", stderr(&o));
    assert!(stderr(&o).contains("the same command goes on"), "{}", stderr(&o));
}
