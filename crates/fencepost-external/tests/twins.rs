//! The search for programs in any language against the explorer, in process, on the same log: the example in C and its audit in
//! Rust. What needs a tool that is not there is skipped, and says so.

use fencepost_contract::explore::{Budget, CrashMem, Explorer, Verdict, plain};
use fencepost_contract::recorded::{RecordedLog, parse};
use fencepost_contract::{Contract, ContractKind};
use fencepost_external::{Emulator, ExternalRequest, ReadsBy, Recover, Target, crash_logs};
use fencepost_kernel::{Addr, At, CrashPoint, Mem, Violation};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const SLOTS: u64 = 8;
const SEAL: u64 = 0x5ea1;

/// `examples/c/append_audit.c`, word for word.
fn audit(m: &mut CrashMem<'_>, crash: &CrashPoint) -> Result<(), Violation> {
    let acknowledged = crash.acked.first().copied().unwrap_or(0);
    let present = |n: u64| At::new(Addr::pm(SLOTS * 64 + n * 8));
    let field = |n: u64, of: u64| At::new(Addr::pm(n * 64 + of * 8));
    for n in 0..SLOTS {
        m.cut(n);
        let flagged = m.load(present(n)).v != 0;
        let (lost, torn) = ("an acknowledged record is not flagged", "a flagged record is not whole");
        if !flagged && n < u64::from(acknowledged) {
            return Err(Violation::at(present(n).addr, lost));
        }
        if flagged && m.load(field(n, 2)).v != m.load(field(n, 0)).v ^ m.load(field(n, 1)).v ^ SEAL {
            return Err(Violation::at(field(n, 2).addr, torn));
        }
    }
    Ok(())
}

/// What a search says: its verdict, the crash states that it covered where none breaks, and what recovery makes of one that
/// breaks.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    verdict: Verdict,
    states: Option<u128>,
    why: Option<String>,
}

fn in_process(log: &RecordedLog, contract: Contract, (merge, oldest_first): (bool, bool)) -> Said {
    let space = contract.space(&log.trace, &log.initial);
    let explorer = Explorer::new(&space).merge(merge).oldest_first(oldest_first);
    let found = explorer.explore(&mut plain(audit)).expect("an exploration");
    Said {
        verdict: found.verdict,
        states: found.witness.is_none().then_some(found.states_covered),
        why: found.witness.map(|w| w.why.why),
    }
}

fn by_command(folder: &Path, log: &str, contract: Contract, reads: ReadsBy, server: bool) -> Said {
    let request = ExternalRequest {
        log: folder.join(log),
        execution: 0,
        image: None,
        target: Target::Contract(contract),
        recover: Recover {
            command: folder.join("audit").display().to_string(),
            server,
            reads,
            timeout: Duration::from_secs(20),
            memory: None,
        },
        budget: Budget::Unlimited,
        nested: None,
        jobs: 2,
        output: None,
    };
    let found = crash_logs(&request).expect("a possible search");
    Said {
        verdict: found.verdict,
        states: found.witness.is_none().then_some(found.states_covered),
        why: found.witness.map(|w| w.witness.why.replace("exit status 1: ", "")),
    }
}

fn sh(folder: &Path, command: &str) -> bool {
    let shell = Command::new("/bin/sh")
        .args(["-c", command])
        .current_dir(folder)
        .output();
    shell.is_ok_and(|o| o.status.success())
}
fn have(tool: &str, check: &str) -> bool {
    let found = sh(Path::new("."), check);
    if !found {
        println!("skipped: {tool} is not there");
    }
    found
}

/// The emulator with its plugin, built if it is not there.
fn emulator(audit: &str) -> Option<Emulator> {
    let there = "qemu-x86_64 --version | grep -q 'version 7.2' && qemu-x86_64 --help | grep -q -e -plugin";
    have("qemu", there).then(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .parent()
            .expect("a target folder");
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--offline",
                "-q",
                "-p",
                "fencepost-qemu-plugin",
                "--target-dir",
            ])
            .arg(target)
            .arg("--manifest-path")
            .arg(manifest)
            .status();
        assert!(built.is_ok_and(|s| s.success()), "the plugin is built");
        let plugin = target.join("debug/libfencepost_qemu_plugin.so");
        Emulator::new("qemu-x86_64", Some(&plugin), audit).expect("an emulator")
    })
}

/// A fresh folder with the program's two logs and its audit.
fn logs() -> Option<PathBuf> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/c");
    let folder = std::env::temp_dir().join(format!("fencepost-twins-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
    let compile = format!(
        "cp {}/* . && cc -O2 -o append append.c && ./append good.log && cc -O2 -DFLAG_FIRST -o first append.c && ./first bad.log && \
         cc -O2 -o audit append_audit.c",
        examples.display()
    );
    have("cc", "command -v cc").then(|| {
        assert!(sh(&folder, &compile), "the example is compiled and run");
        folder
    })
}

#[test]
fn every_search_says_the_same_of_one_program() {
    let Some(folder) = logs() else { return };
    let emulator = emulator(&folder.join("audit").display().to_string());
    let mut verdicts = Vec::new();
    for name in ["good.log", "bad.log"] {
        let log = parse(&std::fs::read_to_string(folder.join(name)).expect("a log")).expect("a log that parses");
        for kind in [ContractKind::Px86, ContractKind::StrictTso, ContractKind::Eadr] {
            let contract = Contract::from(kind);
            let said = in_process(&log, contract, (true, false));
            verdicts.push((name, kind, said.verdict));
            for other in [(false, false), (true, true), (false, true)] {
                assert_eq!(
                    in_process(&log, contract, other),
                    said,
                    "{name} under {kind}: {other:?}"
                );
            }
            let reads = [
                Some(ReadsBy::Nobody),
                Some(ReadsBy::Report),
                emulator.clone().map(ReadsBy::Emulator),
            ];
            for reads in reads.into_iter().flatten() {
                // Without knowing what is read every image is run: only where there are few.
                if reads == ReadsBy::Nobody && said.states.is_some_and(|n| n > 2_000) {
                    continue;
                }
                let (how, server) = (reads.name(), reads == ReadsBy::Report);
                let found = by_command(&folder, name, contract, reads, server);
                assert_eq!(found, said, "{name} under {kind}, reads {how}");
            }
        }
    }
    let px86 = |name| {
        verdicts
            .iter()
            .find(|v| (v.0, v.1) == (name, ContractKind::Px86))
            .map(|v| v.2)
    };
    assert_eq!(px86("good.log"), Some(Verdict::Clean));
    assert_eq!(px86("bad.log"), Some(Verdict::Violated));
    let _ = std::fs::remove_dir_all(folder);
}
