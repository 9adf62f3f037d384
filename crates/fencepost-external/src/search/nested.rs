//! Power fails again while recovery runs: recovery is recorded on a crash image, and run again on every image that it may leave.

use crate::log::{Loaded, load};
use crate::record::{RecordRequest, Unseen, record_unseen};
use crate::recovery::command::Recover;
use crate::recovery::deadline::Deadlines;
use crate::recovery::emulator::Emulator;
use crate::recovery::image::{Base, Part};
use crate::recovery::runner::Runner;
use crate::recovery::text::list;
use crate::target::Target;
use fencepost_contract::CrashSpace;
use fencepost_contract::explore::ReplayId;
use fencepost_contract::images::{Answer, ImageJob, ImageWitness, Images, Next, find_smallest};
use fencepost_kernel::CrashPoint;
use fencepost_run::{BadInput, LabError};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What letting power fail again has covered.
#[derive(Copy, Clone, Debug, Default, Serialize)]
pub struct Interrupted {
    /// Recoveries that were interrupted.
    pub recoveries: u64,
    /// Images in the middle of them on which recovery was run again.
    pub states: u64,
    /// Whether every image was examined, each wherever recovery may be interrupted.
    pub complete: bool,
}

/// The image that an interruption leaves: what recovery started from, and the words that differ from it.
pub(crate) type SecondImage = (Base, Vec<(u64, u64)>);

/// A crash state in the middle of recovery from another that is not survived.
pub(crate) struct Twice {
    /// The first.
    pub(crate) first: ImageWitness,
    /// The second, among the stores of recovery.
    pub(crate) second: ImageWitness,
    /// The execution of recovery.
    pub(crate) recovery: Loaded,
}

/// Interrupts recoveries.
pub(crate) struct Nested<'a> {
    recover: &'a Recover,
    target: &'a Target,
    emulator: &'a Emulator,
    base: &'a Base,
    /// A folder of its own.
    folder: PathBuf,
    deadlines: &'a Arc<Deadlines>,
    pub(crate) done: Interrupted,
}

impl<'a> Nested<'a> {
    pub(crate) fn new(
        (recover, target): (&'a Recover, &'a Target),
        emulator: &'a Emulator,
        base: &'a Base,
        folder: &Path,
        deadlines: &'a Arc<Deadlines>,
    ) -> Result<Nested<'a>, LabError> {
        let folder = folder.join("nested");
        std::fs::create_dir_all(&folder).map_err(|e| LabError::file("create folder", &folder, e))?;
        Ok(Nested {
            recover,
            target,
            emulator,
            base,
            folder,
            deadlines,
            done: Interrupted::default(),
        })
    }
    /// Interrupts recovery from every image, until one is not survived or `spent` says so.
    pub(crate) fn all(&mut self, space: &CrashSpace, spent: impl Fn(u64) -> bool) -> Result<Option<Twice>, LabError> {
        let (mut images, mut recorded) = (Images::new(space, false), 0);
        loop {
            if spent(self.done.states + recorded) {
                return Ok(None);
            }
            recorded += 1;
            let job = match images.next_image() {
                Next::Run(job) => job,
                Next::Wait | Next::Done => {
                    self.done.complete = true;
                    return Ok(None);
                }
            };
            if let Some(mut recovery) = self.recovery(&job.words, &job.crash)? {
                self.done.recoveries += 1;
                let second = self.interrupt(&mut recovery, &job.crash, &spent)?;
                if let Some(second) = second {
                    let first = ImageWitness::of(space, &job);
                    return Ok(Some(Twice {
                        first,
                        second,
                        recovery,
                    }));
                }
            }
            images.answer(&job, &Answer::default());
        }
    }
    /// What recovery does on an image; `None` if it stores nothing to it.
    pub(crate) fn recovery(&self, words: &[(u64, u64)], crash: &CrashPoint) -> Result<Option<Loaded>, LabError> {
        let (image, log) = (self.folder.join("image"), self.folder.join("log"));
        self.base.write(&image, words)?;
        let request = RecordRequest {
            command: {
                let text = self.recover.command_on(&image);
                text.split_whitespace().map(str::to_owned).collect()
            },
            pm: self.base.files(&image).into_iter().map(|(file, _)| file).collect(),
            log: log.clone(),
            emulator: self.emulator.name().to_owned(),
            plugin: Some(self.emulator.plugin().to_owned()),
            quantum: 1000,
            region: None,
            region_gap: None,
            acknowledge: None,
            acknowledge_gap: None,
            volatile: false,
            schedules: Some(1),
            seed: 1,
            keeps_stdout: false,
        };
        let unseen = Unseen {
            input: match self.base.is_folder() {
                true => PathBuf::from("/dev/null"),
                false => image.clone(),
            },
            environment: vec![
                ("FENCEPOST_IMAGE", image.display().to_string()),
                ("FENCEPOST_BEGUN", list(&crash.begun)),
                ("FENCEPOST_ACKED", list(&crash.acked)),
            ],
        };
        let recorded = record_unseen(&request, &unseen).map_err(|e| match e {
            LabError::Input(bad) => {
                let text = format!("recovery cannot be recorded, which --nested needs: {}", bad.message);
                BadInput::new(text).into()
            }
            e => e,
        })?;
        if !recorded {
            return Ok(None);
        }
        let mut loaded = load(&log, 0, None)?;
        loaded.base = self.base.beside(words, &loaded.base);
        Ok(Some(loaded))
    }
    /// The image that an interruption of recovery leaves; `None` if recovery does not do what it did.
    pub(crate) fn state(
        &self,
        words: &[(u64, u64)],
        crash: &CrashPoint,
        second: &ReplayId,
    ) -> Result<Option<SecondImage>, LabError> {
        let Some(mut recovery) = self.recovery(words, crash)? else {
            return Ok(None);
        };
        let contract = self.target.aim(&mut recovery)?.contract;
        let space = contract.space(&recovery.log.trace, &recovery.log.initial);
        let found = ImageJob::replay(&space, second).ok();
        Ok(found.map(|(words, _)| (recovery.base, words)))
    }
    /// Runs recovery on every image that its interruption may leave.
    fn interrupt(
        &mut self,
        recovery: &mut Loaded,
        crash: &CrashPoint,
        spent: &impl Fn(u64) -> bool,
    ) -> Result<Option<ImageWitness>, LabError> {
        if recovery.log.persistent_stores() == 0 {
            return Ok(None);
        }
        let contract = self.target.aim(recovery)?.contract;
        let space = contract.space(&recovery.log.trace, &recovery.log.initial);
        let plain = self.recover.unobserved();
        let mut runner = Runner::new(&plain, &self.folder, 0, &recovery.base, self.deadlines);
        let mut images = Images::new(&space, false);
        while let Next::Run(job) = images.next_image() {
            if spent(self.done.states) {
                return Ok(None);
            }
            self.done.states += 1;
            let answer = runner.run_state(&job.words, crash)?;
            if let Some(why) = &answer.failed {
                let mut left = MOST_RUNS;
                let run = |job: &ImageJob| {
                    left -= 1;
                    match left {
                        0 => Ok(None),
                        _ => runner.run_state(&job.words, crash).map(Some),
                    }
                };
                return find_smallest(&space, &job, why, |_| 0, run).map(Some);
            }
            images.answer(&job, &answer);
        }
        Ok(None)
    }
}

