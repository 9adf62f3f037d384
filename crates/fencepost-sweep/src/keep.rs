//! Finished runs in a folder: found by what identifies them, and written so that equal runs are equal files on every host. What a run
//! cost on the host stands in a file of its own.

use fencepost_run::LabError;
use fencepost_run::host::Host;
use fencepost_run::kept::{self, Identity, VERSION};
use fencepost_run::result::RunResult;
use fencepost_run::store::Store;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// The result of a run that is finished already, if this version of the program wrote it and nobody has changed it since. Its
/// configuration must be there, too: a power failure may have torn either.
pub fn finished(store: &Store, run: &Identity) -> Option<RunResult> {
    let result = kept::reusable(&store.read(&result_file(&run.key))?, &run.digest)?;
    // What was asked for in other words has the same key, and other remarks on where its values come from.
    let is_whole = |text: String| text.lines().map(value).eq(run.config.lines().map(value)) && text.ends_with('\n');
    store
        .read(&config_file(&run.key))
        .is_some_and(is_whole)
        .then_some(result)
}

/// A line of a configuration without its remark.
fn value(line: &str) -> &str {
    line.split_once(" # ").map_or(line, |(value, _)| value)
}

/// Keeps a run: what it cost, its configuration, and last its result, with which it is finished. The disk is not waited for: that took
/// as long as a short run, and a run that the power took is known and made again.
///
/// # Errors
/// The folder cannot be written.
pub fn keep(store: &Store, run: &Identity, result: &RunResult) -> Result<(), LabError> {
    if let Some(host) = &result.host {
        cost(store, &run.key, host)?;
    }
    store.write_soon(&config_file(&run.key), run.config.as_bytes())?;
    store.write_soon(&result_file(&run.key), kept::text(result)?.as_bytes())
}

/// Where the configuration of the run with this key stands.
fn config_file(key: &str) -> String {
    format!("runs/{key}.toml")
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

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_run::request::Request;
    use fencepost_run::run::{identified, run_resolved};
    use std::fs;

    /// What a power failure may leave of a run that was not waited for: files that are missing, empty, cut, or full of zeros.
    #[test]
    fn a_run_that_the_power_tore_is_not_finished() {
        let folder = std::env::temp_dir().join(format!("fencepost-torn-{}", std::process::id()));
        let store = Store::open(&folder).unwrap();
        let request = Request {
            threads: Some(1),
            ops: 2,
            warmup: 0,
            ..Request::default()
        };
        let (identity, resolved) = identified(&request).unwrap();
        let result = run_resolved(&resolved).unwrap();
        assert!(finished(&store, &identity).is_none());
        keep(&store, &identity, &result).unwrap();
        assert_eq!(finished(&store, &identity), Some(result.without_host()));
        for file in [config_file(&identity.key), result_file(&identity.key)] {
            let path = store.path(&file);
            let whole = fs::read(&path).unwrap();
            let zeros = [&whole[..whole.len() / 2], &vec![0; whole.len() / 2]].concat();
            for torn in [&[], &whole[..whole.len() / 2], &whole[..whole.len() - 1], &zeros] {
                fs::write(&path, torn).unwrap();
                assert!(finished(&store, &identity).is_none(), "{file}: {} bytes", torn.len());
            }
            fs::remove_file(&path).unwrap();
            assert!(finished(&store, &identity).is_none(), "{file}");
            fs::write(&path, &whole).unwrap();
            assert!(finished(&store, &identity).is_some());
        }
        // The same run, asked for in other words: the values that are said are the defaults.
        let (other, _) = identified(&Request {
            sets: vec!["l1.ways=4".into()],
            ..request
        })
        .unwrap();
        assert!(other.config != identity.config && finished(&store, &other).is_some());
        fs::remove_dir_all(&folder).unwrap();
    }
}
