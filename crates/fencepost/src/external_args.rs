//! Arguments of commands about programs that are not ours: recorded logs, recovery commands.

use clap::Args;
use fencepost_external::{Emulator, ReadsBy, Recover};
use fencepost_run::BadInput;
use std::path::PathBuf;
use std::time::Duration;

/// The user's own recovery.
#[derive(Args, Debug)]
#[command(next_help_heading = "Recorded logs (--log FILE)")]
pub struct RecoveryArgs {
    /// With --log FILE: the command that recovers an image and audits it. `{}` stands for the image's path, which else
    /// follows the command; exit status 0 says that recovery survives.
    #[arg(long, value_name = "CMD")]
    pub recover: Option<String>,
    /// The recovery command is a server: started once, it judges many images.
    #[arg(long, requires = "recover")]
    pub server: bool,
    /// Longest time for one image, such as 500ms, 10s; recovery that takes longer hangs.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: String,
    /// Most address space of a recovery process, such as 512MiB.
    #[arg(long, value_name = "SIZE", requires = "recover")]
    pub memory: Option<String>,
}

/// `crash --log FILE`: the user's own recovery on crash images.
#[derive(Args, Debug)]
pub struct ExternalArgs {
    /// The recovery.
    #[command(flatten)]
    pub recovery: RecoveryArgs,
    /// With --log FILE: persistent memory before the recorded execution. Default: zero.
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Run images once that agree on what recovery reads: `report` (the command says what that is) or `emulator` (it is
    /// observed under qemu-x86_64 7.2; the command is one x86-64 program). Without a value: report.
    #[arg(long, value_name = "HOW", requires = "recover", num_args = 0..=1, default_missing_value = "report")]
    pub reads: Option<ReadsHow>,
    /// Let power fail again while recovery runs: it is recorded under the emulator on each crash image, and run again on every
    /// image that it may then leave. The command is one x86-64 program. Half of a --budget of time is for it.
    #[arg(long, requires = "recover")]
    pub nested: bool,
    /// With --reads emulator or --nested: the emulator.
    #[arg(long, value_name = "PROGRAM", default_value = "qemu-x86_64")]
    pub emulator: String,
    /// With --reads emulator or --nested: the emulator's plugin. Default: beside this program, or in `../lib/fencepost`.
    #[arg(long, value_name = "FILE")]
    pub plugin: Option<PathBuf>,
    /// With --log FILE: images at a time. Default: one per host core.
    #[arg(long, requires = "recover")]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// With --log FILE: keep verdicts, the result and a failing image in this folder, and do not repeat what is there.
    #[arg(short, long, value_name = "DIR", requires = "recover")]
    pub output: Option<PathBuf>,
}

/// Who says what recovery reads.
#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ReadsHow {
    /// The recovery command itself.
    Report,
    /// The emulator observes it.
    Emulator,
}

/// `record`.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// A file that is persistent memory; several are named one by one. Other files are left out, and the output says which.
    #[arg(long, value_name = "FILE", required = true)]
    pub pm: Vec<PathBuf>,
    /// Where the log goes, with every execution that was recorded; with --schedules of more than 1, a folder for logs.
    #[arg(short, long, value_name = "FILE", default_value = "run.log")]
    pub output: PathBuf,
    /// The emulator.
    #[arg(long, value_name = "PROGRAM", default_value = "qemu-x86_64")]
    pub emulator: String,
    /// The emulator's plugin. Default: beside this program, or in `../lib/fencepost`.
    #[arg(long, value_name = "FILE")]
    pub plugin: Option<PathBuf>,
    /// Memory accesses after which another thread may go on, at most: how many is by chance.
    #[arg(long, default_value_t = 1000)]
    pub quantum: u64,
    /// Begin with the first call of this function (or 0x..: its address as linked): what the files hold then counts as durable,
    /// and what came before costs no time.
    #[arg(long, value_name = "NAME")]
    pub roi: Option<String>,
    /// For programs without symbols: begin as --roi does, once the program has used its files and then done nothing to them for
    /// this many instructions.
    #[arg(long, value_name = "INSTRUCTIONS", conflicts_with = "roi", value_parser = clap::value_parser!(u64).range(1..))]
    pub roi_gap: Option<u64>,
    /// Each call of this function (or 0x..) acknowledges what its thread did before: an operation ends, and another begins.
    #[arg(long, value_name = "NAME")]
    pub ack_at: Option<String>,
    /// For programs without symbols: an operation ends and is acknowledged where its thread does nothing to the files, and has
    /// no fence, for this many instructions.
    #[arg(long, value_name = "INSTRUCTIONS", conflicts_with = "ack_at", value_parser = clap::value_parser!(u64).range(1..))]
    pub ack_gap: Option<u64>,
    /// What is recorded of volatile memory: `pm` (nothing but where threads meet) or `all` (loads and stores of lines that the
    /// thread has not accessed lately, so that caches see them).
    #[arg(long, value_name = "WHAT", default_value = "pm", value_parser = ["pm", "all"])]
    pub memory: String,
    /// Runs of the program, each with its threads in another order. Before each the persistent files are as before the first.
    /// Default: 8 where several threads reach them, else 1.
    #[arg(long, value_name = "K")]
    pub schedules: Option<u32>,
    /// What the order of threads comes of in the first run; those after it count on from there.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// The program and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

