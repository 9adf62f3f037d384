//! Recording programs that nobody rebuilt: what they do to their files is followed, or the recording ends.

use super::*;
use std::collections::BTreeMap;

/// A folder with a program of these tests, compiled; `None` where a tool is missing.
pub(super) fn compiled(name: &str, programs: &[(&str, &str, &str)]) -> Option<Folder> {
    if !(have("cc") && have("qemu")) {
        return None;
    }
    let f = Folder::new(name);
    for (program, source, flags) in programs {
        f.write(&format!("{program}.c"), source);
        f.must(&format!(
            "cc -g -O1 -pthread {flags} -o {program} {program}.c 2> /dev/null"
        ));
    }
    Some(f)
}
/// Records a command in the folder.
pub(super) fn record(f: &Folder, arguments: &str) -> Output {
    f.sh(&format!("fencepost record --plugin {} {arguments}", plugin().display()))
}
/// The files that a log's stores make of what it says they held.
fn replayed(log: &str) -> BTreeMap<String, Vec<u8>> {
    let number = |w: &str| match w.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).expect("a number"),
        None => w.parse().expect("a number"),
    };
    let mut memory = vec![0u8; 1 << 20];
    let mut files = Vec::new();
    let mut lengths = BTreeMap::new();
    for line in log.lines() {
        let line = line.split(" @ ").next().expect("a part");
        let words: Vec<&str> = line.split(' ').collect();
        let (at, value, width) = match words.as_slice() {
            ["file", offset, length, name, rest @ ..] => {
                files.push((*name, number(offset) as usize, number(length) as usize));
                lengths.extend(rest.last().map(|at| (*name, number(at) as usize)));
                continue;
            }
            ["initial", at, value] => (at, value, 8),
            [_, "store" | "nt" | "rmw", at, value] => (at, value, 8),
            [_, "store" | "nt", at, value, width] => (at, value, number(&width[1..]) as usize),
            _ => continue,
        };
        let Some(at) = at.strip_prefix("pm+") else { continue };
        let at = number(at) as usize;
        memory[at..at + width].copy_from_slice(&number(value).to_le_bytes()[..width]);
    }
    let content = |(name, at, most): (&str, usize, usize)| {
        let held = lengths
            .get(name)
            .map(|w| memory[*w..*w + 8].try_into().expect("a word"));
        let length = held.map_or(most, |h| u64::from_le_bytes(h) as usize);
        (name.to_owned(), memory[at..at + length].to_vec())
    };
    files.into_iter().map(content).collect()
}

#[test]
fn everything_that_is_followed_makes_the_files_byte_for_byte() {
    let programs = [
        ("files", include_str!("programs/files.c"), ""),
        ("child", include_str!("programs/child.c"), ""),
    ];
    let Some(f) = compiled("followed", &programs) else {
        return;
    };
    let o = record(
        &f,
        "--schedules 1 --pm one --pm two -o a.log -- sh -c './files one two'",
    );
    let o = if o.status.success() { o } else { panic!("{}", text(&o)) };
    let said = text(&o);
    assert!(said.contains("exit status: 3"), "{said}");
    assert!(
        said.contains("child (") && said.contains("files ("),
        "the programs are named: {said}"
    );
    let log = std::fs::read_to_string(f.path("a.log")).expect("the log");
    for (name, content) in replayed(&log) {
        let mut file = std::fs::read(f.path(&name)).expect("the file");
        assert!(file.len() <= content.len(), "{name}");
        file.resize(content.len(), 0);
        assert!(file == content, "{name} differs");
    }
    // fsync of the first, fdatasync of the second, msync of a page of the second, the write with O_SYNC.
    // That the length of the first is durable, too, is a line of its own.
    let is_length = |l: &&str| l.contains(" 64 @");
    let syncs: Vec<&str> = log.lines().filter(|l| l.contains(" sync ") && !is_length(l)).collect();
    assert_eq!(syncs.len(), 4, "{syncs:?}");
    for line in ["files.c:", "child.c:"] {
        assert!(log.contains(line), "{line}");
    }
    let o = fencepost(&["judge", &f.path("a.log"), "--contract", "px86"]);
    assert!(code(&o) < 2, "{}", text(&o));
}

