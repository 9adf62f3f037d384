//! Sweeps: killed and started again, by several processes at once, in parts; cells that fail; experiments in folders.

use crate::common::{Folder, code, command, fencepost, files, json, refused, stderr};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Twelve runs, two of which are one and the same, and a cell that asks for more threads than there are.
const GRID: &str = r#"
[base]
ops = 30
warmup = 2
threads = 2
[[product]]
program = ["cq", "sps", "hash"]
design = ["so", "delegated"]
seed = [1, 2]
[[cell]]
program = "cq"
design = "so"
seed = 1
[[cell]]
threads = 999
"#;

/// What the files of a folder hold but for the table, whose name and rows say which part of the grid it is of.
fn runs(folder: &Path) -> BTreeMap<String, String> {
    files(folder).into_iter().filter(|f| f.0.starts_with("runs/")).collect()
}

#[test]
fn a_sweep_killed_at_any_moment_loses_no_finished_run_and_repeats_none() {
    let place = Folder::new("sweep-killed");
    let grid = place.file("g.toml", GRID);
    let whole = place.path().join("whole");
    let args = |dir: &Path| ["sweep", &grid, "--jobs", "2", "-o", dir.to_str().expect("UTF-8")].map(str::to_owned);
    let begun = Instant::now();
    let o = command(&args(&whole).each_ref().map(String::as_str))
        .output()
        .expect("it starts");
    assert_eq!(code(&o), 2, "a cell failed: {}", stderr(&o));
    let (took, expected) = (begun.elapsed(), files(&whole));
    assert_eq!(runs(&whole).len(), 2 * 12);
    let mut moment = 0u64;
    for round in 0..6u32 {
        let dir = place.path().join(format!("killed-{round}"));
        let args = args(&dir);
        let args = args.each_ref().map(String::as_str);
        let mut finished = BTreeMap::new();
        for _ in 0..=round {
            moment = moment.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let wait = (took.as_micros() as u64 * (moment >> 32)) >> 32;
            let mut child = command(&args)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts");
            std::thread::sleep(Duration::from_micros(wait));
            let _ = child.kill();
            child.wait().expect("it ends");
            for (name, text) in stamps(&dir) {
                let before = finished.entry(name.clone()).or_insert(text.clone());
                assert_eq!(*before, text, "{name} was finished and is written again");
            }
        }
        let o = command(&args).output().expect("it starts");
        assert_eq!(code(&o), 2, "{}", stderr(&o));
        assert_eq!(files(&dir), expected, "round {round}");
        for (name, text) in stamps(&dir) {
            assert!(
                finished.get(&name).is_none_or(|before| *before == text),
                "{name} was repeated"
            );
        }
    }
}

/// Results with the moment at which they were written.
fn stamps(dir: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(dir.join("runs")).into_iter().flatten().flatten();
    let results = entries.filter(|e| {
        let name = e.file_name().to_string_lossy().into_owned();
        name.ends_with(".json") && !name.starts_with('.')
    });
    let stamp = |e: std::fs::DirEntry| {
        let written = e.metadata().and_then(|m| m.modified()).expect("a time");
        (e.file_name().to_string_lossy().into_owned(), format!("{written:?}"))
    };
    results.map(stamp).collect()
}

