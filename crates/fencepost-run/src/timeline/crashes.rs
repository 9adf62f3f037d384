//! Recovery after power failures along a run.

use super::allowed::{Allowed, allowed};
use crate::check::Recorded;
use crate::error::LabError;
use crate::progress::Progress;
use crate::witness::{Searched, Witness, cut_witness, prefix_witness};
use fencepost_contract::explore::BrokenPrefix;
use fencepost_kernel::StoreId;
use fencepost_pages::pack::rising;
use serde::Serialize;
use std::collections::HashMap;

/// Failures that are told in full.
const TOLD: usize = 50;

/// What recovery made of the run's crash points.
#[derive(Serialize)]
pub(super) struct Crashes {
    /// Durable events before each crash point that was recovered (rising), packed.
    points: String,
    recovered: usize,
    /// Durable events before each one that broke.
    broken: Vec<u64>,
    /// The first of them in full, by durable events.
    told: Vec<(u64, Witness)>,
    /// The smallest state that recovery does not survive among those that the contract allows of writes in flight.
    smallest: Option<Witness>,
    /// Some of those that it allows, at moments of the run.
    allowed: Vec<Allowed>,
}

impl Crashes {
    /// Crash points recovered, and those that broke.
    pub(super) fn counts(&self) -> [usize; 2] {
        [self.recovered, self.broken.len()]
    }
}

/// Recovers after each chosen crash point, and after `at` durable events; `place` finds stores in the page's list.
///
/// # Errors
/// A defect of ours.
pub(super) fn crashes(
    run: &Recorded<'_>,
    (at, place): (Option<u64>, &HashMap<StoreId, usize>),
    progress: &dyn Progress,
) -> Result<Crashes, LabError> {
    let (mut points, mut broken, mut told) = (Vec::new(), Vec::new(), Vec::new());
    let asked = at
        .map(|n| Ok::<_, LabError>((n, run.replay_prefix(n, None)?)))
        .transpose()?;
    let first = |n: u64, found: &BrokenPrefix| (n, prefix_witness(run.resolved, found, run.report));
    if let Some((n, Some(found))) = &asked {
        told.push(first(*n, found));
    }
    run.each_prefix(progress, |records, found| {
        points.push(records);
        if let Some(found) = found {
            broken.push(records);
            if told.len() < TOLD && at != Some(records) {
                told.push(first(records, &found));
            }
        }
    })?;
    if let Some((n, found)) = asked {
        points.push(n);
        broken.extend(found.map(|_| n));
    }
    for list in [&mut points, &mut broken] {
        list.sort_unstable();
        list.dedup();
    }
    told.sort_by_key(|t| t.0);
    let (mut smallest, mut states) = (None, Vec::new());
    run.in_flight(|explorer, recovery| {
        states = allowed(&explorer, run.oracle, place, &run.report.times);
        let found = explorer
            .explore(recovery)
            .map_err(|e| LabError::Internal(e.to_string()))?;
        smallest = found.witness.as_ref().map(|w| cut_witness(w, Searched::InFlight));
        Ok(())
    })?;
    Ok(Crashes {
        recovered: points.len(),
        points: rising(points).map_err(|e| LabError::Internal(e.to_string()))?,
        broken,
        told,
        smallest,
        allowed: states,
    })
}