#[test]
fn what_is_not_followed_ends_the_recording() {
    let Some(f) = compiled("unseen", &[("unseen", include_str!("programs/unseen.c"), "")]) else {
        return;
    };
    for (how, times) in [
        ("sendfile", 3),
        ("copy_file_range", 1),
        ("unlink", 1),
        ("rename", 1),
        ("openat", 1),
        ("splice", 1),
        ("newfstatat", 1),
    ] {
        let o = record(
            &f,
            &format!("--pm pool -o bad.log -- ./unseen {how}; c=$?; rm -f pool; exit $c"),
        );
        let said = text(&o);
        assert_eq!(code(&o), 2, "{how}: {said}");
        assert!(said.contains(&format!("{how} at unseen.c:")), "{how}: {said}");
        assert!(said.contains(&format!("{times} times")), "{how}: {said}");
        assert!(!f.0.join("bad.log").exists(), "{how}: nothing is half-written");
    }
    let o = record(&f, "--pm pool -o good.log -- ./unseen nothing");
    assert_eq!(code(&o), 0, "{}", text(&o));
    assert_eq!(
        std::fs::read_dir(&f.0)
            .expect("the folder")
            .flatten()
            .filter(|e| e.path().is_dir())
            .count(),
        0
    );
}

#[test]
fn a_sync_of_the_right_file_makes_durable_and_no_other() {
    if !(have("cc") && have("qemu")) {
        return;
    }
    let f = Folder::new("synced");
    f.write("synced.c", include_str!("programs/synced.c"));
    f.write(
        "audit.sh",
        "v=$(od -An -tu8 -N8 $1/pool) m=$(od -An -tu8 -N8 $1/mark); test $m -le $v\n",
    );
    for (sync, status) in [(0, 1), (1, 0), (2, 0), (3, 1), (4, 1)] {
        f.must(&format!("rm -f pool mark; cc -g -DSYNC={sync} -o synced synced.c"));
        let o = record(&f, "--pm pool --pm mark -o s.log -- ./synced");
        assert_eq!(code(&o), 0, "{}", text(&o));
        let o = f.sh("fencepost crash --log s.log --contract px86 --recover 'sh audit.sh'");
        assert_eq!(code(&o), status, "SYNC={sync}: {}", text(&o));
    }
    let o = record(&f, "--pm pool -o one.log -- ./synced");
    assert!(code(&o) == 0 && !text(&o).contains("left out"), "{}", text(&o));
    let o = record(&f, "--pm nothing -o none.log -- ./synced");
    assert!(
        code(&o) == 2 && text(&o).contains("nothing was recorded"),
        "{}",
        text(&o)
    );
}

/// For everything that is followed: one program that is wrong only because of it, and its right twin. The right one is judged
/// violated, or the wrong one clean, where it is not.
#[test]
fn each_way_to_a_file_is_judged_as_it_is() {
    let audit = ("audit", include_str!("programs/ways_audit.c"), "");
    let Some(f) = compiled("ways", &[("ways", include_str!("programs/ways.c"), ""), audit]) else {
        return;
    };
    for way in [
        "file",
        "fsync",
        "fdatasync",
        "sync",
        "msync",
        "async",
        "pwrite",
        "write",
        "dsync",
        "ftruncate",
        "fallocate",
        "mremap",
        "fixed",
        "replaced",
        "twice",
        "fork",
        "vfork",
        "spawn",
        "killed",
    ] {
        for (twin, status) in [("wrong", 1), ("right", 0)] {
            f.must("rm -f pool mark other");
            let o = record(&f, &format!("--pm pool --pm mark -o w.log -- ./ways {way} {twin}"));
            assert_eq!(code(&o), 0, "{way} {twin}: {}", text(&o));
            let second = if matches!(way, "ftruncate" | "fallocate") {
                "second"
            } else {
                "first"
            };
            let o = f.sh(&format!(
                "fencepost crash --log w.log --contract px86 --recover './audit {{}} {second}'"
            ));
            assert_eq!(code(&o), status, "{way} {twin}: {}", text(&o));
        }
    }
}

