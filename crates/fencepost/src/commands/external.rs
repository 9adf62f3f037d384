//! `crash --log FILE`, `replay` of its witnesses, and `run --log FILE`.

use super::shared::{budget, jobs};
use crate::args::{CrashArgs, RunArgs};
use crate::ci::Checked;
use crate::exit::{CLEAN, INCOMPLETE, VIOLATION};
use crate::external_args::RecordArgs;
use crate::layout::wrapped;
use crate::output::Out;
use crate::witness;
use fencepost_external::{CheckRequest, LoggedCheck, ReadsBy};
use fencepost_external::{ExternalCrash, ExternalRequest, ExternalWitness, LogRequest, LoggedRun, Target};
use fencepost_external::{RecordRequest, Recorded, crash_logs, record as lab_record, replay_image, run_log};
use fencepost_run::replay_key::contract_of_words;
use fencepost_run::request::Request;
use fencepost_run::{BadInput, LabError};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The recorded log that `--log` names where no program is given.
fn log_file(log: Option<&String>) -> Result<PathBuf, BadInput> {
    let missing = || BadInput::new("give a program, or a recorded log: --log FILE").hint("`fencepost list programs`");
    log.map(PathBuf::from).ok_or_else(missing)
}

/// Runs the user's recovery on the crash images of a recorded log.
pub(super) fn crash(args: &CrashArgs, out: &Out) -> Result<u8, LabError> {
    let x = &args.external;
    let log = log_file(args.common.log.as_ref())?;
    let of_words = |name: &str| contract_of_words(name, args.line_order.map(Into::into), args.grain.into());
    let target = match (&args.contract, &args.design) {
        (Some(contract), _) => Target::Contract(of_words(contract)?),
        (None, Some(design)) => Target::Design {
            request: Box::new(Request {
                log: None,
                ..args.common.request("cq", design, args.ops, 0)
            }),
            params: of_words("none")?,
        },
        (None, None) => {
            let hint = "a recorded log has no design of its own; for x86 with flushes and fences: --contract px86; \
                        for any other: -d DESIGN";
            return Err(
                BadInput::new("name the contract, or a design: --contract C or -d DESIGN")
                    .hint(hint)
                    .into(),
            );
        }
    };
    let found = crash_logs(&ExternalRequest {
        log,
        execution: 0,
        image: x.image.clone(),
        target,
        recover: x.recover()?,
        budget: args.budget.parse().map_err(|e| BadInput::new(format!("{e}")))?,
        nested: x.nested()?,
        jobs: jobs(x.jobs),
        output: x.output.clone(),
    })?;
    let told = text(&found);
    args.ci.write(&Checked {
        subject: &found.program,
        contract: &found.contract,
        verdict: found.verdict,
        why: found.witness.as_ref().map(|w| w.witness.why.as_str()),
        lines: found.witness.as_ref().map_or(&[], |w| &w.witness.source),
        text: &told,
        seconds: found.seconds,
    })?;
    out.document(&found, || wrapped(&told))?;
    Ok(match found.violated() {
        true => VIOLATION,
        false if args.require_complete && found.leaves_out() => INCOMPLETE,
        false => CLEAN,
    })
}

