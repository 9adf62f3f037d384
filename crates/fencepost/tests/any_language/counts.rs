//! What is told is counted: crash points of a checked log, second failures, and what a recorder saw. The figures are worked out by hand.

use super::recording::{compiled, record};
use super::*;

/// Six lines, each flushed before the next is stored to, the fourth and the fifth in the wrong order.
fn six_lines() -> String {
    let line = |i: u64| format!("0 store pm+{0} 1 @ a.c:{i}\n0 clwb pm+{0}\n0 sfence\n", i * 64);
    format!("fencepost-log 1\n{}", [0, 1, 2, 4, 3, 5].map(line).concat())
}

/// Six durable events have seven crash points; the fourth event is the first that vouches for a line that is not there.
#[test]
fn a_checked_log_counts_its_crash_points() {
    let f = Folder::new("points");
    let log = f.write("a.log", &six_lines());
    let run = |recover: &str, more: &[&str]| {
        let args = [
            "run",
            "--log",
            &log,
            "-d",
            "x86-adr",
            "--media",
            "pwq",
            "--check",
            "--recover",
            recover,
        ];
        json(&[&args[..], more].concat())
    };
    let (status, found) = run("true", &[]);
    let check = &found["check"];
    assert_eq!((status, &found["durable_events"]), (0, &6.into()), "{found}");
    assert_eq!(
        (&check["points"], &check["points_total"]),
        (&7.into(), &7.into()),
        "{check}"
    );
    let (_, few) = run("true", &["--budget", "3"]);
    let check = &few["check"];
    assert_eq!(
        (&check["points"], &check["points_total"]),
        (&3.into(), &7.into()),
        "{check}"
    );
    let audit = f.write(
        "audit.sh",
        "byte() { od -An -tu1 -j$1 -N1 \"$2\" | tr -d ' '; }\ntest $(byte 256 $1) = 0 || test $(byte 192 $1) = 1\n",
    );
    let (status, found) = run(&format!("sh {audit}"), &[]);
    let check = &found["check"];
    assert_eq!(
        (status, &check["event"], &check["points"]),
        (1, &4.into(), &5.into()),
        "{check}"
    );
}

/// Recovery stores one word where it finds another: two of its states follow one of two images.
#[test]
fn second_failures_are_counted() {
    let source = "#include <fcntl.h>\n#include <sys/mman.h>
         int main(int argc, char **argv) {
             volatile long *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[argc - 1], O_RDWR), 0);
             if (p[0]) p[8] = 1;
             return 0;
         }";
    let Some(f) = compiled("second", &[("repair", source, "")]) else {
        return;
    };
    let log = f.write(
        "a.log",
        "fencepost-log 1\npersistent 0x10000 4096\n0 store pm+0 1 @ a.c:1\n",
    );
    let (plugin, recover) = (plugin().display().to_string(), f.path("repair"));
    let run = |more: &[&str]| {
        let (status, found) = searched(&log, &recover, &[&["--nested", "--plugin", &plugin], more].concat());
        assert_eq!(status, 0, "{found}");
        let during = &found["during_recovery"];
        let count = |field: &str| during[field].as_u64().unwrap_or_else(|| panic!("{found}"));
        (count("recoveries"), count("states"), during["complete"].as_bool())
    };
    assert_eq!(run(&[]), (1, 2, Some(true)));
    // Two images and their two states are more than three.
    assert_eq!(run(&["--budget", "3"]), (1, 2, Some(false)));
}

/// A search that takes all the time that it is given leaves the second failures their half.
#[test]
fn a_budget_of_time_is_for_second_failures_too() {
    let source = "#include <fcntl.h>\n#include <sys/mman.h>\n#include <unistd.h>
         int main(int argc, char **argv) {
             volatile long *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[argc - 1], O_RDWR), 0);
             p[500] = 1;
             return usleep(10000);
         }";
    let Some(f) = compiled("half", &[("slow", source, "")]) else {
        return;
    };
    let log = f.write("a.log", &twelve_lines());
    let (plugin, recover) = (plugin().display().to_string(), f.path("slow"));
    let more = ["--jobs", "1", "--nested", "--plugin", &plugin, "--budget", "3s"];
    let (status, found) = searched(&log, &recover, &more);
    assert_eq!((status, found["verdict"].as_str()), (0, Some("bounded")), "{found}");
    assert!(found["during_recovery"]["recoveries"].as_u64() >= Some(1), "{found}");
}

