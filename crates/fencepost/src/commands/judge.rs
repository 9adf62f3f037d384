//! `judge`.

use crate::args::JudgeArgs;
use crate::ci::Checked;
use crate::exit::{CLEAN, VIOLATION};
use crate::layout::wrapped;
use crate::output::Out;
use fencepost_run::LabError;
use fencepost_run::judge::{Judged, judge as lab_judge};
use std::time::Instant;

/// Judges a recorded log.
pub(super) fn judge(args: &JudgeArgs, out: &Out) -> Result<u8, LabError> {
    let begun = Instant::now();
    let order = args.line_order.map(Into::into);
    let judged = lab_judge(&args.file, &args.contract, args.complete, order)?;
    let told = text(&judged);
    args.ci.write(&Checked {
        subject: &judged.file,
        contract: &judged.contract,
        verdict: judged.verdict,
        why: judged.why.as_deref(),
        lines: &judged.why.as_deref().map(lines).unwrap_or_default(),
        text: &told,
        seconds: begun.elapsed().as_secs_f64(),
    })?;
    out.document(&judged, || wrapped(&told))?;
    Ok(if judged.violated() { VIOLATION } else { CLEAN })
}

/// The lines of the program that a refusal names.
fn lines(why: &str) -> Vec<String> {
    let places = why
        .split("log line ")
        .skip(1)
        .filter_map(|p| p.split(')').next()?.split_once(", "));
    let mut lines: Vec<String> = places.map(|(_, place)| place.to_owned()).collect();
    lines.sort();
    lines.dedup();
    lines
}

fn text(j: &Judged) -> String {
    let mut head = format!(
        "{}: {}, contract {}, {} stores, {} durable events\n",
        j.verdict, j.file, j.contract, j.stores, j.durable_events
    );
    if let Some(warning) = &j.warning {
        head += &format!("warning: {warning}\n");
    }
    match &j.why {
        Some(why) => format!("{head}{why}\n"),
        None => format!(
            "{head}{} persisted, {} coalesced, {} pending at the end; {} promises of durability held; {} stores passed older ones\n",
            j.persisted, j.coalesced, j.pending, j.musts, j.reordered
        ),
    }
}
