//! What a search found, in words.

use crate::log::Loaded;
use crate::recovery::image::Base;
use crate::search::apart::apart;
use crate::search::nested::{Interrupted, Twice};
use crate::search::replay_image::ImageId;
use crate::search::request::ExternalRequest;
use crate::target::Target;
use fencepost_contract::explore::Deviation;
use fencepost_contract::images::ImageWitness;
use fencepost_contract::recorded::{Origin, RecordedLog};
use fencepost_kernel::{Addr, StoreId};
use fencepost_run::LabError;
use fencepost_run::verdict::{self, Verdict};
use fencepost_run::witness::{CrashState, Witness};
use serde::Serialize;

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalCrash {
    /// The log.
    pub program: String,
    /// The recovery command.
    pub recover: String,
    /// Executions searched: logs.
    pub executions: u64,
    /// The contract, with what was varied about it.
    pub contract: String,
    /// The design for which the log was translated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub design: Option<String>,
    /// Why the verdict may say less than it seems to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Threads of the log.
    pub threads: u32,
    /// Stores to persistent memory.
    pub stores: u64,
    /// Bytes of an image.
    pub image_bytes: u64,
    /// Moments at which the power may fail.
    pub crash_points: u64,
    /// Runs of recovery.
    pub recoveries: u64,
    /// Of the images needed, those whose verdict was kept from an earlier call.
    pub kept: u64,
    /// States that needed no run: an equal image, or one equal in all that recovery reads, had its verdict.
    pub merged: u128,
    /// Crash states covered.
    pub states_covered: u128,
    /// Crash states that the contract allows, where they could be counted.
    pub states_total: Option<u128>,
    /// Whether every one of them was covered. Never for several threads, of which only some interleavings are recorded.
    pub complete: bool,
    /// When not complete: every state in which at most this many stores deviate from all or nothing durable was covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stores_deviating: Option<u32>,
    /// Never that nothing was explored: an empty log has a crash state too. Clean means: of the executions recorded.
    #[serde(serialize_with = "verdict::serialize")]
    pub verdict: Verdict,
    /// A crash state that recovery does not survive.
    pub witness: Option<ExternalWitness>,
    /// What letting power fail again while recovery runs has covered, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during_recovery: Option<Interrupted>,
    /// How what recovery reads is known: `unknown`, `report` or `emulator`. If it is, a run stands for all states that agree on
    /// what it read.
    pub reads: String,
    /// Runs in which recovery may have read more than could be followed, so that they stand for fewer states.
    pub reads_unknown: u64,
    /// Why, in the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads_unknown_why: Option<String>,
    /// Seconds that the search took.
    pub seconds: f64,
    /// Runs of recovery a second.
    pub images_per_s: f64,
}
impl ExternalCrash {
    /// Whether a crash state was found that recovery does not survive.
    pub fn violated(&self) -> bool {
        self.verdict == Verdict::Violated
    }
    /// Whether nothing wrong was found and something was left out: crash states, or of recoveries some in which power fails again.
    pub fn leaves_out(&self) -> bool {
        self.bounded() || !self.violated() && self.during_recovery.as_ref().is_some_and(|again| !again.complete)
    }
    /// Whether nothing wrong was found and crash states were left out.
    pub fn bounded(&self) -> bool {
        self.verdict == Verdict::Bounded
    }
}

/// A failing crash state, with what only a recorded log has.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalWitness {
    /// The stores that make the state, and what recovery said.
    #[serde(flatten)]
    pub witness: Witness,
    /// The newest store to persistent memory before the power failed.
    pub newest: Option<String>,
    /// Who called the lines in `source`, where that is known: `append (queue.c:12), main (queue.c:30)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<String>,
    /// Of the stores that are lost, those to words that recovery did not read, where that is known; they are not in the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_unread: Option<usize>,
    /// Whether no state of this failure point with fewer deviating stores fails (all were tried).
    pub smallest: bool,
    /// Two threads of which the log does not say that they met, where the state is there only if they did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apart: Option<String>,
    /// Operations begun and acknowledged per thread when the power failed.
    pub begun: Vec<u32>,
    /// As `begun`.
    pub acked: Vec<u32>,
    /// Line of the log after which the power failed.
    pub log_line: usize,
    /// The failing image, if there is a folder for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// Stores listed in a witness at most.
const SHOWN: usize = 16;

/// The stores by name; of many, the first and how many more there are.
fn named(log: &RecordedLog, stores: &[StoreId]) -> Vec<String> {
    let mut names: Vec<String> = stores.iter().take(SHOWN).map(|s| log.name(*s)).collect();
    let rest = stores.len() - names.len();
    names.extend((rest > 0).then(|| format!("and {rest} more")));
    names
}

