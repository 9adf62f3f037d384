//! The second design of `docs/extending.md`, with instructions, contract, logging scheme and stall cause of its own, followed to the letter: in a
//! package outside of this workspace, which nothing here knows of. There it runs, conforms and is verified by crash states; the page's own
//! test has its broken barrier convicted.

use std::path::{Path, PathBuf};
use std::process::{Command, id};
use std::{env, fs};

const LIB: &str = "//! A design of one's own.\npub mod strands;\n";

/// A run of a program under the scheme, and its crash states under the contract, with its barriers and without.
const TESTS: &str = r#"
use fencepost_contract::explore::{CrashCheck, ProgramRun, Recorder, Schedule, Verdict};
use fencepost_contract::{Demands, conform};
use fencepost_designs::{Environment, MachineShape};
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Dialect, Pm, Program, run_thread};
use fencepost_machine::seam::Cause;
use fencepost_machine::{Machine, MachineSpec, RunReport, ThreadBody, Workload};
use fencepost_programs::sps::Sps;
use fencepost_programs::{Described, Settings};
use own::strands::{BARRIER, CAUSES, INFO, JOIN, SPAWN, STRAND_UNDO, STRANDS};
use std::rc::Rc;

const OPS: u32 = 4;

fn program(threads: u32) -> Sps {
    let raw = |text: &str| text.parse().map_or_else(|_| Raw::Text(text.to_owned()), Raw::Int);
    let params = Sps::SMALL.iter().map(|(name, value)| ((*name).to_owned(), raw(value))).collect();
    let settings = Settings { threads, ops: OPS, scheme: STRAND_UNDO, params, ..Settings::default() };
    Sps::checked(&settings).expect("a program serves a scheme that asks for no more than its own do")
}

fn dialect() -> Dialect {
    STRAND_UNDO.dialect((INFO.dialect)(Environment::new(false, false)))
}

/// Two threads on the simulated machine.
fn simulated() -> RunReport {
    let program = program(2);
    let recording = Recorder::new(Schedule::default()).setup(|m| program.setup(m)).run().expect("its setup");
    let body = |thread: u32| -> ThreadBody {
        let program = program.clone();
        Box::new(move |m| run_thread(&program, &mut Pm::new(m, dialect()), thread, 0, OPS))
    };
    let work = Workload {
        initial: recording.initial,
        threads: vec![body(0), body(1)],
        sites: Rc::from([20; 64]),
        resident: Default::default(),
        warm_up: 0,
        record: true,
    };
    let design = (INFO.build)(&[], MachineShape::default()).expect("its defaults");
    let machine = Machine::new(&MachineSpec::default(), design, work).expect("a machine");
    machine.run().expect("it does not get stuck")
}

#[test]
fn it_runs_and_conforms_and_stalls_for_its_own_cause() {
    let report = simulated();
    let trace = report.trace.as_ref().expect("recorded");
    let issued = |fence| trace.events.iter().any(|e| e.kind == fencepost_kernel::TraceKind::Fence(fence));
    assert!([SPAWN, BARRIER, JOIN].into_iter().all(issued));
    let contract = INFO.contract_of(Environment::new(false, false));
    conform(trace, report.log.records(), &contract, Demands { complete: true }).expect("it conforms");
    let cause = Cause::own(0);
    assert_eq!((cause.name(report.causes), CAUSES.len()), ("join-pending", 1));
    assert!(report.hw_threads.iter().any(|h| h.account.stalled(cause).0 > 0));
}

#[test]
fn its_crash_states_recover_and_without_barriers_they_do_not() {
    let verdict = |dialect: Dialect| {
        let run = ProgramRun { dialect, threads: 1, ops: OPS, ack_every: true };
        CrashCheck::new(STRANDS).program(&program(1), run).expect("a verdict").verdict
    };
    assert_eq!(verdict(dialect()), Verdict::Clean);
    assert_eq!(verdict(Dialect { log_to_data: &[], ..dialect() }), Verdict::Violated);
    assert_eq!(verdict(Dialect { log_to_data: &[SPAWN], ..dialect() }), Verdict::Violated);
}
"#;

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    here.canonicalize().expect("the workspace")
}

/// The module that the page shows.
fn module() -> String {
    let page = fs::read_to_string(root().join("docs/extending.md")).expect("the page");
    let from = page.find("```rust\n//! `strands`").expect("the page has it") + "```rust\n".len();
    let length = page[from..].find("\n```").expect("the block ends");
    page[from..from + length].replace("use crate::", "use fencepost_designs::")
}

/// The package's manifest: crates of this workspace by path. They are compiled once more, which takes the time, and hardly run.
fn manifest() -> String {
    let profile = "[profile.dev]\nopt-level = 0\ndebug = false\n";
    let crates = ["kernel", "contract", "machine", "designs", "programs"].map(|name| {
        let path = root().join(format!("crates/fencepost-{name}"));
        format!("fencepost-{name} = {{ path = {path:?} }}\n")
    });
    format!(
        "[package]\nname = \"own\"\nedition = \"2024\"\n[workspace]\nresolver = \"3\"\n[dependencies]\n{}{profile}",
        crates.concat()
    )
}

#[test]
fn a_design_with_instructions_of_its_own_changes_nothing_here() {
    let folder = env::temp_dir().join(format!("fencepost-own-{}", id()));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("the target folder");
    let files = [
        ("Cargo.toml", manifest()),
        ("src/lib.rs", LIB.to_owned()),
        ("src/strands.rs", module()),
        ("tests/main.rs", TESTS.to_owned()),
    ];
    fs::create_dir_all(folder.join("src")).expect("a folder");
    fs::create_dir_all(folder.join("tests")).expect("a folder");
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");
    for (name, text) in files {
        fs::write(folder.join(name), text).expect("a file");
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["test", "--offline", "--quiet"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", target);
    let ran = command.output().expect("cargo");
    let text = [ran.stdout, ran.stderr]
        .map(|t| String::from_utf8_lossy(&t).into_owned())
        .concat();
    fs::remove_dir_all(&folder).expect("the folder is ours");
    assert!(ran.status.success(), "{text}");
}
