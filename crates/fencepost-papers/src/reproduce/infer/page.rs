//! The page that is kept of an inference, in Markdown.

use super::outcome::{Inference, Joint, Line};
use std::fmt::Write as _;

/// Claims in three columns, what the search says of the inputs, and how far it can be trusted.
pub fn page(r: &Inference) -> String {
    let mut t = format!(
        "# {}: which unstated inputs agree with its figures\n\n\
         Written by `fencepost infer {}`. By the text: the primaries of `readings.toml`, which alone are a reproduction. Best joint:\n\
         the joint reading that meets most, *chosen by these very rows*. Range: over everything tried.\n\n\
         {} joint readings of {:.1e} ({} inputs) tried at whole length, quick scale, seed {}, most of them chosen from {} that were tried\n\
         with a 25th of each run, the better quarter of them with a fifth; {} whose inputs contradict each other. They asked for {} runs, of which {} differ.\n\n",
        r.paper, r.paper, r.tried, r.possible, r.inputs, r.seed, r.in_part, r.impossible, r.runs_asked, r.runs_distinct
    );
    joint(&mut t, "By the text", &r.by_text, r.rows.len());
    joint(&mut t, "Best joint reading", &r.best, r.rows.len());
    t.push_str("| claim | paper | by the text | best joint | range | met in |\n|---|---|---|---|---|---|\n");
    for l in &r.rows {
        row(&mut t, l);
    }
    t.push_str(
        "\n## In every joint reading that was tried and meets it\n\nJoint readings that a search was told to begin from, and what it reached \
         from them, resemble one another:\nwhat they share stands here too, untested one by one.\n\n",
    );
    for n in &r.needs {
        let _ = writeln!(
            t,
            "- {} needs `{}` ({} joint readings meet it)",
            n.id, n.reading, n.met_in
        );
    }
    let pairs: Vec<String> = r.never_together.iter().map(|[a, b]| format!("{a} and {b}")).collect();
    let _ = writeln!(t, "\n## Never met together, each met alone\n\n{}", list(&pairs));
    let _ = writeln!(t, "\n## Met by none of the {} tried\n\n{}", r.tried, list(&r.unreached));
    held_out(&mut t, r);
    t
}

fn joint(t: &mut String, what: &str, j: &Joint, of: usize) {
    let full = j
        .met_at_full
        .map_or_else(String::new, |n| format!(", {n} at full scale"));
    let readings: Vec<String> = j.readings.iter().map(|r| format!("`{r}`")).collect();
    let readings = match readings.is_empty() {
        true => "every primary".to_owned(),
        false => readings.join(", "),
    };
    let _ = writeln!(t, "**{what}**: {} of {of} measured rows{full}: {readings}.\n", j.met);
}

fn row(t: &mut String, l: &Line) {
    let cell = |value: &str, met: bool| match (value.is_empty(), met) {
        (false, true) => format!("**{value}**"),
        (false, false) => value.to_owned(),
        (true, true) => "**met**".to_owned(),
        (true, false) => "not met".to_owned(),
    };
    let range = match l.low.is_empty() {
        true => String::new(),
        false => format!("{} to {}", l.low, l.high),
    };
    let met_in = l.met_in.map_or_else(|| "not searched".to_owned(), |n| n.to_string());
    let _ = writeln!(
        t,
        "| {} | {} | {} | {} | {range} | {met_in} |",
        l.id,
        l.paper,
        cell(&l.by_text, l.by_text_met),
        cell(&l.best, l.best_met)
    );
}

fn held_out(t: &mut String, r: &Inference) {
    t.push_str(
        "\n## Held out\n\nInputs inferred from one half of the claims by a search that never sees the other, and what they meet there.\n\n\
         | split | seen | predicted | by the text |\n|---|---|---|---|\n",
    );
    for (i, h) in r.held_out.iter().enumerate() {
        let _ = writeln!(
            t,
            "| {} | {} of {} | {} of {} | {} of {} |",
            i + 1,
            h.seen_met,
            h.seen,
            h.predicted,
            h.hidden,
            h.by_text,
            h.hidden
        );
    }
}

fn list(items: &[String]) -> String {
    match items.is_empty() {
        true => "None.".to_owned(),
        false => format!("{}.", items.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::{HeldOut, NeedLine};
    use super::*;

    #[test]
    fn three_columns_and_the_size_of_the_search() {
        let line = Line {
            id: "X-1".into(),
            paper: "7.21".into(),
            by_text: "4.88".into(),
            by_text_met: false,
            best: "8.1".into(),
            best_met: true,
            best_met_at_full: None,
            low: "3.4".into(),
            high: "9".into(),
            met_in: Some(4),
        };
        let joint = |readings: &[&str], met| Joint {
            readings: readings.iter().map(|r| (*r).to_owned()).collect(),
            met,
            met_at_full: None,
        };
        let of = Inference {
            paper: "x".into(),
            seed: 1,
            inputs: 3,
            possible: 12.0,
            tried: 9,
            in_part: 30,
            impossible: 1,
            runs_asked: 90,
            runs_distinct: 40,
            ran: 40,
            by_text: joint(&[], 0),
            best: joint(&["a=b"], 1),
            rows: vec![line],
            needs: vec![NeedLine {
                id: "X-1".into(),
                reading: "a=b".into(),
                met_in: 4,
            }],
            never_together: vec![["X-1".into(), "X-2".into()]],
            unreached: vec![],
            held_out: vec![HeldOut {
                seen: 2,
                seen_met: 1,
                hidden: 3,
                predicted: 2,
                by_text: 0,
            }],
            folder: String::new(),
        };
        let text = page(&of);
        for part in [
            "9 joint readings of 1.2e1 (3 inputs) tried",
            "chosen from 30 that were tried",
            "**By the text**: 0 of 1 measured rows: every primary.",
            "**Best joint reading**: 1 of 1 measured rows: `a=b`.",
            "| X-1 | 7.21 | 4.88 | **8.1** | 3.4 to 9 | 4 |",
            "X-1 needs `a=b` (4 joint readings meet it)",
            "X-1 and X-2.",
            "Met by none of the 9 tried\n\nNone.",
            "| 1 | 1 of 2 | 2 of 3 | 0 of 3 |",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
