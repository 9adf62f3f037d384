//! Orders and trends among programs, media and design points.

use super::measured::{
    Measured, NUMBER_TOLERANCE, PerProgram, aggregate, each, missing, ratios, verdict, verdict_for_good,
};
use super::rule::{End, Over};
use super::runs::Runs;

pub(super) fn extreme(
    runs: &Runs,
    tag: &str,
    (points, base): (&[String], &String),
    media: &[String],
    end: End,
    expect: &str,
) -> Option<Measured> {
    let (mut holds, mut broken, mut notes) = (true, false, Vec::new());
    for (point, m) in points.iter().flat_map(|p| media.iter().map(move |m| (p, m))) {
        let values = ratios(runs, tag, [point, base], m);
        let by = |a: &&(String, f64), b: &&(String, f64)| a.1.total_cmp(&b.1);
        let found = match end {
            End::Most => values.iter().max_by(by),
            End::Least => values.iter().min_by(by),
        }?;
        holds &= found.0 == expect;
        broken |= found.0 != expect && values.iter().any(|v| v.0 == expect);
        notes.push(format!("{point} {m}: {}", each(&values)));
    }
    Some(verdict_for_good(
        holds,
        broken,
        notes.join("; "),
        missing(runs, tag, &[]),
    ))
}

/// The programs at one end of the order of gains.
pub(super) fn top(
    runs: &Runs,
    tag: &str,
    points: [&String; 2],
    media: &str,
    end: End,
    (expect, gains): (&[String], Option<[f64; 2]>),
) -> Option<Measured> {
    let mut values = ratios(runs, tag, points, media);
    if values.len() < expect.len() {
        return None;
    }
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    if end == End::Most {
        values.reverse();
    }
    let percent = |v: &f64| (v - 1.0) * 100.0;
    let all: PerProgram = values.iter().map(|(p, v)| (p.clone(), percent(v))).collect();
    let note = format!("gains in percent: {}", each(&all));
    let found = &all[..expect.len()];
    let missing = missing(runs, tag, &[]);
    let Some([low, high]) = gains else {
        let holds = found.iter().all(|f| expect.contains(&f.0));
        // One that is named and was overtaken by as many others as there are places does not come back.
        let behind = |p: &String| all.iter().skip(expect.len()).any(|v| v.0 == *p);
        return Some(verdict_for_good(holds, expect.iter().any(behind), note, missing));
    };
    // The range is that of the programs the paper names, wherever they stand.
    let named: Vec<_> = all.iter().filter(|v| expect.contains(&v.0)).collect();
    let ends = named.iter().map(|f| f.1);
    let (least, most) = (
        ends.clone().fold(f64::INFINITY, f64::min),
        ends.fold(f64::NEG_INFINITY, f64::max),
    );
    let near = |is: f64, want: f64| (is / want - 1.0).abs() <= NUMBER_TOLERANCE;
    let note = format!("{least:.1} to {most:.1}; {note}");
    Some(verdict(near(least, low) && near(most, high), note, missing))
}

pub(super) fn wins(
    runs: &Runs,
    tag: &str,
    points: [&String; 2],
    media: &[String],
    all_on: &[String],
    share: f64,
) -> Option<Measured> {
    let (mut won, mut cases, mut all, mut losses) = (0, 0, true, Vec::new());
    for m in media {
        for (program, ratio) in ratios(runs, tag, points, m) {
            cases += 1;
            if ratio < 1.0 {
                won += 1;
            } else {
                all &= !all_on.contains(m);
                losses.push(format!("{program}/{m} {ratio:.2}"));
            }
        }
    }
    if cases == 0 {
        return None;
    }
    let note = format!(
        "faster in {won} of {cases} cases; not in: {}",
        if losses.is_empty() {
            "none".into()
        } else {
            losses.join(", ")
        }
    );
    let missing = missing(runs, tag, &[]);
    let to_come = (missing.len() * media.len()) as f64;
    let enough = |more: f64| f64::from(won) + more >= share * (f64::from(cases) + more);
    let broken = !all || !enough(to_come);
    Some(verdict_for_good(all && enough(0.0), broken, note, missing))
}

