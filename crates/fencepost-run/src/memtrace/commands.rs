//! Traces of commands: written in the form of DRAMsim3, and judged by the rules of the medium.

use crate::config::machine::MachineConfig;
use crate::config::{Place, Source};
use crate::error::{BadInput, LabError};
use crate::medium_table::{command, table};
use crate::{input, whole};
use fencepost_machine::memory::{CommandRecord, MediaSpec};
use fencepost_reference::dram::{Command, Judged, judge, parse};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn medium(name: &str) -> Result<MediaSpec, LabError> {
    Ok(MachineConfig::load("dpo", Some(name))?.spec.pm.media)
}

/// The verdict on a trace of commands.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedCommands {
    /// The trace.
    pub file: String,
    /// The medium by whose rules it was judged.
    pub media: String,
    /// Commands.
    pub commands: usize,
    /// Broken rules.
    pub violations: u64,
    /// The first of them.
    pub first: Vec<Slip>,
    /// By rule, how close the commands came to breaking it.
    pub rules: BTreeMap<&'static str, Tight>,
}
/// A broken rule.
#[derive(Clone, Debug, Serialize)]
pub struct Slip {
    /// The rule, by its name in the standard.
    pub rule: &'static str,
    /// Line of the command.
    pub line: usize,
    /// Line of the earlier command that it is too close to, if there is one.
    pub after: Option<usize>,
    /// What is wrong.
    pub why: String,
}
/// How close a rule came to being broken.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct Tight {
    /// Pairs that it was asked about.
    pub pairs: u64,
    /// The least time between two commands beyond what it asks for.
    pub spare_ps: u64,
}

/// Judges a trace of commands, ours or of DRAMsim3, by the rules of a medium.
///
/// # Errors
/// The file cannot be read; a line is no command; the medium is unknown.
pub fn judge_commands(file: &Path, media: &str) -> Result<JudgedCommands, LabError> {
    let (name, text, spec) = (file.to_string_lossy(), input::read_record(file)?, medium(media)?);
    let trace = parse(&text).map_err(|e| {
        BadInput::new(e.why)
            .at(Place::new(&Source::new(name.as_ref(), &text), Some(e.span)))
            .hint("a line reads like `120 activate 0 0 1 2 0x7f 0x0`")
    })?;
    let judged = judge(&table(&spec), &trace.commands);
    Ok(shown(&name, media, &judged, |command| trace.lines[command]))
}

/// Writes commands that were sent, after judging them.
pub(super) fn write(
    file: &Path,
    media: &str,
    spec: &MediaSpec,
    sent: &[CommandRecord],
) -> Result<JudgedCommands, LabError> {
    let commands: Vec<Command> = sent.iter().map(|c| command(spec, c)).collect();
    let judged = judge(&table(spec), &commands);
    if let Some(v) = judged.violations.first() {
        let of = commands[v.command];
        return Err(LabError::Internal(format!("a command breaks {v}: {of}")));
    }
    let mut text = String::from("# cycle command channel rank bank-group bank row column\n");
    for c in &commands {
        let _ = writeln!(text, "{c}");
    }
    whole::write(file, text.as_bytes())?;
    // Below the line that names the fields.
    Ok(shown(&file.to_string_lossy(), media, &judged, |command| command + 2))
}

fn shown(file: &str, media: &str, judged: &Judged, line: impl Fn(usize) -> usize) -> JudgedCommands {
    let slips = judged.violations.iter().map(|v| Slip {
        rule: v.rule,
        line: line(v.command),
        after: v.after.map(&line),
        why: v.why.clone(),
    });
    let tight = judged.tightest.iter().map(|(rule, t)| {
        let (pairs, spare_ps) = (t.asked, t.spare);
        (*rule, Tight { pairs, spare_ps })
    });
    JudgedCommands {
        file: file.into(),
        media: media.into(),
        commands: judged.commands,
        violations: judged.broken,
        first: slips.collect(),
        rules: tight.collect(),
    }
}
