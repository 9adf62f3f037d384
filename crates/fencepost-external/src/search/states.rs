//! The search for a crash image that the user's recovery does not survive.

use crate::log::{Loaded, load};
use crate::recovery::command::ReadsBy;
use crate::recovery::deadline::Deadlines;
use crate::recovery::pool::Pool;
use crate::recovery::runner::Runner;
use crate::recovery::scratch::Scratch;
use crate::search::found::{ExternalCrash, tell, tell_twice, write};
use crate::search::kept::Kept;
use crate::search::nested::Nested;
use crate::search::request::ExternalRequest;
use crate::target::Aimed;
use fencepost_contract::CrashSpace;
use fencepost_contract::explore::Budget;
use fencepost_contract::images::{Answer, ImageJob, Images, Next, find_smallest};
use fencepost_kernel::{StoreId, planted};
use fencepost_run::judge::nothing_to_judge;
use fencepost_run::replay_key::contract_text;
use fencepost_run::verdict::Verdict;
use fencepost_run::{BadInput, LabError};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs and time that the search for the smallest witness may take.
const SMALLEST_RUNS: u32 = 2_000;
const SMALLEST_TIME: Duration = Duration::from_secs(20);

/// Runs the user's recovery on every crash image that the contract allows.
///
/// # Errors
/// A log or image that cannot be read; a command that cannot be run; a recovery that contradicts its own reports of what
/// it reads.
pub(crate) fn crash_log(request: &ExternalRequest) -> Result<ExternalCrash, LabError> {
    if let Budget::States(0) | Budget::Time(Duration::ZERO) = request.budget {
        return Err(BadInput::new("a budget of 0 explores nothing").into());
    }
    let mut loaded = load(&request.log, request.execution, request.image.as_deref())?;
    nothing_to_judge(&request.log, &loaded.log)?;
    let aimed = request.target.aim(&mut loaded)?;
    let space = aimed.contract.space(&loaded.log.trace, &loaded.log.initial);
    let kept = match &request.output {
        None => Kept::nothing(),
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(|e| LabError::file("create folder", folder, e))?;
            Kept::open(&folder.join("verdicts.txt"), &name(request, &loaded, &aimed))?
        }
    };
    let scratch = Scratch::new()?;
    let watch = Deadlines::start();
    let pool = Pool::start(&request.recover, request.jobs, scratch.path(), &loaded.base, &watch.0);
    let mut search = Search {
        request,
        images: Images::new(&space, request.recover.reads != ReadsBy::Nobody),
        pool,
        kept,
        again: Runner::new(&request.recover, scratch.path(), request.jobs, &loaded.base, &watch.0),
        runs: 0,
        unknown: (0, None),
        reused: 0,
        begun: Instant::now(),
    };
    let failed = search.run()?;
    let witness = match failed {
        None => None,
        Some((job, why)) => {
            // Under an observer recovery is slow: the smallest state is sought without, once it fails there too.
            let plain = request.recover.unobserved();
            let mut runner = Runner::new(&plain, scratch.path(), request.jobs + 1, &loaded.base, &watch.0);
            let why = match request.recover.reads {
                ReadsBy::Emulator(_) => confirm(&mut runner, &job, &why)?,
                _ => why,
            };
            let begun = Instant::now();
            let (mut left, mut failing) = (SMALLEST_RUNS, FxHashMap::default());
            let run = |job: &ImageJob| {
                if search.images.survived(job) {
                    return Ok::<Option<Answer>, LabError>(Some(Answer::default()));
                }
                if let Some(answer) = failing.get(&job.key) {
                    return Ok(Some(Answer::clone(answer)));
                }
                if left == 0 || begun.elapsed() > SMALLEST_TIME {
                    return Ok(None);
                }
                left -= 1;
                let answer = search.kept.get(job).map_or_else(|| runner.run(job), Ok)?;
                failing.insert(job.key, answer.clone());
                Ok(Some(answer))
            };
            Some(find_smallest(
                &space,
                &job,
                &why,
                |stores| strangeness(&loaded, stores),
                run,
            )?)
        }
    };
    let reads = match &witness {
        Some(w) if request.recover.reads != ReadsBy::Nobody => {
            let answer = search.again.run_state(&w.words, &w.crash)?;
            answer.reads.filter(|_| answer.unknown.is_none())
        }
        _ => None,
    };
    let mut found = search.outcome(&loaded, &aimed, &space, witness.is_some());
    found.witness = witness.as_ref().map(|w| tell(request, &loaded, w, reads.as_deref()));
    let mut image = witness.as_ref().map(|w| (loaded.base.clone(), w.words.clone()));
    if let (Some(emulator), None) = (&request.nested, &witness) {
        let how = (&request.recover, &request.target);
        let mut nested = Nested::new(how, emulator, &loaded.base, scratch.path(), &watch.0)?;
        let begun = search.begun;
        let spent = |states: u64| match request.budget {
            Budget::Unlimited => false,
            Budget::States(n) => states >= n,
            Budget::Time(t) => begun.elapsed() >= t,
        };
        let twice = nested.all(&space, spent)?;
        found.during_recovery = Some(nested.done);
        found.seconds = begun.elapsed().as_secs_f64();
        if let Some(twice) = twice {
            (found.verdict, found.complete) = (Verdict::Violated, false);
            found.witness = Some(tell_twice(request, &loaded, &twice));
            image = Some((twice.recovery.base, twice.second.words));
        }
    }
    match &request.output {
        Some(folder) => write(folder, found, image),
        None => Ok(found),
    }
}

