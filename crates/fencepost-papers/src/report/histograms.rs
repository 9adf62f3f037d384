//! Charts of histograms: how write-backs were delayed, how far removable fences lie apart.

use super::svg::{Chart, Series};
use crate::experiment::runs::Runs;
use crate::experiment::spec::Matrix;
use fencepost_run::result::Histogram;

/// Upper ends of the bins that show a histogram; the last bin holds the rest.
fn bins(unit: &str) -> &'static [u64] {
    match unit {
        "instructions" => &[50, 100, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000],
        _ => &[0, 5, 10, 20, 30, 40, 60, 100],
    }
}

/// For every histogram of a matrix and medium, the share of the samples up to each value: a line of the paper's figure is a series
/// here. Shown of the first point that has it.
pub fn charts(runs: &Runs, m: &Matrix) -> Vec<String> {
    let mut out = Vec::new();
    for media in &m.media {
        let of_point = |point: &String| {
            let run = |p: &String| Some((p.clone(), &runs.get(&m.tag, p, point, media)?.histograms));
            m.programs.iter().filter_map(run).collect::<Vec<_>>()
        };
        let mut drawn: Vec<&String> = Vec::new();
        for point in &m.points {
            let of = of_point(point);
            let mut names: Vec<&String> = of.iter().flat_map(|x| x.1.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                if drawn.contains(&name) {
                    continue;
                }
                drawn.push(name);
                let shown: Vec<(&String, &Histogram)> =
                    of.iter().filter_map(|(p, h)| Some((p, h.get(name)?))).collect();
                out.extend(chart(&format!("{}, {media}: {name} of {point}", m.tag), &shown));
            }
        }
    }
    out
}

fn chart(title: &str, programs: &[(&String, &Histogram)]) -> Option<String> {
    let unit = &programs.first()?.1.unit;
    let ends = bins(unit);
    let groups: Vec<String> = ends
        .iter()
        .map(|e| format!("<= {e}"))
        .chain(["all".to_owned()])
        .collect();
    let cumulative = |h: &Histogram| {
        let shares = ends.iter().map(|e| Some(100.0 * h.at_most(*e)));
        shares.chain([Some(100.0)]).collect()
    };
    let series: Vec<Series> = (programs.iter())
        .map(|(p, h)| Series {
            name: (*p).clone(),
            values: cumulative(h),
        })
        .collect();
    let axis = format!("% of samples, {unit}");
    let chart = Chart {
        title,
        unit: &axis,
        groups: &groups,
        series: &series,
        stacked: false,
        reference: None,
    };
    Some(chart.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_chart_has_a_bar_for_every_bin_and_program() {
        let (a, b) = ("cq".to_owned(), "sps".to_owned());
        let h = Histogram::new("core cycles", &[(0, 3), (38, 1)].into());
        let svg = chart("delays", &[(&a, &h), (&b, &h)]).expect("drawn");
        let bars = (bins("core cycles").len() + 1) * 2;
        assert!(svg.matches("<rect").count() >= bars, "{svg}");
        assert!(svg.contains("&lt;= 40") && svg.contains("cq") && svg.contains("core cycles"));
        assert_eq!(chart("nothing", &[]), None);
    }
}
