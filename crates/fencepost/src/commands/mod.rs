//! One file per command.

mod compare;
mod config;
mod crash;
mod external;
mod judge;
mod lists;
mod reproduce;
mod run;

use crate::args::Command;
use crate::output::Out;
use fencepost_lab::LabError;
use fencepost_lab::experiment::engine::Step;
use fencepost_lab::experiment::runs::Cell;
use indicatif::{ProgressBar, ProgressStyle};

/// Runs a command; the answer is the exit code.
pub fn dispatch(command: &Command, out: &Out) -> Result<u8, LabError> {
    match command {
        Command::List { kind } => lists::list(kind.as_deref(), out),
        Command::Run(args) => run::run(args, out),
        Command::Compare(args) => compare::compare(args, out),
        Command::Crash(args) => crash::crash(args, out),
        Command::Cost { design, machine, sets } => lists::cost(design.as_deref(), machine, sets, out),
        Command::Config(c) => config::config(c, out),
        Command::Reproduce(args) => reproduce::reproduce(args, out),
        Command::Replay { id, output } => crash::replay(id, output.as_deref(), out),
        Command::Judge(args) => judge::judge(args, out),
        Command::Record(args) => external::record(args, out),
        Command::Cite { design } => lists::cite(design, out),
        Command::Memtrace { file, media } => lists::memtrace(file, media, out),
    }
}

/// Runs at a time: as asked, or one per host core.
fn jobs(asked: Option<usize>) -> Result<usize, LabError> {
    match asked {
        Some(0) => Err(fencepost_lab::BadInput::new("--jobs must be at least 1").into()),
        Some(n) => Ok(n),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// A progress bar on standard error, if somebody looks.
struct Progress(Option<ProgressBar>);
impl Progress {
    fn new(out: &Out, title: &str) -> Progress {
        let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {msg}");
        let bar = out
            .progress()
            .then(|| ProgressBar::new(0).with_prefix(title.to_owned()));
        if let (Some(bar), Ok(style)) = (&bar, style) {
            bar.set_style(style.progress_chars("=> "));
        }
        Progress(bar)
    }
    fn total(&self, n: usize) {
        if let Some(bar) = &self.0 {
            bar.set_length(n as u64);
        }
    }
    fn step(&self, cell: &Cell, step: Step) {
        if let Some(bar) = &self.0 {
            let how = if step == Step::Resumed { "already there: " } else { "" };
            bar.set_message(format!("{how}{} {} {}", cell.program, cell.point, cell.media));
            bar.inc(1);
        }
    }
    fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
