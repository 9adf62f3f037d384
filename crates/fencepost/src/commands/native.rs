//! `native`.

use super::native_machine;
use crate::exit::{CLEAN, VIOLATION};
use crate::native_args::{NativeArgs, NativeCommand, NativeRun};
use crate::output::Out;
use fencepost_papers::native::{KillReport, RunReport, Variant, killed, native as run, until_killed};
use fencepost_run::{BadInput, LabError, fault, short};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs it.
pub(super) fn native(args: &NativeArgs, out: &Out) -> Result<u8, LabError> {
    if let Some(file) = &args.calibrate {
        return native_machine::calibrated(file, &args.run.without(), out);
    }
    match (&args.command, &args.program) {
        (Some(NativeCommand::UntilKilled { program, run, progress }), _) => {
            crate::interrupt::say_nothing();
            until_killed(&run.request(program), progress)?;
            Ok(CLEAN)
        }
        (Some(NativeCommand::Net(args)), _) => super::native_net::net(args, out),
        (Some(process), _) => super::native_net::process(process),
        (None, Some(program)) => match (args.kill, &args.compare) {
            (Some(kills), _) => kill(program, &args.run, kills, out),
            (_, Some(machine)) => native_machine::compared(&[program], &args.run, machine, out),
            _ => time(program, &args.run, out),
        },
        (None, None) if args.compare.is_some() => {
            let machine = args.compare.as_deref().unwrap_or_default();
            native_machine::compared(native_machine::PROGRAMS, &args.run, machine, out)
        }
        (None, None) => Err(BadInput::new("name a program").hint("`fencepost list programs`").into()),
    }
}

fn time(program: &str, args: &NativeRun, out: &Out) -> Result<u8, LabError> {
    if args.mistake.is_some() {
        return Err(BadInput::new("measured code has no deliberate mistakes").into());
    }
    let report = run(&args.request(program))?;
    out.document(&report, || text(&report))?;
    Ok(if report.check.violations == 0 { CLEAN } else { VIOLATION })
}

fn kill(program: &str, args: &NativeRun, kills: u32, out: &Out) -> Result<u8, LabError> {
    let me = std::env::current_exe().map_err(|e| LabError::Internal(e.to_string()))?;
    fault::on_elsewhere();
    let child = |memory: &Path, progress: &Path| {
        let mut child = Command::new(&me);
        child.args(["native", "until-killed", program]).args(args.again());
        child.arg("--pm").arg(memory).arg("--progress").arg(progress);
        child.stdin(Stdio::null()).stdout(Stdio::null());
        child
    };
    let report = killed(&args.request(program), kills, &child)?;
    out.document(&report, || kill_text(&report))?;
    Ok(if report.violations == 0 { CLEAN } else { VIOLATION })
}

fn text(r: &RunReport) -> String {
    let p = &r.per_operation;
    let mut t = format!(
        "{} natively: {}, {}, {} thread{} on {} hardware thread{}\nmemory: {}, {}\n",
        r.program,
        r.log,
        r.flush_instruction,
        r.threads,
        plural(r.threads),
        r.cpus,
        plural(r.cpus),
        r.memory,
        r.memory_detail.path.display()
    );
    let mut line = |name: &str, times: fencepost_papers::native::Times| {
        let _ = writeln!(
            t,
            "{name:<9} {:>8} ns per operation at best, {:>8} in the median of {} batches of {}",
            short(times.min),
            short(times.median),
            r.batches,
            r.batch
        );
    };
    if r.variant == Variant::Baseline {
        line("baseline", r.baseline);
    }
    if let Some(ideal) = r.ideal {
        line("ideal", ideal);
    }
    if r.variant == Variant::Ideal {
        line("baseline", r.baseline);
    }
    if let (Some(min), Some(median)) = (r.gain_min, r.gain_median) {
        let _ = writeln!(
            t,
            "baseline over ideal: {} (median of pairs {})",
            short(min),
            short(median)
        );
    }
    let _ = writeln!(
        t,
        "per operation: {} fences, {} of them between log and data; {} flushes; {} non-temporal stores",
        short(p.fences),
        short(p.removable_fences),
        short(p.flushes),
        short(p.nt_stores)
    );
    if r.disturbed > 0 {
        let _ = writeln!(
            t,
            "{} pairs of batches in which a thread was switched out do not count",
            r.disturbed
        );
    }
    let verdict = match &r.check.why {
        None => format!("recovered and audited, {} operations, clean", r.check.operations),
        Some(why) => format!("VIOLATED: {why}"),
    };
    let _ = writeln!(t, "check of {}: {verdict}", r.check.of);
    for note in &r.notes {
        let _ = writeln!(t, "note: {note}");
    }
    t
}

fn kill_text(r: &KillReport) -> String {
    let verdict = match &r.why {
        None => "every recovery passed its audit".to_owned(),
        Some(why) => format!("{} VIOLATED: {why}", r.violations),
    };
    format!(
        "{}, {}, {}, {} thread{}, on {}: killed {} times, {} of them inside an operation, after {} operations in all; {verdict}\nnote: {}\n",
        r.program,
        r.log,
        r.flush_instruction,
        r.threads,
        plural(r.threads),
        r.memory_detail.file_system,
        r.kills,
        r.inside,
        r.operations,
        r.note
    )
}

fn plural(n: u32) -> &'static str {
    if n == 1 { "" } else { "s" }
}