pub(super) fn rises(runs: &Runs, tag: &str, points: [&String; 2], media: &[String]) -> Option<Measured> {
    let per_medium: Vec<PerProgram> = media.iter().map(|m| ratios(runs, tag, points, m)).collect();
    let programs: Vec<&String> = per_medium.first()?.iter().map(|v| &v.0).collect();
    let (mut holds, mut notes) = (!programs.is_empty(), Vec::new());
    for p in programs {
        let chain: Vec<f64> = per_medium
            .iter()
            .filter_map(|v| v.iter().find(|x| x.0 == *p).map(|x| x.1))
            .collect();
        holds &= chain.len() == media.len() && chain.windows(2).all(|w| w[0] < w[1]);
        notes.push(format!(
            "{p} {}",
            chain.iter().map(|x| format!("{x:.2}")).collect::<Vec<_>>().join(" < ")
        ));
    }
    Some(verdict_for_good(
        holds,
        !holds,
        notes.join("; "),
        missing(runs, tag, &[]),
    ))
}

pub(super) fn two_alike(
    runs: &Runs,
    tag: &str,
    points: [&String; 2],
    media: &[String; 3],
    within: f64,
    apart: f64,
) -> Option<Measured> {
    let mean = |m: &String| aggregate(Over::Geomean, &ratios(runs, tag, points, m));
    let (a, b, c) = (mean(&media[0])?, mean(&media[1])?, mean(&media[2])?);
    let holds = (a - b).abs() <= within * a.max(b) && c >= apart * a.max(b);
    let note = format!("{} {a:.2}, {} {b:.2}, {} {c:.2}", media[0], media[1], media[2]);
    Some(verdict(holds, note, missing(runs, tag, &[])))
}

fn mean_times(runs: &Runs, tag: &str, points: &[&String], media: &str) -> Option<Vec<f64>> {
    let first = *points.first()?;
    (points.iter())
        .map(|p| aggregate(Over::Geomean, &ratios(runs, tag, [p, first], media)))
        .collect()
}

pub(super) fn ordered(runs: &Runs, tag: &str, points: &[String], media: &str, by: f64) -> Option<Measured> {
    let points: Vec<&String> = points.iter().collect();
    let times = mean_times(runs, tag, &points, media)?;
    let holds = times.windows(2).all(|w| w[1] > w[0] * by);
    let pairs: PerProgram = points.iter().map(|p| (*p).clone()).zip(times).collect();
    Some(verdict(
        holds,
        format!("time relative to the first: {}", each(&pairs)),
        missing(runs, tag, &[]),
    ))
}

pub(super) fn trend(runs: &Runs, tag: &str, media: &str, pairs: &[[String; 2]], rising: bool) -> Option<Measured> {
    let mean = |[a, b]: &[String; 2]| aggregate(Over::Mean, &ratios(runs, tag, [a, b], media));
    let means: Vec<f64> = pairs.iter().map(mean).collect::<Option<_>>()?;
    let holds = means.windows(2).all(|w| if rising { w[0] < w[1] } else { w[0] > w[1] });
    let text: Vec<String> = pairs
        .iter()
        .zip(&means)
        .map(|(p, m)| format!("{} {m:.3}", p[1]))
        .collect();
    Some(verdict(holds, text.join(", "), missing(runs, tag, &[])))
}

