//! Long work: on threads of its own, without the interpreter's lock, ended by Ctrl-C, telling of its progress.

use crate::errors::raised;
use fencepost_kernel::stop;
use fencepost_run::{LabError, panic_text};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Whether the work that this thread does was asked to stop. What is done through the interpreter has to look for itself.
#[pyfunction]
pub(crate) fn stopped() -> bool {
    stop::current().load(Ordering::Relaxed)
}

/// How often signals are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Tells of so many cells that are done, and how many there are.
#[derive(Clone)]
pub(crate) struct Told(Sender<Message>);
impl Told {
    /// So many cells in all.
    pub(crate) fn total(&self, n: usize) {
        let _ = self.0.send(Message::Total(n));
    }
    /// One more is done.
    pub(crate) fn done(&self) {
        let _ = self.0.send(Message::Done);
    }
}
enum Message {
    Total(usize),
    Done,
    End,
}

/// Does `work` on a thread of its own. `progress`, a callable of two numbers, is told how many cells are done of how many. An exception
/// from it or from a signal handler (Ctrl-C) ends the work and is raised.
pub(crate) fn without_lock<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Told) -> Result<T, LabError> + Send,
) -> PyResult<T> {
    let progress = progress.map(|p| p.clone().unbind());
    let outcome = py.detach(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let (to, from) = channel();
        std::thread::scope(|scope| {
            let (flag_there, told) = (flag.clone(), Told(to.clone()));
            let worker = scope.spawn(move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| stop::with(&flag_there, || work(told))));
                let _ = to.send(Message::End);
                outcome
            });
            let (mut done, mut total, mut raised) = (0usize, 0usize, None);
            loop {
                let changed = match from.recv_timeout(LOOK) {
                    Ok(Message::Total(n)) => {
                        total = n;
                        true
                    }
                    Ok(Message::Done) => {
                        done += 1;
                        true
                    }
                    Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => false,
                };
                if raised.is_some() {
                    continue;
                }
                let asked = Python::attach(|py| {
                    py.check_signals()?;
                    match (&progress, changed) {
                        (Some(p), true) => p.call1(py, (done, total)).map(drop),
                        _ => Ok(()),
                    }
                });
                if let Err(e) = asked {
                    flag.store(true, Ordering::Relaxed);
                    raised = Some(e);
                }
            }
            let outcome = worker.join();
            (outcome, raised)
        })
    });
    let (outcome, exception) = outcome;
    if let Some(e) = exception {
        return Err(e);
    }
    let internal = |panic: Box<dyn std::any::Any + Send>| LabError::Internal(panic_text(panic.as_ref()));
    let outcome = outcome.unwrap_or_else(Err).unwrap_or_else(|panic| Err(internal(panic)));
    outcome.map_err(|e| raised(py, &e))
}
