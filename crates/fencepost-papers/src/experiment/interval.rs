//! Rows over several seeds: the mean of a few values, how well it is known, and verdicts that flip.

use super::claims::Claim;
use super::score::{Found, Row, Score};
use fencepost_run::short;
use serde::Serialize;

/// A mean with half of its 95 % interval.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half of the interval in which the mean of many more values lies with 95 %; infinite for a single value.
    pub half: f64,
}

/// Quantiles of Student's distribution at 97.5 %, by degrees of freedom from 1; beyond them the last.
const STUDENT: [f64; 20] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086,
];

impl Interval {
    /// Of some values; `None` without any.
    pub fn of(values: &[f64]) -> Option<Interval> {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let half = match n {
            0 => return None,
            1 => f64::INFINITY,
            _ => {
                let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
                let deviation = (squares / (n - 1) as f64).sqrt();
                STUDENT[(n - 2).min(STUDENT.len() - 1)] * deviation / (n as f64).sqrt()
            }
        };
        Some(Interval { mean, half })
    }
}

/// Enters what a claim is with several seeds: the mean and its interval, and whether the verdict flips. It is met if every seed
/// meets it, and unsteady if some seeds meet it and others do not.
pub fn enter_seeds(row: &mut Row, claim: &Claim, found: &[Found]) {
    if found.len() < 2 || matches!(row.verdict, Score::Quoted | Score::NotRun) {
        return;
    }
    let values: Option<Vec<f64>> = found.iter().map(|f| f.value).collect();
    if let Some(i) = values.and_then(|v| Interval::of(&v)) {
        row.measured = short(i.mean);
        row.spread = short(i.half);
        row.ratio = claim.number().map_or_else(String::new, |paper| short(i.mean / paper));
    }
    let met = found.iter().filter(|f| f.met).count();
    row.verdict = match met {
        0 => Score::Miss,
        n if n == found.len() => Score::Match,
        _ => Score::Unsteady,
    };
    if row.verdict == Score::Unsteady {
        row.remark(&format!("met with {met} of {} seeds", found.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::claims;
    use super::super::kinds::Kind;
    use super::*;

    #[test]
    fn a_verdict_that_flips_with_the_seed_is_unsteady() {
        let claim = claims::of_paper("dpo").unwrap().into_iter().find(|c| c.id == "DPO-H1");
        let claim = claim.unwrap();
        let over = |found: &[(Option<f64>, bool)]| {
            let mut row = Row {
                id: claim.id.clone(),
                paper: claim.value.clone(),
                kind: Kind::Measured,
                measured: "7".into(),
                spread: String::new(),
                unit: String::new(),
                ratio: String::new(),
                verdict: Score::Match,
                low: String::new(),
                high: String::new(),
                holds: String::new(),
                decided_by: String::new(),
                note: String::new(),
            };
            let found: Vec<Found> = found
                .iter()
                .map(|(value, met)| Found {
                    value: *value,
                    met: *met,
                })
                .collect();
            enter_seeds(&mut row, &claim, &found);
            (row.verdict, row.measured, row.spread)
        };
        let two = over(&[(Some(6.0), true), (Some(8.0), true)]);
        assert_eq!((two.0, two.1.as_str(), two.2.as_str()), (Score::Match, "7", "12.7"));
        assert_eq!(over(&[(Some(6.0), true), (Some(9.0), false)]).0, Score::Unsteady);
        assert_eq!(over(&[(Some(1.0), false), (Some(2.0), false)]).0, Score::Miss);
        assert_eq!(over(&[(None, true), (None, false)]).0, Score::Unsteady);
        assert_eq!(
            over(&[(Some(1.0), false)]).0,
            Score::Match,
            "one seed says nothing more"
        );
    }

    #[test]
    fn mean_and_interval_in_closed_form() {
        assert_eq!(Interval::of(&[]), None);
        assert_eq!(
            Interval::of(&[3.0]),
            Some(Interval {
                mean: 3.0,
                half: f64::INFINITY
            })
        );
        // 1, 3: deviation sqrt 2, over sqrt 2 makes 1.
        let two = Interval::of(&[1.0, 3.0]).unwrap();
        assert!((two.mean, two.half).0 == 2.0 && (two.half - 12.706).abs() < 1e-9);
        // 1 to 5: deviation sqrt 2.5, over sqrt 5 makes sqrt 0.5.
        let five = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((five.half - 2.776 * 0.5f64.sqrt()).abs() < 1e-9);
        assert_eq!(Interval::of(&[7.0; 40]).unwrap().half, 0.0);
    }
}