#[cfg(unix)]
#[test]
fn processes_that_share_a_folder_share_the_work_and_shards_make_a_whole() {
    let place = Folder::new("sweep-shared");
    let grid = place.file("g.toml", GRID);
    let dirs = [place.path().join("together"), place.path().join("alone")];
    let sweep = |dir: &Path, more: &[&str]| {
        let mut args = vec![
            "sweep",
            &grid,
            "--jobs",
            "1",
            "--json",
            "-o",
            dir.to_str().expect("UTF-8"),
        ];
        args.extend(more);
        command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts")
    };
    let [together, alone] = &dirs;
    let children: Vec<_> = (0..3).map(|_| sweep(together, &[])).collect();
    let ends = children.into_iter().map(|c| c.wait_with_output().expect("it ends"));
    let documents: Vec<serde_json::Value> = ends
        .map(|o| serde_json::from_slice(&o.stdout).expect("a document"))
        .collect();
    let sum = |key: &str| documents.iter().map(|d| d[key].as_u64().expect("a count")).sum::<u64>();
    assert_eq!((sum("ran"), sum("failed")), (12, 3), "{documents:?}");
    for i in 1..=3 {
        let o = sweep(alone, &["--shard", &format!("{i}/3")])
            .wait_with_output()
            .expect("it ends");
        assert!(code(&o) == 0 || code(&o) == 2, "{}", stderr(&o));
    }
    let o = sweep(alone, &[]).wait_with_output().expect("it ends");
    let whole: serde_json::Value = serde_json::from_slice(&o.stdout).expect("a document");
    assert_eq!(
        (whole["ran"].as_u64(), whole["cells"].as_u64()),
        (Some(0), Some(14)),
        "{whole}"
    );
    assert_eq!(runs(alone), runs(together));
    let table = |dir: &Path| files(dir)[whole["table"].as_str().expect("a name")].clone();
    assert_eq!(table(alone), table(together));
}

#[test]
fn a_table_has_every_cell_once_and_failed_ones_say_why() {
    let place = Folder::new("sweep-table");
    let grid = place.file("g.toml", GRID);
    let out = place.path().join("out");
    let dir = out.to_str().expect("UTF-8");
    let args = ["sweep", &grid, "--format", "json", "-o", dir, "--jobs", "2", "--json"];
    let o = fencepost(&args);
    assert_eq!(code(&o), 2, "a cell failed: {}", stderr(&o));
    let d: serde_json::Value = serde_json::from_slice(&o.stdout).expect("a document");
    assert_eq!((d["shared"].as_u64(), d["failed"].as_u64()), (Some(1), Some(1)));
    let table = std::fs::read_to_string(out.join(d["table"].as_str().expect("a name"))).expect("a table");
    let table: serde_json::Value = serde_json::from_str(&table).expect("JSON");
    let rows = table["rows"].as_array().expect("rows");
    let cells: Vec<u64> = rows.iter().map(|r| r["cell"].as_u64().expect("a number")).collect();
    assert_eq!(cells, (0..14).collect::<Vec<_>>());
    assert_eq!(rows[0]["run"], rows[12]["run"], "the same run");
    assert_eq!(rows[13]["error_kind"], "input");
    assert!(
        rows[13]["error"]
            .as_str()
            .is_some_and(|e| e.contains("999 threads do not fit")),
        "{}",
        rows[13]
    );
    // One run by itself says the same.
    let args = [
        "run",
        "hash",
        "-d",
        "delegated",
        "--seed",
        "2",
        "--ops",
        "30",
        "--warmup",
        "2",
        "--threads",
        "2",
    ];
    let run = json(&args);
    let row = rows
        .iter()
        .find(|r| r["program"] == "hash" && r["design"] == "delegated" && r["seed"] == 2);
    let row = row.expect("the cell");
    for key in ["time_ps", "log_digest", "config_digest", "pm_writes"] {
        assert_eq!(row[key], run[key], "{key}");
    }
    for (cause, ps) in run["stalls"].as_object().expect("stalls") {
        assert_eq!(row[format!("stall_{}_ps", cause.replace('-', "_"))], *ps, "{cause}");
    }
    let field = table["fields"]
        .as_array()
        .expect("fields")
        .iter()
        .find(|f| f["name"] == "time_ps");
    assert_eq!(field.expect("the field")["unit"], "ps");
}

