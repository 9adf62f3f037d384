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
        "other rooms do not matter"
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
fn the_resolved_text_is_toml_with_every_section() {
    let text = resolve(&[]).to_toml(true);
    let doc: toml_edit::DocumentMut = text.parse().unwrap();
    assert_eq!(doc["run"]["threads"].as_integer(), Some(8));
    assert_eq!(doc["pm"]["media"]["write_pulse"].as_str(), Some("150ns"));
    assert_eq!(doc["design"]["so"]["pcommit"].as_str(), Some("snapshot"));
}
#[test]
fn wrong_words_name_the_nearest() {
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
