//! Several runners at work at once.

use crate::recovery::command::Recover;
use crate::recovery::deadline::Deadlines;
use crate::recovery::image::Base;
use crate::recovery::runner::Runner;
use fencepost_contract::images::{Answer, ImageJob};
use fencepost_run::LabError;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// What a runner hands back.
pub(crate) type Done = (Box<ImageJob>, Result<Answer, LabError>);

/// Runners in threads of their own, fed one image at a time each.
pub(crate) struct Pool {
    jobs: Option<Sender<Box<ImageJob>>>,
    done: Receiver<Done>,
    threads: Vec<std::thread::JoinHandle<()>>,
    out: usize,
}

impl Pool {
    /// Starts `count` runners with files in `folder`.
    pub(crate) fn start(
        recover: &Recover,
        count: usize,
        folder: &Path,
        base: &Base,
        deadlines: &Arc<Deadlines>,
    ) -> Pool {
        let (jobs, todo) = channel::<Box<ImageJob>>();
        let (answers, done) = channel();
        let todo = Arc::new(Mutex::new(todo));
        let mut threads = Vec::new();
        for number in 0..count {
            let mut runner = Runner::new(recover, folder, number, base, deadlines);
            let (todo, answers) = (Arc::clone(&todo), answers.clone());
            threads.push(std::thread::spawn(move || work(&mut runner, &todo, &answers)));
        }
        Pool {
            jobs: Some(jobs),
            done,
            threads,
            out: 0,
        }
    }
    /// Images out that were not taken back.
    pub(crate) fn out(&self) -> usize {
        self.out
    }
    /// Hands an image out.
    pub(crate) fn give(&mut self, job: Box<ImageJob>) {
        if let Some(jobs) = &self.jobs {
            self.out += usize::from(jobs.send(job).is_ok());
        }
    }
    /// Takes the next one back; `None` when none is out.
    pub(crate) fn take(&mut self) -> Option<Done> {
        if self.out == 0 {
            return None;
        }
        self.out -= 1;
        self.done.recv().ok()
    }
}
impl Drop for Pool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(runner: &mut Runner, todo: &Mutex<Receiver<Box<ImageJob>>>, answers: &Sender<Done>) {
    loop {
        let next = todo.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        let answer = runner.run(&job);
        if answers.send((job, answer)).is_err() {
            return;
        }
    }
}
