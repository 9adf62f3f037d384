//! `judge`.

use crate::args::JudgeArgs;
use crate::exit::{CLEAN, VIOLATION};
use crate::layout::wrapped;
use crate::output::Out;
use fencepost_run::LabError;
use fencepost_run::judge::{Judged, judge as lab_judge};

/// Judges a recorded log.
pub fn judge(args: &JudgeArgs, out: &Out) -> Result<u8, LabError> {
    let order = args.line_order.map(Into::into);
    let judged = lab_judge(&args.file, &args.contract, args.complete, order)?;
    out.document(&judged, || wrapped(&text(&judged)))?;
    Ok(if judged.violated() { VIOLATION } else { CLEAN })
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