fn text(c: &ExternalCrash) -> String {
    let total = c
        .states_total
        .map_or_else(|| "an unknown number of".into(), |n| n.to_string());
    let mut t: String = c.warnings.iter().map(|w| format!("warning: {w}\n")).collect();
    let on = c
        .design
        .as_ref()
        .map(|d| format!(" translated for {d}"))
        .unwrap_or_default();
    let _ = write!(
        t,
        "{}: {} of {total} crash states covered{}\n\
         {}{on}, contract {}, {} threads, {} stores, images of {} bytes, {} crash points\n\
         {} runs of `{}` in {:.2} s ({:.0} a second), {} states merged, {} verdicts kept from before\n",
        c.verdict,
        c.states_covered,
        if c.complete { " (all)" } else { "" },
        c.program,
        c.contract,
        c.threads,
        c.stores,
        c.image_bytes,
        c.crash_points,
        c.recoveries,
        c.recover,
        c.seconds,
        c.images_per_s,
        c.merged,
        c.kept
    );
    if c.threads > 1 || c.executions > 1 {
        let many = if c.executions == 1 { "" } else { "s" };
        let _ = writeln!(t, "{} distinct execution{many}", c.executions);
    }
    if c.threads > 1 && c.verdict == fencepost_run::verdict::Verdict::Clean {
        let _ = writeln!(
            t,
            "clean of these executions; other interleavings of the threads were not recorded"
        );
    }
    if let Some(again) = &c.during_recovery {
        let rest = if again.complete { "" } else { ", not all of them" };
        let (n, states) = (again.recoveries, again.states);
        let _ = writeln!(t, "during recovery: {n} recoveries interrupted{rest}, {states} states");
    }
    let _ = match c.reads.as_str() {
        "unknown" => Ok(()),
        how => writeln!(
            t,
            "a run stands for every state that agrees on what recovery read (known by {how}); not followed in {} runs{}",
            c.reads_unknown,
            c.reads_unknown_why
                .as_ref()
                .map_or_else(String::new, |w| format!(": {w}"))
        ),
    };
    if let (Some(n), None) = (c.stores_deviating, &c.witness) {
        let _ = writeln!(
            t,
            "covered: every state in which at most {n} stores deviate from all durable or nothing durable"
        );
    }
    if let Some(w) = &c.witness {
        t.push_str(&failing(w));
    }
    t
}

fn failing(w: &ExternalWitness) -> String {
    let mut t = format!(
        "why: {}\npower fails after line {} of the log; begun {:?}, acknowledged {:?} operations\n",
        w.witness.why, w.log_line, w.begun, w.acked
    );
    let proof = match w.smallest {
        true => " (smallest such state)",
        false => " (not proved smallest)",
    };
    let state = w.witness.state.as_ref();
    if state.is_none_or(|s| s.persisted.is_empty() && s.missing.is_empty()) {
        let newest = w.newest.as_deref().unwrap_or("none");
        let _ = writeln!(
            t,
            "nothing is lost: recovery fails on what must be durable; newest: {newest}"
        );
    }
    t += &state.map_or_else(String::new, |s| witness::crash_state(s, proof));
    for stack in &w.stacks {
        let _ = writeln!(t, "stack: {stack}");
    }
    if let Some(apart) = &w.apart {
        let _ = writeln!(t, "note: {apart}");
    }
    if let Some(n) = w.missing_unread.filter(|n| *n > 0) {
        let _ = writeln!(t, "lost, but not read by recovery: {n} stores");
    }
    if let Some(image) = &w.image {
        let _ = writeln!(t, "image: {image}");
    }
    t + &witness::replay(&w.witness)
}

/// Writes a failing image again, and runs recovery on it.
pub(super) fn replay(id: &str, file: Option<&Path>, out: &Out) -> Result<u8, LabError> {
    let r = replay_image(id, file.unwrap_or(Path::new("crash.img")))?;
    out.document(&r, || {
        let why = r.why.as_ref().map(|w| format!("why: {w}\n")).unwrap_or_default();
        format!(
            "{}: {}, begun {:?}, acknowledged {:?} operations\n{why}image: {}\n",
            r.verdict, r.program, r.begun, r.acked, r.image
        )
    })?;
    Ok(if r.why.is_some() { VIOLATION } else { CLEAN })
}

/// Crash points of a log's run that are examined unless --points or --budget says otherwise: each is a run of the recovery command.
const LOGGED_POINTS: u64 = 1_000;

/// Runs a recorded log on a design.
pub(super) fn run(args: &RunArgs, out: &Out) -> Result<u8, LabError> {
    let (points, time) = budget(args)?;
    let check = match (args.check, &args.recovery.recover) {
        (false, None) => None,
        (false, Some(_)) => return Err(BadInput::new("--recover belongs to --check").into()),
        (true, _) => Some(CheckRequest {
            recover: args.recovery.recover(ReadsBy::Nobody)?,
            points: points.unwrap_or(LOGGED_POINTS),
            time,
        }),
    };
    let found = run_log(&LogRequest {
        check,
        log: log_file(args.common.log.as_ref())?,
        image: args.image.clone(),
        request: Request {
            log: None,
            ..args.common.request("cq", &args.design, args.work.ops, 0)
        },
    })?;
    out.document(&found, || wrapped(&run_text(&found)))?;
    let violated = found.check.as_ref().is_some_and(LoggedCheck::violated);
    Ok(if violated { VIOLATION } else { CLEAN })
}

