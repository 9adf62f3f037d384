//! Programs in other languages: recorded, explored, recovered. What needs a tool that is not there skips, and says so.

mod counts;
mod designs;
mod instructions;
mod libraries;
mod page;
mod pmdk;
mod reads;
mod recording;
mod reports;
mod schedules;
mod servers;

use super::common::plugin::plugin;
use super::common::{code, fencepost, replay_all};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn text(o: &Output) -> String {
    String::from_utf8_lossy(&[&o.stdout[..], &o.stderr[..]].concat()).into_owned()
}
/// A fresh folder with the examples in C.
struct Folder(PathBuf);
impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("fencepost-any-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder is writable");
        for entry in std::fs::read_dir(examples()).expect("the examples are there").flatten() {
            std::fs::copy(entry.path(), path.join(entry.file_name())).expect("an example is copied");
        }
        Folder(path)
    }
    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
    fn write(&self, name: &str, content: &str) -> String {
        std::fs::write(self.0.join(name), content).expect("the temporary folder is writable");
        self.path(name)
    }
    /// Runs a shell command in the folder, with our command on the path.
    fn sh(&self, command: &str) -> Output {
        let own = Path::new(env!("CARGO_BIN_EXE_fencepost")).parent().expect("a folder");
        let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap_or_default());
        let shell = Command::new("/bin/sh")
            .arg("-c")
            .arg(command)
            .current_dir(&self.0)
            .env("PATH", path)
            .output();
        let o = shell.expect("a shell");
        replay_all(&o, &self.0);
        o
    }
    fn must(&self, command: &str) {
        let o = self.sh(command);
        assert!(o.status.success(), "{command}: {}", text(&o));
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/c")
}
/// Whether a tool is there; says so if it is not.
fn have(tool: &str) -> bool {
    let check = match tool {
        "libpmemobj" => {
            "printf '#include <libpmemobj.h>\\nint main(void){return 0;}' | cc -xc - -o /dev/null -lpmemobj".to_owned()
        }
        "qemu" => "qemu-x86_64 --version | grep -q 'version 7.2' && qemu-x86_64 --help | grep -q -e -plugin".to_owned(),
        tool => format!("command -v {tool}"),
    };
    let found = Command::new("/bin/sh")
        .arg("-c")
        .arg(&check)
        .output()
        .is_ok_and(|o| o.status.success());
    if !found {
        println!("skipped: {tool} is not there");
    }
    found
}
fn json(args: &[&str]) -> (i32, Value) {
    let o = fencepost(&[args, &["--json"]].concat());
    let document = serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", text(&o)));
    (code(&o), document)
}

/// What `crash --log` says of a log under x86, and its exit code.
fn searched(log: &str, recover: &str, more: &[&str]) -> (i32, Value) {
    let args = ["crash", "--log", log, "--contract", "px86", "--recover", recover];
    json(&[&args[..], more].concat())
}

/// Twelve independent lines: 4096 states. The audit is a shell script, so no compiler is needed.
fn twelve_lines() -> String {
    let lines: String = (0..12)
        .map(|i| format!("0 store pm+{} 1 @ a.c:{i}\n", i * 64))
        .collect();
    format!("fencepost-log 1\npersistent 0x10000 4096\n{lines}")
}

