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
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        // It may have ended by itself: then there is nothing to do.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Keeps the watching thread alive.
pub(crate) struct Watch(pub(crate) Arc<Deadlines>);
impl Drop for Watch {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.changed.notify_one();
    }
}
