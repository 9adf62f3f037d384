//! Which instructions of the persist path random programs issued: what a design honours must have been tried, and nothing else.

use fencepost_kernel::{Dialect, Fence, Flush, Honours, Trace, TraceKind};
use std::collections::BTreeSet;

/// Flushes, fences and non-temporal stores that some programs issued, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issued(BTreeSet<String>);

const NT_STORE: &str = "non-temporal stores";

fn fence(kind: Fence) -> String {
    format!("fence {kind:?}")
}
fn flush(kind: Flush) -> String {
    format!("flush {kind:?}")
}

impl Issued {
    /// Those of a recorded run.
    pub fn of(trace: &Trace) -> Issued {
        let name = |kind: &TraceKind| match *kind {
            TraceKind::Flush { kind, .. } => Some(flush(kind)),
            TraceKind::Fence(kind) => Some(fence(kind)),
            TraceKind::Store(id) if trace.store(id).nt => Some(NT_STORE.to_owned()),
            _ => None,
        };
        Issued(trace.events.iter().filter_map(|e| name(&e.kind)).collect())
    }
    /// Adds those of other programs.
    pub fn add(&mut self, other: &Issued) {
        self.0.extend(other.0.iter().cloned());
    }
    /// What a design honours and no program issued. Transactions hold nothing but loads and stores.
    pub fn untried(&self, honours: &Honours) -> Vec<String> {
        if honours.transactions {
            return Vec::new();
        }
        honoured(honours).filter(|n| !self.0.contains(n)).collect()
    }
    /// What programs issued although the design honours it not and its idioms, each of the dialects, do not need it.
    pub fn undeclared(&self, honours: &Honours, dialects: impl Iterator<Item = Dialect>) -> Vec<String> {
        let mut known: BTreeSet<String> = honoured(honours).collect();
        for d in dialects {
            known.extend(d.flush.map(flush));
            let idioms = [d.order, d.durable, d.log_to_data, d.lock_acquire, d.unlock_release];
            known.extend(idioms.into_iter().flatten().map(|f| fence(*f)));
        }
        self.0.difference(&known).cloned().collect()
    }
}

fn honoured(honours: &Honours) -> impl Iterator<Item = String> {
    let fences = honours.fences.iter().map(|f| fence(*f));
    let flushes = honours.flushes.iter().map(|f| flush(*f));
    let stores = honours.nt_stores.then(|| NT_STORE.to_owned());
    fences.chain(flushes).chain(stores)
}
