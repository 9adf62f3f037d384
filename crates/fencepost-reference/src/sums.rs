//! Counters of a design, and what they must add up to.

use crate::run::{Breach, Counted, Run, must};
use fencepost_kernel::ledger::LedgerKind;
use fencepost_kernel::stats::{Seen, Sum};
use fencepost_kernel::{HwThread, TraceKind};
use rustc_hash::FxHashSet;

/// Judges every sum.
pub(crate) fn judge(run: &Run<'_>) -> Result<(), Breach> {
    let Some(design) = &run.report.as_ref().map(|r| r.design) else {
        return Ok(());
    };
    // What comes over a network has buffers and stores of its own.
    let network = run.trace.stores.iter().any(|s| is_remote(run, s.thread));
    let of_threads = |s: &&Sum| !matches!(s.to, Seen::Entries | Seen::Barriers | Seen::Stores | Seen::NtStores);
    for sum in design.sums.iter().filter(|s| !network || of_threads(s)) {
        let picked = |from: &[u64], which: &[usize]| which.iter().map(|i| from[*i]).sum::<u64>();
        let counted = picked(design.counters, sum.counters) + picked(design.samples, sum.samples);
        let seen = seen(run, design, sum.to);
        let holds = counted == seen || (sum.at_most && counted < seen);
        must(holds, "what a design counts adds up", None, || {
            format!(
                "its counters {:?} and histograms {:?} are {counted} in all, where {:?} is {seen}",
                sum.counters, sum.samples, sum.to
            )
        })?;
    }
    Ok(())
}

/// Entries of persist buffers that have a line: one that takes another store is noted again.
fn entries(run: &Run<'_>) -> u64 {
    let noted = run.trace.ledger.iter().filter_map(|e| match e.kind {
        LedgerKind::Buffered {
            buffer,
            entry,
            line: Some(_),
        } => Some((buffer, entry)),
        _ => None,
    });
    noted.collect::<FxHashSet<_>>().len() as u64
}

/// Whether a store came over a network.
fn is_remote(run: &Run<'_>, thread: HwThread) -> bool {
    thread.index() >= run.hardware.threads as usize
}

/// How much of something there was.
fn seen(run: &Run<'_>, design: &Counted<'_>, what: Seen) -> u64 {
    let events = |of: &dyn Fn(TraceKind) -> bool| run.trace.events.iter().filter(|e| of(e.kind)).count() as u64;
    let noted = |of: &dyn Fn(LedgerKind) -> bool| run.trace.ledger.iter().filter(|e| of(e.kind)).count() as u64;
    let stores = |nt: bool| {
        let all = run.trace.stores.iter();
        all.filter(|s| s.nt == nt && s.addr.is_persistent() && !is_remote(run, s.thread))
            .count() as u64
    };
    match what {
        Seen::Zero => 0,
        Seen::Counter(i) => design.counters[i],
        Seen::Entries => entries(run),
        Seen::Barriers => noted(&|k| matches!(k, LedgerKind::Buffered { line: None, .. })),
        Seen::Issued => noted(&|k| matches!(k, LedgerKind::Issued { .. })),
        Seen::Accepted => noted(&|k| matches!(k, LedgerKind::Accepted { .. })),
        Seen::Stores => stores(false) + stores(true),
        Seen::NtStores => stores(true),
        Seen::Fences(kinds) => events(&|k| matches!(k, TraceKind::Fence(f) if kinds.contains(&f))),
        Seen::QueueCommits => events(&|k| matches!(k, TraceKind::CommitQueue(_))),
        Seen::Unbound => events(&|k| matches!(k, TraceKind::Bind { queue, .. } if queue.0 == 0)),
        Seen::Commits => events(&|k| matches!(k, TraceKind::TxCommit(_))),
        Seen::Aborts => events(&|k| matches!(k, TraceKind::TxAbort(_))),
    }
}
