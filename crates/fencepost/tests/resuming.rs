//! Commands that are killed and started again: nothing half-written, nothing lost, the same result.

use crate::common::{Folder, code, command, fencepost, refused, stderr};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
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

/// Every file below a folder, without what the host contributed.
fn files(root: &Path) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).expect("below the root").display().to_string();
            let text = std::fs::read_to_string(&path).expect("text");
            out.insert(name, without_host(&text));
        }
    }
    out
}
fn without_host(text: &str) -> String {
    fn strip(v: &mut Value) {
        match v {
            Value::Object(map) => {
                map.remove("host");
                map.remove("kept");
                map.values_mut().for_each(strip);
            }
            Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    match serde_json::from_str::<Value>(text) {
        Ok(mut v) => {
            strip(&mut v);
            v.to_string()
        }
        Err(_) => text.to_owned(),
    }
}

#[test]
fn a_command_killed_at_any_moment_goes_on_to_the_same_end() {
    let whole = Folder::new("whole");
    let begun = Instant::now();
    let o = fencepost(&[&COMPARE[..], &["--jobs", "2", "-o", whole.arg()]].concat());
    assert_eq!(code(&o), 0, "{}", stderr(&o));
    let (took, expected) = (begun.elapsed(), files(whole.path()));
    assert_eq!(
        expected.len(),
        2 * 9 + 1,
        "a result and a configuration each, and the comparison"
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

#[cfg(unix)]
#[test]
fn two_processes_do_not_work_in_one_folder() {
    let folder = Folder::new("two");
    let store = fencepost_run::store::Store::open(folder.path()).expect("an empty folder");
    refused(
        &["compare", "cq", "-d", "so", "-o", folder.arg()],
        &["another process", "another folder"],
    );
    drop(store);
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