/// Random programs, of one thread and of several, and of processes: the log has what they did and nothing else.
#[test]
fn a_recording_says_what_a_program_did_and_nothing_else() {
    let program = Path::new(env!("CARGO_BIN_EXE_fencepost"));
    match crate::random_recordings::hold(program, Some(&plugin()), 40, 1) {
        Ok(true) => {}
        Ok(false) => println!("skipped: cc or qemu is not there"),
        Err(why) => panic!("{why}"),
    }
}

/// The log finds no place while the program runs, and none for the reason either.
#[test]
fn a_full_disk_ends_the_recording_and_leaves_nothing() {
    let source = "#include <fcntl.h>\n#include <stdint.h>\n#include <sys/mman.h>\n#include <unistd.h>\nint main(void) {\n\
        int f = open(\"../pool\", O_RDWR | O_CREAT, 0644);\nif (ftruncate(f, 4096)) return 9;\n\
        volatile uint64_t *m = mmap(0, 4096, 3, MAP_SHARED, f, 0);\nfor (int i = 0; i < 300000; i++) m[i % 512] = i;\nreturn 0;\n}\n";
    let Some(f) = compiled("full", &[("full", source, "")]) else {
        return;
    };
    f.must("mkdir small");
    if !f.sh("unshare -rm mount -t tmpfs none small").status.success() {
        println!("skipped: no file system can be mounted");
        return;
    }
    let o = f.sh(&format!(
        "unshare -rm sh -c 'mount -t tmpfs -o size=3m none small && cd small && fencepost record \
         --plugin {} --pm ../pool -o a.log -- ../full; echo exit $? left $(ls | wc -l)'",
        plugin().display()
    ));
    let said = text(&o);
    assert!(
        said.contains("cannot be written") && said.contains("exit 2 left 0"),
        "{said}"
    );
}

#[test]
fn what_the_emulator_cannot_run_is_told_before() {
    if !have("qemu") {
        return;
    }
    let f = Folder::new("kinds");
    let mut elf = vec![0u8; 64];
    elf[..5].copy_from_slice(b"\x7fELF\x01");
    std::fs::write(f.path("small"), elf).expect("the folder is writable");
    f.must("chmod +x small");
    f.write("empty", "");
    f.must("mkdir folder");
    for (arguments, wanted) in [
        ("--pm pool -o a.log -- ./small", "32-bit"),
        (
            "--pm pool -o a.log -- sh -c ./small",
            "./small is no 64-bit x86 program",
        ),
        ("--pm pool -o a.log -- ./empty", "is no program"),
        ("--pm pool -o a.log -- ./none", "none"),
        ("--pm folder -o a.log -- true", "is a folder"),
        ("--pm none/pool -o a.log -- true", "folder is not there"),
        ("--pm pool --pm folder/pool -o a.log -- true", "one name"),
        ("--pm pool -o pool -- true", "persistent file"),
        ("--pm pool -o /dev/full -- true", "no file for a log"),
    ] {
        let o = record(&f, arguments);
        assert!(code(&o) == 2 && text(&o).contains(wanted), "{arguments}: {}", text(&o));
    }
    assert!(!f.0.join("a.log").exists());
}

