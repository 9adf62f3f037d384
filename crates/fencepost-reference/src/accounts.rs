//! What a report counts and times: sums of what threads, caches and controllers did, each told in two places that must agree.

use crate::run::{Breach, Controller, Report, Run, must};
use crate::writes::Writes;
use fencepost_kernel::TraceKind;
use fencepost_kernel::units::LINE_BYTES;

/// Judges what a whole run reports.
pub(crate) fn judge(run: &Run<'_>, writes: &Writes) -> Result<(), Breach> {
    let Some(report) = &run.report else { return Ok(()) };
    times(run, report)?;
    for c in &report.controllers {
        controller(c)?;
    }
    let [persistent, _] = &report.controllers;
    must(
        persistent.asked[1] == writes.accepted,
        "lines that reach memory are writes accepted",
        None,
        || {
            format!(
                "{} lines reached persistent memory, and {} writes were accepted",
                persistent.asked[1], writes.accepted
            )
        },
    )?;
    let before = run.counts.map_or(0, |c| c.events_before);
    let durable = run.trace.events.iter().take(before);
    let durable = durable.filter(|e| matches!(e.kind, TraceKind::Durable { .. })).count() as u64;
    must(
        report.durable_before == durable,
        "the warm-up is counted apart",
        None,
        || {
            format!(
                "{} durable events are said to precede the measured part, and {durable} do",
                report.durable_before
            )
        },
    )
}

/// The column accesses of a controller, and what each of them adds to its other counters.
fn controller(c: &Controller) -> Result<(), Breach> {
    let (columns, found) = (c.lines.iter().sum::<u64>(), c.rows.iter().sum::<u64>());
    let rule = "every line is one access to a row, and one transfer";
    must(columns == found, rule, None, || {
        format!("{columns} lines were read and written, and {found} rows accessed")
    })?;
    must(c.bytes == columns * LINE_BYTES, rule, None, || {
        format!(
            "{columns} lines were read and written, and {} bytes transferred",
            c.bytes
        )
    })?;
    must(c.busy.0 == columns * c.burst.0, rule, None, || {
        format!("{columns} lines of {} kept the buses busy for {}", c.burst, c.busy)
    })?;
    // A channel begins as if it had read.
    let most = (c.lines[0] + c.channels).min(c.lines[1]);
    must(
        c.switches <= most,
        "a channel turns where a write follows a read",
        None,
        || format!("{} turns from reading to writing, of {most} at most", c.switches),
    )?;
    let answered = c.lines[0] + c.forwarded;
    must(
        c.asked[0] <= answered,
        "what is asked for is read or forwarded",
        None,
        || format!("{} lines were asked for, and {answered} read or forwarded", c.asked[0]),
    )?;
    let written = c.lines[1] + c.merged;
    must(
        !c.empty || c.asked[1] == written,
        "writes are issued or merged",
        None,
        || {
            format!(
                "{} lines reached a controller, {} were written and {} merged",
                c.asked[1], c.lines[1], c.merged
            )
        },
    )
}

/// Busy time and stalls of a thread are the time that it took, and the threads' parts those of the run.
fn times(run: &Run<'_>, report: &Report<'_>) -> Result<(), Breach> {
    let counts = run.counts.unwrap_or_default();
    for (number, t) in report.threads.iter().enumerate() {
        let took = t.ended.saturating_sub(t.began);
        let adds_up = t.accounted == took || (t.accounted < took && report.in_order);
        must(adds_up, "busy time and stalls are the time of a thread", None, || {
            format!("thread {number} took {took}, and {} are accounted for", t.accounted)
        })?;
        must(
            t.memory_ops <= t.instructions,
            "memory operations are instructions",
            None,
            || {
                format!(
                    "thread {number} did {} in {} instructions",
                    t.memory_ops, t.instructions
                )
            },
        )?;
        let ended = |from: usize| {
            let events = run.trace.events.iter().skip(from);
            let own = events.filter(|e| e.thread.is_some_and(|t| t.index() == number));
            own.filter(|e| matches!(e.kind, TraceKind::OpEnd(_))).count() as u64
        };
        // Of the thread that ends the warm-up, what it did in the same moment counts already.
        let (least, most) = (ended(counts.events_before), ended(0));
        must(
            (least..=most).contains(&t.ops),
            "operations are counted once",
            None,
            || {
                format!(
                    "{} operations of thread {number} were counted, and {least} ended",
                    t.ops
                )
            },
        )?;
    }
    let last = report.threads.iter().map(|t| t.ended).max().unwrap_or_default();
    let first = report.threads.iter().map(|t| t.began).min().unwrap_or_default();
    let whole = last.saturating_sub(first);
    let fits = report.time == whole || (counts.events_before > 0 && report.time <= whole);
    must(
        fits,
        "a run lasts from the first thread's start to the last one's end",
        None,
        || format!("the run took {}, and its threads {whole}", report.time),
    )
}
