//! Tests on machines: what is shown is allowed, much of it is shown, and broken rules are noticed.

use super::{Shown, State, Subject, Sweep, sweep, switched_off};
use crate::designs;
use fencepost_designs::DesignInfo;
use fencepost_kernel::{Stream, fault};
use fencepost_litmus::{Program, Test, parse};
use std::collections::BTreeSet;
use std::path::Path;

fn design(name: &str) -> &'static DesignInfo {
    designs().iter().find(|d| d.name == name).unwrap()
}

fn seeds(seeds: u64) -> Sweep {
    Sweep {
        seeds,
        machine: None,
        media: None,
        sets: Vec::new(),
        further: 0,
    }
}

/// A test of the project, by its path from the folder of all crates.
fn read(path: &str) -> Test {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn on(path: &str, info: &'static DesignInfo, tried: &Sweep) -> Shown {
    let test = read(path);
    let program = Program::new(&test).unwrap();
    sweep(&Subject::new(&program), info, tried).unwrap_or_else(|e| panic!("{} on {}: {e}", test.name, info.name))
}

const SB: &str = "../litmus/X86/SB+pos.litmus";
const SB_FENCED: &str = "../litmus/X86/SB+mfences.litmus";
const MP: &str = "../litmus/X86/MP+pos.litmus";
const MP_ADDR: &str = "../litmus/ARM/MP+dmb+addr.litmus";
const LB: &str = "../litmus/ARM/LB+pos.litmus";
const ISA2: &str = "fencepost-papers/litmus/figure-1.litmus";
const IRIW: &str = "fencepost-papers/litmus/IRIW.litmus";
const P02: &str = "../litmus/persistency/P02.litmus";
const P05: &str = "../litmus/persistency/P05.litmus";
const P07: &str = "../litmus/persistency/P07.litmus";
const HANDED_ON: &str = "../litmus/persistency-arm/handed_on.litmus";
const P13: &str = "../litmus/persistency/P13.litmus";
const P16: &str = "../litmus/persistency/P16.litmus";

#[test]
fn no_design_shows_what_is_not_allowed_and_each_shows_something() {
    for text in [SB, SB_FENCED, MP, MP_ADDR, LB, ISA2, IRIW, P05, P07, P13] {
        let test = read(text);
        let program = Program::new(&test).unwrap();
        let subject = Subject::new(&program);
        for info in designs() {
            let shown = sweep(&subject, info, &seeds(8)).unwrap_or_else(|e| panic!("{text} on {}: {e}", info.name));
            if shown.sound {
                assert!(shown.violations.is_empty(), "{}: {:?}", info.name, shown.violations);
            }
            assert!(shown.visible.shown > 0);
            assert!(shown.crash.is_none_or(|c| c.shown > 0));
        }
    }
}

#[test]
fn cores_are_as_weak_as_their_model_and_no_weaker() {
    // A relaxed core reorders stores and loads; one that keeps the order of stores lets loads pass them and nothing else.
    let shown = |text, design_name| {
        let v = on(text, design(design_name), &seeds(1000)).visible;
        (v.by, v.shown, v.allowed)
    };
    assert_eq!(shown(SB, "themis"), ("tso", 4, 4));
    assert_eq!(shown(SB, "delegated"), ("armv7-mca", 4, 4));
    assert_eq!(shown(MP, "themis"), ("tso", 3, 3));
    assert_eq!(shown(MP, "delegated"), ("armv7-mca", 4, 4));
    // The address depends on the load, and the writer has a fence.
    assert_eq!(shown(MP_ADDR, "delegated"), ("armv7-mca", 3, 3));
    assert_eq!(shown(SB_FENCED, "themis"), ("tso", 3, 3));
    // Stores leave after every load before them: what the model allows beyond that is not in this hardware.
    let (_, shown, allowed) = shown(LB, "delegated");
    assert_eq!((shown, allowed), (3, 4));
}

#[test]
fn a_broken_rule_is_noticed() {
    if !fault::ENABLED {
        return;
    }
    // The watch on program order sees it before any outcome tells.
    for (name, text, info) in [
        ("core.load-passes-fence", SB_FENCED, "delegated"),
        ("core.tso-store-passes-store", MP, "themis"),
    ] {
        let test = read(text);
        let program = Program::new(&test).unwrap();
        let (swept, _) = fault::with(name, || sweep(&Subject::new(&program), design(info), &seeds(100)));
        let noticed = swept.unwrap_err().to_string();
        assert!(noticed.contains("breaks program order"), "{name}: {noticed}");
    }
}

#[test]
fn a_broken_promise_is_noticed() {
    // Where no FENCE drains before the persists of other cores, few dependences are left to ignore.
    let ignoring = Sweep {
        sets: [
            "design.fault=drain-ignores-dependences",
            "design.path_slot=200ns",
            "design.epoch_rule=close-any",
        ]
        .map(str::to_owned)
        .into(),
        ..seeds(600)
    };
    let shown = on(IRIW, design("delegated"), &ignoring);
    assert!(
        shown.violations.iter().any(|v| v.contains("crash state")),
        "{:?}",
        shown.violations
    );
    // A flush and a fence are not enough where a write is durable only at the device.
    let device = Sweep {
        sets: vec!["pm.controller.durable_at=device".into()],
        ..seeds(20)
    };
    let shown = on(P05, design("so-adr"), &device);
    assert!(!shown.sound && !shown.violations.is_empty());
}

/// The names of the rules that forbid a state.
fn rules_of(path: &str, info: &'static DesignInfo, tried: &Sweep, state: State) -> Vec<String> {
    let test = read(path);
    let program = Program::new(&test).unwrap();
    let unseen = sweep(&Subject::new(&program), info, tried).unwrap().unseen();
    assert!(unseen.contains(&state), "{}: {unseen:?}", test.name);
    let explained = switched_off(&program, info, tried, BTreeSet::from([state.clone()])).unwrap();
    let [explained] = &explained[..] else {
        panic!("{}: {explained:?}", test.name)
    };
    assert_eq!(explained.state, state);
    assert!(explained.rules.iter().all(|r| !r.breaks.is_empty()));
    assert!(explained.shown > 1 && explained.shown <= explained.runs);
    explained.rules.iter().map(|r| r.fault.clone()).collect()
}

#[test]
fn what_the_hardware_never_shows_it_shows_without_its_rule() {
    if !fault::ENABLED {
        return;
    }
    // Both loads read what the other thread stores behind its load: a store would have to pass a load.
    let found = rules_of(LB, design("delegated"), &seeds(60), State::Final(vec![1, 1]));
    assert_eq!(found, ["core.store-passes-load"]);
    // The second of two stores to one line alone.
    let found = rules_of(P02, design("delegated"), &seeds(60), State::Crash(vec![0, 1]));
    assert!(found.contains(&"core.same-line-store-passes".to_owned()), "{found:?}");
    // Two stores past the caches leave in the order in which they came.
    let found = rules_of(P16, design("themis"), &seeds(60), State::Crash(vec![0, 1]));
    assert!(found.contains(&"core.tso-store-passes-store".to_owned()), "{found:?}");
}

#[test]
fn what_only_a_set_of_rules_forbids_is_shown_without_all_of_them_and_not_without_fewer() {
    if !fault::ENABLED {
        return;
    }
    // The first store keeps the line waiting for the second: only one that has nothing to wait for may go before it.
    let (info, tried, state) = (design("delegated"), seeds(60), State::Crash(vec![0, 1]));
    let found = rules_of(P02, info, &tried, state.clone());
    for left_on in 0..found.len() {
        let mut off = found.clone();
        off.remove(left_on);
        let _off = fault::Faults::named(off.iter().map(String::as_str)).enter();
        let test = read(P02);
        let program = Program::new(&test).unwrap();
        let shown = sweep(&Subject::new(&program), info, &tried).map(|s| !s.unseen().contains(&state));
        assert!(!shown.unwrap_or(false), "shown with {} on", found[left_on]);
    }
}

#[test]
fn words_of_a_test_with_many_never_share_a_line() {
    let test = read(HANDED_ON);
    let program = Program::new(&test).unwrap();
    let prepared = super::Prepared::new(&program);
    for seed in 0..300 {
        let place = prepared.place(&mut Stream::new(seed, "place"));
        let lines: BTreeSet<_> = place.values().map(|a| a.line()).collect();
        assert!(place.len() > 32 && lines.len() == place.len(), "seed {seed}");
    }
}

#[test]
fn stores_past_the_caches_to_volatile_memory_are_seen() {
    let text = "X86 nt\nPersistent=y\n{ v=0; y=0; }\nP0|P1;\nMOV EDX,$1|MOV EAX,[v];\nMOVNTI [v],EDX|MOV [y],EAX;\n\
                exists (1:EAX=1)";
    let test = parse(text).unwrap();
    let program = Program::new(&test).unwrap();
    for name in ["x86-adr", "delegated", "so-adr"] {
        let shown = sweep(&Subject::new(&program), design(name), &seeds(60)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((shown.visible.shown, shown.violations.len()), (2, 0), "{name}");
    }
}

#[test]
fn tests_that_no_machine_runs_are_refused_with_the_reason() {
    let text = "AArch64 X\n{ 0:X1=x; }\nP0;\n LDXR W0,[X1];\n STXR W2,W0,[X1];\nexists (0:X2=0)";
    let test = parse(text).unwrap();
    let program = Program::new(&test).unwrap();
    let refused = sweep(&Subject::new(&program), design("delegated"), &seeds(1)).unwrap_err();
    assert!(refused.to_string().contains("exclusive"), "{refused}");
}