/// The word at 8 is lost with the one before it in its line, and recovery does not look at it.
#[test]
fn what_is_lost_and_not_read_is_counted_apart() {
    let f = Folder::new("unread");
    let stores = [0, 8, 64].map(|at| format!("0 store pm+{at} 1 @ a.c:{at}\n"));
    let log = f.write(
        "a.log",
        &format!("fencepost-log 1\npersistent 0x10000 4096\n{}", stores.concat()),
    );
    let audit = f.write(
        "audit.sh",
        "printf 'read 0 8\\nread 64 8\\n' > $FENCEPOST_READS
         byte() { od -An -tu1 -j$1 -N1 \"$2\" | tr -d ' '; }
         test $(byte 64 $1) = 0 || test $(byte 0 $1) = 1\n",
    );
    let (status, found) = searched(&log, &format!("sh {audit}"), &["--reads", "report"]);
    let witness = &found["witness"];
    assert_eq!((status, &witness["missing_unread"]), (1, &1.into()), "{found}");
    let missing = witness["missing"].as_array().expect("a list");
    assert_eq!(missing.len(), 1, "{found}");
    assert!(missing[0].to_string().contains("a.c:0"), "{found}");
    assert_eq!(found["reads"], "report");
}

/// One runner at a time, and recovery that fails where the last of 21 lines alone is durable: sixteen of the twenty others are named.
#[test]
fn long_lists_say_how_many_more_there_are() {
    let f = Folder::new("more");
    let stores: String = (0..21)
        .map(|i| format!("0 store pm+{} 1 @ a.c:{i}\n", i * 64))
        .collect();
    let log = f.write("a.log", &format!("fencepost-log 1\npersistent 0x10000 4096\n{stores}"));
    let audit = f.write(
        "audit.sh",
        "test $(od -An -tu1 -j1280 -N1 $1) = 0 || ! cmp -s -n 1280 $1 /dev/zero\n",
    );
    let (status, found) = searched(&log, &format!("sh {audit}"), &["--jobs", "1"]);
    let missing = found["witness"]["missing"].as_array().expect("a list");
    assert_eq!((status, missing.len()), (1, 17), "{found}");
    assert_eq!(missing[16], "and 4 more");
    assert_eq!(found["reads"], "unknown");
}

/// A folder with one log in it is that log.
#[test]
fn a_folder_of_one_log_is_searched() {
    let f = Folder::new("one");
    std::fs::create_dir(f.path("logs")).expect("a folder");
    let log = f.write("logs/a.log", &twelve_lines());
    let crash = |log: &str| {
        let (status, found) = searched(log, "true", &[]);
        let count = |field: &str| found[field].as_u64();
        (status, count("executions"), count("stores"), count("states_total"))
    };
    assert_eq!(crash(&f.path("logs")), crash(&log));
    assert_eq!(crash(&log), (0, Some(1), Some(12), Some(4096)));
}

/// What fails under the emulator alone is no verdict about the image.
#[test]
fn recovery_that_fails_under_the_emulator_only_is_told_apart() {
    let source = "#include <stdio.h>\n#include <string.h>
         int main(void) {
             char name[64] = \"\";
             FILE *f = fopen(\"/proc/self/comm\", \"r\");
             return f && fgets(name, sizeof name, f) && strstr(name, \"qemu\");
         }";
    let Some(f) = compiled("apart", &[("picky", source, "")]) else {
        return;
    };
    let log = f.write(
        "a.log",
        "fencepost-log 1\npersistent 0x10000 4096\n0 store pm+0 1 @ a.c:1\n",
    );
    let (plugin, recover) = (plugin().display().to_string(), f.path("picky"));
    let args = ["crash", "--log", &log, "--contract", "px86", "--recover", &recover];
    let o = fencepost(&[&args[..], &["--reads", "emulator", "--plugin", &plugin]].concat());
    assert_eq!(code(&o), 2, "{}", text(&o));
    assert!(text(&o).contains("survives without"), "{}", text(&o));
}

/// The second of two executions finds what the first has left, and does nothing: the first is kept.
#[test]
fn an_execution_without_work_is_passed_over_where_another_had_some() {
    let source = "#include <fcntl.h>\n#include <pthread.h>\n#include <sys/mman.h>\n#include <unistd.h>
         static volatile long *p;
         static void *other(void *at) { p[8] = 1; return at; }
         int main(int argc, char **argv) {
             if (open(\"mark\", O_CREAT | O_EXCL | O_RDWR, 0600) < 0) return 0;
             p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[1], O_RDWR), 0);
             pthread_t t;
             pthread_create(&t, 0, other, 0);
             p[0] = 1;
             return pthread_join(t, 0);
         }";
    let Some(f) = compiled("once", &[("once", source, "")]) else {
        return;
    };
    f.must("truncate -s 4096 pool");
    let o = record(&f, "--pm pool -o a.log -- ./once pool");
    assert_eq!(code(&o), 0, "{}", text(&o));
    let log = std::fs::read_to_string(f.path("a.log")).expect("the log");
    assert_eq!(log.matches("fencepost-log").count(), 1, "{log}");
}

/// Writes in flight are put in other orders where a run has 4,000 stores at most.
#[test]
fn writes_in_flight_are_those_of_small_runs() {
    let f = Folder::new("small");
    let run = |stores: u64| {
        let lines: String = (0..stores).map(|i| format!("0 store pm+{} 1\n", i % 8 * 64)).collect();
        let log = f.write("a.log", &format!("fencepost-log 1\n{lines}"));
        let args = [
            "run", "--log", &log, "-d", "x86-adr", "--media", "pwq", "--check", "--points", "2",
        ];
        let (status, found) = json(&[&args[..], &["--recover", "true"]].concat());
        assert_eq!(status, 0, "{found}");
        found["check"]["in_flight_states"].as_u64().expect("a number")
    };
    assert!(run(4_000) > 0);
    assert_eq!(run(4_001), 0);
}

/// Under the emulator that makes copies of itself: a program learns what is acknowledged in its own image, and one that ends
/// before it looks at the image has ended as it did.
#[test]
fn a_copied_recovery_is_told_of_its_own_image() {
    let acked = "#include <fcntl.h>\n#include <stdlib.h>\n#include <sys/mman.h>
         int main(int argc, char **argv) {
             volatile long *p = mmap(0, 4096, PROT_READ, MAP_SHARED, open(argv[argc - 1], O_RDONLY), 0);
             return p[0] == 0 && atoi(getenv(\"FENCEPOST_ACKED\")) > 0;
         }";
    let fails = "int main(void) { return 5; }";
    let Some(f) = compiled("told", &[("acked", acked, ""), ("fails", fails, "")]) else {
        return;
    };
    let plugin = plugin().display().to_string();
    let run = |order: &str, program: &str| {
        let lines: Vec<String> = order.split(';').map(|line| format!("0 {line} @ a.c:1\n")).collect();
        let head = "fencepost-log 1\npersistent 0x10000 4096\n";
        let log = f.write("a.log", &format!("{head}{}", lines.concat()));
        let recover = f.path(program);
        let args = ["crash", "--log", &log, "--contract", "px86", "--recover", &recover];
        let (status, found) = json(&[&args[..], &["--reads", "emulator", "--plugin", &plugin]].concat());
        (status, found["witness"]["why"].as_str().map(str::to_owned))
    };
    let right = "begin 0;store pm+0 1;clwb pm+0;sfence;end 0;ack 0";
    assert_eq!(run(right, "acked"), (0, None));
    let early = "begin 0;store pm+0 1;end 0;ack 0;clwb pm+0;sfence";
    assert_eq!(run(early, "acked"), (1, Some("exit status 1".into())));
    assert_eq!(run(right, "fails"), (1, Some("exit status 5".into())));
}

#[test]
fn what_a_recorder_tells_adds_up() {
    let source = "#include <fcntl.h>\n#include <unistd.h>
         int main(int argc, char **argv) {
             int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
             for (int i = 0; i < 3; i++) {
                 if (pwrite(fd, \"12345678\", 8, i * 64) != 8) return 1;
             }
             return fsync(fd);
         }";
    let Some(f) = compiled("adds-up", &[("writes", source, "")]) else {
        return;
    };
    let o = record(&f, "--json --pm data -o a.log -- ./writes data");
    let told: Value = serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&o)));
    let number = |field: &str| told[field].as_f64().unwrap_or_else(|| panic!("{field}: {told}"));
    // One thread has one order: the program is not run again.
    assert_eq!(
        [number("schedules"), number("executions"), number("threads")],
        [1.0; 3],
        "{told}"
    );
    let of_programs = told["programs"].as_object().expect("programs");
    let events: f64 = of_programs.values().filter_map(Value::as_f64).sum();
    assert_eq!(number("events"), events, "{told}");
    let each = number("seconds") * 1e9 / events;
    assert!((number("ns_per_event") / each - 1.0).abs() < 1e-6, "{told}");
    assert!(number("named") >= 3.0 && number("named") <= events, "{told}");
    let log = std::fs::read_to_string(f.path("a.log")).expect("the log");
    let stores = log.lines().filter(|l| l.contains(" 0x3837363534333231 @ writes.c:6"));
    assert_eq!(stores.count(), 3, "{log}");
    assert!(log.contains("writes.c:8"), "{log}");
}

/// Runs that differ only in how much a thread computes between its events are one execution.
#[test]
fn work_between_events_makes_no_other_execution() {
    let source = "#include <fcntl.h>\n#include <pthread.h>\n#include <sys/mman.h>\n#include <unistd.h>
         static volatile long *p, sink;
         static void *store(void *at) {
             for (long i = 0; i < getpid() % 97 * 100; i++) sink++;
             p[(long)at * 8] = 1;
             return 0;
         }
         int main(int argc, char **argv) {
             int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
             if (ftruncate(fd, 4096)) return 1;
             p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
             for (long i = 0; i < 2; i++) {
                 pthread_t t;
                 pthread_create(&t, 0, store, (void *)i);
                 pthread_join(t, 0);
             }
             return 0;
         }";
    let Some(f) = compiled("work", &[("turns", source, "")]) else {
        return;
    };
    let o = record(&f, "--json --schedules 4 --pm data -o logs -- ./turns data");
    let told: Value = serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&o)));
    assert_eq!(
        (&told["schedules"], &told["executions"]),
        (&4.into(), &1.into()),
        "{told}"
    );
    let log = std::fs::read_to_string(f.path("logs/1.log")).expect("the log");
    assert!(log.contains(" work "), "{log}");
}
