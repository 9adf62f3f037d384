//! One file per command.

mod checked;
mod compare;
mod config;
mod crash;
mod external;
mod infer;
mod judge;
mod lists;
mod litmus;
mod litmus_machine;
mod litmus_make;
mod litmus_native;
mod litmus_translate;
mod memtrace;
mod native;
mod native_machine;
mod native_net;
mod pages;
mod repeated;
mod reproduce;
mod run;
mod shared;
mod sweep;
mod timeline;
mod whisper;

use crate::args::{Command, CrashArgs};
use crate::interrupt;
use crate::output::Out;
use crate::progress::{CrashPoints, Waiting};
use fencepost_run::{BadInput, LabError};
use std::time::Duration;

/// Runs a command; returns the exit code.
pub(crate) fn dispatch(command: &Command, out: &Out) -> Result<u8, LabError> {
    match command {
        Command::List { kind } => lists::list(kind.as_deref(), out),
        Command::Run(args) => run::run(args, out),
        Command::Compare(args) => compare::compare(args, out),
        Command::Crash(args) => crash(args, out),
        Command::Timeline(args) => {
            interrupt::will_say("nothing was written");
            let progress = CrashPoints::default();
            let _shown = Waiting::new(out, "timeline", None, &progress);
            timeline::timeline(args, &progress, out)
        }
        Command::Cost { design, machine, sets } => lists::cost(design.as_deref(), machine, sets, out),
        Command::Config(c) => config::config(c, out),
        Command::Reproduce(args) => reproduce::reproduce(args, out),
        Command::Infer(args) => infer::infer(args, out),
        Command::Sweep(args) => sweep::sweep(args, out),
        Command::Matrix(args) => sweep::matrix(args, out),
        Command::Replay { id, output } => {
            let _shown = Waiting::new(out, "replay", None, &CrashPoints::default());
            crash::replay(id, output.as_deref(), out)
        }
        Command::Judge(args) => {
            let _shown = Waiting::new(out, "judge", None, &CrashPoints::default());
            judge::judge(args, out)
        }
        Command::Record(args) => external::record(args, out),
        Command::Native(args) => native::native(args, out),
        Command::Litmus(args) => {
            let _shown = Waiting::new(out, "litmus", None, &CrashPoints::default());
            litmus::litmus(args, out)
        }
        Command::Whisper(args) => {
            let _shown = Waiting::new(out, "whisper", None, &CrashPoints::default());
            whisper::whisper(args, out)
        }
        Command::Cite { design } => lists::cite(design, out),
        Command::Memtrace {
            file,
            media,
            commands,
            judge,
        } => {
            let _shown = Waiting::new(out, "memtrace", None, &CrashPoints::default());
            match (file, judge) {
                (_, Some(trace)) => memtrace::judge(trace, media, out),
                (Some(file), None) => memtrace::memtrace(file, media, commands.as_deref(), out),
                (None, None) => Err(BadInput::new("memtrace needs a file with requests").into()),
            }
        }
        Command::Completions { shell } => pages::completions(*shell, out),
        Command::Man { output } => pages::man(output.as_deref(), out),
    }
}

fn crash(args: &CrashArgs, out: &Out) -> Result<u8, LabError> {
    if args.design.is_none() && args.contract.is_none() {
        let e = BadInput::new("crash needs to know which crash states are possible");
        let hint = "name a design (-d so) or a contract (--contract px86); `fencepost list designs` and \
                    `fencepost list contracts` show them";
        return Err(e.hint(hint).into());
    }
    interrupt::will_say("nothing was found so far; a smaller --budget ends in time to say what was covered");
    let progress = CrashPoints::default();
    let _shown = Waiting::new(out, "crash", time(&args.budget), &progress);
    crash::crash(args, &progress, out)
}

/// The time that a budget allows, if it is one of time.
fn time(budget: &str) -> Option<Duration> {
    match budget.parse() {
        Ok(fencepost_run::crash::Budget::Time(t)) => Some(t),
        _ => None,
    }
}
