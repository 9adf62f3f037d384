//! Recovery servers: one process, many images.

use super::{Folder, have, json, text, twelve_lines};
use crate::common::{code, fencepost};

/// The same verdicts whether a process starts for each image or one answers for all; and how fast each is.
#[test]
fn a_server_says_what_single_processes_say() {
    if !have("cc") {
        return;
    }
    let f = Folder::new("server");
    f.write(
        "audit.c",
        "#include \"fencepost.h\"
         static int check(void *image, size_t n, const fp_crash *crash) {
             uint64_t *w = image; (void)n; (void)crash;
             return w[0] == 7 ? fp_fail(\"seven\") : 0;
         }
         int main(int argc, char **argv) { return fp_recovery_main(argc, argv, check); }",
    );
    f.must("cc -O2 -o audit audit.c");
    let (log, audit) = (f.write("a.log", &twelve_lines()), f.path("audit"));
    for (more, budget) in [(&[][..], "400"), (&["--server"], "4096")] {
        let args = [
            "crash",
            "--log",
            &log,
            "--contract",
            "px86",
            "--budget",
            budget,
            "--recover",
            &audit,
        ];
        let (status, found) = json(&[&args[..], more].concat());
        assert_eq!((status, &found["states_total"]), (0, &4096.into()), "{found}");
        println!(
            "{more:?}: {:.0} images a second",
            found["images_per_s"].as_f64().expect("a rate")
        );
    }
    let bad = f.write(
        "bad.log",
        "fencepost-log 1\n0 store pm+0 7 @ b.c:1\n0 store pm+64 1 @ b.c:2\n",
    );
    for more in [&[][..], &["--server"], &["--server", "--reads"]] {
        let args = ["crash", "--log", &bad, "--contract", "px86", "--recover", &audit];
        let (status, found) = json(&[&args[..], more].concat());
        let w = &found["witness"];
        assert_eq!(status, 1);
        assert!(w["why"].as_str().is_some_and(|w| w.ends_with("seven")), "{w}");
        assert_eq!(
            (w["source"].as_array().map(Vec::len), &w["source"][0]),
            (Some(1), &"b.c:1".into()),
            "{w}"
        );
    }
}

#[test]
fn servers_that_crash_hang_or_talk_nonsense() {
    let f = Folder::new("odd");
    let log = f.write("a.log", "fencepost-log 1\n0 store pm+0 1\n");
    let server = |name: &str, body: &str| {
        let script = format!("echo fencepost-server 1\nwhile read what path rest; do {body}; done\n");
        format!("sh {}", f.write(name, &script))
    };
    let run = |recover: &str| {
        let args = [
            "crash",
            "--log",
            &log,
            "--contract",
            "px86",
            "--server",
            "--timeout",
            "300ms",
            "--recover",
        ];
        fencepost(&[&args[..], &[recover]].concat())
    };
    let good = run(&server("good", "echo read 0 8; echo ok"));
    assert_eq!(code(&good), 0, "{}", text(&good));
    for (name, body, why) in [
        ("dies", "exit 3", "exit status 3"),
        ("signal", "kill -SEGV $$", "signal 11"),
        ("hangs", "sleep 100", "hangs"),
        ("fails", "echo fail no good", "no good"),
    ] {
        let o = run(&server(name, body));
        assert!(code(&o) == 1 && text(&o).contains(why), "{name}: {}", text(&o));
    }
    let o = run(&server("nonsense", "echo fine"));
    assert!(code(&o) == 2 && text(&o).contains("fine"), "{}", text(&o));
    let o = run("echo hello");
    assert_eq!(code(&o), 2, "{}", text(&o));
}
