//! Results on disk: what identifies a run, and when a result that an earlier call left may be used again.

use crate::config::Resolved;
use crate::error::LabError;
use crate::result::{DEFAULT_BUDGET, RunResult, SCHEMA};
use fencepost_kernel::fault;
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

impl Identity {
    /// What identifies the run of a resolved configuration: all that decides its result, the version of the program too.
    pub fn of(resolved: &Resolved) -> Identity {
        let r = &resolved.request;
        let digest = resolved.digest();
        let check = match (r.check, r.budget) {
            (false, _) => "not checked".to_owned(),
            (true, budget) => format!("checked at {}, {} again", budget.unwrap_or(DEFAULT_BUDGET), r.nested),
        };
        // A logging runtime that is asked for and has no effect is noted in the result. Planted faults decide results, too.
        let faults = fault::current();
        let rest = format!("{check}\n{:?}\n{:?}\n", r.log, faults.names());
        let all = format!("{VERSION}\n{SCHEMA}\n{digest}\n{rest}");
        let key = format!("{}-{}-{}", r.program, r.design, &hex(all.as_bytes())[..32]);
        Identity {
            key,
            digest,
            config: resolved.to_toml(true),
        }
    }
}

/// A result as a file: the JSON record of a run, whose first entry says what wrote it and the digest of all the rest. What the run
/// cost on the host is not in it, so the same run gives the same bytes on every host.
pub fn text(result: &RunResult) -> Result<String, LabError> {
    let result = result.clone().without_host();
    let text = serde_json::to_string_pretty(&result).map_err(|e| LabError::Internal(e.to_string()))?;
    let body = text.strip_prefix("{\n").unwrap_or(&text);
    Ok(format!("{{\n{}{body}\n", seal(body)))
}

/// The result that such a file holds, if this version wrote it for the configuration with this digest and nobody has
/// changed it since.
pub fn reusable(text: &str, config_digest: &str) -> Option<RunResult> {
    intact(text).filter(|r| r.config_digest == config_digest)
}

/// The result that such a file holds, if this version wrote it and nobody has changed it since.
pub fn intact(text: &str) -> Option<RunResult> {
    let text = text.strip_suffix('\n')?;
    let (first, body) = text.strip_prefix("{\n")?.split_once('\n')?;
    if seal(body) != format!("{first}\n") {
        return None;
    }
    let result: RunResult = serde_json::from_str(text).ok()?;
    (result.schema == SCHEMA).then_some(result)
}

fn seal(body: &str) -> String {
    let sum = hex(body.as_bytes());
    format!("  \"kept\": {{ \"by\": \"{VERSION}\", \"sha256\": \"{sum}\" }},\n")
}

/// SHA-256 of some bytes, in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut s, b| {
        let _ = write!(s, "{b:02x}");
        s
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;
    use crate::run::run;
    use std::collections::BTreeSet;

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
            (r.ipc, r.ops_per_s, r.host) = (x, x * 3.0, None);
            assert_eq!(reusable(&text(&r).unwrap(), "x"), Some(r.clone()), "{x:e}");
        }
    }
    #[test]
    fn all_that_decides_a_result_is_in_its_key() {
        let key = |change: fn(&mut Request)| {
            let mut request = Request::default();
            change(&mut request);
            Identity::of(&Resolved::resolve(&request).expect("a valid request")).key
        };
        let changes: [fn(&mut Request); 9] = [
            |_| {},
            |r| r.seed = 2,
            |r| r.check = true,
            |r| (r.check, r.budget) = (true, Some(7)),
            |r| r.media = Some("ddr3-1600".into()),
            |r| r.sets = vec!["l1.ways=8".into()],
            |r| r.cycles = Some(9),
            |r| r.ack_every = true,
            |r| (r.check, r.nested) = (true, r.nested + 1),
        ];
        let keys: BTreeSet<String> = changes.into_iter().map(key).collect();
        assert_eq!(keys.len(), changes.len());
        // Said in another way it is the same run.
        assert_eq!(key(|r| r.sets = vec!["l1.ways=4".into()]), key(|_| {}));
        assert_eq!(
            key(|r| (r.check, r.budget) = (true, Some(DEFAULT_BUDGET))),
            key(|r| r.check = true)
        );
    }
    #[test]
    fn what_a_run_cost_on_the_host_is_not_kept() {
        let r = result();
        assert!(r.host.is_some() && reusable(&text(&r).unwrap(), "x").is_some_and(|r| r.host.is_none()));
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
