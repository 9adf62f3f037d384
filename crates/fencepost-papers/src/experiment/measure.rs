//! Measures a claim on finished runs.

use super::measured::{Measured, missing, ratios, verdict, verdict_for_good};
use super::real_cpu;
use super::rule::Rule;
use super::runs::Runs;
use std::collections::BTreeMap;

/// Applies a rule that works on runs. `None` when the rule is of another kind or no run of it exists.
pub fn measure(rule: &Rule, runs: &Runs) -> Option<Measured> {
    match rule {
        Rule::Value(value) => value.measure(runs),
        Rule::Rank(rank) => rank.measure(runs),
        Rule::Along(along) => along.measure(runs),
        Rule::Wins {
            tag,
            point,
            against,
            media,
            all_on,
            share,
        } => wins(runs, tag, [point, against], media, all_on, *share),
        Rule::Programs {
            programs,
            native,
            values,
        } => Some(built(runs, programs, native, values)),
        Rule::Cost { .. }
        | Rule::Parameter { .. }
        | Rule::Check { .. }
        | Rule::Native { .. }
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
fn wins(
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
                ..Natively::default()
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
