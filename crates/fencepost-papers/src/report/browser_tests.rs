//! The page in a browser: its charts have the numbers of the runs, a click on a claim shows what stands behind it, nothing goes
//! wrong on the way.

use super::*;
use crate::experiment::made_up;
use crate::experiment::readings::{Outcome, Readings, Spread};
use crate::experiment::runs::{Cell, Plan, Runs};
use crate::experiment::score::{Evidence, score};
use crate::experiment::spec::{Experiment, read};
use crate::experiment::{claims, figures};
use fencepost_pages::browser::title_after;
use std::collections::BTreeMap;

const WIDE: [u32; 2] = [1280, 800];

/// Times of `E01` on PCM that give SO a slowdown of two and delegated ordering one of three, for every program.
fn runs() -> Runs {
    let (programs, points) = (["cq", "sps"], [("volatile", 100), ("so", 200), ("delegated", 300)]);
    let cell = |program: &str, (point, time): (&str, u64)| {
        let cell = Cell {
            tag: "E01".into(),
            program: program.into(),
            point: point.into(),
            media: "pcm".into(),
            choice: String::new(),
        };
        (cell, made_up(time))
    };
    Runs {
        by_cell: programs.iter().flat_map(|p| points.map(|d| cell(p, d))).collect(),
        programs: programs.map(String::from).to_vec(),
        ..Runs::default()
    }
}

/// The page of these runs; one claim has been tried under two choices of readings.
pub(super) fn page() -> String {
    let experiment: Experiment = read("dpo", "experiment.toml").unwrap();
    let readings = Readings::of_paper("dpo", &experiment).unwrap();
    let claims = claims::of_paper("dpo").unwrap();
    let outcome = |choice: &str, value, reading: &str| Outcome {
        choice: choice.into(),
        readings: vec![reading.into(), "banks=16".into()],
        value: Some(value),
        met: false,
    };
    let spread = Spread {
        low: Some(2.0),
        high: Some(4.5),
        holds: 0.0,
        decided_by: Some("log".into()),
        outcomes: vec![
            outcome("", 2.0, "log=inline"),
            outcome("log=library", 4.5, "log=library"),
        ],
    };
    let runs = runs();
    let evidence = Evidence {
        runs: &runs,
        statements: &crate::experiment::statement::Statements::default(),
        cost_bits: &|_, _| None,
        parameter: &|_| None,
    };
    let rows: Vec<Row> = score(&claims, &evidence).into_iter().map(|r| r.0).collect();
    render(&Report {
        experiment: &experiment,
        scale: "quick",
        seed: 1,
        runs: &runs,
        choices: std::slice::from_ref(&runs),
        plan: &Plan::default(),
        rows: &rows,
        implied: &[],
        diagnostics: &[],
        asked: &[],
        claims: &claims,
        figures: &figures::of_paper("dpo").unwrap(),
        readings: &readings,
        worth: &[(claims[0].id.clone(), spread)].into(),
        best: &BTreeMap::new(),
    })
    .unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_click_on_a_claim_shows_its_readings_runs_and_commands() {
    let click = "document.querySelector('[data-claim=DPO-H1]').click();\
                 document.title = document.querySelectorAll('[data-claim=DPO-H1] .point').length + ' points. '\
                 + document.getElementById('behind').textContent;";
    let Some(title) = title_after(&page(), click, WIDE) else {
        return;
    };
    for text in ["2 points.", "log=library4.5", "Runs behind it (4)"] {
        assert!(title.contains(text), "`{text}` is not in: {title}");
    }
}
#[test]
fn bars_have_the_values_of_the_runs_beside_the_papers() {
    let read = "document.title = Array.from(document.querySelectorAll('#figure-slowdown svg[aria-label*=pcm] text'))\
                .map(function (t) { return t.textContent; }).join(' ');";
    let Some(title) = title_after(&page(), read, WIDE) else {
        return;
    };
    // The paper states 7.21 and 1.93 for the means, 1.33 and 35.15 for the extremes of SO.
    for text in ["2 | 7.21", "3 | 1.93", "2 | 1.33", "2 | 35.1"] {
        assert!(title.contains(text), "`{text}` is not in: {title}");
    }
}
#[test]
fn a_program_that_is_crossed_out_leaves_every_chart() {
    let cross = "var before = document.querySelectorAll('#stall-charts svg').length;\
                 Array.from(document.querySelectorAll('#filters button')).find(function (b) { return b.textContent === 'cq'; }).click();\
                 document.title = before + ' ' + document.querySelectorAll('#stall-charts svg').length;";
    let Some(title) = title_after(&page(), cross, WIDE) else {
        return;
    };
    assert_eq!(title, "2 1");
}
#[test]
fn nothing_scrolls_sideways() {
    let measure = "document.querySelectorAll('details').forEach(function (d) { d.open = true; });\
                   document.title = document.documentElement.scrollWidth - window.innerWidth;";
    for width in [1280, 800, 500] {
        let Some(title) = title_after(&page(), measure, [width, 900]) else {
            return;
        };
        let over: i64 = title.parse().expect("a width");
        assert!(over <= 0, "{over} pixels too wide at {width}");
    }
}
#[test]
fn a_page_is_small_and_says_a_reversed_headline_first() {
    let page = page();
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let (before, after) = page
        .split_once("Reversed")
        .expect("time of SO over that of RCBSP is 2 / 3");
    assert!(
        !before.contains("<table") && after.contains("0.667 x here, not 3.73 x"),
        "said first"
    );
}
#[test]
fn a_comparison_shows_its_numbers_and_where_the_time_of_a_run_went() {
    let run = |program: &str, design: &str, time| fencepost_run::result::RunResult {
        program: program.into(),
        design: design.into(),
        ..made_up(time)
    };
    let of = |so: f64| [("volatile".to_owned(), 1.0), ("so".to_owned(), so)].into();
    let comparison = crate::compare::Comparison {
        baseline: "volatile".into(),
        slowdown: [("cq".to_owned(), of(2.0)), ("sps".to_owned(), of(8.0))].into(),
        spread: Default::default(),
        geomean: of(4.0),
        geomean_spread: Default::default(),
        runs: vec![
            run("cq", "volatile", 100),
            run("cq", "so", 200),
            run("sps", "volatile", 100),
            run("sps", "so", 800),
        ],
    };
    let page = comparison::page(&comparison, &fencepost_run::request::Request::default()).expect("a page");
    let click = "var all = Array.from(document.querySelectorAll('#heat button')); all[3].click();\
                 document.title = all.map(function (b) { return b.textContent; }).join(' ') + ': '\
                 + document.querySelector('#pair h3').textContent + ' ' + document.querySelectorAll('#bars svg, #pair svg').length;";
    let Some(title) = title_after(&page, click, WIDE) else {
        return;
    };
    assert!(
        title.starts_with("1 2 1 8: sps on so: ") && title.contains("8 times volatile"),
        "{title}"
    );
    assert!(title.ends_with(" 2"), "means and one run are drawn: {title}");
}
