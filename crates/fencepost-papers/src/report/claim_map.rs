//! The claim map: one row per claim, every choice of readings a point, the primaries marked, the paper's value a line.

use super::svg::escape;
use crate::experiment::claims::Claim;
use crate::experiment::readings::{Outcome, Spread};
use fencepost_run::short;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const NAMES: f64 = 130.0;
const PLOT: f64 = 560.0;
/// Of the text at the right: the gap before it, and the width of a letter, rounded up.
const GAP: f64 = 14.0;
const LETTER: f64 = 7.0;
const ROW: f64 = 26.0;
const TOP: f64 = 26.0;

const HEAD: &str = "holds, decided by";

/// The map as an `<svg>` element; empty where no claim was run under several choices. Each point carries its claim, value and
/// readings as data attributes, which the page shows on a click.
pub fn render(claims: &[Claim], worth: &BTreeMap<String, Spread>) -> String {
    let rows: Vec<(&Claim, &Spread)> = claims.iter().filter_map(|c| Some((c, worth.get(&c.id)?))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let longest = rows.iter().map(|(_, s)| verdict(s).len()).fold(HEAD.len(), usize::max);
    let right = GAP + LETTER * longest as f64;
    let (width, height) = (NAMES + PLOT + right, TOP + ROW * rows.len() as f64 + 8.0);
    let mut out = format!(
        "<svg id=\"claim-map\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         role=\"img\" font-family=\"sans-serif\" font-size=\"12\"><title>Claims under every reading</title>\
         <text x=\"4\" y=\"16\" font-weight=\"bold\">claim</text><text x=\"{:.0}\" y=\"16\" font-weight=\"bold\">low to high</text>\
         <text x=\"{:.0}\" y=\"16\" font-weight=\"bold\">{HEAD}</text>",
        NAMES,
        NAMES + PLOT + GAP
    );
    for (i, (claim, spread)) in rows.iter().enumerate() {
        row(&mut out, TOP + ROW * i as f64 + ROW / 2.0, claim, spread);
    }
    out.push_str("</svg>");
    out
}

fn row(out: &mut String, y: f64, claim: &Claim, spread: &Spread) {
    let _ = write!(
        out,
        "<text x=\"4\" y=\"{:.1}\">{}<title>{}</title></text><line x1=\"{NAMES}\" x2=\"{:.0}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e4e4e4\"/>",
        y + 4.0,
        escape(&claim.id),
        escape(&claim.claim),
        NAMES + PLOT
    );
    let x = positions(claim, spread);
    if let Some(paper) = claim.number().and_then(|p| Some(x.as_ref()?(p))) {
        let _ = write!(
            out,
            "<line class=\"paper\" x1=\"{paper:.1}\" x2=\"{paper:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#222\" stroke-width=\"2\"><title>paper: {}</title></line>",
            y - 9.0,
            y + 9.0,
            escape(&claim.value)
        );
    }
    // The primaries are drawn last, on top of the others.
    for (i, o) in spread.outcomes.iter().enumerate().rev() {
        let at = match (&x, o.value) {
            (Some(x), Some(v)) => x(v),
            _ => NAMES + PLOT * (i as f64 + 0.5) / spread.outcomes.len() as f64,
        };
        point(out, (at, y), claim, o);
    }
    let _ = write!(
        out,
        "<text x=\"{:.0}\" y=\"{:.1}\" fill=\"#444\">{}</text>",
        NAMES + PLOT + GAP,
        y + 4.0,
        escape(&verdict(spread))
    );
}

/// The range of a claim, how often it holds, and what decides it.
fn verdict(spread: &Spread) -> String {
    let ends = match (spread.low, spread.high) {
        (Some(l), Some(h)) => format!("{} to {}, ", short(l), short(h)),
        _ => String::new(),
    };
    let by = spread.decided_by.as_deref().unwrap_or("no input");
    format!("{ends}{:.0} %, {by}", spread.holds * 100.0)
}

/// Places values of one row: from the least to the greatest of all values and the paper's. `None` for claims that are orders.
fn positions(claim: &Claim, spread: &Spread) -> Option<impl Fn(f64) -> f64 + use<>> {
    let (low, high) = (spread.low?, spread.high?);
    let paper = claim.number();
    let low = paper.map_or(low, |p| p.min(low));
    let high = paper.map_or(high, |p| p.max(high));
    let width = if high > low { high - low } else { 1.0 };
    Some(move |v: f64| NAMES + 8.0 + (PLOT - 16.0) * (v - low) / width)
}

fn point(out: &mut String, (x, y): (f64, f64), claim: &Claim, o: &Outcome) {
    let primary = o.choice.is_empty();
    let label = if primary { "primaries" } else { &o.choice };
    let value = o
        .value
        .map_or_else(|| if o.met { "holds" } else { "fails" }.to_owned(), short);
    let (fill, radius) = match (primary, o.met) {
        (true, true) => ("#1a7f37", 6.5),
        (true, false) => ("#b42318", 6.5),
        (false, true) => ("#7fc795", 4.5),
        (false, false) => ("#e8a09a", 4.5),
    };
    let class = if primary { "point primary" } else { "point" };
    let stroke = if primary { "#111" } else { "#fff" };
    let _ = write!(
        out,
        "<circle class=\"{class}\" tabindex=\"0\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\" \
         data-claim=\"{}\" data-choice=\"{}\" data-value=\"{}\" data-paper=\"{}\" data-readings=\"{}\"><title>{}: {}</title></circle>",
        escape(&claim.id),
        escape(label),
        escape(&value),
        escape(&claim.value),
        escape(&o.readings.join("; ")),
        escape(label),
        escape(&value)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(choice: &str, value: f64, met: bool) -> Outcome {
        Outcome {
            choice: choice.into(),
            readings: vec!["a=x".into(), "b=y".into()],
            value: Some(value),
            met,
        }
    }
    #[test]
    fn the_paper_and_every_point_have_a_place() {
        let claim = crate::experiment::claims::of_paper("dpo").unwrap().remove(0);
        let paper = claim.number().unwrap();
        let spread = Spread {
            low: Some(1.0),
            high: Some(5.0),
            holds: 0.5,
            decided_by: Some("a".into()),
            outcomes: vec![outcome("", 1.0, false), outcome("a=z", 5.0, true)],
        };
        let map = render(
            std::slice::from_ref(&claim),
            &[(claim.id.clone(), spread.clone())].into(),
        );
        assert_eq!(map.matches("class=\"point").count(), 2);
        assert_eq!(map.matches("point primary").count(), 1);
        assert!(map.contains("data-readings=\"a=x; b=y\"") && map.contains("class=\"paper\""));
        let x = positions(&claim, &spread).unwrap();
        assert!(
            x(1.0) < x(5.0) && x(5.0) < x(paper),
            "the axis reaches to the paper's {paper}"
        );
        assert_eq!(render(std::slice::from_ref(&claim), &BTreeMap::new()), "");
    }
}
