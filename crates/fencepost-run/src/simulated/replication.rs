//! The replica that clients write over a network: its audit, and what the clients did.

use crate::config::Resolved;
use crate::result::Witness;
use fencepost_contract::replica::{self, ReplicaViolation};
use fencepost_machine::RunReport;
use fencepost_machine::network::{ClientReport, NetworkReport};

/// What clients wait for: the network, and the server's memory.
pub(crate) const STALLS: [&str; 2] = ["round-trip", "remote-persist"];

/// What is wrong with the replica of a recorded run, if it has one and anything is.
pub(crate) fn audit(resolved: &Resolved, report: &RunReport) -> Option<ReplicaViolation> {
    let (network, transactions) = (report.network.as_ref()?, resolved.clients()?);
    let memory = (&report.initial, report.log.records());
    let complete = resolved.design.promise.persists_every_store;
    let spec = &resolved.machine.spec.network;
    let lost = replica::lost_as_declared(&network.journal, spec.lost_acks, spec.broken > 0);
    let trips: Vec<u64> = network.clients.iter().map(|c| c.round_trips).collect();
    let told = replica::told_as_counted(&network.journal, &trips);
    let audited = replica::audit(&network.journal, &transactions, memory, complete);
    lost.err().or(told.err()).or(audited.err())
}

/// A violation of the replica, as checks show it.
pub(crate) fn witness(v: &ReplicaViolation) -> Witness {
    Witness {
        event: v.events,
        time_ps: v.time.map(|t| t.0),
        ..Witness::of(format!("replica: {}", v.why))
    }
}

/// What clients did, as counters.
pub(crate) fn counters(n: &NetworkReport) -> Vec<(String, u64)> {
    let sum = |f: fn(&ClientReport) -> u64| n.clients.iter().map(f).sum::<u64>();
    let finished = n.clients.iter().map(|c| c.finished.0).max().unwrap_or(0);
    let named = [
        ("transactions", sum(|c| c.transactions)),
        ("persisted", sum(|c| c.persisted)),
        ("round_trips", sum(|c| c.round_trips)),
        ("persisted_again", sum(|c| c.again)),
        ("lost_messages", n.lost),
        ("compute_ps", sum(|c| c.compute.0)),
        ("persist_ps", sum(|c| c.persist.0)),
        ("at_server_ps", sum(|c| c.at_server.0)),
        ("round_trip_ps", sum(|c| c.persist.0 - c.at_server.0)),
        ("finished_ps", finished),
    ];
    named
        .into_iter()
        .map(|(name, n)| (format!("network.{name}"), n))
        .collect()
}

/// What a reader of a run of clients should know.
pub(crate) fn note(resolved: &Resolved) -> Option<String> {
    resolved.is_replication().then(|| {
        "threads are clients, operations their transactions; what a client computes and sends is declared (client.*), the network too (network.*)"
            .to_owned()
    })
}