/// How little stores say to the user: 0 where one of them has a line of the program.
fn strangeness(loaded: &Loaded, stores: &[StoreId]) -> u32 {
    let is_line = |source: &str| {
        let place = source.split(' ').next().unwrap_or_default();
        let line = place.rsplit_once(':').map(|(_, line)| line);
        line.is_some_and(|l| !l.is_empty() && l.bytes().all(|b| b.is_ascii_digit()))
    };
    let named = |s: &StoreId| loaded.log.origins[s.index()].source.as_deref().is_some_and(is_line);
    u32::from(!stores.is_empty() && !stores.iter().any(named))
}

/// What recovery says without the emulator about an image on which it fails under it.
fn confirm(runner: &mut Runner, job: &ImageJob, why: &str) -> Result<String, LabError> {
    let text = format!("on one image recovery fails under the emulator ({why}), and survives without");
    let hint = "if it is slow, raise --timeout; if it depends on the processor, leave --reads emulator out";
    let failed = runner.run(job)?.failed;
    failed.ok_or_else(|| BadInput::new(text).hint(hint).into())
}

/// The name of a search: what its verdicts depend on.
fn name(request: &ExternalRequest, loaded: &Loaded, aimed: &Aimed) -> String {
    let mut sum = Sha256::new();
    let r = &request.recover;
    let mut add = |part: &[u8]| {
        sum.update((part.len() as u64).to_le_bytes());
        sum.update(part);
    };
    for part in [loaded.text.as_bytes(), &loaded.base.bytes, r.command.as_bytes()] {
        add(part);
    }
    // The command is another one when its program or a script that it names has changed.
    for word in r.command.split_whitespace().filter(|w| Path::new(w).is_file()) {
        add(&std::fs::read(word).unwrap_or_default());
    }
    let digest: String = sum.finalize().iter().map(|b| format!("{b:02x}")).collect();
    // What an image holds and how many are acknowledged is its own key: a translated log differs only in which there are.
    let how = format!("reads:{} memory:{:?} timeout:{:?}", r.reads.name(), r.memory, r.timeout);
    format!("fencepost-verdicts 1 {} {how} {digest}", contract_text(&aimed.contract))
}

struct Search<'s> {
    request: &'s ExternalRequest,
    images: Images<'s>,
    pool: Pool,
    kept: Kept,
    /// Runs an image again.
    again: Runner,
    runs: u64,
    /// Runs in which not all reads could be followed, and why in the first.
    unknown: (u64, Option<String>),
    reused: u64,
    begun: Instant,
}

