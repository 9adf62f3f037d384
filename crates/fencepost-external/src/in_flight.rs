//! The writes in flight of a log's run, in every order in which the design's contract lets them become durable: as checked runs of our own
//! programs are examined.

use crate::recovery::runner::Runner;
use fencepost_contract::images::{ImageWitness, Images, Next};
use fencepost_contract::recorded::RecordedLog;
use fencepost_contract::{Contract, ContractKind};
use fencepost_kernel::{HwThread, StoreId, Trace};
use fencepost_machine::RunReport;
use fencepost_run::LabError;
use std::collections::BTreeMap;

/// Stores of a run beyond which its writes in flight are not reordered.
const SMALL: usize = 4_000;
/// Lost stores that are named.
const SHOWN: usize = 8;

/// What was examined, and what was found.
#[derive(Default)]
pub(crate) struct InFlight {
    pub(crate) states: u128,
    pub(crate) complete: bool,
    pub(crate) failed: Option<Failed>,
}
/// A state that recovery does not survive.
pub(crate) struct Failed {
    pub(crate) why: String,
    pub(crate) crash: [Vec<u32>; 2],
    /// What is lost, by places of the program where they are known.
    pub(crate) lost: Vec<String>,
}

/// Runs recovery on these states, one after the other while `more` says so of their number.
pub(crate) fn in_flight(
    contract: ContractKind,
    log: &RecordedLog,
    report: &RunReport,
    trace: &Trace,
    runner: &mut Runner,
    more: impl Fn(u64) -> bool,
) -> Result<InFlight, LabError> {
    let mut found = InFlight::default();
    // Hardware transactions are left to their own recovery: which writes of theirs are in flight says nothing by itself.
    if trace.stores.len() > SMALL || contract.is_transactional() {
        return Ok(found);
    }
    let space = Contract::from(contract).space(trace, &report.initial);
    let mut images = Images::new(&space, false);
    for _ in (0..).take_while(|n| more(*n)) {
        let Next::Run(job) = images.next_image() else { break };
        let answer = runner.run(&job)?;
        images.answer(&job, &answer);
        if let Some(why) = answer.failed {
            let names = names(log, trace);
            let lost = ImageWitness::of(&space, &job).missing;
            let name = |s: &StoreId| {
                names
                    .get(s)
                    .copied()
                    .flatten()
                    .map_or_else(|| trace.store(*s).addr.to_string(), str::to_owned)
            };
            let mut lost: Vec<String> = lost.iter().map(name).collect();
            lost.sort();
            lost.dedup();
            lost.truncate(SHOWN);
            found.failed = Some(Failed {
                why,
                crash: [job.crash.begun.clone(), job.crash.acked.clone()],
                lost,
            });
            break;
        }
    }
    // States are counted in the last pass of a search; each image that was run is one, at least.
    let progress = images.progress();
    (found.states, found.complete) = (progress.covered.max(progress.images.into()), progress.complete);
    Ok(found)
}

/// Where the run's stores come from: each thread makes those of the log in their order.
fn names<'l>(log: &'l RecordedLog, trace: &Trace) -> BTreeMap<StoreId, Option<&'l str>> {
    let mut of_thread: BTreeMap<HwThread, Vec<Option<&str>>> = BTreeMap::new();
    for (info, origin) in log.trace.stores.iter().zip(&log.origins) {
        of_thread.entry(info.thread).or_default().push(origin.source.as_deref());
    }
    let mut next: BTreeMap<HwThread, usize> = BTreeMap::new();
    let named = trace.stores.iter().enumerate().filter_map(|(i, info)| {
        let n = next.entry(info.thread).or_default();
        *n += 1;
        let source = of_thread.get(&info.thread)?.get(*n - 1).copied().flatten();
        Some((StoreId::from_index(i)?, source))
    });
    named.collect()
}
