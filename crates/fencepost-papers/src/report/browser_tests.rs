//! The page in a browser: its charts have the numbers of the runs, a click on a claim shows what stands behind it, nothing goes
//! wrong on the way.

use super::*;
use crate::experiment::best::Best;
use crate::experiment::made_up;
use crate::experiment::readings::{Outcome, Readings, Spread};
use crate::experiment::runs::{Cell, Plan, Runs};
use crate::experiment::score::{Evidence, score};
use crate::experiment::spec::{Experiment, read};
use crate::experiment::{claims, figures};
use fencepost_pages::browser::{holds_as_a_page, title_after};
use fencepost_run::result::RunResult;
use std::path::{Path, PathBuf};

const WIDE: [u32; 2] = [1280, 800];

/// Where pictures of pages are kept.
fn pictures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures")
}

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

/// The same under the best joint reading: SO takes four times as long as volatile execution, delegated ordering 1.5 times.
fn joint(claims: &[claims::Claim]) -> BestRuns {
    let mut joint = runs();
    for (cell, run) in &mut joint.by_cell {
        run.time_ps = match cell.point.as_str() {
            "so" => 400,
            "delegated" => 150,
            _ => run.time_ps,
        };
    }
    let best = Best {
        readings: vec!["compute=1".into()],
        met: 3,
        rows: 29,
        tried: 43,
        possible: 2.5e8,
        inputs: 24,
        met_in: [("DPO-H1".to_owned(), 17)].into(),
        needs: [("DPO-H1".to_owned(), vec!["compute=1".to_owned()])].into(),
        ..Best::default()
    };
    BestRuns::of(best, joint, claims)
}

/// The page of these runs and its numbers; one claim has been tried under two choices of readings.
pub(super) fn page() -> String {
    page_and_table().0
}

