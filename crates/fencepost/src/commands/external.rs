//! `crash --log FILE`, `replay` of its witnesses, and `run --log FILE`.

use super::shared::jobs;
use crate::args::{CrashArgs, RunArgs};
use crate::exit::{CLEAN, INCOMPLETE, VIOLATION};
use crate::external_args::RecordArgs;
use crate::layout::wrapped;
use crate::output::Out;
use crate::witness;
use fencepost_external::{ExternalCrash, ExternalRequest, ExternalWitness, LogRequest, LoggedRun};
use fencepost_external::{RecordRequest, Recorded, crash_log, record as lab_record, replay_image, run_log};
use fencepost_run::replay_key::contract_of_words;
use fencepost_run::{BadInput, LabError};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The recorded log that `--log` names where no program is given.
fn log_file(log: Option<&String>) -> Result<PathBuf, BadInput> {
    let missing = || BadInput::new("give a program, or a recorded log: --log FILE").hint("`fencepost list programs`");
    log.map(PathBuf::from).ok_or_else(missing)
}

/// Runs the user's recovery on the crash images of a recorded log.
pub fn crash(args: &CrashArgs, out: &Out) -> Result<u8, LabError> {
    let x = &args.external;
    let log = log_file(args.common.log.as_ref())?;
    let Some(contract) = &args.contract else {
        let hint = "a recorded log has no design of its own; for x86 with flushes and fences: --contract px86";
        return Err(BadInput::new("name the contract: --contract C").hint(hint).into());
    };
    let found = crash_log(&ExternalRequest {
        log,
        image: x.image.clone(),
        contract: contract_of_words(contract, args.line_order.map(Into::into), args.grain.into())?,
        recover: x.recover()?,
        budget: args.budget.parse().map_err(|e| BadInput::new(format!("{e}")))?,
        jobs: jobs(x.jobs),
        output: x.output.clone(),
    })?;
    out.document(&found, || wrapped(&text(&found)))?;
    Ok(match found.violated() {
        true => VIOLATION,
        false if args.require_complete && found.bounded() => INCOMPLETE,
        false => CLEAN,
    })
}

fn text(c: &ExternalCrash) -> String {
    let total = c
        .states_total
        .map_or_else(|| "an unknown number of".into(), |n| n.to_string());
    let mut t = format!(
        "{}: {} of {total} crash states covered{}\n\
         {}, contract {}, {} threads, {} stores, images of {} bytes, {} crash points\n\
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
    if let Some(n) = w.missing_unread.filter(|n| *n > 0) {
        let _ = writeln!(t, "lost, but not read by recovery: {n} stores");
    }
    if let Some(image) = &w.image {
        let _ = writeln!(t, "image: {image}");
    }
    t + &witness::replay(&w.witness)
}

/// Writes a failing image again, and runs recovery on it.
pub fn replay(id: &str, file: Option<&Path>, out: &Out) -> Result<u8, LabError> {
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

/// Runs a recorded log on a design.
pub fn run(args: &RunArgs, out: &Out) -> Result<u8, LabError> {
    let found = run_log(&LogRequest {
        log: log_file(args.common.log.as_ref())?,
        image: args.image.clone(),
        request: fencepost_run::request::Request {
            log: None,
            ..args.common.request("cq", &args.design, args.work.ops, 0)
        },
    })?;
    out.document(&found, || wrapped(&run_text(&found)))?;
    Ok(CLEAN)
}

fn run_text(r: &LoggedRun) -> String {
    let mut t = format!(
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
    t
}

/// Records an unmodified program.
pub fn record(args: &RecordArgs, out: &Out) -> Result<u8, LabError> {
    let found = lab_record(&RecordRequest {
        command: args.command.clone(),
        pm: args.pm.clone(),
        log: args.output.clone(),
        emulator: args.emulator.clone(),
        plugin: args.plugin.clone(),
        quantum: args.quantum,
    })?;
    out.document(&found, || wrapped(&record_text(&found)))?;
    Ok(CLEAN)
}

fn record_text(r: &Recorded) -> String {
    format!(
        "{}: {} events, {} with file and line, in {:.2} s ({:.0} ns an event with the emulator); the program ended with {}\n",
        r.log, r.events, r.named, r.seconds, r.ns_per_event, r.status
    )
}
