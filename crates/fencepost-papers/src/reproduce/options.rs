//! What a reproduction is asked for.

use crate::experiment::spec::Scale;
use fencepost_run::store::Store;

/// What to reproduce, and how.
pub struct Options<'a> {
    /// Short name of the paper.
    pub paper: &'a str,
    /// How much work.
    pub scale: Scale,
    /// Seed of every run; the first, where there are several.
    pub seed: u64,
    /// Seeds, one after the other, under the first choice of readings: every measured row is a mean over them.
    pub seeds: u64,
    /// Readings to take instead of the primaries, each as `INPUT=READING`.
    pub asked: &'a [String],
    /// Whether to run every other reading alone besides (and, at full scale, joint readings).
    pub readings: bool,
    /// Runs at a time.
    pub jobs: usize,
    /// Folder of results.
    pub store: &'a Store,
}
