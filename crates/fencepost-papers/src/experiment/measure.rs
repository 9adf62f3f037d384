//! Measures a claim on finished runs.

use super::histograms::{histogram_order, samples_per_op, statistic};
use super::measured::{
    Measured, PerProgram, aggregate, counter, each, missing, number, ratios, reach, shape, time_per_op, verdict,
    verdict_for_good,
};
use super::metrics::{metric_ratios, metric_trend};
use super::orders::{extreme, knee_at, ordered, rises, top, trend, two_alike, wins};
use super::rates::{most_operations, rises_along_points, share};
use super::real_cpu;
use super::rule::{Form, Over, Rule};
use super::runs::Runs;
use fencepost_run::result::RunResult;
use std::collections::BTreeMap;

/// Applies a rule that works on runs. `None` when the rule is of another kind or no run of it exists.
pub fn measure(rule: &Rule, runs: &Runs) -> Option<Measured> {
    match rule {
        Rule::Slowdown {
            tag,
            point,
            base,
            media,
            over,
            form,
            programs,
        } => slowdown(runs, tag, [point, base], media, *over, *form, programs),
        Rule::Extreme {
            tag,
            points,
            base,
            media,
            end,
            expect,
        } => extreme(runs, tag, (points, base), media, *end, expect),
        Rule::Wins {
            tag,
            point,
            against,
            media,
            all_on,
            share,
        } => wins(runs, tag, [point, against], media, all_on, *share),
        Rule::RisesAlongMedia {
            tag,
            point,
            base,
            media,
        } => rises(runs, tag, [point, base], media),
        Rule::TwoAlikeThirdApart {
            tag,
            point,
            base,
            media,
            within,
            apart,
        } => two_alike(runs, tag, [point, base], media, *within, *apart),
        Rule::Ordered { tag, points, media, by } => ordered(runs, tag, points, media, *by),
        Rule::Trend {
            tag,
            media,
            pairs,
            rising,
        } => trend(runs, tag, media, pairs, *rising),
        Rule::Knee {
            tag,
            media,
            smaller,
            knee,
            larger,
            near,
            worse,
        } => knee_at(runs, tag, media, [smaller, knee, larger], *near, *worse),
        Rule::CounterGain {
            tag,
            counter,
            point,
            base,
            media,
            removed,
            per_time,
        } => counter_gain(runs, tag, counter, [point, base], media, (*removed, *per_time)),
        Rule::Share {
            tag,
            counter,
            of,
            point,
            media,
            over,
        } => share(runs, tag, (counter, of), point, media, *over),
        Rule::OperationsRise { tag, points, media } => rises_along_points(runs, tag, points, media),
        Rule::MostOperations {
            tag,
            point,
            media,
            expect,
        } => most_operations(runs, tag, point, media, expect),
        Rule::PerKilocycle {
            tag,
            counter,
            point,
            per,
            media,
            program,
            clock_ghz,
        } => {
            let rate = rate(runs, tag, counter, [point, per], media, program)?;
            Some(number(rate * 1e12 / (clock_ghz * 1e9) * 1000.0, String::new(), vec![]))
        }
        Rule::RateOrder {
            tag,
            counter,
            point,
            per,
            media,
            programs,
        } => rate_order(runs, tag, counter, [point, per], media, programs),
        Rule::Histogram {
            tag,
            point,
            media,
            histogram,
            of,
            over,
            programs,
            within,
        } => {
            let m = statistic(runs, tag, [point, histogram], media, *of, *over, programs)?;
            Some(match (within, m.value) {
                (Some([low, high]), Some(v)) => {
                    let note = format!("{v:.1} ({low} to {high} are met): {}", m.note);
                    verdict(*low <= v && v <= *high, note, m.missing)
                }
                _ => m,
            })
        }
        Rule::MetricRatio {
            tag,
            metric,
            base_metric,
            point,
            base,
            media,
            over,
            form,
        } => {
            let of = [metric, base_metric.as_ref().unwrap_or(metric)];
            let ratios = metric_ratios(runs, tag, of, [point, base], media);
            let shown = ratios.iter().map(|(p, r)| (p.clone(), shape(*form, *r))).collect();
            let value = shape(*form, aggregate(*over, &ratios)?);
            Some(number(value, each(&shown), missing(runs, tag, &[])))
        }
        Rule::MetricTrend {
            tag,
            metric,
            media,
            pairs,
            rising,
        } => metric_trend(runs, tag, metric, media, pairs, *rising),
        Rule::HistogramOrder {
            tag,
            point,
            media,
            histogram,
            of,
            above,
            below,
            smaller,
        } => histogram_order(runs, tag, [point, histogram], media, *of, (above, below), *smaller),
        Rule::SamplesPerOp {
            tag,
            point,
            media,
            histogram,
            programs,
        } => samples_per_op(runs, tag, [point, histogram], media, programs),
        Rule::Top {
            tag,
            point,
            base,
            media,
            end,
            expect,
            gains,
        } => top(runs, tag, [base, point], media, *end, (expect, *gains)),
        Rule::SameTime {
            tag,
            point,
            against,
            media,
        } => {
            let ratios = ratios(runs, tag, [point, against], media);
            let value = aggregate(Over::Geomean, &ratios)?;
            Some(number(value, each(&ratios), missing(runs, tag, &[])))
        }
        Rule::Programs {
            programs,
            native,
            values,
        } => Some(built(runs, programs, native, values)),
        Rule::Cost { .. }
        | Rule::Costs { .. }
        | Rule::Parameter { .. }
        | Rule::Check { .. }
        | Rule::Native { .. }
        | Rule::NativeFlushPair
        | Rule::Quoted { .. }
        | Rule::NotRun { .. } => None,
    }
}

