//! Whole operations beside hand-written ones, counted by the same tool.

use crate::choice::WAYS;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that have a hand-written counterpart.
const PROGRAMS: &[&str] = &["cq", "sps", "hash", "rbtree", "tatp", "tpcc"];
/// Two runs, whose difference is counted.
const FEW: u64 = 2000;
const MANY: u64 = 6000;

/// Instructions that a command executes.
fn instructions(program: &Path, args: &[&str]) -> u64 {
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(args)
        .output()
        .expect("valgrind is installed");
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{text}");
    let count = text.lines().find_map(|l| l.split("Collected : ").nth(1));
    count
        .and_then(|n| n.trim().parse().ok())
        .expect("callgrind says what it collected")
}
/// Instructions of one operation.
fn per_operation(program: &Path, args: &[&str]) -> f64 {
    let run = |ops: u64| instructions(program, &[args, &[ops.to_string().as_str()]].concat());
    (run(MANY) - run(FEW)) as f64 / (MANY - FEW) as f64
}
/// Compiles one of the C programs.
fn reference(program: &str, log: u32) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("benches/reference/{program}.c"));
    let out = std::env::temp_dir().join(format!("fencepost-reference-{program}-{log}"));
    let status = Command::new("cc")
        .args(["-O2", &format!("-DLOG={log}"), "-o"])
        .args([&out, &source])
        .status()
        .expect("a C compiler is installed");
    assert!(status.success(), "{} does not compile", source.display());
    out
}

/// Prints the table, of one program or of all: instructions of one operation, ours and hand-written.
pub(crate) fn compare(only: Option<&str>) {
    let exe = std::env::current_exe().expect("this program has a path");
    println!("# Generated; the command is at the head of benches/instructions/main.rs. Do not edit.");
    println!("program,way,ours,reference");
    for program in PROGRAMS.iter().filter(|p| only.is_none_or(|o| o == **p)) {
        for way in WAYS.iter().filter(|w| w.run(program).is_some()) {
            let ours = per_operation(&exe, &["counted", program, way.name]);
            let theirs = way.reference.map(|log| per_operation(&reference(program, log), &[]));
            let theirs = theirs.map(|n| format!("{n:.0}")).unwrap_or_default();
            println!("{program},{},{ours:.0},{theirs}", way.name);
        }
    }
}
