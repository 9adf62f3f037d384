//! `crash` and `replay`.

use super::shared::write;
use crate::args::CrashArgs;
use crate::ci::Checked;
use crate::exit::{CLEAN, INCOMPLETE, VIOLATION};
use crate::layout::wrapped;
use crate::output::Out;
use crate::progress::CrashPoints;
use crate::slips::one_only;
use crate::witness;
use fencepost_external::is_image_id;
use fencepost_run::crash::{CrashOutcome, CrashRequest, crash_telling};
use fencepost_run::picture;
use fencepost_run::replay as lab_replay;
use fencepost_run::verdict::Verdict;
use fencepost_run::witness::Witness;
use fencepost_run::{BadInput, LabError};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Nothing was explored: the budget was too small.
const NOTHING: u8 = 2;

/// Explores crash states.
pub(super) fn crash(args: &CrashArgs, progress: &CrashPoints, out: &Out) -> Result<u8, LabError> {
    let Some(program) = &args.program else {
        return super::external::crash(args, out);
    };
    one_only(program, args.design.as_deref().unwrap_or("so"))?;
    if args.budget.chars().all(|c| c.is_ascii_digit()) {
        let number = &args.budget;
        out.note(&format!(
            "--budget {number} is {number} recoveries; a time has a unit, such as {number}s"
        ));
    }
    let x = &args.external;
    if x.recovery.recover.is_some() || x.image.is_some() {
        let hint = "a program of fencepost brings its own recovery; leave PROGRAM out to explore a recorded log";
        return Err(BadInput::new("--recover and --image belong to recorded logs")
            .hint(hint)
            .into());
    }
    let mut request = args
        .common
        .request(program, args.design.as_deref().unwrap_or("volatile"), args.ops, 0);
    // The number of crash states grows with every thread, so one is the default here.
    request.threads = request.threads.or(Some(1));
    let request = CrashRequest {
        request,
        contract: args.contract.clone(),
        budget: Some(args.budget.clone()),
        schedules: args.schedules,
        doubt: args.paranoid,
        recovery_fails: true,
        line_order: args.line_order.map(Into::into),
        grain: args.grain.into(),
        small: !args.full_size,
    };
    let begun = Instant::now();
    let found = crash_telling(&request, progress)?;
    draw(args, &found)?;
    let told = text(&found);
    args.ci.write(&Checked {
        subject: &found.program,
        contract: &found.contract.clone(),
        verdict: found.verdict,
        why: found.witness.as_ref().map(|w| w.why.as_str()),
        lines: found.witness.as_ref().map_or(&[], |w| &w.source),
        text: &told,
        seconds: begun.elapsed().as_secs_f64(),
    })?;
    out.document(&found, || wrapped(&told))?;
    Ok(match found.violated() {
        true => VIOLATION,
        false if found.nothing_explored() => NOTHING,
        false if args.require_complete && found.leaves_out() => INCOMPLETE,
        false => CLEAN,
    })
}

/// Writes the pictures that are asked for.
fn draw(args: &CrashArgs, found: &CrashOutcome) -> Result<(), LabError> {
    let title = format!("{} on {}: {}", found.program, found.contract, found.verdict);
    let page = || {
        let page = picture::page(&title, &text(found), found.witness.as_ref());
        page.map_err(|e| LabError::Internal(e.to_string())).map(Some)
    };
    let drawn = |draw: fn(&Witness) -> Option<String>| Ok(found.witness.as_ref().and_then(draw));
    type Drawing<'a> = (&'a Option<PathBuf>, &'a dyn Fn() -> Result<Option<String>, LabError>);
    let wanted: [Drawing<'_>; 3] = [
        (&args.html, &page),
        (&args.svg, &|| drawn(picture::svg)),
        (&args.dot, &|| drawn(picture::dot)),
    ];
    for (file, make) in wanted {
        if let (Some(file), Some(text)) = (file, file.as_ref().map_or(Ok(None), |_| make())?) {
            write(file, &text)?;
        }
    }
    Ok(())
}

fn text(c: &CrashOutcome) -> String {
    let total = c
        .states_total
        .map_or_else(|| "an unknown number of".into(), |n| n.to_string());
    let mut t = format!(
        "{}: {} of {total} crash states covered{}",
        c.verdict,
        c.states_covered,
        if c.complete { " (all)" } else { "" }
    );
    if c.log_prefixes > 0 {
        let _ = write!(
            t,
            ", {} of {} prefixes of the simulated log, {} violated",
            c.log_prefixes, c.log_prefixes_total, c.log_violations
        );
    }
    let _ = writeln!(
        t,
        "\n{} ({}), contract {} (line order {}, grain {} B), written for {}, {} threads, {} operations each",
        c.program, c.variant, c.contract, c.line_order, c.grain, c.dialect, c.threads, c.ops
    );
    if !c.sizes.is_empty() {
        let _ = writeln!(t, "small structures: {} (--full-size: as in runs)", c.sizes.join(" "));
    }
    let many = |n: u64| if n == 1 { "" } else { "s" };
    let _ = writeln!(
        t,
        "{} crash point{} of {} distinct execution{} ({} schedule{}), {} recoveries, {} steps",
        c.crash_points,
        many(c.crash_points),
        c.executions,
        many(c.executions),
        c.schedules,
        many(c.schedules),
        c.recoveries,
        c.steps
    );
    if c.threads > 1 && c.verdict == Verdict::Clean {
        let _ = writeln!(
            t,
            "clean of these executions; other interleavings of the threads were not recorded"
        );
    }
    let again = &c.during_recovery;
    if again.recoveries > 0 {
        let _ = writeln!(
            t,
            "during recovery: {} recoveries interrupted{}, {} states{}",
            again.recoveries,
            if again.complete { "" } else { ", not all of them" },
            again.states,
            if again.fenced {
                ""
            } else {
                " (no flush or fence in it: taken to store durably and in order)"
            }
        );
    }
    if let Some(n) = c.lines_deviating {
        let _ = writeln!(
            t,
            "covered: every state in which at most {n} lines deviate from all durable or nothing durable"
        );
    }
    if let Some(w) = &c.witness {
        t.push_str(&witness::text(w));
    }
    t
}

/// Runs recovery again on one crash state.
pub(super) fn replay(id: &str, file: Option<&Path>, out: &Out) -> Result<u8, LabError> {
    if is_image_id(id) {
        return super::external::replay(id, file, out);
    }
    let r = lab_replay::replay(id)?;
    out.document(&r, || {
        let state = format!("{}: {}\n", r.program, r.verdict);
        wrapped(&(state + &r.witness.as_ref().map_or_else(String::new, witness::text)))
    })?;
    Ok(if r.witness.is_some() { VIOLATION } else { CLEAN })
}
