//! `litmus` as users and scripts see it.

use crate::common::{code, fencepost};
use serde_json::Value;
use std::path::PathBuf;

const SB: &str = "X86 SB
{ x=0; y=0; }
 P0          | P1          ;
 MOV [x],$1  | MOV [y],$1  ;
 MOV EAX,[y] | MOV EAX,[x] ;
exists (0:EAX=0 /\\ 1:EAX=0)
";

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("fencepost-litmus-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the temporary folder is writable");
    path
}

fn run(args: &[&str]) -> (i32, String) {
    let o = fencepost(args);
    (code(&o), String::from_utf8_lossy(&o.stdout).into_owned())
}

#[test]
fn one_test_is_shown_as_herd_shows_it() {
    let folder = folder("one");
    let file = folder.join("SB.litmus");
    std::fs::write(&file, SB).unwrap();
    let (exit, text) = run(&["litmus", file.to_str().unwrap(), "--model", "tso"]);
    assert_eq!(exit, 0);
    for line in [
        "States 4",
        "0:EAX=0; 1:EAX=0;",
        "Positive: 1 Negative: 3",
        "Observation SB Sometimes 1 3",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}:\n{text}");
    }
}

#[test]
fn a_batch_goes_on_past_what_it_cannot_read_and_says_what_is_unexpected() {
    let folder = folder("batch");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("a.litmus", SB);
    write("b.litmus", &SB.replace("MOV [x]", "VFROB [x]"));
    write("c.litmus", &SB.replace("{ x", "Expect.sc=Never\nExpect.tso=Never\n{ x"));
    write("all", "a.litmus\nb.litmus # not run\nc.litmus\n");
    let root = folder.to_str().unwrap();
    let (exit, text) = run(&["litmus", root, "--json"]);
    let records: Value = serde_json::from_str(&text).unwrap();
    // Expected of tso is what is not so.
    assert_eq!((exit, records.as_array().unwrap().len()), (1, 4));
    assert!(records[1]["skipped"].as_str().unwrap().contains("VFROB"));
    assert_eq!(records[2]["observation"], "Never");
    let (_, listed) = run(&["litmus", &format!("{root}/@all"), "--json"]);
    assert_eq!(text, listed);
    let (exit, _) = run(&["litmus", root, "--promote"]);
    assert_eq!(exit, 0);
    assert!(
        std::fs::read_to_string(folder.join("c.litmus"))
            .unwrap()
            .contains("Expect.tso=Sometimes")
    );
    assert_eq!(run(&["litmus", root]).0, 0);
    assert_eq!(run(&["litmus", &format!("{root}/none.litmus")]).0, 2);
    assert_eq!(run(&["litmus", root, "--model", "nope"]).0, 2);
    assert_eq!(run(&["litmus", &format!("{root}/b.litmus")]).0, 2);
}

#[test]
fn crash_states_stand_beside_final_states() {
    let test = "../../litmus/persistency/P19.litmus";
    let (exit, text) = run(&["litmus", test, "--model", "px86", "--states", "--json"]);
    let records: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((exit, &records[0]["crash"]["states"]), (0, &Value::from(5)));
    assert_eq!(records[0]["crash"]["crash_states"][0], "[x]=0; [y]=0; [z]=0;");
    let (exit, text) = run(&["litmus", "--between", "px86,themis"]);
    assert!(exit == 0 && text.contains("MOVNTI"), "{text}");
}

