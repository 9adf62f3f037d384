//! Requests, right and wrong.

use super::*;

fn request(sets: &[&str]) -> Request {
    Request {
        program: "sps".into(),
        design: "so".into(),
        sets: sets.iter().map(|s| (*s).to_owned()).collect(),
        ..Request::default()
    }
}
fn resolve(sets: &[&str]) -> Resolved {
    Resolved::resolve(&request(sets)).unwrap_or_else(|e| panic!("{e}"))
}
fn refusal(r: &Request) -> String {
    match Resolved::resolve(r) {
        Ok(_) => panic!("accepted"),
        Err(e) => {
            assert_eq!(e.exit_code(), 2);
            e.to_string()
        }
    }
}

#[test]
fn the_digest_follows_the_values_and_nothing_else() {
    let base = resolve(&[]).digest();
    assert_eq!(base.len(), 64);
    assert_eq!(base, resolve(&[]).digest());
    assert_eq!(base, resolve(&["l1.ways=4"]).digest(), "set to the value it had");
    for other in [
        "l1.ways=8",
        "design.pcommit=exclusive",
        "program.entries=4096",
        "pm.media.write_pulse=151ns",
    ] {
        assert_ne!(base, resolve(&[other]).digest(), "{other}");
    }
    assert_eq!(
        base,
        resolve(&["design.so-adr.fault=none", "program.cq.preload=3"]).digest(),
        "what does not run does not matter"
    );
}
#[test]
fn the_last_setting_wins_and_says_so() {
    let r = resolve(&["program.entries=4096", "program.sps.entries=2048"]);
    assert_eq!(r.program.params, [("entries".to_string(), Raw::Int(2048))]);
    let toml = r.to_toml(true);
    assert!(toml.contains("entries = 2048 # given (--set:1:21)"), "{toml}");
    assert!(
        toml.contains("rob = 40 # paper: Table II (presets/machines/dpo.toml:"),
        "{toml}"
    );
}
#[test]
fn logs_go_through_the_caches_where_fences_order_them() {
    let of = |design: &str, sets: &[&str]| Request {
        design: design.into(),
        machine: "themis".into(),
        ..request(sets)
    };
    let path = |design: &str, sets: &[&str]| {
        let r = Resolved::resolve(&of(design, sets)).unwrap_or_else(|e| panic!("{e}"));
        r.dialect().log_path
    };
    let caches = &["machine.log_path=caches"][..];
    for design in ["x86-adr", "x86-ideal"] {
        assert_eq!(path(design, &[]), LogPath::NonTemporal);
        assert_eq!(path(design, caches), LogPath::Temporal);
    }
    assert_eq!(path("so", caches), LogPath::Temporal, "as they go anyway");
    for design in ["themis", "themis-llc"] {
        let text = refusal(&of(design, caches));
        assert!(
            text.contains(&format!("`{design}` orders data behind log words")),
            "{text}"
        );
    }
}
#[test]
fn a_volatile_cache_behind_the_module_is_for_designs_that_know_it() {
    let asked = |design: &str| {
        let request = Request {
            design: design.into(),
            sets: ["pm.module.entries=8", "pm.module.dram_cache=1KiB"]
                .map(String::from)
                .into(),
            ..Request::default()
        };
        Resolved::resolve(&request)
    };
    for design in ["so", "delegated", "broi", "loc-wal", "s-wal", "global-commit"] {
        let text = asked(design).err().expect(design).to_string();
        assert!(
            text.contains(&format!("`{design}` waits until the medium has stored")),
            "{text}"
        );
    }
    for design in [
        "per-task-commit",
        "per-task-commit-dram-cache",
        "adr-dram-cache",
        "volatile",
    ] {
        asked(design).unwrap_or_else(|e| panic!("{design}: {e}"));
    }
    // Where a queue that is durable would have been enough, the cache is what is in the way.
    let on_pwq = Request {
        design: "so-adr".into(),
        media: Some("pwq".into()),
        sets: ["pm.module.entries=8", "pm.module.dram_cache=1KiB"]
            .map(String::from)
            .into(),
        ..Request::default()
    };
    let resolved = Resolved::resolve(&on_pwq).expect("a warning, no refusal");
    let text = crate::simulated::simulate::warning(&resolved).expect("unsound");
    assert!(text.contains("pm.module.dram_cache=0B"), "{text}");
}
#[test]
fn the_resolved_text_is_toml_with_every_section() {
    let text = resolve(&[]).to_toml(true);
    let doc: toml_edit::DocumentMut = text.parse().unwrap();
    assert_eq!(doc["run"]["threads"].as_integer(), Some(8));
    assert_eq!(doc["pm"]["media"]["write_pulse"].as_str(), Some("150ns"));
    assert_eq!(doc["design"]["so"]["pcommit"].as_str(), Some("drain-empty"));
}
#[test]
fn unknown_names_come_with_the_nearest() {
    let near = |r: &Request, word: &str| {
        let text = refusal(r);
        assert!(text.contains(&format!("did you mean `{word}`")), "{text}");
    };
    near(
        &Request {
            program: "spss".into(),
            ..request(&[])
        },
        "sps",
    );
    near(
        &Request {
            design: "so-adl".into(),
            ..request(&[])
        },
        "so-adr",
    );
    near(
        &Request {
            machine: "dop".into(),
            ..request(&[])
        },
        "dpo",
    );
    near(
        &Request {
            media: Some("pcn".into()),
            ..request(&[])
        },
        "pcm",
    );
    near(
        &Request {
            log: Some("undo-arry".into()),
            ..request(&[])
        },
        "undo-array",
    );
    near(&request(&["design.pcomit=exclusive"]), "pcommit");
    near(&request(&["program.entires=3"]), "entries");
    near(&request(&["desing.pcommit=exclusive"]), "design");
}
#[test]
fn impossible_runs_are_refused() {
    assert!(
        refusal(&Request {
            threads: Some(0),
            ..request(&[])
        })
        .contains("at least one thread")
    );
    assert!(
        refusal(&Request {
            threads: Some(9),
            ..request(&[])
        })
        .contains("8 hardware threads")
    );
    assert!(refusal(&Request { ops: 0, ..request(&[]) }).contains("at least one operation"));
    assert!(
        refusal(&Request {
            ops: u32::MAX,
            warmup: 1,
            ..request(&[])
        })
        .contains("too many")
    );
    assert!(refusal(&request(&["design.pcommit=never"])).contains("--set:1:16"));
    assert!(refusal(&request(&["program.entries=-1"])).contains("whole number"));
    assert!(
        refusal(&Request {
            machine: "./absent.toml".into(),
            ..request(&[])
        })
        .contains("absent.toml")
    );
}

