//! The search for a crash image that the user's recovery does not survive.

use super::command::Recover;
use super::deadline::Deadlines;
use super::kept::Kept;
use super::log::{Loaded, load};
use super::pool::{Pool, Scratch};
use super::replay::ImageId;
use super::runner::Runner;
use crate::error::{BadInput, LabError};
use crate::replay_key::contract_text;
use fencepost_contract::explore::{Budget, Deviation};
use fencepost_contract::images::{Answer, ImageJob, ImageWitness, Images, Next, Smallest};
use fencepost_contract::{Contract, CrashSpace};
use fencepost_kernel::StoreId;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Runs and time that the search for the smallest witness may take.
const SMALLEST_RUNS: u32 = 2_000;
const SMALLEST_TIME: Duration = Duration::from_secs(20);

/// What to search.
#[derive(Clone, Debug)]
pub struct ExternalRequest {
    /// The recorded log.
    pub log: PathBuf,
    /// Persistent memory before the recorded execution; zero if absent.
    pub image: Option<PathBuf>,
    /// What may become durable in which order.
    pub contract: Contract,
    /// Recovery and audit.
    pub recover: Recover,
    /// When to stop.
    pub budget: Budget,
    /// Images at a time.
    pub jobs: usize,
    /// Folder for verdicts, result and failing image: what is there already is not repeated.
    pub output: Option<PathBuf>,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalCrash {
    /// The log.
    pub program: String,
    /// The recovery command.
    pub recover: String,
    /// The contract, with what was varied about it.
    pub contract: String,
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
    pub merged: u64,
    /// Crash states covered.
    pub states_covered: u128,
    /// Crash states that the contract allows, where they could be counted.
    pub states_total: Option<u128>,
    /// Whether every one of them was covered.
    pub complete: bool,
    /// When not complete: every state in which at most this many stores deviate from all or nothing durable was covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stores_deviating: Option<u32>,
    /// `clean`, `violated` or `bounded`.
    pub verdict: String,
    /// A crash state that recovery does not survive.
    pub witness: Option<ExternalWitness>,
    /// Seconds that the search took.
    pub seconds: f64,
    /// Runs of recovery a second.
    pub images_per_s: f64,
}
impl ExternalCrash {
    /// Whether a crash state was found that recovery does not survive.
    pub fn violated(&self) -> bool {
        self.witness.is_some()
    }
}

/// A failing crash state.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalWitness {
    /// Stores that are durable although nothing forced them; empty where the shorter list is `missing`.
    pub persisted: Vec<String>,
    /// Stores that executed and are lost.
    pub missing: Vec<String>,
    /// The newest store to persistent memory before the power failed.
    pub newest: Option<String>,
    /// Lines of the program involved, as the log names them.
    pub source: Vec<String>,
    /// Whether no state of this failure point with fewer deviating stores fails (all were tried).
    pub smallest: bool,
    /// Operations begun and acknowledged per thread when the power failed.
    pub begun: Vec<u32>,
    /// As `begun`.
    pub acked: Vec<u32>,
    /// Line of the log after which the power failed.
    pub log_line: usize,
    /// What recovery said.
    pub why: String,
    /// Argument of `fencepost replay`.
    pub replay: String,
    /// The failing image, if there is a folder for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// Runs the user's recovery on every crash image that the contract allows.
///
/// # Errors
/// A log or image that cannot be read; a command that cannot be run; a recovery that contradicts its own reports of what
/// it reads.
pub fn crash_log(request: &ExternalRequest) -> Result<ExternalCrash, LabError> {
    if let Budget::States(0) | Budget::Time(Duration::ZERO) = request.budget {
        return Err(BadInput::new("a budget of 0 explores nothing").into());
    }
    let loaded = load(&request.log, request.image.as_deref())?;
    let space = request.contract.space(&loaded.log.trace, &loaded.log.initial);
    let kept = match &request.output {
        None => Kept::nothing(),
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(|e| LabError::file("create folder", folder, e))?;
            Kept::open(&folder.join("verdicts.txt"), &name(request, &loaded))?
        }
    };
    let scratch = Scratch::new()?;
    let watch = Deadlines::start();
    let pool = Pool::start(&request.recover, request.jobs, scratch.path(), &loaded.base, &watch.0);
    let mut search = Search {
        request,
        images: Images::new(&space, request.recover.reads),
        pool,
        kept,
        runs: 0,
        reused: 0,
        begun: Instant::now(),
    };
    let failed = search.run()?;
    let witness = match failed {
        None => None,
        Some((job, why)) => {
            let mut runner = Runner::new(&request.recover, scratch.path(), request.jobs, &loaded.base, &watch.0);
            let begun = Instant::now();
            let mut left = SMALLEST_RUNS;
            let run = |job: &ImageJob| {
                if left == 0 || begun.elapsed() > SMALLEST_TIME {
                    return Ok::<Option<Answer>, LabError>(None);
                }
                left -= 1;
                search.kept.get(job).map_or_else(|| runner.run(job), Ok).map(Some)
            };
            Some(Smallest::new(&space, &job, run).find(&job, &why)?)
        }
    };
    let found = search.outcome(&loaded, &space, witness);
    match &request.output {
        Some(folder) => write(folder, found, &loaded),
        None => Ok(found.0),
    }
}

