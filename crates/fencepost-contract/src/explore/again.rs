//! Power that fails while recovery runs: what recovery has stored by then is an execution of its own, with crash states
//! of its own, from which recovery starts again.

use super::crash_report::{AgainReport, Budget, Report, Verdict};
use super::explorer::Explorer;
use super::path::Path;
use super::replay_id::{ReplayError, ReplayId};
use super::search::{Allowance, ExploreError, Rules, Subject, Tally};
use super::witness::Witness;
use crate::contracts::{Contract, ContractKind};
use crate::graph::{CrashSpace, Extent, NodeId};
use fencepost_kernel::planted;
use fencepost_kernel::{CrashPoint, Fence, Image, Trace, TraceKind, Violation};

/// Recoveries that one interrupted recovery may be followed by.
const MOST_SECOND: u64 = 20_000;

/// Steps that they may take together.
const MOST_STEPS: u64 = 1_000_000;

/// Recovery's own execution as a crash space over the memory that it found. Its fences stand for the full fence of the
/// contract, because recovery is written once for all of them. `None`: it stored nothing persistent.
///
/// A recovery without a single flush or fence is judged as if each store became durable before the next: what it would
/// have to flush is then not examined, only whether it can be begun again anywhere.
pub(super) fn space_of(
    contract: Contract,
    tape: &Trace,
    found: &Image,
    crash: &CrashPoint,
    extent: Extent,
) -> Option<CrashSpace> {
    if !tape.stores.iter().any(|s| s.addr.is_persistent()) {
        return None;
    }
    let mut contract = contract;
    let fences = contract.kind.full_fence();
    if fences.is_empty() || !is_fenced(tape) {
        contract.kind = ContractKind::StrictSc;
        contract.params.buffered = Some(true);
    }
    let mut trace = tape.clone();
    trace.events.clear();
    for event in &tape.events {
        match event.kind {
            TraceKind::Fence(Fence::NewStrand) => {}
            TraceKind::Fence(_) => fences.iter().for_each(|f| trace.events.push(fence_like(event, *f))),
            _ => trace.events.push(*event),
        }
    }
    let mut space = contract.space(&trace, found);
    space.history.extent = extent;
    for point in &mut space.points {
        point.crash = crash.clone();
    }
    Some(space)
}
fn fence_like(event: &fencepost_kernel::TraceEvent, fence: Fence) -> fencepost_kernel::TraceEvent {
    fencepost_kernel::TraceEvent {
        thread: event.thread,
        kind: TraceKind::Fence(fence),
    }
}
/// Whether recovery does anything about durability itself.
pub(super) fn is_fenced(tape: &Trace) -> bool {
    let flushes = |e: &fencepost_kernel::TraceEvent| matches!(e.kind, TraceKind::Flush { .. } | TraceKind::Fence(_));
    tape.events.iter().any(flushes)
}

/// The budget of one interrupted recovery where all of them may still take `left`.
pub(super) fn at_most(left: u64) -> Budget {
    Budget::States(left.clamp(1, MOST_SECOND))
}
/// An exploration of the crash states of one recovery; one after that counts as endless after so many accesses.
pub(super) fn explorer(space: &CrashSpace, loads: u64) -> Explorer<'_> {
    Explorer::new(space)
        .endless_after_loads(loads)
        .budget(Budget::States(MOST_SECOND))
        .beside_others(MOST_STEPS)
}

/// A recovery that does not survive being interrupted.
pub(super) struct Interrupted {
    /// Failure point and durable nodes of the first crash.
    pub point: usize,
    pub durable: Vec<bool>,
    /// The second crash.
    pub second: Witness,
}

