//! Progress on standard error, where it is a terminal.

use crate::output::Out;
use fencepost_papers::experiment::engine::Step;
use fencepost_papers::experiment::runs::Cell;
use fencepost_run::progress::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A bar that counts runs, with the time left by the rate so far.
pub(crate) struct Runs(Option<ProgressBar>);
impl Runs {
    /// A bar with a title.
    pub(crate) fn new(out: &Out, title: &str) -> Runs {
        let template = "{prefix} [{bar:30}] {pos}/{len}, {elapsed} gone{left}  {wide_msg}";
        // Before the first run has ended nothing is known of the time left.
        let left = |state: &ProgressState, text: &mut dyn Write| {
            let _ = match state.pos() {
                0 => Ok(()),
                _ => write!(text, ", about {} left", HumanDuration(state.eta())),
            };
        };
        let style = ProgressStyle::with_template(template).map(|s| s.with_key("left", left));
        let bar = out
            .progress()
            .then(|| ProgressBar::new(0).with_prefix(title.to_owned()));
        if let (Some(bar), Ok(style)) = (&bar, style) {
            bar.set_style(style.progress_chars("=> "));
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Runs(bar)
    }
    /// Sets how many runs there are.
    pub(crate) fn total(&self, n: usize) {
        if let Some(bar) = &self.0 {
            bar.set_length(n as u64);
        }
    }
    /// How far the work is, and what is done now.
    pub(crate) fn at(&self, done: usize, what: &str) {
        if let Some(bar) = &self.0 {
            bar.set_position(done as u64);
            bar.set_message(what.to_owned());
        }
    }
    /// A run has finished.
    pub(crate) fn step(&self, cell: &Cell, step: Step) {
        self.ended(|| format!("{} {} {}", cell.program, cell.point, cell.media), step);
    }
    /// What `cell` names has finished.
    pub(crate) fn ended(&self, cell: impl FnOnce() -> String, step: Step) {
        if let Some(bar) = &self.0 {
            let how = if step == Step::Resumed { "already there: " } else { "" };
            bar.set_message(format!("{how}{}", cell()));
            bar.inc(1);
        }
    }
}
impl Drop for Runs {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Counts the crash points of a check; clones count together.
#[derive(Clone, Default)]
pub(crate) struct CrashPoints(Arc<[AtomicU64; 2]>);
impl CrashPoints {
    /// Crash points examined so far, and how many there are at most.
    fn so_far(&self) -> (u64, u64) {
        let [done, total] = &*self.0;
        (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed))
    }
}
impl Progress for CrashPoints {
    fn begin(&self, points: u64) {
        self.0[1].fetch_add(points, Ordering::Relaxed);
    }
    fn examined(&self) {
        self.0[0].fetch_add(1, Ordering::Relaxed);
    }
}

/// A line that tells the time gone and, where it can be known, the time left of one piece of work.
pub(crate) struct Waiting(Option<ProgressBar>);
impl Waiting {
    /// Work that takes at most `limit`, or as long as its crash points take.
    pub(crate) fn new(out: &Out, title: &str, limit: Option<Duration>, points: &CrashPoints) -> Waiting {
        let points = points.clone();
        let bar = out
            .progress()
            .then(|| ProgressBar::new_spinner().with_prefix(title.to_owned()));
        let left = move |state: &ProgressState, text: &mut dyn Write| {
            let (done, total) = points.so_far();
            let gone = state.elapsed();
            let _ = match (limit, done) {
                (Some(limit), _) => write!(text, ", at most {} s left", limit.saturating_sub(gone).as_secs()),
                (None, 0) => Ok(()),
                (None, _) => {
                    let left = gone.as_secs_f64() * (total.saturating_sub(done)) as f64 / done as f64;
                    write!(text, ", {done} of {total} crash points, about {left:.0} s left")
                }
            };
        };
        let style = ProgressStyle::with_template("{spinner} {prefix}, {elapsed} gone{left}");
        if let (Some(bar), Ok(style)) = (&bar, style) {
            bar.set_style(style.with_key("left", left));
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Waiting(bar)
    }
}
impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