#[test]
fn grids_that_cannot_be_run_are_refused_before_they_start() {
    let place = Folder::new("sweep-refused");
    let huge = "[[product]]\nseed = { from = 1, to = 100000 }\nops = { from = 1, to = 10000 }\n";
    refused(
        &["sweep", &place.file("huge.toml", huge)],
        &["1,000,000,000 cells", "--most-cells"],
    );
    refused(
        &["sweep", &place.file("slip.toml", "[[product]]\nprogram = [\"cqq\"]\n")],
        &["slip.toml:2:12", "`cq`"],
    );
    let one = place.file("one.toml", "[base]\nops = 5\n");
    refused(&["sweep", &one, "--shard", "3/2"], &["I from 1 to N"]);
    refused(&["sweep", &one, "--shard", "2/2"], &["no cell to run"]);
    refused(&["sweep", &one, "--memory", "8"], &["8GiB"]);
    refused(&["sweep", "/nosuch.toml"], &["no such file"]);
    assert!(!place.path().join("runs").exists());
}

const EXPERIMENT: &str = r#"
paper = "mine"
about = "Two designs on a machine of my own."
machine = "small.toml"
[points.volatile]
design = "volatile"
[points.so]
design = "so"
[scale.quick]
ops = 20
warmup = 2
[scale.full]
ops = 200
warmup = 20
[[matrix]]
tag = "M1"
programs = ["cq", "sps"]
points = ["volatile", "so"]
media = ["pcm"]
threads = 2
"#;
const CLAIMS: &str = r#"
[[claim]]
id = "M-1"
section = "1"
claim = "Ordering costs time"
config = "M1"
metric = "slowdown"
value = ">1"
unit = "x"
kind = "ordering"
rests_on = "measured"
[claim.by]
rule = "wins"
tag = "M1"
point = "volatile"
against = "so"
media = ["pcm"]
share = 1.0
"#;

#[test]
fn an_experiment_in_a_folder_is_reproduced_as_a_paper_is() {
    let place = Folder::new("own-experiment");
    let mine = place.path().join("mine");
    std::fs::create_dir(&mine).expect("writable");
    let write = |name: &str, text: &str| std::fs::write(mine.join(name), text).expect("writable");
    write("small.toml", "extends = \"dpo\"\n[core]\ncores = 2\n");
    write("experiment.toml", EXPERIMENT);
    let (dir, out) = (mine.to_str().expect("UTF-8"), place.path().join("out"));
    let args = ["reproduce", dir, "--jobs", "2", "-o", out.to_str().expect("UTF-8")];
    let d = json(&args);
    assert_eq!(
        (d[0]["paper"].as_str(), d[0]["ran"].as_u64()),
        (Some("mine"), Some(4)),
        "{d}"
    );
    assert_eq!(json(&args)[0]["resumed"].as_u64(), Some(4));
    // A claim is scored; what the folder holds now is another experiment's result.
    write("claims.toml", CLAIMS);
    refused(&args, &["reproduce", "another folder"]);
    for document in ["scoreboard.csv", "figures.csv", "report.html"] {
        std::fs::remove_file(out.join(document)).expect("writable");
    }
    let d = json(&args);
    assert_eq!(
        (d[0]["resumed"].as_u64(), d[0]["rows"][0]["id"].as_str()),
        (Some(4), Some("M-1")),
        "{d}"
    );
    write("experiment.toml", &EXPERIMENT.replace("\"sps\"", "\"spss\""));
    refused(&args, &["unknown program `spss`", "`sps`"]);
    write("experiment.toml", &EXPERIMENT.replace("tag =", "tga ="));
    refused(&args, &["experiment.toml:", "tga"]);
    let elsewhere = Folder::new("no-paper");
    for (args, why) in [
        (["reproduce", "./nosuch"], "no experiment.toml"),
        (["infer", "nosuch"], "unknown experiment"),
    ] {
        let o = command(&args).current_dir(elsewhere.path()).output().expect("it runs");
        assert!(code(&o) == 2 && stderr(&o).contains(why), "{}", stderr(&o));
        assert!(!elsewhere.path().join("runs").exists(), "{args:?} leaves a folder");
    }
    let o = fencepost(&["reproduce", "nosuch"]);
    assert!(code(&o) == 2 && stderr(&o).contains("unknown paper"), "{}", stderr(&o));
}