/// Explores the crash states of one execution.
pub(super) type Explore<'a> = &'a dyn Fn(&Explorer<'_>, &mut dyn Subject) -> Result<Report, ExploreError>;

/// Interrupts the recoveries that ended in `states` (failure point, durable nodes), in the order of their points; `explore` goes
/// through the crash states of each.
pub(super) fn interrupt(
    first: &Explorer<'_>,
    contract: Contract,
    states: &[(usize, Vec<bool>)],
    subject: &mut dyn Subject,
    (allowance, tally): (Allowance, &mut Tally),
    explore: Explore<'_>,
) -> Result<(AgainReport, Option<Interrupted>), ExploreError> {
    let mut path = first.path();
    let mut report = AgainReport {
        complete: true,
        ..AgainReport::default()
    };
    let (mut reached, mut visited) = (0, 0);
    for (point, durable) in states {
        let not_tried = planted!(
            "explorer.second-failure-not-tried",
            "power fails again in every recovery that stored something"
        );
        if not_tried {
            break;
        }
        if allowance.is_spent(tally) {
            report.complete = false;
            visited = states.len();
            break;
        }
        visited += 1;
        (reached..=*point).for_each(|p| first.advance(&mut path, p));
        reached = reached.max(point + 1);
        path.reset();
        path.known.settle(|n| durable[n.index()]);
        let crash = &first.space.points[*point].crash;
        let Some(tape) = tape_of(subject, &mut path, crash, &first.rules, tally)? else {
            continue;
        };
        let image = first.space.graph.image_of(|n: NodeId| durable[n.index()]);
        let Some(space) = space_of(contract, &tape, &image, crash, first.extent) else {
            continue;
        };
        report.fenced |= is_fenced(&tape);
        report.recoveries += 1;
        let left = at_most(allowance.recoveries.saturating_sub(tally.recoveries));
        let inner = explorer(&space, first.rules.loads_per_run);
        let inner = inner.budget(left).until(allowance.until);
        let found = explore(&inner, subject)?;
        tally.recoveries += found.recoveries;
        tally.steps += found.steps;
        report.states = report.states.saturating_add(found.states_covered);
        report.complete &= found.verdict == Verdict::Clean;
        if let Some(second) = found.witness {
            let at = Interrupted {
                point: *point,
                durable: durable.clone(),
                second,
            };
            report.complete = false;
            return Ok((report, Some(at)));
        }
    }
    subject.forget();
    if visited < states.len() {
        let (counted, run) = (states.len() as u64, visited as u64);
        return Err(ExploreError::Skipped { counted, run });
    }
    Ok((report, None))
}

/// What recovery does from the state to which `path` is settled; `None` if it fails there.
fn tape_of(
    subject: &mut dyn Subject,
    path: &mut Path,
    crash: &CrashPoint,
    rules: &Rules,
    tally: &mut Tally,
) -> Result<Option<Trace>, ExploreError> {
    path.watch.start_tape();
    let verdict = subject.once(path, crash, rules, tally);
    let tape = path.watch.tape.take();
    Ok(verdict?.ok().and(tape))
}

/// Runs recovery on the second crash state of an id.
pub(super) fn replay(
    first: &Explorer<'_>,
    path: &mut Path,
    (point, durable): (usize, &[bool]),
    second: &ReplayId,
    subject: &mut dyn Subject,
) -> Result<Result<(), (Violation, Witness)>, ReplayError> {
    let other = || ReplayError::OtherExecution("its recovery is another one");
    let crash = &first.space.points[point].crash;
    let contract = first
        .again
        .ok_or(ReplayError::OtherExecution("recovery was not interrupted there"))?;
    let tape = tape_of(subject, path, crash, &first.rules, &mut Tally::default())?.ok_or_else(other)?;
    let image = first.space.graph.image_of(|n: NodeId| durable[n.index()]);
    let space = space_of(contract, &tape, &image, crash, first.extent).ok_or_else(other)?;
    let found = explorer(&space, first.rules.loads_per_run).replay_state(subject, "", second)?;
    Ok(match (found.verdict, found.witness) {
        (Err(why), Some(witness)) => Err((why, witness)),
        _ => Ok(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_recovery_spends_what_is_left_of_all_and_no_more_than_its_own() {
        let budgets = [0, 1, 77, MOST_SECOND + 1].map(at_most);
        assert_eq!(budgets, [1, 1, 77, MOST_SECOND].map(Budget::States));
    }
}