fn page_and_table() -> (String, String) {
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
        tests: &std::collections::BTreeMap::new(),
        cost_bits: &|_, _| None,
        parameter: &|_| None,
    };
    let rows: Vec<Row> = score(&claims, &evidence).into_iter().map(|r| r.0).collect();
    let best = joint(&claims);
    let report = Report {
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
        under_readings: &[(claims[0].id.clone(), spread)].into(),
        best: Some(&best),
    };
    let page = render(&report).unwrap_or_else(|e| panic!("{e}"));
    (page, String::from_utf8(figures_table(&report)).unwrap())
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
    // By the text, best joint, and the paper: 7.21 and 1.93 for the means, 1.33 and 35.15 for the extremes of SO.
    for text in ["2 | 4 | 7.21", "3 | 1.5 | 1.93", "2 | 4 | 1.33", "2 | 4 | 35.1"] {
        assert!(title.contains(text), "`{text}` is not in: {title}");
    }
}
#[test]
fn charts_have_the_numbers_of_the_csv() {
    let (page, table) = page_and_table();
    let read = "document.title = Array.from(document.querySelectorAll('figure.figure')).map(function (f) {\
                return Array.from(f.querySelectorAll('svg')).map(function (s) { return Array.from(s.querySelectorAll('text'))\
                .map(function (t) { return t.textContent; }).filter(function (t) { return t.includes(' | '); }).join(';'); }).join(';'); }).join('/');";
    let Some(title) = title_after(&page, read, WIDE) else {
        return;
    };
    let short = |v: &str| fencepost_run::short(v.parse().unwrap());
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let all: Vec<Vec<String>> = rows
        .records()
        .map(|r| r.unwrap().iter().map(str::to_owned).collect())
        .collect();
    let mut wanted: Vec<String> = Vec::new();
    for r in all.iter().filter(|r| !r[8].is_empty()) {
        let paper = (!r[9].is_empty()).then(|| short(&r[9]));
        wanted.push(
            [Some(short(&r[5])), Some(short(&r[8])), paper]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" | "),
        );
    }
    let mut shown: Vec<&str> = title.split(['/', ';']).filter(|t| !t.is_empty()).collect();
    shown.sort_unstable();
    wanted.sort_unstable();
    assert!(wanted.len() >= 8, "{table}");
    assert_eq!(shown, wanted);
}
#[test]
fn the_first_screen_says_whether_to_believe_a_headline_and_what_must_hold() {
    let read = "document.title = document.querySelector('.headlines').textContent + document.querySelector('.answer').textContent;";
    let Some(title) = title_after(&page(), read, WIDE) else {
        return;
    };
    for text in [
        "17 of 43 joint readings meet it, all of them with compute=1.",
        "Not met by the text, nor under any of 1 other readings alone.",
        "43 of 2.5e8 joint readings of 24 inputs were tried",
        "measured claims are met",
    ] {
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
fn the_page_fits_every_width_is_accessible_and_looks_as_kept() {
    holds_as_a_page(&page(), &pictures(), "report");
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
    let run = |program: &str, design: &str, time| RunResult {
        program: program.into(),
        design: design.into(),
        ..made_up(time)
    };
    let of = |program: &str, so| vec![run(program, "volatile", 100), run(program, "so", so)];
    let here = crate::compare::Comparison::of_runs("volatile", [of("cq", 200), of("sps", 800)].concat());
    let elsewhere = |r: RunResult| RunResult {
        machine: "themis".into(),
        ..r
    };
    let there = of("cq", 300).into_iter().map(elsewhere).collect();
    let both = [here, crate::compare::Comparison::of_runs("volatile", there)];
    let page = comparison::page(&both, &fencepost_run::request::Request::default()).expect("a page");
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
    let other = "document.querySelectorAll('#machines button')[1].click();\
                 document.title = Array.from(document.querySelectorAll('#heat button')).map(function (b) { return b.textContent; }).join(' ');";
    assert_eq!(
        title_after(&page, other, WIDE).as_deref(),
        Some("1 3"),
        "the second machine"
    );
    holds_as_a_page(&page, &pictures(), "comparison");
}
#[test]
fn a_page_of_every_run_of_a_matrix_is_small() {
    let run = |machine: &str, program: usize, design: usize| RunResult {
        program: format!("a-program-{program}"),
        design: if design == 0 {
            "volatile".into()
        } else {
            format!("some-design-{design}")
        },
        machine: machine.into(),
        stalls: fencepost_machine::seam::Cause::NAMES[..8]
            .iter()
            .map(|c| ((*c).to_owned(), 12_345_678))
            .collect(),
        ..made_up(1_234_567 * (1 + design as u64))
    };
    let of = |machine| {
        let runs = (0..22).flat_map(|p| (0..25).map(move |d| run(machine, p, d))).collect();
        crate::compare::Comparison::of_runs("volatile", runs)
    };
    let all = ["dpo", "themis", "loc", "broi", "fgc"].map(of);
    let page = comparison::page(&all, &fencepost_run::request::Request::default()).expect("a page");
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}
#[test]
fn a_bar_under_the_pointer_says_its_program_values_and_readings() {
    let hover = "var svg = document.querySelector('#figure-slowdown svg[aria-label*=pcm]'), bar = svg.querySelector('rect').getBoundingClientRect();\
                 ['pointerenter', 'pointermove'].forEach(function (kind) { svg.dispatchEvent(new PointerEvent(kind, { bubbles: true, pointerType: 'mouse',\
                 clientX: bar.x + bar.width / 2, clientY: bar.y + bar.height / 2 })); });\
                 setTimeout(function () { document.title = svg.textContent; }, 300);";
    let Some(title) = title_after(&page(), hover, WIDE) else {
        return;
    };
    assert!(title.contains("cq") && title.contains("by the text"), "{title}");
}
#[test]
fn the_answer_stands_on_the_first_screen() {
    let read = "document.title = ['.met', '.headlines', '#main-figure', 'div:last-child > h2'].map(function (part) {\
                return Math.round(document.querySelector('.answer ' + part).getBoundingClientRect().top); }).join(' ');";
    let Some(title) = title_after(&page(), read, [1400, 900]) else {
        return;
    };
    let tops: Vec<i64> = title.split(' ').map(|top| top.parse().unwrap()).collect();
    assert!(tops.iter().all(|top| *top < 800), "{title}");
}
