//! One recording on every design: what the program does there is judged, in its crash states and in a simulated run.

use super::*;

/// Two operations: a value, and in the next line the mark that says it is there.
fn log(how: &str) -> String {
    let operation = match how {
        "right" => "store V 1;clwb V;sfence;store M 1;clwb M;sfence",
        // The value is flushed after the mark.
        "late" => "store V 1;store M 1;clwb M;sfence;clwb V;sfence",
        "swapped" => "store M 1;clwb M;sfence;store V 1;clwb V;sfence",
        "unflushed" => "store V 1;sfence;store M 1;clwb M;sfence",
        // Nothing waits for the mark before the operation is acknowledged.
        "early" => "store V 1;clwb V;sfence;store M 1;clwb M",
        "queues" => {
            "bind V 64 queue 1;bind M 64 queue 2;store V 1;clwb V;sfence;commit-queue 1;store M 1;clwb M;sfence;commit-queue 2"
        }
        "wrong-queue" => {
            "bind V 64 queue 1;bind M 64 queue 2;store V 1;clwb V;sfence;commit-queue 2;store M 1;clwb M;sfence;commit-queue 2"
        }
        "unbound" => "bind M 64 queue 2;store V 1;clwb V;sfence;commit-queue 1;store M 1;clwb M;sfence;commit-queue 2",
        "released" => {
            "bind V 64 queue 1;bind M 64 queue 2;store V 1;clwb V;sfence;release V 64;commit-queue 1;store M 1;clwb M;sfence;commit-queue 2"
        }
        "no-commits" => "bind V 64 queue 1;bind M 64 queue 2;store V 1;clwb V;sfence;store M 1;clwb M;sfence",
        "transaction" => "tx-begin K;store M 1;store V 1;tx-commit K",
        "two-transactions" => "tx-begin A;store M 1;tx-commit A;tx-begin B;store V 1;tx-commit B",
        other => panic!("{other}"),
    };
    let mut text = String::from("fencepost-log 1\n");
    for k in 0..2 {
        let (value, mark) = (format!("pm+{}", k * 128), format!("pm+{}", k * 128 + 64));
        for event in format!("begin {k};{operation};end {k};ack {k}").split(';') {
            let word = |w: &str| match w {
                "V" => value.clone(),
                "M" => mark.clone(),
                "K" => k.to_string(),
                "A" => (2 * k).to_string(),
                "B" => (2 * k + 1).to_string(),
                other => other.to_owned(),
            };
            let words: Vec<String> = event.split(' ').map(word).collect();
            text += &format!("0 {} @ a.c:{k}\n", words.join(" "));
        }
    }
    text
}
/// A mark without its value, or an acknowledged operation without its mark, is not survived.
const AUDIT: &str = "#include \"fencepost.h\"
static int check(void *image, size_t bytes, const fp_crash *crash) {
    for (size_t k = 0; k < bytes / 128; k++) {
        uint64_t *v = (uint64_t *)image + k * 16, *m = v + 8;
        if ((*m && !*v) || (k < crash->acked[0] && !*m)) return fp_fail(\"a mark\");
    }
    return 0;
}
int main(int argc, char **argv) { return fp_recovery_main(argc, argv, check); }
";
struct Designs {
    f: Folder,
}
impl Designs {
    fn new(name: &str) -> Option<Designs> {
        if !have("cc") {
            return None;
        }
        let f = Folder::new(name);
        f.write("marks.c", AUDIT);
        f.must("cc -O2 -o marks marks.c");
        Some(Designs { f })
    }
    /// Exit code and output of a command over the log of this kind.
    fn judged(&self, command: &str, how: &str, design: &str) -> (i32, String) {
        let log = self.f.write(&format!("{how}.log"), &log(how));
        let o = self.f.sh(&format!(
            "fencepost {command} --log {log} -d {design} --server --recover ./marks"
        ));
        (code(&o), unwrapped(&text(&o)))
    }
}

/// Text as it was before its lines were made to fit.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a missing, late or early flush or fence is on each design follows from what the design orders: x86 and its commits need
/// flush and fence, ordering by epochs needs the fence alone, and transactions order by themselves.
#[test]
fn a_recorded_bug_is_one_where_the_design_makes_it_one() {
    let Some(d) = Designs::new("verdicts-on-designs") else {
        return;
    };
    const KINDS: [&str; 5] = ["right", "late", "swapped", "unflushed", "early"];
    for (design, wanted) in [
        ("x86-adr --media pwq", [0, 1, 1, 1, 1]),
        ("so", [0, 1, 1, 1, 1]),
        ("delegated", [0, 1, 1, 0, 1]),
        ("broi", [0, 1, 1, 0, 1]),
        ("global-commit", [0, 1, 1, 1, 1]),
        ("per-task-commit", [0, 1, 1, 1, 1]),
        ("s-wal", [0, 1, 1, 1, 1]),
        ("h-wal", [0, 0, 0, 0, 0]),
        ("volatile", [1; 5]),
    ] {
        for (how, status) in KINDS.into_iter().zip(wanted) {
            let (found, said) = d.judged("crash", how, design);
            assert_eq!(found, status, "{design}, {how}: {said}");
            let name = design.split(' ').next().expect("a word");
            assert!(said.contains(&format!("translated for {name}")), "{said}");
            // One run may miss what another shows, but not with its writes in flight in every order.
            let (found, said) = d.judged("run --check", how, design);
            assert_eq!(found, status, "run on {design}, {how}: {said}");
        }
    }
}

#[test]
fn commits_of_queues_and_transactions_are_the_logs_own() {
    let Some(d) = Designs::new("queues-on-designs") else {
        return;
    };
    let wrong = ["wrong-queue", "no-commits", "unbound", "released"];
    for (how, status) in [("queues", 0)].into_iter().chain(wrong.map(|how| (how, 1))) {
        for design in ["per-task-commit", "per-task-commit-dram-cache"] {
            for command in ["crash", "run --check"] {
                let (found, said) = d.judged(command, how, design);
                assert_eq!(found, status, "{command} on {design}, {how}: {said}");
            }
        }
    }
    let time = |how: &str| {
        let log = d.f.write("time.log", &log(how));
        let (status, found) = json(&["run", "--log", &log, "-d", "per-task-commit"]);
        assert_eq!(status, 0);
        found["time_ps"].as_u64().expect("a time")
    };
    assert!(time("queues") > time("no-commits"), "commits take their time");
    for (how, status) in [("transaction", 0), ("two-transactions", 1)] {
        let (found, said) = d.judged("crash", how, "h-wal");
        assert_eq!(found, status, "{how}: {said}");
        let (found, said) = d.judged("crash", how, "so");
        assert!(found == 2 && said.contains("transactions are atomic"), "{how}: {said}");
    }
}

/// Said before anything runs: what the program takes for granted and the design does not give.
#[test]
fn what_a_translation_cannot_keep_is_told() {
    let Some(d) = Designs::new("warnings-on-designs") else {
        return;
    };
    let run = |text: &str, command: &str| {
        let log = d.f.write("w.log", text);
        let o = d.f.sh(&format!("fencepost {command} --log {log} --recover true"));
        (code(&o), unwrapped(&super::text(&o)))
    };
    let bare: String = log("right")
        .lines()
        .filter(|l| !(l.contains(" ack ") || l.contains(" begin ") || l.contains(" end ")))
        .map(|l| format!("{l}\n"))
        .collect();
    for command in ["crash -d", "run --check -d"] {
        let (status, said) = run(&bare, &format!("{command} delegated"));
        assert!(status == 0 && said.contains("acknowledges nothing"), "{said}");
        let (status, said) = run(&bare, &format!("{command} h-wal"));
        assert!(
            status == 2 && said.contains("neither transactions nor operations"),
            "{said}"
        );
        let (status, said) = run(&log("right"), &format!("{command} per-task-commit"));
        assert!(status == 0 && said.contains("each fence commits"), "{said}");
    }
    // x86 flushes and fences mean nothing to a contract of epochs.
    let (_, said) = run(&log("right"), "crash --contract px86-pcommit");
    assert!(said.contains("warning: "), "{said}");
    let (_, said) = run(&log("right"), "crash --contract px86");
    assert!(!said.contains("warning: "), "{said}");
    let (status, said) = run("fencepost-log 1\n0 sfence\n", "crash -d so");
    assert!(status == 2 && said.contains("nothing to judge"), "{said}");
}

/// A program with a log of its own, under the header, and as it is: by the region of interest and the function that acknowledges,
/// it is the same operations, and costs within a quarter of the same simulated time.
#[test]
fn an_unmodified_program_costs_what_it_costs_under_the_header() {
    if !(have("cc") && have("qemu")) {
        return;
    }
    let f = Folder::new("undo");
    f.write("undo.c", include_str!("programs/undo.c"));
    f.must("cc -O2 -g -o header undo.c && cc -O2 -g -DFENCEPOST_OFF -o bare undo.c && ./header header.log");
    for (memory, marks, log) in [
        ("pm", "--roi updates --ack-at done", "bare.log"),
        ("all", "--roi updates --ack-at done", "all.log"),
        ("pm", "", "whole.log"),
    ] {
        f.must(&format!(
            "rm pool; fencepost record --plugin {} --pm pool {marks} --memory {memory} -o {log} -- ./bare",
            plugin().display()
        ));
    }
    let text = |log: &str| std::fs::read_to_string(f.path(log)).expect("the log");
    let count = |log: &str, word: &str| text(log).matches(word).count();
    for (word, times) in [(" ack ", 200), (" clwb ", 600), (" store pm", 1000)] {
        assert_eq!(
            (count("bare.log", word), count("header.log", word)),
            (times, times),
            "{word}"
        );
    }
    assert!(count("whole.log", " store pm") > 1000 && count("whole.log", " ack ") == 0);
    assert!(count("all.log", " load 0x") > count("bare.log", " load 0x"));
    let run = |log: &str, design: &str| {
        let (status, found) = json(&["run", "--log", &f.path(log), "-d", design, "--media", "pwq"]);
        assert_eq!((status, &found["ops"]), (0, &200.into()));
        found["time_ps"].as_f64().expect("a time")
    };
    // Under the header caches begin empty.
    let all = text("all.log");
    let cold = all.lines().filter(|l| !l.contains(" warm ")).collect::<Vec<_>>();
    f.write("cold.log", &(cold.join("\n") + "\n"));
    for design in ["x86-adr", "so", "delegated", "broi"] {
        let header = run("header.log", design);
        for log in ["bare.log", "cold.log"] {
            let ratio = run(log, design) / header;
            assert!((0.75..1.25).contains(&ratio), "{design}, {log}: {ratio}");
        }
        assert!(run("all.log", design) < run("cold.log", design), "{design}");
    }
    let o = f.sh(&format!(
        "fencepost record --plugin {} --pm pool --roi nowhere -o none.log -- ./bare",
        plugin().display()
    ));
    assert!(code(&o) == 2 && super::text(&o).contains("no program that ran has a function `nowhere`"));
}

/// What a program accessed before its region of interest is in the caches when that begins: the region costs what it costs at the end of
/// a log that has those accesses, too.
#[test]
fn caches_hold_what_was_accessed_before_the_region() {
    let program = include_str!("programs/warm.c");
    let Some(f) = super::recording::compiled("warm", &[("warm", program, "-mclwb")]) else {
        return;
    };
    let record = |marks: &str, log: &str| {
        f.must("rm -f pool");
        let arguments = format!("--memory all {marks} --pm pool -o {log} -- ./warm");
        let o = super::recording::record(&f, &arguments);
        assert_eq!(code(&o), 0, "{}", super::text(&o));
        std::fs::read_to_string(f.path(log)).expect("the log")
    };
    let (region, whole) = (record("--roi work", "region.log"), record("--ack-at work", "whole.log"));
    let before = whole.find(" ack 0").expect("where the region begins");
    f.write("before.log", &whole[..before + 6]);
    let cold: Vec<&str> = region.lines().filter(|l| !l.contains(" warm ")).collect();
    f.write("cold.log", &(cold.join("\n") + "\n"));
    let run = |log: &str, design: &str| {
        let (status, found) = json(&["run", "--log", &f.path(log), "-d", design]);
        assert_eq!(status, 0, "{found}");
        [&found["time_ps"], &found["pm_reads"]].map(|n| n.as_f64().expect("a number"))
    };
    for design in ["x86-adr", "so", "delegated"] {
        let [warm, cold, whole, before] =
            ["region.log", "cold.log", "whole.log", "before.log"].map(|log| run(log, design));
        let wanted = [whole[0] - before[0], whole[1] - before[1]];
        let ratio = warm[0] / wanted[0];
        assert!((0.95..1.05).contains(&ratio), "{design}: {ratio}");
        assert!(cold[0] > 1.2 * warm[0], "{design}: {cold:?} {warm:?}");
        assert!(
            warm[1] == wanted[1] && cold[1] > 300.0,
            "{design}: {warm:?} {wanted:?} {cold:?}"
        );
    }
}

/// Without symbols: what comes before a long pause is what the log starts from, and pauses part operations.
#[test]
fn pauses_tell_where_work_begins_and_what_an_operation_is() {
    let program = include_str!("programs/gaps.c");
    let Some(f) = super::recording::compiled("gaps", &[("gaps", program, "-s")]) else {
        return;
    };
    let record = |marks: &str| super::recording::record(&f, &format!("--pm pool {marks} -o gaps.log -- ./gaps"));
    let o = record("--roi-gap 30000 --ack-gap 1000");
    assert_eq!(code(&o), 0, "{}", super::text(&o));
    let log = std::fs::read_to_string(f.path("gaps.log")).expect("the log");
    let count = |what: &str| log.lines().filter(|l| l.contains(what)).count();
    assert_eq!(
        (count(" ack "), count(" store pm"), count(" sfence")),
        (5, 10, 10),
        "{log}"
    );
    assert_eq!(count("initial "), 512, "the whole file is there before");
    let (status, found) = json(&["run", "--log", &f.path("gaps.log"), "-d", "so"]);
    assert_eq!((status, &found["ops"]), (0, &5.into()), "{found}");
    f.must("rm pool");
    let o = record("--roi-gap 10000000");
    let said = unwrapped(&super::text(&o));
    assert!(
        code(&o) == 2 && said.contains("left that alone for 10000000 instructions"),
        "{said}"
    );
}
