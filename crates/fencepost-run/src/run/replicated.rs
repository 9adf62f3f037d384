//! Runs in which clients persist over a network on a server that has nothing else to do.

use crate::check::judged;
use crate::config::Resolved;
use crate::error::LabError;
use crate::host::Stopwatch;
use crate::outcome::result;
use crate::replication::{STALLS, audit, witness};
use crate::result::{Check, RunResult};
use crate::simulate::{Simulated, refuse};
use fencepost_kernel::{Image, PersistLog, Ps};
use fencepost_machine::network::ClientReport;
use fencepost_machine::seam::Design;
use fencepost_machine::{Machine, RunReport, Workload};

/// Runs clients on a server that has nothing else to do. Operations are transactions of the clients.
pub(super) fn run(resolved: &Resolved, design: Box<dyn Design>) -> Result<(RunResult, PersistLog), LabError> {
    let check = resolved.request.check;
    let simulated = simulate(resolved, design, check)?;
    let checked = match check {
        true => Some(judge(resolved, &simulated.report)?),
        false => None,
    };
    let mut r = result(resolved, &simulated, checked);
    if let Some(n) = &simulated.report.network {
        let sum = |f: fn(&ClientReport) -> Ps| n.clients.iter().map(|c| f(c).0).sum::<u64>();
        r.ops = n.clients.iter().map(|c| c.transactions).sum();
        r.time_ps = n.clients.iter().map(|c| c.finished.0).max().unwrap_or(0);
        r.ops_per_s = if r.time_ps > 0 {
            r.ops as f64 / (r.time_ps as f64 * 1e-12)
        } else {
            0.0
        };
        r.busy_ps = sum(|c| c.compute);
        let (persist, at_server) = (sum(|c| c.persist), sum(|c| c.at_server));
        r.stalls = (STALLS.into_iter().zip([persist - at_server, at_server]))
            .filter(|s| s.1 > 0)
            .map(|(cause, ps)| (cause.to_owned(), ps))
            .collect();
    }
    Ok((r, simulated.report.log))
}

fn simulate(resolved: &Resolved, design: Box<dyn Design>, record: bool) -> Result<Simulated, LabError> {
    let statistics = design.statistics();
    let work = Workload {
        initial: Image::default(),
        threads: Vec::new(),
        sites: Vec::new().into(),
        resident: Default::default(),
        warm_up: 0,
        record,
    };
    let clients = resolved
        .clients()
        .ok_or_else(|| LabError::Internal("a run of clients without clients".into()))?;
    let machine = Machine::new(&resolved.machine.spec, design, work)
        .and_then(|m| m.with_clients(clients, resolved.request.seed))
        .map_err(refuse)?;
    let begun = Stopwatch::start();
    let report = machine.run().map_err(refuse)?;
    Ok(Simulated {
        report,
        statistics,
        spent: begun.stop(),
    })
}

/// Every durable event of the server as a power failure: the replica, what clients believe, and the persist order.
fn judge(resolved: &Resolved, report: &RunReport) -> Result<Check, LabError> {
    judged(resolved, report, audit(resolved, report).iter().map(witness).collect())
}
