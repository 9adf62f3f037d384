//! Histograms: how write-backs were delayed, how far removable fences lie apart.

use super::subject::Report;
use crate::experiment::spec::Matrix;
use fencepost_run::result::Histogram;
use serde::Serialize;

/// The cumulative distribution of one histogram, a line for each program.
#[derive(Serialize)]
pub(super) struct Distances {
    title: String,
    unit: String,
    lines: Vec<Line>,
}

/// One program's line: value, and percent of the samples up to it.
#[derive(Serialize)]
pub(super) struct Line {
    program: String,
    points: Vec<(u64, f64)>,
}

/// Every histogram of the experiments about time, of the first point that has it.
pub(super) fn distances(r: &Report<'_>) -> Vec<Distances> {
    let timed = r.experiment.matrix.iter().filter(|m| !m.check);
    timed.flat_map(|m| of_matrix(r, m)).collect()
}

fn of_matrix(r: &Report<'_>, m: &Matrix) -> Vec<Distances> {
    let mut out: Vec<Distances> = Vec::new();
    let mut drawn: Vec<String> = Vec::new();
    for (media, point) in m.media.iter().flat_map(|x| m.points.iter().map(move |p| (x, p))) {
        let runs: Vec<_> = (m.programs.iter())
            .filter_map(|p| Some((p, &r.runs.get(&m.tag, p, point, media)?.histograms)))
            .collect();
        let mut names: Vec<&String> = runs.iter().flat_map(|x| x.1.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let once = format!("{media} {name}");
            if drawn.contains(&once) {
                continue;
            }
            drawn.push(once);
            let of: Vec<(&String, &Histogram)> = runs.iter().filter_map(|(p, h)| Some((*p, h.get(name)?))).collect();
            out.extend(of.first().map(|first| Distances {
                title: format!("{} of {point}, {}, {media}", readable(name), m.tag),
                unit: first.1.unit.clone(),
                lines: of.iter().map(|(p, h)| line(p, h)).collect(),
            }));
        }
    }
    out
}

/// What a histogram counts.
fn readable(name: &str) -> &str {
    match name {
        "log_fence_distance" => "Distance between fences that stand between log and data",
        "design.wbb_delay" => "Delay of write-backs behind older non-temporal stores",
        "design.commit_time" => "Time of one commit",
        other => other,
    }
}

/// At most some 60 values of a distribution, evenly spread over its samples.
fn line(program: &str, h: &Histogram) -> Line {
    let all = h.count().max(1) as f64;
    let (mut below, mut points) = (0, Vec::<(u64, f64)>::new());
    for (value, n) in &h.values {
        below += n;
        let share = 100.0 * below as f64 / all;
        if below == h.count() || points.last().is_none_or(|p| share - p.1 >= 100.0 / 60.0) {
            points.push((*value, share));
        }
    }
    Line {
        program: program.into(),
        points,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_line_ends_at_all_samples() {
        let h = Histogram::new("core cycles", &[(0, 3), (38, 1)].into());
        let line = line("cq", &h);
        assert_eq!(line.points, [(0, 75.0), (38, 100.0)]);
    }
}