/// Large and sparse files, calls that the emulator does not have, programs that die: a log, or exit code 2 and nothing.
#[test]
fn odd_programs_and_files_are_recorded_or_refused() {
    let Some(f) = compiled("odd", &[("odd", include_str!("programs/odd.c"), "")]) else {
        return;
    };
    for (arguments, wanted, status) in [
        ("unknown", "system call 600", 0),
        ("seccomp", "seccomp", 0),
        ("abort", "signal: 6", 0),
        ("deleted", "renamed, replaced or removed", 2),
        ("deleted-late", "renamed, replaced or removed", 2),
        ("fine 3000000000 2999996416", "exit status: 0", 0),
        ("fine 5000000000", "too large", 2),
        ("fine 1000000000000 999999995904", "too large", 2),
    ] {
        f.must("rm -f pool odd.log");
        let o = record(&f, &format!("--pm pool -o odd.log -- ./odd {arguments}"));
        let said = text(&o);
        assert!(code(&o) == status && said.contains(wanted), "{arguments}: {said}");
        assert_eq!(f.0.join("odd.log").exists(), status == 0, "{arguments}");
    }
    f.must("rm -f pool odd.log; truncate -s 100G pool");
    let o = record(&f, "--pm pool -o odd.log -- ./odd fine 107374182400");
    assert!(code(&o) == 2 && text(&o).contains("at most 4 GiB"), "{}", text(&o));
    f.write("new.log", "fencepost-log 2\n0 store pm+0 1\n");
    for command in ["crash --recover true --log", "judge"] {
        let o = f.sh(&format!("fencepost {command} new.log --contract px86"));
        assert!(code(&o) == 2 && text(&o).contains("version 2"), "{}", text(&o));
    }
    // Interrupted, nothing of it stays.
    f.must("rm -f pool");
    let o = f.sh(&format!(
        "timeout -s TERM 2 fencepost record --plugin {} --pm pool -o odd.log -- ./odd sleep",
        plugin().display()
    ));
    assert!(!o.status.success());
    let left = std::fs::read_dir(&f.0).expect("the folder").flatten();
    let left: Vec<_> = left.filter(|e| e.path().is_dir()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The length of a file is a part of what a power failure leaves: the old one or the new one, until a sync. Where a file was laid out
/// before it was used, and where it is mapped, it is there.
#[test]
fn a_length_may_be_lost_until_it_is_synced() {
    let audit = ("audit", include_str!("programs/grows_audit.c"), "");
    let Some(f) = compiled("grows", &[("grows", include_str!("programs/grows.c"), ""), audit]) else {
        return;
    };
    let ways = [
        "append",
        "fdatasync",
        "ftruncate",
        "fallocate",
        "cut",
        "truncate",
        "again",
        "mapped",
    ];
    let of_way = |way| [(way, "wrong", 1), (way, "right", 0)];
    let laid_out = [("laid-out", "wrong", 0)];
    for (way, twin, status) in ways.into_iter().flat_map(of_way).chain(laid_out) {
        f.must("rm -f journal mark");
        let o = record(&f, &format!("--pm journal --pm mark -o g.log -- ./grows {way} {twin}"));
        assert_eq!(code(&o), 0, "{way} {twin}: {}", text(&o));
        // Who reads a file sees how long it is: what was read is not all that counts.
        let observed = format!("--reads emulator --plugin {}", plugin().display());
        for reads in ["", &observed] {
            let o = f.sh(&format!(
                "fencepost crash --log g.log --contract px86 --recover './audit {{}}' {reads} --budget 60s"
            ));
            let said = text(&o);
            assert_eq!(code(&o), status, "{way} {twin} {reads}: {said}");
            assert!(status == 0 || said.contains("length of journal"), "{way}: {said}");
        }
    }
}

/// However often a program runs, what it says is said once; where the result is a document, it is not in it.
#[test]
fn what_a_program_says_is_said_once_and_apart_from_the_document() {
    let Some(f) = compiled("says", &[("race", include_str!("programs/race.c"), "")]) else {
        return;
    };
    for format in ["", "--json "] {
        f.must("rm -rf pool s.log");
        let o = record(
            &f,
            &format!("{format}--schedules 2 --pm pool -o s.log -- sh -c 'echo heard; ./race'"),
        );
        let (said, beside) = (String::from_utf8_lossy(&o.stdout), String::from_utf8_lossy(&o.stderr));
        let heard = |text: &str| text.matches("heard").count();
        let wanted = if format.is_empty() { (1, 0) } else { (0, 1) };
        assert_eq!((heard(&said), heard(&beside)), wanted, "{said}{beside}");
        if !format.is_empty() {
            let found: serde_json::Value = serde_json::from_str(&said).expect("a document");
            assert!(found["seconds"].as_f64() > Some(0.0), "{found}");
        }
    }
}