#[test]
fn a_list_with_what_is_not_there_goes_on() {
    let folder = folder("list");
    std::fs::write(folder.join("a.litmus"), SB).unwrap();
    std::fs::write(folder.join("junk.litmus"), [0u8, 255, 254]).unwrap();
    std::fs::write(folder.join("empty.litmus"), "").unwrap();
    std::fs::write(
        folder.join("@all"),
        "gone.litmus\njunk.litmus\nempty.litmus\na.litmus\n",
    )
    .unwrap();
    let (exit, text) = run(&["litmus", folder.join("@all").to_str().unwrap()]);
    assert_eq!(exit, 0, "{text}");
    assert!(text.contains("1 verdicts, 3 not run"), "{text}");
    for name in ["gone.litmus: not run", "junk.litmus: not run", "empty.litmus: not run"] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn tests_that_tell_contracts_apart_come_with_pictures() {
    let folder = folder("between");
    let (exit, _) = run(&["litmus", "--between", "px86,rcbsp", "-o", folder.to_str().unwrap()]);
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    let ending = |end: &str| {
        files
            .iter()
            .filter(|f| f.to_str().unwrap().ends_with(end))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (
            exit,
            ending(".litmus").len(),
            ending(".svg").len(),
            ending(".dot").len()
        ),
        (0, 5, 10, 10)
    );
    for file in ending(".svg") {
        let svg = std::fs::read_to_string(file).unwrap();
        let forbidden = file.to_str().unwrap().contains(".rcbsp.");
        assert_eq!(svg.contains("forbidden by rcbsp"), forbidden, "{svg}");
        assert!(svg.contains("durable") && svg.contains(" lost"), "{svg}");
    }
}

#[test]
fn the_pictures_in_the_documentation_are_drawn_by_the_command() {
    let folder = folder("documented");
    let (exit, _) = run(&["litmus", "--between", "px86,rcbsp", "-o", folder.to_str().unwrap()]);
    assert_eq!(exit, 0);
    let page = std::fs::read_to_string("../../docs/litmus.md").unwrap();
    let mut shown = 0;
    for entry in std::fs::read_dir("../../docs/between").unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let kept = std::fs::read_to_string(format!("../../docs/between/{name}")).unwrap();
        let drawn = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert_eq!(
            kept, drawn,
            "{name}: `fencepost litmus --between px86,rcbsp -o docs/between` writes it anew"
        );
        shown += usize::from(page.contains(&format!("(between/{name})")));
    }
    // The page shows each of the five tests, and as both contracts see it.
    assert_eq!(shown, 15);
}

#[test]
fn tests_run_on_machines_and_on_this_cpu() {
    let folder = folder("machines");
    let file = folder.join("SB.litmus");
    std::fs::write(&file, SB).unwrap();
    let file = file.to_str().unwrap();
    let (exit, text) = run(&["litmus", file, "-d", "themis,delegated", "--seeds", "10", "--json"]);
    let records: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((exit, records.as_array().unwrap().len()), (0, 2));
    assert_eq!(records[0]["visible"]["allowed"], 4);
    assert_eq!(records[1]["crash"]["by"], "rcbsp");
    // A design that cannot keep its promise there is convicted, which is no failure.
    let flushed = "../../litmus/persistency/P05.litmus";
    let device = "pm.controller.durable_at=device";
    let (exit, text) = run(&["litmus", flushed, "-d", "so-adr", "--set", device, "--seeds", "10"]);
    assert!(exit == 0 && text.contains("cannot keep their promise"), "{text}");
    assert_eq!(run(&["litmus", file, "-d", "nope"]).0, 2);
    assert_eq!(run(&["litmus", file, "-d", "themis", "--set", "design.nope=1"]).0, 2);
    let (exit, text) = run(&["litmus", file, "--native", "--rounds", "2000", "--json"]);
    if exit == 2 {
        return; // not an x86 CPU
    }
    let records: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((exit, &records[0]["violations"]), (0, &Value::Array(Vec::new())));
    let rounds: u64 = (records[0]["states"].as_array().unwrap().iter())
        .map(|s| s[1].as_u64().unwrap())
        .sum();
    assert_eq!(rounds, 2000);
}

/// Four threads hand on what the first fences, while its buffer drains slowly: no random program brings that about.
#[test]
fn what_is_handed_on_once_is_convicted_by_a_litmus_test() {
    let test = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../litmus/persistency-arm/handed_on.litmus"
    );
    let run = |fault: &str| {
        let mut c = std::process::Command::new(env!("CARGO_BIN_EXE_fencepost"));
        c.args(["litmus", test, "--design", "delegated", "--seeds", "40"]);
        c.args(["--set", "design.path_slot=5us"]).env("FENCEPOST_FAULT", fault);
        c.output().expect("the command starts").status.code()
    };
    assert_eq!(run(""), Some(0));
    if fencepost_run::fault::ENABLED {
        assert_eq!(run("delegated.handed-on-once"), Some(1));
    }
}
