//! What must hold for a claim: under which readings it is met, in words.

use super::subject::BestRuns;
use crate::experiment::readings::{Outcome, Spread};

/// Readings named in one sentence; more are counted.
const NAMED: usize = 3;

/// Under which readings a claim is met, as sentences: each other reading alone, then the search over joint ones.
pub(super) fn holds(id: &str, spread: Option<&Spread>, best: Option<&BestRuns>) -> String {
    let sentences = [spread.and_then(alone), best.map(|b| together(id, b))];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn alone(spread: &Spread) -> Option<String> {
    let (primaries, others) = spread.outcomes.split_first()?;
    if others.is_empty() {
        return None;
    }
    let turning: Vec<&Outcome> = others.iter().filter(|o| o.met != primaries.met).collect();
    let names: Vec<&str> = turning.iter().take(NAMED).map(|o| o.choice.as_str()).collect();
    let more = match turning.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let (names, all) = (names.join(", "), others.len());
    let each = if turning.len() > 1 { "each alone" } else { "alone" };
    Some(match (primaries.met, turning.len()) {
        (true, 0) => format!("Met by the text and under each of {all} other readings alone."),
        (true, _) => format!("Met by the text; lost with {names}{more}, {each}."),
        (false, 0) => format!("Not met by the text, nor under any of {all} other readings alone."),
        (false, _) => format!("Not met by the text; met with {names}{more}, {each}."),
    })
}

fn together(id: &str, best: &BestRuns) -> String {
    let kept = &best.best;
    let Some(met_in) = kept.met_in.get(id) else {
        return "The search over joint readings did not look at it.".into();
    };
    let tried = kept.tried;
    match (met_in, kept.needs.get(id)) {
        (0, _) => format!("None of {tried} joint readings meets it."),
        (n, Some(needs)) if n < &tried => {
            format!(
                "{n} of {tried} joint readings meet it, all of them with {}.",
                needs.join(", ")
            )
        }
        (n, _) => format!("{n} of {tried} joint readings meet it; none of their inputs is necessary."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::best::Best;
    use crate::experiment::runs::Runs;

    fn spread(primaries: bool, others: &[(&str, bool)]) -> Spread {
        let outcome = |choice: &str, met| Outcome {
            choice: choice.into(),
            readings: vec![],
            value: None,
            met,
        };
        let rest = others.iter().map(|(c, met)| outcome(c, *met));
        Spread {
            outcomes: std::iter::once(outcome("", primaries)).chain(rest).collect(),
            ..Spread::default()
        }
    }
    fn best(met_in: usize, needs: &[&str]) -> BestRuns {
        let needs: Vec<String> = needs.iter().map(|n| (*n).to_owned()).collect();
        let best = Best {
            tried: 43,
            met_in: [("H".to_owned(), met_in)].into(),
            needs: if needs.is_empty() {
                [].into()
            } else {
                [("H".to_owned(), needs)].into()
            },
            ..Best::default()
        };
        BestRuns::of(best, Runs::default(), &[])
    }

    #[test]
    fn one_reading_at_a_time() {
        let said = |primaries, others: &[(&str, bool)]| holds("H", Some(&spread(primaries, others)), None);
        assert_eq!(said(true, &[]), "");
        assert!(said(true, &[("a=x", true)]).contains("under each of 1 other"));
        assert_eq!(
            said(true, &[("a=x", true), ("b=y", false)]),
            "Met by the text; lost with b=y, alone."
        );
        assert!(said(false, &[("a=x", false)]).contains("nor under any of 1 other"));
        let many = [("a=1", true), ("a=2", true), ("a=3", true), ("a=4", true)];
        assert!(said(false, &many).contains("met with a=1, a=2, a=3 and 1 more, each alone."));
    }
    #[test]
    fn many_readings_together() {
        let said = |id: &str, b: &BestRuns| holds(id, None, Some(b));
        assert!(said("H", &best(0, &[])).contains("None of 43"));
        assert!(said("H", &best(12, &["p=q"])).contains("12 of 43 joint readings meet it, all of them with p=q."));
        assert!(said("H", &best(43, &[])).contains("none of their inputs is necessary"));
        assert!(said("other", &best(1, &[])).contains("did not look"));
    }
}
