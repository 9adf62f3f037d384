//! Progress on standard error, if somebody looks.

use crate::output::Out;
use fencepost_papers::experiment::engine::Step;
use fencepost_papers::experiment::runs::Cell;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::time::Duration;

/// A bar that counts runs, with the time left by the rate so far.
pub struct Runs(Option<ProgressBar>);
impl Runs {
    /// A bar with a title.
    pub fn new(out: &Out, title: &str) -> Runs {
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
    pub fn total(&self, n: usize) {
        if let Some(bar) = &self.0 {
            bar.set_length(n as u64);
        }
    }
    /// A run has finished.
    pub fn step(&self, cell: &Cell, step: Step) {
        if let Some(bar) = &self.0 {
            let how = if step == Step::Resumed { "already there: " } else { "" };
            bar.set_message(format!("{how}{} {} {}", cell.program, cell.point, cell.media));
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

/// A line that tells the time gone and, where it can be known, the time left of one piece of work.
pub struct Waiting(Option<ProgressBar>);
impl Waiting {
    /// Work that takes at most `limit`, or as long as its crash points take.
    pub fn new(out: &Out, title: &str, limit: Option<Duration>) -> Waiting {
        let bar = out
            .progress()
            .then(|| ProgressBar::new_spinner().with_prefix(title.to_owned()));
        let left = move |state: &ProgressState, text: &mut dyn Write| {
            let (done, total) = fencepost_run::progress::crash_points();
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