#[test]
fn values_of_what_does_not_run_are_checked_and_said() {
    let r = resolve(&[
        "design.delegated.entries=16",
        "program.cq.preload=3",
        "program.entries=4096",
    ]);
    assert_eq!(r.unused(), ["design.delegated.entries", "program.cq.preload"]);
    for set in ["design.delegated.path_latency=11ms", "program.cq.preload=2000000"] {
        assert!(refusal(&request(&[set])).contains("--set:1:"), "{set}");
    }
}
#[test]
fn values_of_a_program_that_contradict_each_other_are_placed() {
    let r = Request {
        program: "rbtree".into(),
        ..request(&["program.preload=1000000"])
    };
    let text = refusal(&r);
    assert!(text.contains("--set:1:17") && text.contains("exceeds keys"), "{text}");
    let r = Request {
        program: "hash".into(),
        ..request(&["program.hash.buckets=9223372036854775807"])
    };
    assert!(refusal(&r).contains("at most 67108864"), "{}", refusal(&r));
}
/// What `config show` prints is a machine file, and resolves to the same values.
#[test]
fn a_printed_configuration_is_a_machine_file() {
    let dir = std::env::temp_dir().join(format!("fencepost-shown-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("shown.toml");
    for machine in super::super::presets::names(super::super::presets::Kind::Machine) {
        for media in ["pcm", "pwq", "ddr4-2400"] {
            let asked = Request {
                machine: machine.into(),
                media: Some(media.into()),
                ..request(&[
                    "pm.media.write_pulse=151ns",
                    "l1.ways=8",
                    "program.entries=4096",
                    "design.pcommit=exclusive",
                ])
            };
            let first = Resolved::resolve(&asked).unwrap_or_else(|e| panic!("{e}"));
            for origins in [false, true] {
                std::fs::write(&file, first.to_toml(origins)).unwrap();
                let again = Request {
                    machine: file.to_string_lossy().into_owned(),
                    media: None,
                    ..request(&[])
                };
                let again = Resolved::resolve(&again).unwrap_or_else(|e| panic!("{e}"));
                let values = |r: &Resolved| {
                    let mut sections = r.sections();
                    sections.retain(|s| s.0 != "run");
                    sections
                };
                assert_eq!(values(&first), values(&again), "{machine} {media}");
                assert_eq!(again.machine.media, media);
            }
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
