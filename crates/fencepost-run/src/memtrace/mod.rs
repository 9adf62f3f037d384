//! A bare stream of memory requests against one medium, and the commands that its controller sends.

mod commands;
#[cfg(test)]
mod commands_tests;

pub use commands::{JudgedCommands, Slip, Tight, judge_commands};

use crate::config::{Place, Source};
use crate::error::{BadInput, LabError};
use crate::host::peak_rss;
use crate::input;
use commands::medium;
use fencepost_kernel::{Addr, LineAddr};
use fencepost_machine::memory::{TraceOp, record_trace, run_trace, trace_controller};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// What a request stream took.
#[derive(Clone, Debug, Serialize)]
pub struct Memtrace {
    /// Medium.
    pub media: String,
    /// Requests made.
    pub requests: u64,
    /// Clocks of the medium until all was read and stored.
    pub cycles: u64,
    /// The same in picoseconds.
    pub time_ps: u64,
    /// Reads made.
    pub reads: u64,
    /// Writes made.
    pub writes: u64,
    /// Column accesses to an open row.
    pub row_hits: u64,
    /// The trace of commands, where one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<JudgedCommands>,
    /// Cost on the host.
    pub host: Host,
}
/// Cost on the host.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Largest resident size so far, in bytes.
    pub peak_rss_bytes: Option<u64>,
}

/// Runs the requests of a file, back to back. `commands`: where the trace of commands goes.
///
/// # Errors
/// A file cannot be read or written; a line is no request; the medium is unknown. A command that breaks a rule of the medium is a
/// defect of ours.
pub fn memtrace(file: &Path, media: &str, commands: Option<&Path>) -> Result<Memtrace, LabError> {
    of_text(&file.to_string_lossy(), &input::read_record(file)?, media, commands)
}

/// Runs the requests of a text, which messages call `name`.
///
/// # Errors
/// As [`memtrace`].
pub fn of_text(name: &str, text: &str, media: &str, commands: Option<&Path>) -> Result<Memtrace, LabError> {
    let requests = parse(name, text)?;
    let spec = medium(media)?;
    let begun = Instant::now();
    let (r, sent) = match commands {
        Some(_) => record_trace(&trace_controller(), &spec, requests).map(|(r, sent)| (r, Some(sent))),
        None => run_trace(&trace_controller(), &spec, requests).map(|r| (r, None)),
    }
    .map_err(|e| BadInput::new(e.to_string()))?;
    let seconds = begun.elapsed().as_secs_f64().max(1e-9);
    Ok(Memtrace {
        media: media.into(),
        requests: r.requests,
        cycles: r.cycles,
        time_ps: r.time.0,
        reads: r.reads,
        writes: r.writes,
        row_hits: r.row_hits,
        commands: match (commands, sent) {
            (Some(file), Some(sent)) => Some(commands::write(file, media, &spec, &sent)?),
            _ => None,
        },
        host: Host {
            seconds,
            requests_per_s: r.requests as f64 / seconds,
            peak_rss_bytes: peak_rss(),
        },
    })
}

/// Lines `R 0xADDR` and `W 0xADDR`; empty lines and lines that begin with `#` are skipped.
fn parse(name: &str, text: &str) -> Result<Vec<(TraceOp, LineAddr)>, BadInput> {
    let mut out = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        if !words.is_empty() && !words.starts_with('#') {
            let request = one(words).ok_or_else(|| {
                let span = offset..offset + line.trim_end().len();
                BadInput::new("not a request")
                    .at(Place::new(&Source::new(name, text), Some(span)))
                    .hint("write R 0xADDR or W 0xADDR, one request a line")
            })?;
            out.push(request);
        }
        offset += line.len();
    }
    Ok(out)
}

fn one(words: &str) -> Option<(TraceOp, LineAddr)> {
    let (op, addr) = words.split_once(char::is_whitespace)?;
    let op = match op {
        "R" | "r" => TraceOp::Read,
        "W" | "w" => TraceOp::Write,
        _ => return None,
    };
    let digits = addr
        .trim()
        .strip_prefix("0x")
        .or_else(|| addr.trim().strip_prefix("0X"))?;
    Some((op, Addr(u64::from_str_radix(digits, 16).ok()?).line()))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn requests_parse_and_bad_lines_are_placed() {
        let r = parse("t", "# x\nR 0x40\n\nW 0x80 \n").unwrap();
        assert_eq!(
            r,
            [(TraceOp::Read, Addr(0x40).line()), (TraceOp::Write, Addr(0x80).line())]
        );
        let e = parse("t", "R 0x40\nX 0x80\n").unwrap_err();
        assert_eq!(e.place.unwrap().to_string(), "t:2:1");
        assert!(parse("t", "R 40\n").is_err());
        assert!(parse("t", "R 0x1ffffffffffffffff\n").is_err(), "more than 64 bits");
    }
}
