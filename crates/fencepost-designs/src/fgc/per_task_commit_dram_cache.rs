//! `per-task-commit-dram-cache`: per-task committing over a hybrid memory with a volatile DRAM cache.
//!
//! # Idea
//! In a hybrid memory a large DRAM cache lies between the NVM controller and the medium. What the memory controller has accepted, or the
//! module has taken, is not durable then. The credits of per-task committing say what has reached the *medium*, so programs are safe.
//!
//! # Paper
//! Per-task (fine-grained) memory committing, sections I and II-B: the case that asynchronous DRAM refresh cannot serve.
//!
//! # Where order is kept
//! As with `per-task-commit`. The NVM controller matches each write against its own address-range registers, which special writes set:
//! writes to registered ranges go through to the medium, all others stay in the cache until they are displaced, oldest first. A commit of the
//! default queue has the module write its cache back.
//!
//! # Durable at
//! The device.
//!
//! # Contract
//! `commit`, as `per-task-commit`.
//!
//! # Hardware cost
//! As `per-task-commit`; the cache itself is memory and not counted.
//!
//! # Deviations
//! As `per-task-commit`. The cache keeps written lines only and adds no time to reads. That a commit of the default queue writes the cache
//! back is ours; the paper does not say what a program without a range can do.

use super::params::{CacheParams, PerTaskParams};
use super::per_task_commit::{self, FAULTS, VARIANTS, build, dialect};
use crate::info::{DesignInfo, ParamValues, configure};
use fencepost_kernel::Bytes;
use fencepost_kernel::params::{Field, ParamError, Params as _, Raw};

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "per-task-commit-dram-cache",
    summary: "per-task committing over a volatile DRAM cache: registered ranges write through",
    source: include_str!("per_task_commit_dram_cache.rs"),
    dialect: |s| dialect("per-task-commit-dram-cache", s),
    params: fields,
    variants: VARIANTS,
    smallest: &[
        ("queues", "1"),
        ("entries", "1"),
        ("registers", "1"),
        ("module_entries", "2"),
        ("dram_cache", "64B"),
    ],
    build: |values, shape| {
        let (params, cache) = configured(values)?;
        build(params, cache, shape)
    },
    cost: |values, shape| {
        configured(values)?;
        let own = values.iter().filter(|v| v.0 != CACHE).cloned().collect::<Vec<_>>();
        super::cost(&own, shape)
    },
    faults: FAULTS,
    ..per_task_commit::INFO
};

const CACHE: &str = "dram_cache";

/// The parameters of per-task committing, and the size of the cache.
fn fields() -> Vec<Field> {
    let mut all = PerTaskParams::fields();
    all.extend(CacheParams::fields().into_iter().filter(|f| f.name == CACHE));
    all
}
fn configured(values: ParamValues<'_>) -> Result<(PerTaskParams, Bytes), ParamError> {
    let (cache, own): (Vec<(String, Raw)>, Vec<_>) = values.iter().cloned().partition(|v| v.0 == CACHE);
    let cache: CacheParams = configure(&cache)?;
    Ok((configure(&own)?, cache.dram_cache))
}
