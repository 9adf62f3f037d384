//! Counters that must add up with what happened.

use crate::run::{Breach, Counts, Run, must};
use crate::writes::Writes;
use fencepost_kernel::{HwThread, TraceKind};

/// What the threads did, and what became of the writes.
pub(crate) fn judge(run: &Run<'_>, writes: &Writes) -> Result<(), Breach> {
    let Some(c) = &run.counts else { return Ok(()) };
    must(
        c.written == writes.issued,
        "lines written are writes issued",
        None,
        || {
            format!(
                "{} lines were written, and {} writes were issued",
                c.written, writes.issued
            )
        },
    )?;
    // A non-temporal store asks the caches below without having looked for its line.
    let [first, last] = c.misses;
    must(
        last <= first + c.threads[1],
        "what misses below has missed above",
        None,
        || format!("{last} reads missed the last level, and {first} accesses the first"),
    )?;
    let left = writes.accepted.checked_sub(writes.issued + c.merged);
    let all_out = !run.hardware.durable_on_accept && !run.hardware.volatile_below;
    let adds_up = left.is_some_and(|left| left == 0 || !all_out);
    must(adds_up, "writes are issued or merged", None, || {
        format!(
            "{} writes were accepted, {} issued and {} merged",
            writes.accepted, writes.issued, c.merged
        )
    })?;
    let [stores, nt_stores, flushes, fences] = c.threads;
    let by_thread = |t: Option<HwThread>| t.is_some_and(|t| t.index() < run.hardware.threads as usize);
    let events = || run.trace.events.iter().filter(|e| by_thread(e.thread));
    let happened = |of: fn(&TraceKind) -> bool| events().filter(|e| of(&e.kind)).count() as u64;
    let own = run
        .trace
        .stores
        .iter()
        .filter(|s| s.thread.index() < run.hardware.threads as usize);
    let (mut plain, mut nt) = (0, 0);
    own.for_each(|s| *(if s.nt { &mut nt } else { &mut plain }) += 1);
    for (what, counted, seen) in [
        ("non-temporal stores", nt_stores, nt),
        ("flushes", flushes, happened(|k| matches!(k, TraceKind::Flush { .. }))),
        ("fences", fences, happened(|k| matches!(k, TraceKind::Fence(_)))),
        ("stores", stores, plain),
    ] {
        must(counted == seen, "counters count what happened", None, || {
            format!("{counted} {what} were counted, and {seen} happened")
        })?;
    }
    before(run, c)
}

/// When the measured part began, the counters were those of the events so far.
fn before(run: &Run<'_>, c: &Counts) -> Result<(), Breach> {
    let by_program = |t: Option<HwThread>| t.is_some_and(|t| t.index() < run.hardware.threads as usize);
    let mut seen = [0; 4];
    for event in run.trace.events.iter().take(c.events_before) {
        let kind = match event.kind {
            _ if !by_program(event.thread) => None,
            TraceKind::Store(id) | TraceKind::Rmw { store: Some(id), .. } => Some(usize::from(run.trace.store(id).nt)),
            TraceKind::Flush { .. } => Some(2),
            TraceKind::Fence(_) => Some(3),
            _ => None,
        };
        kind.into_iter().for_each(|k| seen[k] += 1);
    }
    let what = ["stores", "non-temporal stores", "flushes", "fences"];
    for ((what, counted), seen) in what.into_iter().zip(c.threads_before).zip(seen) {
        must(counted == seen, "the warm-up is counted apart", None, || {
            format!("{counted} {what} were counted before the measured part, and {seen} happened")
        })?;
    }
    Ok(())
}
