//! Every design with every program on every machine, as a grid.

use fencepost_run::LabError;
use fencepost_run::config::clients::protocol_of;
use fencepost_run::config::find_design;
use fencepost_run::listing::entries;
use serde::Deserialize;

/// What is run with what; an empty list is everything of its kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// Designs.
    pub designs: Vec<String>,
    /// Programs.
    pub programs: Vec<String>,
    /// Machines.
    pub machines: Vec<String>,
    /// Measured operations per thread.
    pub ops: u32,
    /// Operations per thread before measuring.
    pub warmup: u32,
    /// Software threads.
    pub threads: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// Crash points to examine at most in each run.
    pub points: u64,
}

impl Matrix {
    /// The designs that run, in this order.
    ///
    /// # Errors
    /// A defect of ours.
    pub fn designs(&self) -> Result<Vec<String>, LabError> {
        // What designs of network persistence run are the workloads of clients, not these programs.
        let remote = |d: &String| find_design(d).is_ok_and(|d| protocol_of(d).is_some());
        let mut designs = named(&self.designs, "designs")?;
        designs.retain(|d| !self.designs.is_empty() || !remote(d));
        Ok(designs)
    }

    /// The grid, as [`crate::grid::Node::from_json`] reads it.
    ///
    /// # Errors
    /// A defect of ours.
    pub fn grid(&self) -> Result<serde_json::Value, LabError> {
        Ok(serde_json::json!({
            "base": {
                "ops": self.ops,
                "warmup": self.warmup,
                "seed": self.seed,
                "threads": self.threads,
                "check": true,
                "points": self.points,
            },
            "product": [{
                "machine": named(&self.machines, "machines")?,
                "program": named(&self.programs, "programs")?,
                "design": self.designs()?,
            }],
        }))
    }
}

/// What is asked for; everything of its kind where nothing is.
fn named(asked: &[String], kind: &str) -> Result<Vec<String>, LabError> {
    match asked.is_empty() {
        false => Ok(asked.to_vec()),
        true => Ok(entries(kind)?.into_iter().map(|e| e.name).collect()),
    }
}