impl Search<'_> {
    /// Goes on until every state is covered, a failing image is found, or the budget is spent.
    fn run(&mut self) -> Result<Option<(Box<ImageJob>, String)>, LabError> {
        let mut failed = None;
        // Where a run answers for many images, one handed out early may be one too many.
        let ahead = if self.request.recover.reads == ReadsBy::Nobody {
            2
        } else {
            1
        };
        loop {
            let full = self.pool.out() >= self.request.jobs * ahead;
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
                        // The budget may just have been enough: where no image is left the search is complete.
                        if failed.is_none() {
                            self.images.next_image();
                        }
                        return Ok(failed);
                    };
                    let mut answer = answer?;
                    self.runs += 1;
                    self.repeat(&job, &answer)?;
                    let all = answer.reads.take();
                    answer.reads = all.map(|pieces| self.images.stored_to(pieces));
                    self.note(&job, &answer)?;
                    self.kept.add(&job, &answer);
                    let believed = planted!(
                        "external.failure-ignored",
                        "an image that recovery does not survive is a violation"
                    );
                    if let Some(why) = answer.failed.filter(|_| !believed) {
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
            // The second failures get their part.
            Budget::Time(t) if self.request.nested.is_some() => self.begun.elapsed() >= t / 2,
            Budget::Time(t) => self.begun.elapsed() >= t,
        }
    }
    /// Runs some images twice, ever fewer of them: where one run stands for many images, it must say the same each time.
    fn repeat(&mut self, job: &ImageJob, answer: &Answer) -> Result<(), LabError> {
        if answer.unknown.is_some() {
            self.unknown.0 += 1;
            self.unknown.1 = self.unknown.1.take().or_else(|| answer.unknown.clone());
        }
        let chosen = self.runs.is_power_of_two() && self.runs.trailing_zeros().is_multiple_of(3);
        if self.request.recover.reads == ReadsBy::Nobody || answer.failed.is_some() || !chosen {
            return Ok(());
        }
        let second = self.again.run(job)?;
        let differs = match (second.reads == answer.reads, second.failed == answer.failed) {
            (true, true) => return Ok(()),
            (_, false) => "said something else",
            (false, true) => "read other bytes",
        };
        let text = format!("the recovery command is not deterministic: run again on one image, it {differs}");
        let hint = "the verdict must depend on the image alone, not on time, chance or files left behind; \
                    without --reads every image is run for itself";
        Err(BadInput::new(text).hint(hint).into())
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
    fn outcome(&mut self, loaded: &Loaded, aimed: &Aimed, space: &CrashSpace, violated: bool) -> ExternalCrash {
        if !self.images.progress().complete {
            self.images.count_rest();
        }
        let (progress, r) = (self.images.progress().clone(), self.request);
        let covered = progress.complete && !violated;
        let pm = loaded.log.trace.stores.iter().filter(|s| s.addr.is_persistent());
        let seconds = self.begun.elapsed().as_secs_f64();
        let verdict = match (violated, covered) {
            (true, _) => Verdict::Violated,
            (false, true) => Verdict::Clean,
            (false, false) => Verdict::Bounded,
        };
        ExternalCrash {
            program: r.log.display().to_string(),
            recover: r.recover.command.clone(),
            executions: 1,
            contract: contract_text(&aimed.contract),
            design: aimed.design.clone(),
            warnings: aimed.warnings.clone(),
            threads: loaded.log.trace.threads,
            stores: pm.count() as u64,
            image_bytes: loaded.base.parts.iter().map(|p| p.length as u64).sum(),
            crash_points: space.points.len() as u64,
            recoveries: self.runs,
            kept: self.reused,
            merged: progress.covered.saturating_sub(u128::from(progress.images)),
            states_covered: progress.covered,
            states_total: progress.total,
            complete: covered && loaded.log.trace.threads < 2,
            stores_deviating: progress.deviations.filter(|_| !covered),
            verdict,
            witness: None,
            during_recovery: None,
            reads: r.recover.reads.name().into(),
            reads_unknown: self.unknown.0,
            reads_unknown_why: self.unknown.1.clone(),
            seconds,
            images_per_s: self.runs as f64 / seconds.max(1e-9),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