pub(super) fn knee_at(
    runs: &Runs,
    tag: &str,
    media: &str,
    points: [&String; 3],
    near: f64,
    worse: f64,
) -> Option<Measured> {
    let times = mean_times(runs, tag, &[points[1], points[0], points[2]], media)?;
    let (smaller, larger) = (times[1], times[2]);
    let holds = smaller >= 1.0 + worse && larger >= 1.0 - near;
    let note = format!(
        "time relative to {}: {} {smaller:.3}, {} {larger:.3}",
        points[1], points[0], points[2]
    );
    Some(verdict(holds, note, missing(runs, tag, &[])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::histograms::{histogram_order, samples_per_op};
    use crate::experiment::made_up;
    use crate::experiment::rule::Statistic;
    use crate::experiment::runs::Cell;
    use fencepost_run::result::Histogram;

    /// Three programs with gains of 80, 50 and 10 percent, and samples of 10, 20 and 30 in 10 operations.
    fn runs() -> Runs {
        let mut runs = Runs {
            programs: ["x", "y", "z"].map(str::to_owned).into(),
            ..Runs::default()
        };
        for (program, slow, sample) in [("x", 180, 10), ("y", 150, 20), ("z", 110, 30)] {
            for (point, time) in [("fast", 100), ("slow", slow)] {
                let mut run = made_up(time);
                run.histograms = [("h".to_owned(), Histogram::new("ns", &[(sample, 5)].into()))].into();
                let cell = Cell {
                    tag: "E".into(),
                    program: program.into(),
                    point: point.into(),
                    media: "m".into(),
                    choice: String::new(),
                };
                runs.by_cell.insert(cell, run);
            }
        }
        runs
    }
    fn names(n: &[&str]) -> Vec<String> {
        n.iter().map(|s| (*s).to_owned()).collect()
    }

    #[test]
    fn the_programs_at_one_end_and_their_gains() {
        let mut runs = runs();
        let top = |runs: &Runs, end, expect: &[&str], gains| {
            let points = names(&["slow", "fast"]);
            top(runs, "E", [&points[0], &points[1]], "m", end, (&names(expect), gains)).unwrap()
        };
        assert_eq!(top(&runs, End::Most, &["y", "x"], None).holds, Some(true));
        assert_eq!(top(&runs, End::Least, &["z"], None).holds, Some(true));
        assert_eq!(top(&runs, End::Least, &["y"], None).holds, Some(false));
        assert_eq!(top(&runs, End::Most, &["x", "y"], Some([45.0, 85.0])).holds, Some(true));
        let others = top(&runs, End::Most, &["x", "z"], Some([45.0, 85.0])).holds;
        assert_eq!(
            others,
            Some(false),
            "the range is that of x and z, 10 to 80, not of the two best"
        );
        assert_eq!(top(&runs, End::Most, &["x", "z"], Some([9.0, 85.0])).holds, Some(true));
        assert_eq!(
            top(&runs, End::Most, &["x", "y"], Some([35.0, 85.0])).holds,
            Some(false)
        );
        // What a missing program could still do: displace, never bring back.
        runs.missing_programs.insert("w".into());
        assert!(!top(&runs, End::Most, &["x", "w"], None).broken);
        assert!(top(&runs, End::Most, &["y"], None).broken);
    }
    #[test]
    fn histograms_of_programs_in_order() {
        let (runs, at) = (runs(), names(&["slow", "h"]));
        let order = |above: &[&str], below: &[&str], smaller| {
            let of = (&names(above)[..], &names(below)[..]);
            histogram_order(&runs, "E", [&at[0], &at[1]], "m", Statistic::Median, of, smaller).unwrap()
        };
        assert_eq!(order(&["z", "y"], &["x"], false).holds, Some(true));
        assert_eq!(order(&["y"], &["z"], false).holds, Some(false));
        assert_eq!(order(&["x"], &[], true).holds, Some(true));
        assert_eq!(order(&["y"], &[], true).holds, Some(false));
        let samples = samples_per_op(&runs, "E", [&at[0], &at[1]], "m", &names(&["x", "q"])).unwrap();
        assert_eq!(samples.value, Some(0.5), "5 samples in 10 operations");
    }
}