#[test]
fn exit_status_signal_and_hang_are_verdicts_and_a_missing_command_is_not() {
    let f = Folder::new("verdicts");
    let log = f.write("a.log", "fencepost-log 1\n0 store pm+0 1 @ a.c:7\n");
    let run = |recover: &str, more: &[&str]| {
        let args = ["crash", "--log", &log, "--contract", "px86", "--recover", recover];
        json(&[&args[..], more].concat())
    };
    let (status, found) = run("true", &[]);
    assert_eq!(
        (status, &found["states_covered"], &found["complete"]),
        (0, &2.into(), &true.into())
    );
    let why = |found: &Value| found["witness"]["why"].as_str().expect("a reason").to_owned();
    let (status, found) = run("echo is zero; test $(od -An -tu8 -N8 {}) = 1; test $? = 0 #", &[]);
    assert_eq!((status, why(&found).as_str()), (1, "exit status 1: is zero"));
    assert_eq!(found["witness"]["missing"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["witness"]["source"][0], "a.c:7");
    let (status, found) = run("kill -SEGV $$ #", &[]);
    assert_eq!((status, why(&found).as_str()), (1, "killed by signal 11"));
    let (status, found) = run("sleep 100 #", &["--timeout", "100ms"]);
    assert!(status == 1 && why(&found).contains("hangs"), "{found}");
    let (status, _) = run("head -c 300000000 /dev/zero | tail -c 300000000 | wc -c; test 1 #", &[]);
    assert_eq!(status, 0);
    let (status, _) = run(
        "x=$(head -c 300000000 /dev/zero | tr '\\0' a); test ${#x} = 300000000 #",
        &["--memory", "64MiB"],
    );
    assert_eq!(status, 1, "a memory limit is kept");
    let o = fencepost(&[
        "crash",
        "--log",
        &log,
        "--contract",
        "px86",
        "--recover",
        "/no/such/command",
    ]);
    assert_eq!(code(&o), 2, "{}", text(&o));
    let o = fencepost(&["crash", "--log", &log, "--contract", "px86"]);
    assert!(code(&o) == 2 && text(&o).contains("--recover"), "{}", text(&o));
}

#[test]
fn what_was_survived_is_kept_and_a_budget_says_what_it_left_out() {
    let f = Folder::new("kept");
    let log = f.write("a.log", &twelve_lines());
    let out = f.path("found");
    let run = |budget: &str| {
        let args = [
            "crash",
            "--log",
            &log,
            "--contract",
            "px86",
            "--recover",
            "true",
            "-o",
            &out,
            "--budget",
            budget,
        ];
        json(&args)
    };
    let (status, first) = run("40");
    assert_eq!((status, first["verdict"].as_str()), (0, Some("bounded")));
    assert_eq!(
        (&first["recoveries"], &first["states_total"]),
        (&40.into(), &4096.into())
    );
    assert_eq!(first["stores_deviating"], 1);
    let (_, second) = run("40");
    assert_eq!((&second["kept"], &second["recoveries"]), (&40.into(), &40.into()));
    assert!(std::fs::read_to_string(f.path("found/result.json")).is_ok());
}

/// A recovery that looks at two of twelve lines: with what it reads reported, a few runs stand for 4096 states.
#[test]
fn reported_reads_merge_images() {
    let f = Folder::new("reads");
    let log = f.write("a.log", &twelve_lines());
    let audit = f.write(
        "audit.sh",
        "echo read 0 8 >> $FENCEPOST_READS\necho read 64 8 >> $FENCEPOST_READS\nexit 0\n",
    );
    let recover = format!("sh {audit}");
    let args = [
        "crash",
        "--log",
        &log,
        "--contract",
        "px86",
        "--recover",
        &recover,
        "--reads",
    ];
    let (status, found) = json(&args);
    assert_eq!(
        (status, &found["states_covered"], &found["complete"]),
        (0, &4096.into(), &true.into())
    );
    assert!(found["recoveries"].as_u64().is_some_and(|n| n <= 30), "{found}");
}

#[test]
fn replay_writes_the_failing_image_and_runs_recovery_on_it() {
    let f = Folder::new("replay");
    let log = f.write("a.log", &twelve_lines());
    let audit = f.write(
        "audit.sh",
        "test $(od -An -tu8 -j0 -N8 $1) -ge $(od -An -tu8 -j64 -N8 $1)\n",
    );
    let recover = format!("sh {audit}");
    let (status, found) = json(&["crash", "--log", &log, "--contract", "px86", "--recover", &recover]);
    assert_eq!(status, 1);
    let witness = &found["witness"];
    assert_eq!(
        (&witness["smallest"], witness["source"].as_array().map(Vec::len)),
        (&true.into(), Some(1)),
        "{witness}"
    );
    let (image, id) = (f.path("again.img"), witness["replay"].as_str().expect("an id"));
    let (status, again) = json(&["replay", id, "-o", &image]);
    assert_eq!((status, again["verdict"].as_str()), (1, Some("violated")));
    let bytes = std::fs::read(image).expect("the image");
    assert_eq!((bytes.len(), bytes[0], bytes[64]), (4096, 0, 1));
    // Another log with the same name is not the one that the id means.
    f.write("a.log", "fencepost-log 1\n0 store pm+0 1\n");
    assert_eq!(code(&fencepost(&["replay", id])), 2);
}

/// The time of a recorded log on designs; a design without flushes need not wait for them.
#[test]
fn a_log_runs_on_designs() {
    let f = Folder::new("designs");
    let mut lines = String::from("fencepost-log 1\n");
    for i in 0..50 {
        let at = i * 64;
        lines += &format!("0 begin {i}\n0 work 100\n0 store pm+{at} 1\n0 clwb pm+{at}\n0 sfence\n0 end {i}\n");
        lines += &format!("1 store pm+{} 2\n1 rmw 0x1000 {i}\n0 load 0x1000\n", 8192 + at);
    }
    let log = f.write("a.log", &lines);
    let time = |design: &str| {
        let (status, found) = json(&["run", "--log", &log, "-d", design]);
        assert_eq!(status, 0);
        assert_eq!(
            (&found["threads"], &found["instructions_between"]),
            (&2.into(), &5000.into()),
            "{design}"
        );
        assert!(
            found["instructions"].as_u64().is_some_and(|n| n >= 5000 + 50 * 2),
            "{found}"
        );
        assert_eq!(found["ops"], 50);
        (
            found["time_ps"].as_u64().expect("a time"),
            found["pm_writes"].as_u64().expect("writes"),
        )
    };
    let (flushed, writes) = time("x86-adr");
    assert!(writes >= 50, "{writes}");
    assert!(time("volatile").0 < flushed);
    assert!(time("delegated").0 > 0);
    let o = fencepost(&["run", "--log", &f.path("none.log"), "-d", "so"]);
    assert_eq!(code(&o), 2);
}

/// Two unmodified threads under the emulator: the recorded stores in their order make the file, byte for byte.
#[test]
fn an_unmodified_program_is_recorded_whole() {
    if !(have("cc") && have("qemu")) {
        return;
    }
    let f = Folder::new("record");
    f.must("cc -g -O2 -pthread -o threads counter_threads.c");
    for quantum in ["1", "100"] {
        f.must(&format!(
            "rm -f counters; fencepost record --schedules 1 --plugin {} --quantum {quantum} --pm counters -o t.log -- ./threads counters",
            plugin().display()
        ));
        let log = std::fs::read_to_string(f.path("t.log")).expect("the log");
        let mut memory = vec![0u64; 512];
        for line in log.lines().filter(|l| l.contains(" store ") || l.contains(" rmw ")) {
            let mut words = line.split(' ').skip(2);
            let number = |w: &str| u64::from_str_radix(w.trim_start_matches("0x"), 16).expect("a number");
            if let Some(at) = words.next().and_then(|w| w.strip_prefix("pm+")) {
                memory[number(at) as usize / 8] = words.next().map_or(0, number);
            }
        }
        let bytes: Vec<u8> = memory.iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(std::fs::read(f.path("counters")).expect("the file"), bytes);
        assert_eq!((memory[0], memory[8], memory[16]), (100, 50, 50));
        assert_eq!(log.matches(" clwb ").count(), 100);
        assert!(log.contains("counter_threads.c:"), "places are named");
        let log = f.path("t.log");
        let args = [
            "crash",
            "--log",
            &log,
            "--contract",
            "px86",
            "--recover",
            "true",
            "--budget",
            "20",
        ];
        let (status, found) = json(&args);
        // The main thread counts where it meets the others in the C library.
        let threads = found["threads"].as_u64();
        assert!(matches!(threads, Some(2 | 3)), "{found}");
        assert_eq!((status, &found["image_bytes"]), (0, &4096.into()));
    }
}
