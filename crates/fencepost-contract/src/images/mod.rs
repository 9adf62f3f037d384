//! Crash images of an execution as bytes, for recovery code that is not ours to run.
//!
//! The explorer ([`crate::explore`]) runs recovery written in Rust on sets of crash states. A program in another language
//! only takes bytes: [`Images`] lists the crash states that a contract allows, hands out one image at a time, and takes
//! back what the program's own recovery said. Several images may be out at once. Images are merged
//!
//! - by content, together with the operations begun and acknowledged, which an audit may depend on;
//! - by the bytes that recovery reads, where it reports them: one run answers for every state that agrees on them.
//!
//! The order of work is: at every failure point the state with everything durable and the one with nothing beyond what
//! must be; then every single deviation from those two; then all of them. A violation is so found with few lost stores,
//! and a search that runs out of time can say what it covered.

mod overall;
mod paths;
mod search;
mod smallest;
mod state;
mod words;

#[cfg(test)]
mod tests;

pub use overall::find_smallest;
pub use search::{Images, Next};
pub use smallest::{ImageWitness, Smallest};
pub use state::StateError;

use crate::graph::Cut;
use fencepost_kernel::CrashPoint;

/// One crash state to run recovery on.
#[derive(Clone, Debug)]
pub struct ImageJob {
    /// Index of the failure point in [`crate::CrashSpace::points`].
    pub point: usize,
    /// Operations begun and acknowledged when the power failed.
    pub crash: CrashPoint,
    /// Words that differ from the memory before the execution: offset into persistent memory, value.
    pub words: Vec<(u64, u64)>,
    /// Fingerprint of the image and of `crash`; equal jobs have equal keys.
    pub key: u128,
    /// The state is the largest of this cut: everything that is not out is durable.
    pub(crate) state: Cut,
    /// The values of all words that the execution wrote.
    pub(crate) values: Vec<u64>,
}

/// What recovery said about an image.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Answer {
    /// Why the state is not survived; `None` if it is.
    pub failed: Option<String>,
    /// Offset and length of every piece of the image that recovery read, in the order of first reading; `None` if it did
    /// not say.
    pub reads: Option<Vec<(u64, u64)>>,
    /// Why more may have been read than can be told apart, where an observer could not follow.
    pub unknown: Option<String>,
}

/// How far the search has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Failure points whose states were all covered.
    pub points: u64,
    /// Images handed out.
    pub images: u64,
    /// Crash states covered.
    pub covered: u128,
    /// Crash states that there are, where they can be counted with reasonable effort; only known once `complete`, or after
    /// [`Images::count_rest`].
    pub total: Option<u128>,
    /// Whether every state was covered.
    pub complete: bool,
    /// Stores that may deviate from "all durable" and from "nothing durable" such that every such state was covered.
    pub deviations: Option<u32>,
}