impl RecoveryArgs {
    /// The recovery that these arguments describe, of which is known in this way what it reads.
    pub fn recover(&self, reads: ReadsBy) -> Result<Recover, BadInput> {
        Ok(Recover {
            command: self.command()?.to_owned(),
            server: self.server,
            reads,
            timeout: time(&self.timeout)?,
            memory: self.memory.as_deref().map(bytes).transpose()?,
        })
    }
    fn command(&self) -> Result<&str, BadInput> {
        let command = self.recover.as_deref().filter(|c| !c.trim().is_empty());
        command.ok_or_else(|| {
            let hint = "for example `--recover ./audit`; see docs/any-language.md";
            BadInput::new("a recorded log needs a recovery command: --recover CMD").hint(hint)
        })
    }
}

impl ExternalArgs {
    /// The recovery that these arguments describe.
    pub fn recover(&self) -> Result<Recover, BadInput> {
        let command = self.recovery.command()?;
        let reads = match self.reads {
            None => ReadsBy::Nobody,
            Some(ReadsHow::Report) => ReadsBy::Report,
            Some(ReadsHow::Emulator) => self.observed(command)?,
        };
        self.recovery.recover(reads)
    }
    /// What records recovery, to interrupt it.
    pub fn nested(&self) -> Result<Option<Emulator>, BadInput> {
        match self.nested {
            false => Ok(None),
            true if self.recovery.server => Err(BadInput::new("--server does not go with --nested")
                .hint("recovery is recorded in a process of its own: give the command that recovers one image")),
            true => Emulator::new(&self.emulator, self.plugin.as_deref(), self.recovery.command()?).map(Some),
        }
    }
}

impl ExternalArgs {
    fn observed(&self, command: &str) -> Result<ReadsBy, BadInput> {
        for (given, option) in [
            (self.recovery.server, "--server"),
            (self.recovery.memory.is_some(), "--memory"),
        ] {
            if given {
                let hint = "the emulator starts for each image, and needs memory of its own";
                return Err(BadInput::new(format!("{option} does not go with --reads emulator")).hint(hint));
            }
        }
        let emulator = Emulator::new(&self.emulator, self.plugin.as_deref(), command)?;
        Ok(ReadsBy::Emulator(emulator))
    }
}

/// A number and what follows it.
fn split(text: &str) -> (Option<u64>, &str) {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..digits].parse().ok(), text[digits..].trim())
}
fn time(text: &str) -> Result<Duration, BadInput> {
    let time = match split(text) {
        (Some(n), "ms") => Duration::from_millis(n),
        (Some(n), "s") => Duration::from_secs(n),
        (Some(n), "m") => Duration::from_secs(n.saturating_mul(60)),
        _ => Duration::ZERO,
    };
    if time.is_zero() {
        return Err(BadInput::new(format!("--timeout: `{text}` is no time")).hint("for example 500ms, 10s, 2m"));
    }
    Ok(time)
}
fn bytes(text: &str) -> Result<u64, BadInput> {
    let scale = |shift: u32| move |n: u64| n.checked_mul(1 << shift);
    let bytes = match split(text) {
        (Some(n), "KiB") => scale(10)(n),
        (Some(n), "MiB") => scale(20)(n),
        (Some(n), "GiB") => scale(30)(n),
        _ => None,
    };
    let bad = || BadInput::new(format!("--memory: `{text}` is no size")).hint("for example 512MiB, 2GiB");
    bytes.filter(|b| *b > 0).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn times_and_sizes_are_read_or_refused() {
        assert_eq!(time("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(time("2m").unwrap(), Duration::from_secs(120));
        assert_eq!(bytes("512MiB").unwrap(), 512 << 20);
        for bad in ["", "10", "s", "0s", "10 parsecs"] {
            assert!(time(bad).is_err(), "{bad}");
        }
        for bad in ["", "10", "0MiB", "99999999999GiB"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
