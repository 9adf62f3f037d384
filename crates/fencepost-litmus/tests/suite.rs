//! The project's own tests say what they expect: `Expect.MODEL=` an observation, `States.CONTRACT=` every crash state.

use fencepost_litmus::{Judge, Model, Program, parse};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "litmus") {
            found.push(path);
        }
    }
}

fn suite() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["../../litmus", "../fencepost-papers/litmus"] {
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut found);
    }
    assert!(found.len() > 900, "the suite is not where it was");
    found
}

#[test]
fn every_test_is_as_its_headers_expect() {
    let (mut checked, mut wrong) = (0, Vec::new());
    for path in suite() {
        let text = std::fs::read_to_string(&path).unwrap();
        let test = parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let program = Program::new(&test).unwrap();
        for name in Judge::names() {
            let (expected, states) = (test.expected(name), test.expected_states(name));
            if expected.is_none() && states.is_none() {
                continue;
            }
            let judge: Judge = name.parse().unwrap();
            let judged = judge
                .judge(&program)
                .unwrap_or_else(|e| panic!("{} {name}: {e}", path.display()));
            checked += 1;
            if let Some(expected) = expected
                && expected != judged.observation()
            {
                wrong.push(format!(
                    "{} {name}: {}, not {expected}",
                    test.name,
                    judged.observation()
                ));
            }
            let crash = judged.crash.as_ref().map(|c| c.compact());
            if let Some(states) = states
                && Some(&states) != crash.as_ref()
            {
                wrong.push(format!("{} {name}: {crash:?}, not {states:?}", test.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 80, "{checked}");
}

/// RCBSP is the non-multi-copy-atomic promise; straight from the relations it is the same, and a machine that makes stores
/// visible to all others at once differs exactly where a dependence passes on another thread's store.
#[test]
fn rcbsp_in_relations_and_its_stronger_variant() {
    use fencepost_litmus::crash::{Layout, strict_by_relations, without_x86};
    let stronger = [
        ("P17", "000 010 011 100 110 111"),
        ("P19", "000 100 110 111"),
        ("P20", "00 10 11"),
        ("rcbsp-record-after-fence", "000 001 010 011 111"),
        ("rcbsp-prose-and-relations", "00 10 11"),
    ];
    for path in suite() {
        let text = std::fs::read_to_string(&path).unwrap();
        let test = parse(&text).unwrap();
        let Some(want) = test.expected_states("rcbsp") else {
            continue;
        };
        let program = Program::new(&test).unwrap();
        let layout = Layout::new(&program);
        let relaxed = without_x86(&program);
        let states = |model| {
            let states = strict_by_relations(&relaxed, &layout, model).unwrap();
            let compact = |s: &Vec<u64>| s.iter().map(u64::to_string).collect::<String>();
            states.iter().map(compact).collect::<BTreeSet<String>>()
        };
        assert_eq!(states(Model::Armv7), want, "{}", test.name);
        let strong = stronger.iter().find(|s| s.0 == test.name);
        let strong = strong.map_or(want, |s| s.1.split(' ').map(str::to_owned).collect());
        assert_eq!(states(Model::Armv7Mca), strong, "{} (multi-copy-atomic)", test.name);
    }
}