fn built(runs: &Runs, programs: &[String], native: &[String], values: &BTreeMap<String, String>) -> Measured {
    let simulated = runs.run_programs().filter(|p| programs.contains(p));
    let natively = native.iter().filter(|p| real_cpu::runs(p, &runs.native));
    let ran: Vec<&str> = simulated.chain(natively).map(String::as_str).collect();
    let set = |path: &String| runs.native.value(path).unwrap_or_else(|| "its default".into());
    let wrong: Vec<String> = (values.iter())
        .filter(|(path, stated)| set(path) != **stated)
        .map(|(path, stated)| format!("{path} is {}, not {stated}", set(path)))
        .collect();
    let with: Vec<String> = values.iter().map(|(path, stated)| format!("{path}={stated}")).collect();
    verdict(
        ran.len() == programs.len() + native.len() && wrong.is_empty(),
        match wrong.is_empty() {
            true => format!("test programs-ran: {}; {}", ran.join(", "), with.join(", ")),
            false => format!("test programs-ran: {}; {}", ran.join(", "), wrong.join(", ")),
        },
        missing(runs, "", programs),
    )
}
fn slowdown(
    runs: &Runs,
    tag: &str,
    points: [&String; 2],
    media: &[String],
    over: Over,
    form: Form,
    only: &[String],
) -> Option<Measured> {
    let mut values = PerProgram::new();
    for m in media {
        let on = ratios(runs, tag, points, m)
            .into_iter()
            .filter(|v| only.is_empty() || only.contains(&v.0));
        values.extend(on.map(|(p, v)| {
            if media.len() > 1 {
                (format!("{p}/{m}"), v)
            } else {
                (p, v)
            }
        }));
    }
    let shaped: PerProgram = values.iter().map(|(p, r)| (p.clone(), shape(form, *r))).collect();
    // Percentages are taken of the aggregated ratio, not aggregated themselves: a geometric mean needs positive values.
    let value = aggregate(over, &values)?;
    let missing = missing(runs, tag, only);
    let mut reach = reach(over, value, values.len(), missing.len() * media.len()).map(|v| shape(form, v));
    reach.sort_by(f64::total_cmp);
    Some(Measured {
        reach: Some(reach),
        ..number(shape(form, value), each(&shaped), missing)
    })
}

fn counter_gain(
    runs: &Runs,
    tag: &str,
    name: &str,
    [point, base]: [&String; 2],
    media: &str,
    (removed, per_time): (bool, bool),
) -> Option<Measured> {
    let sign = if removed { -1.0 } else { 1.0 };
    let of = |r: &RunResult| if per_time { r.time_ps } else { r.ops };
    let per_op = |r: &RunResult| Some(counter(r, name)? as f64 / of(r).max(1) as f64);
    let gain = |p: &String| {
        let a = per_op(runs.get(tag, p, point, media)?)?;
        let b = per_op(runs.get(tag, p, base, media)?)?;
        (b > 0.0).then(|| (p.clone(), sign * (a / b - 1.0) * 100.0))
    };
    let values: PerProgram = runs.run_programs().filter_map(gain).collect();
    Some(number(
        aggregate(Over::Mean, &values)?,
        each(&values),
        missing(runs, tag, &[]),
    ))
}

/// Events per picosecond and thread: counted in the first point, time of the second.
fn rate(runs: &Runs, tag: &str, name: &str, [point, per]: [&String; 2], media: &str, program: &str) -> Option<f64> {
    let counted = runs.get(tag, program, point, media)?;
    let timed = runs.get(tag, program, per, media)?;
    let events = counter(counted, name)? as f64 / counted.ops.max(1) as f64;
    let (time, threads) = (time_per_op(timed), f64::from(counted.threads));
    (time > 0.0).then(|| events / threads / time)
}

fn rate_order(
    runs: &Runs,
    tag: &str,
    name: &str,
    points: [&String; 2],
    media: &str,
    programs: &[String],
) -> Option<Measured> {
    let rates: PerProgram = (programs.iter())
        .filter_map(|p| rate(runs, tag, name, points, media, p).map(|r| (p.clone(), r * 1e6)))
        .collect();
    let falls = rates.windows(2).all(|w| w[0].1 > w[1].1);
    let note = format!("events per microsecond and core: {}", each(&rates));
    let holds = rates.len() > 1 && falls;
    Some(verdict_for_good(holds, !falls, note, missing(runs, tag, programs)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::spec::Natively;

    #[test]
    fn programs_count_only_with_what_the_paper_states_of_them() {
        let runs = Runs {
            native: Natively {
                set: vec!["program.redis.keys=1000".into()],
                clients: [("vacation".to_owned(), 4)].into(),
            },
            ..Runs::default()
        };
        let holds = |stated: [(&str, &str); 1]| {
            let values = stated.map(|(path, value)| (path.to_owned(), value.to_owned())).into();
            let m = built(&runs, &[], &[], &values);
            (m.holds, m.note)
        };
        assert_eq!(holds([("program.redis.keys", "1000")]).0, Some(true));
        assert_eq!(holds([("clients.vacation", "4")]).0, Some(true));
        for wrong in [
            ("program.redis.keys", "1000000"),
            ("program.redis.key", "1000"),
            ("clients.redis", "4"),
        ] {
            let (held, note) = holds([wrong]);
            assert!(
                held == Some(false) && note.contains(wrong.0) && note.contains(wrong.1),
                "{note}"
            );
        }
    }
}
