//! Where the threads' time went. Causes that wait for the same thing share a group, so that eight colours suffice and each means
//! one thing on every page.

use super::subject::Report;
use fencepost_run::result::RunResult;
use serde::Serialize;
use std::collections::BTreeMap;

/// Groups of causes, in the order in which they are stacked; the page gives each a colour.
pub(super) const GROUPS: [(&str, &[&str]); 8] = [
    ("busy", &["busy", "execute"]),
    ("loads", &["load-cache", "load-memory"]),
    ("locks and atomics", &["lock-wait", "atomic"]),
    ("stores", &["store-queue-full", "store-drain"]),
    (
        "flushes and drains",
        &["flush-pending", "pcommit-pending", "drain-pending", "wcb-pending"],
    ),
    (
        "commits and logs",
        &[
            "commit-exclusive",
            "commit-pending",
            "log-pending",
            "version-pending",
            "window-full",
        ],
    ),
    (
        "buffers of the design",
        &[
            "persist-buffer-full",
            "fence-slots",
            "l1-blocked",
            "wcb-full",
            "wcb-wrap",
            "wbb-full",
            "order-pending",
        ],
    ),
    ("memory controller", &["write-queue-full"]),
];

/// One run's time.
#[derive(Serialize)]
pub(super) struct Bar {
    tag: String,
    media: String,
    program: String,
    point: String,
    /// Percent of the threads' time by cause, the largest first.
    causes: Vec<(String, f64)>,
}

/// Time of every run that is about time.
pub(super) fn bars(r: &Report<'_>) -> Vec<Bar> {
    let timed = r.experiment.matrix.iter().filter(|m| !m.check);
    let mut out = Vec::new();
    for m in timed {
        for media in &m.media {
            for (program, point) in m.programs.iter().flat_map(|p| m.points.iter().map(move |d| (p, d))) {
                let Some(run) = r.runs.get(&m.tag, program, point, media) else {
                    continue;
                };
                out.push(Bar {
                    tag: m.tag.clone(),
                    media: media.clone(),
                    program: program.clone(),
                    point: point.clone(),
                    causes: causes(run),
                });
            }
        }
    }
    out
}

/// Percent of the threads' time of a run by cause, the largest first.
pub(super) fn causes(run: &RunResult) -> Vec<(String, f64)> {
    let total = (run.busy_ps + run.stalls.values().sum::<u64>()).max(1) as f64;
    let mut all: BTreeMap<&str, u64> = run.stalls.iter().map(|s| (s.0.as_str(), *s.1)).collect();
    all.insert("busy", run.busy_ps);
    let mut shares: Vec<(String, f64)> = (all.into_iter())
        .filter(|s| s.1 > 0)
        .map(|(cause, ps)| (cause.to_owned(), 100.0 * ps as f64 / total))
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn every_cause_has_one_group() {
        for cause in fencepost_machine::seam::Cause::NAMES.iter().chain([&"busy"]) {
            let groups = GROUPS.iter().filter(|g| g.1.contains(cause)).count();
            assert_eq!(groups, 1, "{cause}");
        }
    }
}