fn run_text(r: &LoggedRun) -> String {
    let mut t: String = r.warnings.iter().map(|w| format!("warning: {w}\n")).collect();
    let _ = write!(
        t,
        "{} on {} ({}, {}), {} threads: {} ps, {} instructions, {} operations\n\
         persistent memory: {} reads, {} writes, {} durable events\nbusy {} ps",
        r.log,
        r.design,
        r.machine,
        r.media,
        r.threads,
        r.time_ps,
        r.instructions,
        r.ops,
        r.pm_reads,
        r.pm_writes,
        r.durable_events,
        r.busy_ps
    );
    for (cause, ps) in &r.stalls {
        let _ = write!(t, ", {cause} {ps} ps");
    }
    let _ = writeln!(t, "\n{}", r.note);
    if let Some(c) = &r.check {
        let order = match c.conforms {
            Some(true) => format!("as contract `{}` allows", c.contract),
            Some(false) => format!("NOT as contract `{}` allows", c.contract),
            None => "not judged".into(),
        };
        let _ = writeln!(
            t,
            "crash check: {} of {} crash points, {}; their order is {order}",
            c.points,
            c.points_total,
            if c.why.is_some() {
                "one VIOLATED"
            } else {
                "no violation"
            }
        );
        if let Some(refusal) = &c.refusal {
            let _ = writeln!(t, "  {refusal}");
        }
        if c.in_flight_states > 0 {
            let all = if c.in_flight_complete { " (all)" } else { "" };
            let n = c.in_flight_states;
            let _ = writeln!(t, "writes in flight in other orders: {n} crash states covered{all}");
        }
        if let (Some(why), Some([begun, acked])) = (&c.why, &c.crash) {
            let when = c
                .event
                .map_or_else(String::new, |e| format!(" after durable event {e}"));
            let _ = writeln!(
                t,
                "  power fails{when}, begun {begun:?}, acknowledged {acked:?} operations: {why}"
            );
            if !c.lost.is_empty() {
                let _ = writeln!(t, "  lost: {}", c.lost.join(", "));
            }
        }
    }
    t
}

/// Records an unmodified program.
pub(super) fn record(args: &RecordArgs, out: &Out) -> Result<u8, LabError> {
    let found = lab_record(&RecordRequest {
        command: args.command.clone(),
        pm: args.pm.clone(),
        log: args.output.clone(),
        emulator: args.emulator.clone(),
        plugin: args.plugin.clone(),
        quantum: args.quantum,
        region: args.roi.clone(),
        region_gap: args.roi_gap,
        acknowledge: args.ack_at.clone(),
        acknowledge_gap: args.ack_gap,
        volatile: args.memory == "all",
        schedules: args.schedules,
        seed: args.seed,
        keeps_stdout: out.json,
    })?;
    out.document(&found, || wrapped(&record_text(&found)))?;
    Ok(CLEAN)
}

fn record_text(r: &Recorded) -> String {
    let mut t = format!(
        "{}: {} events of {} threads, {} with file and line, in {:.2} s ({:.0} ns an event with the emulator); the program ended with {}\n",
        r.log, r.events, r.threads, r.named, r.seconds, r.ns_per_event, r.status
    );
    if r.schedules > 1 {
        let (n, k) = (r.executions, r.schedules);
        let many = if n == 1 { "" } else { "s" };
        let _ = writeln!(
            t,
            "{n} distinct execution{many} of {k} runs, the threads in another order in each"
        );
    }
    if r.programs.len() > 1 {
        let each: Vec<String> = r.programs.iter().map(|(p, n)| format!("{p} ({n} events)")).collect();
        let _ = writeln!(t, "programs: {}", each.join(", "));
    }
    if !r.left_out.is_empty() {
        let _ = writeln!(t, "left out, as --pm does not name them: {}", r.left_out.join(", "));
    }
    if !r.missing_calls.is_empty() {
        let calls = r.missing_calls.join(", ");
        let _ = writeln!(
            t,
            "the emulator does not have these system calls, and the program was told so: {calls}"
        );
    }
    t
}
