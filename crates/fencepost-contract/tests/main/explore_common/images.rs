//! The search for programs in any language, with a recovery that is run on images and may say what it reads.

use super::Nosy;
use fencepost_contract::CrashSpace;
use fencepost_contract::explore::ImageMem;
use fencepost_contract::images::{Answer, ImageJob, Images, Next, Progress};
use fencepost_kernel::{Addr, Flow, Image};

/// Images that are out at a time.
const OUT: usize = 3;

/// Runs the recovery on the images that the search hands out, several at a time; whether one of them is not survived.
pub(crate) fn search(space: &CrashSpace, recovery: &Nosy, reported: bool) -> (bool, Progress) {
    let (mut images, mut out): (_, Vec<Box<ImageJob>>) = (Images::new(space, reported), Vec::new());
    loop {
        let waits = match images.next_image() {
            Next::Run(job) => {
                out.push(job);
                out.len() >= OUT
            }
            Next::Wait => true,
            Next::Done => return (false, images.progress().clone()),
        };
        if waits {
            let job = out.remove(0);
            let answer = run(recovery, &job, reported);
            assert!(images.answer(&job, &answer), "recovery is steady");
            if answer.failed.is_some() {
                return (true, images.progress().clone());
            }
        }
    }
}

fn run(recovery: &Nosy, job: &ImageJob, reported: bool) -> Answer {
    let mut image = Image::default();
    for (offset, value) in &job.words {
        image.set_word(Addr(Addr::pm(0).0 + offset), *value, None);
    }
    let (mut memory, mut state) = (ImageMem::new(&image), Nosy::first(&job.crash));
    let mut reads = Vec::new();
    let verdict = loop {
        let mut read = |at: Addr| reads.push((at.0 - Addr::pm(0).0, 8));
        match recovery.step_noting(&mut memory, state, &mut read) {
            Flow::Next(next) => state = next,
            Flow::Done(verdict) => break verdict,
        }
    };
    Answer {
        failed: verdict.err().map(|v| v.why),
        reads: reported.then_some(reads),
        unknown: None,
    }
}
