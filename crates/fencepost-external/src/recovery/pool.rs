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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::command::ReadsBy;
    use crate::recovery::scratch::Scratch;
    use fencepost_contract::images::{Images, Next};
    use fencepost_contract::{Contract, ContractKind};
    use std::collections::BTreeSet;
    use std::time::Duration;

    #[test]
    fn every_image_that_was_handed_out_comes_back() {
        let log = "fencepost-log 1\n0 store pm+0 1\n0 store pm+64 1\n";
        let log = fencepost_contract::recorded::parse(log).expect("a log");
        let space = Contract::from(ContractKind::Px86).space(&log.trace, &log.initial);
        let mut images = Images::new(&space, false);
        let scratch = Scratch::new().expect("a folder");
        let recover = Recover {
            command: "test -s".into(),
            server: false,
            reads: ReadsBy::Nobody,
            timeout: Duration::from_secs(60),
            memory: None,
        };
        let watch = Deadlines::start();
        let base = Base::whole([0; 128].into());
        let mut pool = Pool::start(&recover, 2, scratch.path(), &base, &watch.0);
        assert!(pool.take().is_none() && pool.out() == 0);
        let mut keys = BTreeSet::new();
        for out in 1..=3 {
            let Next::Run(job) = images.next_image() else {
                panic!("four images");
            };
            keys.insert(job.key);
            pool.give(job);
            assert_eq!(pool.out(), out);
        }
        for left in (0..3).rev() {
            let (job, answer) = pool.take().expect("one is out");
            assert!(keys.remove(&job.key) && answer.is_ok_and(|a| a.failed.is_none()));
            assert_eq!(pool.out(), left);
        }
        assert!(pool.take().is_none() && keys.is_empty());
    }
}
