//! Finished runs in a folder: found by what identifies them, and written so that equal runs are equal files on every host. What a run
//! cost on the host stands in a file of its own.

use fencepost_run::LabError;
use fencepost_run::host::Host;
use fencepost_run::kept::{self, Identity, VERSION};
use fencepost_run::result::RunResult;
use fencepost_run::store::Store;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// The result of a run that is finished already, if this version of the program wrote it and nobody has changed it since.
pub fn finished(store: &Store, run: &Identity) -> Option<RunResult> {
    kept::reusable(&store.read(&result_file(&run.key))?, &run.digest)
}

/// Keeps a run: what it cost, its configuration, and last its result, with which it is finished.
///
/// # Errors
/// The folder cannot be written.
pub fn keep(store: &Store, run: &Identity, result: &RunResult) -> Result<(), LabError> {
    if let Some(host) = &result.host {
        cost(store, &run.key, host)?;
    }
    store.write(&format!("runs/{}.toml", run.key), run.config.as_bytes())?;
    store.write(&result_file(&run.key), kept::text(result)?.as_bytes())
}

/// Where the result of the run with this key stands.
pub fn result_file(key: &str) -> String {
    format!("runs/{key}.json")
}

/// A line of `host/<name of the host>.jsonl`: what a run cost there.
#[derive(Serialize)]
struct Line<'a> {
    run: &'a str,
    by: &'static str,
    /// Seconds since 1970 at which it was finished.
    finished: u64,
    #[serde(flatten)]
    host: &'a Host,
}

/// Notes what a run cost on this host.
///
/// # Errors
/// The folder cannot be written.
pub fn cost(store: &Store, key: &str, host: &Host) -> Result<(), LabError> {
    let line = Line {
        run: key,
        by: VERSION,
        finished: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs(),
        host,
    };
    let line = serde_json::to_string(&line).map_err(|e| LabError::Internal(e.to_string()))?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = gethostname::gethostname()
        .to_string_lossy()
        .chars()
        .map(plain)
        .collect();
    store.append(&format!("host/{name}.jsonl"), &line)
}
