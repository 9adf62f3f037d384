//! Ending what runs too long: one thread watches every running process.

use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Processes with their deadlines.
#[derive(Default)]
pub(crate) struct Deadlines {
    watched: Mutex<Watched>,
    changed: Condvar,
}
#[derive(Default)]
struct Watched {
    /// By process id: when its group is to be killed; `None` once it was.
    until: HashMap<u32, Option<Instant>>,
    over: bool,
}

impl Deadlines {
    /// Starts watching; ends when the last [`Watch`] is dropped.
    pub(crate) fn start() -> Watch {
        let deadlines = Arc::new(Deadlines::default());
        let watching = Arc::clone(&deadlines);
        std::thread::spawn(move || watching.watch());
        Watch(deadlines)
    }
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The process leads a group that is killed after `limit` unless [`Deadlines::done`] is called before.
    pub(crate) fn set(&self, process: u32, limit: Duration) {
        self.lock().until.insert(process, Some(Instant::now() + limit));
        self.changed.notify_one();
    }
    /// The process has done its part; true if it was killed before. It must not have been waited for yet, or its number may
    /// already be another's.
    pub(crate) fn done(&self, process: u32) -> bool {
        self.lock().until.remove(&process) == Some(None)
    }
    fn watch(&self) {
        let mut watched = self.lock();
        while !watched.over {
            let now = Instant::now();
            for (process, until) in &mut watched.until {
                if until.is_some_and(|u| u <= now) {
                    *until = None;
                    kill(*process);
                }
            }
            let next = watched.until.values().flatten().min().copied();
            let sleep = next.map_or(Duration::from_secs(3600), |n| n.saturating_duration_since(now));
            let woken = self.changed.wait_timeout(watched, sleep);
            watched = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Kills the group that this process leads.
pub(crate) fn kill(process: u32) {
    if let Some(pid) = group(process) {
        // It may have ended by itself: then there is nothing to do.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// The group that a process may lead. Numbers come from the emulator, too: to the system the group 1 is every process there is.
fn group(process: u32) -> Option<Pid> {
    i32::try_from(process).ok().filter(|p| *p > 1).and_then(Pid::from_raw)
}

/// Keeps the watching thread alive.
pub(crate) struct Watch(pub(crate) Arc<Deadlines>);
impl Drop for Watch {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command};

    fn sleeping() -> Child {
        let mut command = Command::new("sleep");
        command.arg("600").process_group(0).spawn().expect("sleep")
    }

    /// Of three processes the one whose time is over is killed, though it was set last, and the others are left alone.
    #[test]
    fn a_process_is_killed_when_its_time_is_over_and_no_other() {
        let watch = Deadlines::start();
        let [mut long, mut done, mut short] = [sleeping(), sleeping(), sleeping()];
        watch.0.set(long.id(), Duration::from_secs(600));
        watch.0.set(done.id(), Duration::from_secs(600));
        assert!(!watch.0.done(done.id()), "in time");
        watch.0.set(short.id(), Duration::from_millis(1));
        let status = short.wait().expect("it ends");
        assert_eq!(status.signal(), Some(9));
        assert!(watch.0.done(short.id()) && !watch.0.done(short.id()), "once");
        assert!(!watch.0.done(long.id()));
        for child in [&mut long, &mut done] {
            assert!(child.try_wait().expect("a child").is_none(), "it runs");
            kill(child.id());
            assert_eq!(child.wait().expect("it ends").signal(), Some(9));
        }
    }
    #[test]
    fn no_group_is_everybody() {
        let groups = [0, 1, 1 << 31, u32::MAX].map(group);
        assert_eq!(groups, [None; 4]);
        assert_eq!(group(2), Pid::from_raw(2));
    }
}