/// Runs that the search for the smallest second state may take.
const MOST_RUNS: u32 = 200;

impl Base {
    /// `inner`, made from an image of this memory, with the files of this memory that it leaves out.
    fn beside(&self, words: &[(u64, u64)], inner: &Base) -> Base {
        if !self.is_folder() {
            return inner.clone();
        }
        let mut whole = self.bytes.to_vec();
        for (at, value) in words {
            if let Some(place) = whole.get_mut(*at as usize..*at as usize + 8) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        let (mut bytes, mut parts) = (inner.bytes.to_vec(), inner.parts.to_vec());
        for part in self
            .parts
            .iter()
            .filter(|p| !inner.parts.iter().any(|i| i.name == p.name))
        {
            let offset = bytes.len().next_multiple_of(4096);
            bytes.resize(offset, 0);
            let length = self.length(part, words);
            bytes.extend_from_slice(&whole[part.offset..part.offset + length]);
            parts.push(Part {
                name: part.name.clone(),
                offset,
                length,
                length_at: None,
            });
        }
        Base {
            bytes: bytes.into(),
            parts: parts.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recovery that reached one of two files was recorded with that one: its images have the other as it was in the first.
    #[test]
    fn files_that_recovery_left_alone_stay_as_they_were() {
        let part = |name: &str, offset| Part {
            name: name.into(),
            offset,
            length: 16,
            length_at: None,
        };
        let whole = Base {
            bytes: [[1; 16], [2; 16]].concat().into(),
            parts: [part("one", 0), part("two", 16)].into(),
        };
        let reached = Base {
            bytes: [3; 16].into(),
            parts: [part("one", 0)].into(),
        };
        let both = whole.beside(&[(24, 5)], &reached);
        let file = |name: &str| {
            let part = both.parts.iter().find(|p| p.name == name).expect("the file");
            both.bytes[part.offset..part.offset + part.length].to_vec()
        };
        assert_eq!((both.parts.len(), file("one")), (2, vec![3; 16]));
        assert_eq!(file("two"), [vec![2; 8], 5u64.to_le_bytes().to_vec()].concat());
        // Memory that is one file has nothing beside it.
        let alone = Base::whole([0; 16].into()).beside(&[(0, 1)], &reached);
        assert_eq!((alone.bytes, alone.parts.len()), (reached.bytes.clone(), 1));
    }
}