/// Puts a witness into words. `reads`: what recovery read of it, if that is known.
pub(crate) fn tell(
    request: &ExternalRequest,
    loaded: &Loaded,
    w: &ImageWitness,
    reads: Option<&[(u64, u64)]>,
) -> ExternalWitness {
    let log = &loaded.log;
    let is_read = |s: &StoreId| {
        let at = log.trace.stores[s.index()].addr.word().0.wrapping_sub(Addr::pm(0).0);
        reads.is_none_or(|pieces| pieces.iter().any(|(o, n)| at < o.saturating_add(*n) && at + 8 > *o))
    };
    let named = |stores: &[StoreId]| named(log, stores);
    let (persisted, deviating) = match w.deviation {
        Deviation::Missing => (Vec::new(), &w.missing),
        Deviation::Persisted => (named(&w.persisted), &w.persisted),
    };
    // Where nothing deviates from "nothing durable", what is lost tells; where that is nothing too, the newest store does.
    let telling = [deviating, &w.missing].into_iter().find(|l| !l.is_empty());
    let telling: Vec<StoreId> = telling.map_or_else(|| w.newest.into_iter().collect(), Clone::clone);
    let mut source: Vec<String> = telling
        .iter()
        .filter_map(|s| log.origins[s.index()].source.clone())
        .collect();
    source.sort();
    source.dedup();
    let id = ImageId {
        log: request.log.clone(),
        execution: request.execution,
        nested: request.nested.clone(),
        image: request.image.clone(),
        target: request.target.clone(),
        recover: request.recover.clone(),
    };
    // Where many are lost, those that recovery looked for tell; it may have failed for a store that must be durable, though.
    let missed: Vec<StoreId> = w.missing.iter().copied().filter(is_read).collect();
    let state = CrashState {
        persisted,
        missing: named(&missed),
        ..CrashState::default()
    };
    ExternalWitness {
        witness: Witness {
            state: Some(state),
            source,
            replay: Some(id.encode(&w.id)),
            ..Witness::of(w.why.clone())
        },
        missing_unread: reads.map(|_| w.missing.len() - missed.len()),
        stacks: stacks(log, &telling),
        newest: w.newest.map(|s| log.name(s)),
        smallest: w.smallest,
        apart: matches!(request.target, Target::Design { .. })
            .then(|| apart(log, &w.missing, w.event))
            .flatten()
            .map(|pair| not_met(log, pair)),
        begun: w.crash.begun.clone(),
        acked: w.crash.acked.clone(),
        log_line: w
            .event
            .checked_sub(1)
            .and_then(|e| log.event_lines.get(e))
            .copied()
            .unwrap_or(0),
        image: None,
    }
}

/// Puts a state in the middle of recovery from another into words.
pub(crate) fn tell_twice(request: &ExternalRequest, loaded: &Loaded, twice: &Twice) -> ExternalWitness {
    let mut told = tell(request, loaded, &twice.first, None);
    let (second, log) = (&twice.second, &twice.recovery.log);
    let named = |stores: &[StoreId]| named(log, stores);
    // Where recovery fails on what its own stores must have left, the newest of them tells.
    let newest: Vec<StoreId> = second.newest.into_iter().collect();
    let (durable, telling) = match second.persisted.is_empty() && second.missing.is_empty() {
        true => (&newest[..], &newest[..]),
        false => (&second.persisted[..], second.deviating()),
    };
    let w = &mut told.witness;
    w.why.clone_from(&second.why);
    let places = telling.iter().filter_map(|s| log.origins[s.index()].source.clone());
    let mut places: Vec<String> = places.collect();
    places.sort();
    places.dedup();
    w.source.splice(0..0, places);
    w.replay = w.replay.as_ref().map(|outer| second.id.encode_again(outer));
    if let Some(state) = &mut w.state {
        state.recovery = Some([named(durable), named(&second.missing)]);
    }
    told.smallest = second.smallest;
    told
}

/// What it means that two threads were not seen to meet.
fn not_met(log: &RecordedLog, (before, after): (StoreId, StoreId)) -> String {
    let thread = |s: StoreId| log.trace.store(s).thread.0;
    format!(
        "thread {} made {} before thread {} made {}, and the log has no meeting of the two between: if they met \
         by datagrams, in a handler of signals or by plain accesses on a stack, which are not seen, this state cannot be",
        thread(before),
        log.name(before),
        thread(after),
        log.name(after)
    )
}

/// The stacks of stores, each once.
fn stacks(log: &RecordedLog, stores: &[StoreId]) -> Vec<String> {
    let origins = stores.iter().map(|s| &log.origins[s.index()]);
    let stack = |o: &Origin| {
        let source = o.source.as_deref().filter(|_| !o.callers.is_empty())?;
        Some(format!("{source}, called by {}", o.callers.join(", ")))
    };
    let mut stacks: Vec<String> = origins.filter_map(stack).collect();
    stacks.sort();
    stacks.dedup();
    stacks.truncate(SHOWN);
    stacks
}

/// Writes the failing image and the result.
pub(crate) fn write(
    folder: &std::path::Path,
    mut found: ExternalCrash,
    image: Option<(Base, Vec<(u64, u64)>)>,
) -> Result<ExternalCrash, LabError> {
    if let (Some(told), Some((base, words))) = (&mut found.witness, image) {
        let path = folder.join("witness.img");
        base.write(&path, &words)?;
        told.image = Some(path.display().to_string());
    }
    let text = serde_json::to_string_pretty(&found).map_err(|e| LabError::Internal(e.to_string()))?;
    let path = folder.join("result.json");
    std::fs::write(&path, text + "\n").map_err(|e| LabError::file("write", &path, e))?;
    Ok(found)
}

#[cfg(test)]
mod tests;