/// The name of a search: what its verdicts depend on.
fn name(request: &ExternalRequest, loaded: &Loaded) -> String {
    let mut sum = Sha256::new();
    let r = &request.recover;
    for part in [loaded.text.as_bytes(), &loaded.base, r.command.as_bytes()] {
        sum.update((part.len() as u64).to_le_bytes());
        sum.update(part);
    }
    let digest: String = sum.finalize().iter().map(|b| format!("{b:02x}")).collect();
    let how = format!("reads:{} memory:{:?} timeout:{:?}", r.reads, r.memory, r.timeout);
    format!(
        "fencepost-verdicts 1 {} {how} {digest}",
        contract_text(&request.contract)
    )
}

struct Search<'s> {
    request: &'s ExternalRequest,
    images: Images<'s>,
    pool: Pool,
    kept: Kept,
    runs: u64,
    reused: u64,
    begun: Instant,
}

impl Search<'_> {
    /// Goes on until every state is covered, a failing image is found, or the budget is spent.
    fn run(&mut self) -> Result<Option<(Box<ImageJob>, String)>, LabError> {
        let mut failed = None;
        loop {
            let full = self.pool.out() >= self.request.jobs * 2;
            let next = match full || failed.is_some() || self.spent() {
                true => Next::Wait,
                false => self.images.next_image(),
            };
            match next {
                Next::Run(job) => match self.kept.get(&job) {
                    Some(answer) => {
                        self.reused += 1;
                        self.note(&job, &answer)?;
                    }
                    None => self.pool.give(job),
                },
                Next::Done => return Ok(failed),
                Next::Wait => {
                    let Some((job, answer)) = self.pool.take() else {
                        return Ok(failed);
                    };
                    let answer = answer?;
                    self.runs += 1;
                    self.note(&job, &answer)?;
                    self.kept.add(&job, &answer);
                    if let Some(why) = answer.failed {
                        failed = failed.or(Some((job, why)));
                    }
                }
            }
        }
    }
    fn spent(&self) -> bool {
        match self.request.budget {
            Budget::Unlimited => false,
            Budget::States(n) => self.runs + self.pool.out() as u64 >= n,
            Budget::Time(t) => self.begun.elapsed() >= t,
        }
    }
    fn note(&mut self, job: &ImageJob, answer: &Answer) -> Result<(), LabError> {
        if self.images.answer(job, answer) {
            return Ok(());
        }
        let text =
            "the recovery command contradicts itself: with equal values of what it had read, it read on elsewhere";
        let hint = "it must report every piece of the image it reads, in order, and not depend on time or chance";
        Err(BadInput::new(text).hint(hint).into())
    }
    fn outcome(
        &mut self,
        loaded: &Loaded,
        space: &CrashSpace,
        witness: Option<ImageWitness>,
    ) -> (ExternalCrash, Option<ImageWitness>) {
        if !self.images.progress().complete {
            self.images.count_rest();
        }
        let (progress, r) = (self.images.progress().clone(), self.request);
        let complete = progress.complete && witness.is_none();
        let pm = loaded.log.trace.stores.iter().filter(|s| s.addr.is_persistent());
        let seconds = self.begun.elapsed().as_secs_f64();
        let verdict = match (&witness, complete) {
            (Some(_), _) => "violated",
            (None, true) => "clean",
            (None, false) => "bounded",
        };
        let found = ExternalCrash {
            program: r.log.display().to_string(),
            recover: r.recover.command.clone(),
            contract: contract_text(&r.contract),
            threads: loaded.log.trace.threads,
            stores: pm.count() as u64,
            image_bytes: loaded.base.len() as u64,
            crash_points: space.points.len() as u64,
            recoveries: self.runs,
            kept: self.reused,
            merged: progress.merged,
            states_covered: progress.covered,
            states_total: progress.total,
            complete,
            stores_deviating: progress.deviations.filter(|_| !complete),
            verdict: verdict.into(),
            witness: witness.as_ref().map(|w| tell(r, loaded, w)),
            seconds,
            images_per_s: self.runs as f64 / seconds.max(1e-9),
        };
        (found, witness)
    }
}

/// Stores listed in a witness at most.
const SHOWN: usize = 16;

fn tell(request: &ExternalRequest, loaded: &Loaded, w: &ImageWitness) -> ExternalWitness {
    let log = &loaded.log;
    let named = |stores: &[StoreId]| {
        let mut names: Vec<String> = stores.iter().take(SHOWN).map(|s| log.name(*s)).collect();
        let rest = stores.len() - names.len();
        names.extend((rest > 0).then(|| format!("and {rest} more")));
        names
    };
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
        image: request.image.clone(),
        contract: request.contract,
        recover: request.recover.clone(),
    };
    ExternalWitness {
        persisted,
        missing: named(&w.missing),
        newest: w.newest.map(|s| log.name(s)),
        source,
        smallest: w.smallest,
        begun: w.crash.begun.clone(),
        acked: w.crash.acked.clone(),
        log_line: w
            .event
            .checked_sub(1)
            .and_then(|e| log.event_lines.get(e))
            .copied()
            .unwrap_or(0),
        why: w.why.clone(),
        replay: id.encode(&w.id),
        image: None,
    }
}

/// Writes the failing image and the result.
fn write(
    folder: &std::path::Path,
    (mut found, witness): (ExternalCrash, Option<ImageWitness>),
    loaded: &Loaded,
) -> Result<ExternalCrash, LabError> {
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|e| LabError::file("write", &path, e))?;
        Ok::<_, LabError>(path)
    };
    if let (Some(told), Some(w)) = (&mut found.witness, &witness) {
        let path = put("witness.img", &super::replay::bytes(&loaded.base, &w.words))?;
        told.image = Some(path.display().to_string());
    }
    let text = serde_json::to_string_pretty(&found).map_err(|e| LabError::Internal(e.to_string()))?;
    put("result.json", (text + "\n").as_bytes())?;
    Ok(found)
}
