//! Results in other formats, logs of other tools, and power that fails twice.

use super::recording::compiled;
use super::*;
use quick_junit::{Report, TestCaseStatus};

fn schema() -> jsonschema::Validator {
    let schema = include_str!("../schemas/sarif-2.1.0.json");
    jsonschema::validator_for(&serde_json::from_str(schema).expect("JSON")).expect("a schema")
}

#[test]
fn sarif_follows_its_schema_and_junit_has_a_case() {
    let f = Folder::new("ci");
    let log = f.write(
        "a.log",
        "fencepost-log 1\n0 store pm+0 1 @ a.c:7\n0 store pm+64 1 @ a.c:8 < main a.c:9\n",
    );
    let audit = f.write(
        "audit.sh",
        "test $(od -An -tu8 -j64 -N8 $1) -le $(od -An -tu8 -j0 -N8 $1)\n",
    );
    let (sarif, junit) = (f.path("out.sarif"), f.path("out.xml"));
    for (recover, status) in [(format!("sh {audit}"), 1), ("true".to_owned(), 0)] {
        let args = ["crash", "--log", &log, "--contract", "px86", "--recover", &recover];
        let o = fencepost(&[&args[..], &["--sarif", &sarif, "--junit", &junit]].concat());
        assert_eq!(code(&o), status, "{}", text(&o));
        let document: Value = serde_json::from_str(&std::fs::read_to_string(&sarif).expect("a file")).expect("JSON");
        let wrong: Vec<String> = schema().iter_errors(&document).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        let run = &document["runs"][0];
        let results = run["results"].as_array().expect("results");
        assert_eq!(results.len(), status as usize);
        let report = std::fs::read_to_string(&junit).expect("a file");
        let report = Report::deserialize_from_str(&report).expect("JUnit");
        let case = &report.test_suites[0].test_cases[0];
        assert_eq!(matches!(case.status, TestCaseStatus::Success { .. }), status == 0);
        if status == 1 {
            let place = &results[0]["locations"][0]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], "a.c");
            assert_eq!(place["region"]["startLine"], 8);
            assert!(text(&o).contains("stack: a.c:8, called by main a.c:9"), "{}", text(&o));
        }
    }
    let durable = f.write(
        "d.log",
        "fencepost-log 1\n0 store pm+0 1 @ a.c:7\n0 store pm+64 2 @ a.c:8\ndurable pm+64 : 0=2\n",
    );
    let o = fencepost(&["judge", &durable, "--contract", "strict-tso", "--sarif", &sarif]);
    let document = std::fs::read_to_string(&sarif).expect("a file");
    assert!(
        code(&o) == 1 && document.contains("\"startLine\": 7"),
        "{}: {document}",
        text(&o)
    );
    let nowhere = f.path("none/out.sarif");
    let o = fencepost(&["judge", &durable, "--contract", "strict-tso", "--sarif", &nowhere]);
    assert_eq!(code(&o), 2, "{}", text(&o));
}

/// A flag that is stored before its record is flushed, as pmemcheck logs it; and with the flush in place.
#[test]
fn store_logs_of_pmemcheck_are_read() {
    let f = Folder::new("pmemcheck");
    let audit = f.write(
        "audit.sh",
        "test $(od -An -tu8 -j64 -N8 $1) -le $(od -An -tu8 -j0 -N8 $1)\n",
    );
    for (flush, status) in [("", 1), ("FLUSH;0x7000;0x8|", 0)] {
        let log = f.write(
            "store.log",
            &format!(
                "==9== pmemcheck-1.0, a simple persistent store checker\n==9== Command: ./prog\n==9== \n\
                 START|REGISTER_FILE;/mnt/pool;0x7000;0x1000;0x0|STORE;0x7000;0x1;0x8;0x40: set (prog.c:5);0x50: main (prog.c:9)|\
                 {flush}FENCE|STORE;0x7040;0x1;0x8|FLUSH;0x7040;0x40|FENCE|STOP\n==9== ERROR SUMMARY: 0 errors\n"
            ),
        );
        let recover = format!("sh {audit}");
        let (code_, found) = json(&["crash", "--log", &log, "--contract", "px86", "--recover", &recover]);
        assert_eq!((code_, &found["image_bytes"]), (status, &4096.into()), "{found}");
        if status == 1 {
            assert_eq!(found["witness"]["source"][0], "prog.c:5");
        }
        // It does not say what became durable.
        let o = fencepost(&["judge", &log, "--contract", "px86"]);
        assert!(code(&o) == 2 && text(&o).contains("crash --log"), "{}", text(&o));
    }
    let bad = f.write("bad.log", "START|STORE;x|STOP");
    let o = fencepost(&["crash", "--log", &bad, "--contract", "px86", "--recover", "true"]);
    assert!(code(&o) == 2 && text(&o).contains("operation 1"), "{}", text(&o));
}

/// Recovery that adds is wrong only if power fails while it runs; the one that stores the sum is not.
#[test]
fn power_fails_again_while_recovery_runs() {
    let source = include_str!("programs/redo.c");
    let builds = [
        ("redo", source, ""),
        ("once", source, "-DONCE"),
        ("right", source, "-DRIGHT"),
    ];
    let Some(f) = compiled("nested", &builds) else {
        return;
    };
    let log = f.write(
        "a.log",
        "fencepost-log 1\npersistent 0x10000 4096\n0 store pm+64 5 @ a.c:1\n0 clwb pm+64\n0 sfence\n",
    );
    let plugin = plugin().display().to_string();
    for (program, nested, status) in [
        ("redo", false, 0),
        ("redo", true, 1),
        ("once", true, 1),
        ("right", true, 0),
    ] {
        let recover = f.path(program);
        let mut args = vec!["crash", "--log", &log, "--contract", "px86", "--recover", &recover];
        if nested {
            args.extend(["--nested", "--plugin", &plugin]);
        }
        let (code, found) = json(&args);
        assert_eq!(code, status, "{program}: {found}");
        if nested {
            assert!(found["during_recovery"]["recoveries"].as_u64() > Some(0), "{found}");
        }
        if status == 1 {
            let witness = &found["witness"];
            assert!(
                witness["source"][0]
                    .as_str()
                    .is_some_and(|l| l.starts_with(&format!("{program}.c:"))),
                "{witness}"
            );
            let id = witness["replay"].as_str().expect("an id");
            let (code, again) = json(&["replay", id, "-o", &f.path("again.img")]);
            assert_eq!((code, &again["verdict"]), (1, &"violated".into()), "{again}");
            let bytes = std::fs::read(f.path("again.img")).expect("the image");
            assert_eq!((bytes[0], bytes[64]), (5, 5), "added, and the journal still says so");
        } else {
            assert_eq!(found["verdict"], "clean");
        }
    }
}
