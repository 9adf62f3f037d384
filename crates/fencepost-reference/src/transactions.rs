//! Hardware transactions: whose each store is, and which may have seen what another one stored and took back.
//!
//! What a thread stores between the beginning of a transaction and its end is a part of it, and nothing else is.
//!
//! Versions of a line lie on one another, and a transaction that begins while another runs may build on its versions. When that one aborts,
//! it must abort too; when it does not, memory may hold by luck what no order of transactions explains.

use crate::run::{Breach, Run, must};
use fencepost_kernel::{HwThread, StoreId, TraceKind, TxId};

/// A transaction that runs.
struct Running {
    thread: HwThread,
    tx: TxId,
    /// The event with which it began.
    begun: usize,
    /// The abort after which it may not commit, and whether it has stored since: then it had not asked to commit before.
    doomed: Option<usize>,
    goes_on: bool,
}

/// Follows transactions from their beginning to their end.
pub(crate) fn judge(run: &Run<'_>) -> Result<(), Breach> {
    let mut running: Vec<Running> = Vec::new();
    for (i, event) in run.trace.events.iter().enumerate() {
        let Some(thread) = event.thread else { continue };
        let stored = match event.kind {
            TraceKind::Store(id) => Some(id),
            TraceKind::Rmw { store, .. } => store,
            _ => None,
        };
        if let Some(id) = stored {
            belongs(run, &running, i, id)?;
        }
        match event.kind {
            TraceKind::TxBegin(tx) => {
                running.retain(|t| t.thread != thread);
                running.push(Running {
                    thread,
                    tx,
                    begun: i,
                    doomed: None,
                    goes_on: false,
                });
            }
            TraceKind::TxAbort(_) => {
                let at = running.iter().position(|t| t.thread == thread);
                let Some(gone) = at.map(|at| running.swap_remove(at)) else {
                    continue;
                };
                // Those after a doomed one were doomed with it; what began since saw nothing of the first abort.
                let later = running
                    .iter_mut()
                    .filter(|t| gone.doomed.is_none() && t.begun > gone.begun);
                later.for_each(|t| t.doomed = t.doomed.or(Some(i)));
            }
            TraceKind::Store(id) if run.trace.store(id).addr.is_persistent() => {
                let own = running.iter_mut().filter(|t| t.thread == thread);
                own.for_each(|t| t.goes_on |= t.doomed.is_some());
            }
            TraceKind::TxCommit(_) => {
                let at = running.iter().position(|t| t.thread == thread);
                let Some(ended) = at.map(|at| running.swap_remove(at)) else {
                    continue;
                };
                must(
                    !ended.goes_on,
                    "a transaction aborts with one that began before it",
                    Some(i),
                    || {
                        let (begun, aborted) = (ended.begun, ended.doomed.unwrap_or(0));
                        format!(
                            "thread {} commits what it began at event {begun}, and an older one aborted at event {aborted}",
                            thread.0
                        )
                    },
                )?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// A store is of the transaction that its thread has begun and not ended.
fn belongs(run: &Run<'_>, running: &[Running], event: usize, id: StoreId) -> Result<(), Breach> {
    let store = run.trace.store(id);
    let runs = running.iter().find(|t| t.thread == store.thread).map(|t| t.tx);
    must(
        store.tx == runs,
        "a store is of the transaction that its thread runs",
        Some(event),
        || {
            format!(
                "a store of thread {} is of {:?}, and it runs {runs:?}",
                store.thread.0, store.tx
            )
        },
    )
}
