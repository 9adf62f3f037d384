//! Results on disk: what identifies a run, and when a result that an earlier call left may be used again.

use crate::error::LabError;
use crate::result::{RunResult, SCHEMA};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// This version of the program: its number, and a digest of the sources it was built from.
pub const VERSION: &str = env!("FENCEPOST_VERSION");

/// What makes two runs the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the files that hold it.
    pub key: String,
    /// Digest of the resolved configuration.
    pub digest: String,
    /// The resolved configuration, for people.
    pub config: String,
}

/// A result as a file: the JSON record of a run, whose first entry says what wrote it and the digest of all the rest.
pub fn text(result: &RunResult) -> Result<String, LabError> {
    let text = serde_json::to_string_pretty(result).map_err(|e| LabError::Internal(e.to_string()))?;
    let body = text.strip_prefix("{\n").unwrap_or(&text);
    Ok(format!("{{\n{}{body}\n", seal(body)))
}

/// The result that such a file holds, if this version wrote it for the configuration with this digest and nobody has
/// changed it since.
pub fn reusable(text: &str, config_digest: &str) -> Option<RunResult> {
    let text = text.strip_suffix('\n')?;
    let (first, body) = text.strip_prefix("{\n")?.split_once('\n')?;
    if seal(body) != format!("{first}\n") {
        return None;
    }
    let result: RunResult = serde_json::from_str(text).ok()?;
    (result.schema == SCHEMA && result.config_digest == config_digest).then_some(result)
}

fn seal(body: &str) -> String {
    let sum = Sha256::digest(body.as_bytes());
    let sum = sum.iter().fold(String::new(), |mut s, b| {
        let _ = write!(s, "{b:02x}");
        s
    });
    format!("  \"kept\": {{ \"by\": \"{VERSION}\", \"sha256\": \"{sum}\" }},\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;
    use crate::run::run;

    /// A short run, as of a configuration with the digest `x`.
    fn result() -> RunResult {
        let request = Request {
            program: "cq".into(),
            threads: Some(1),
            ops: 2,
            warmup: 0,
            ..Request::default()
        };
        let mut result = run(&request).expect("a valid request");
        (result.config_digest, result.time_ps) = ("x".into(), 5);
        result
    }

    #[test]
    fn a_result_comes_back_to_the_last_digit() {
        let mut r = result();
        // Shortest decimal forms that careless readers round to a neighbour.
        for x in [
            0.1 + 0.2,
            1.0 / 3.0,
            2.2250738585072014e-308,
            123456789.12345679,
            5e-324,
        ] {
            r.ipc = x;
            r.host.seconds = x * 3.0;
            assert_eq!(reusable(&text(&r).unwrap(), "x"), Some(r.clone()), "{x:e}");
        }
    }
    #[test]
    fn only_the_same_configuration_version_and_bytes_are_reused() {
        let good = text(&result()).unwrap();
        assert!(reusable(&good, "x").is_some());
        assert!(reusable(&good, "y").is_none(), "another configuration");
        assert!(
            reusable(&good.replace(VERSION, "0.0.1"), "x").is_none(),
            "another version"
        );
        assert!(
            reusable(&good.replace("\"time_ps\": 5", "\"time_ps\": 6"), "x").is_none(),
            "edited"
        );
        for cut in 0..good.len() {
            assert!(reusable(&good[..cut], "x").is_none(), "cut at {cut}");
        }
    }
}
