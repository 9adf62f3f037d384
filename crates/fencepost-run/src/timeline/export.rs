//! Traces of a run as files for other tools.

use super::events::Events;
use super::konata::{MOST, konata};
use super::perfetto::perfetto;
use crate::config::Resolved;
use crate::error::{BadInput, LabError};
use crate::request::Request;
use crate::simulate::{program_of, simulate_timed};
use crate::whole;
use std::path::{Path, PathBuf};

/// Whose format a trace is in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Format {
    /// Protobuf of Perfetto.
    Perfetto,
    /// Text of the pipeline viewer Konata.
    Konata,
}

/// Where a trace goes; the ending says in which format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFile {
    path: PathBuf,
    format: Format,
}

impl TraceFile {
    /// The endings, for messages.
    const ENDINGS: [&str; 4] = ["perfetto-trace", "pftrace", "kanata", "konata"];

    /// A file of this name.
    ///
    /// # Errors
    /// Its ending is none that we write; its folder is not there.
    pub fn at(path: &Path) -> Result<TraceFile, LabError> {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let format = match ending {
            "perfetto-trace" | "pftrace" => Format::Perfetto,
            "kanata" | "konata" => Format::Konata,
            other => {
                let e = BadInput::unknown("ending of a trace", other, TraceFile::ENDINGS);
                return Err(e
                    .hint("out.perfetto-trace is for Perfetto, out.kanata for Konata")
                    .into());
            }
        };
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        if let Some(folder) = folder {
            std::fs::metadata(folder).map_err(|e| LabError::file("write", path, e))?;
        }
        Ok(TraceFile {
            path: path.to_owned(),
            format,
        })
    }

    /// Runs the request, which runs the same every time, and writes what happened; completely or not at all.
    ///
    /// # Errors
    /// The request cannot be run; there is too much for the format; the file cannot be written.
    pub fn write(&self, request: &Request) -> Result<(), LabError> {
        let events = events(request)?;
        let bytes = match self.format {
            Format::Perfetto => perfetto(&events),
            Format::Konata => match konata(&events) {
                Some(text) => text.into_bytes(),
                None => {
                    let e = BadInput::new(format!(
                        "the run has more than {MOST} rows, too many to look at one by one"
                    ));
                    return Err(e
                        .hint("run fewer operations with --ops, or write a .perfetto-trace")
                        .into());
                }
            },
        };
        whole::write(&self.path, &bytes)
    }
}

/// Everything that happens in a run.
///
/// # Errors
/// A request that cannot be run.
fn events(request: &Request) -> Result<Events, LabError> {
    let request = Request {
        check: true,
        ..request.clone()
    };
    let (resolved, design) = Resolved::built(&request)?;
    let program = program_of(&resolved)?;
    let report = simulate_timed(&resolved, design, &*program)?.report;
    let trace = crate::check::recorded(&report)?;
    Ok(Events::of(&resolved, &report, trace))
}
