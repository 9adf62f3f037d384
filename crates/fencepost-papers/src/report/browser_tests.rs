//! The page in a browser: its charts have the numbers of the runs, a click on a claim shows what stands behind it, nothing goes
//! wrong on the way.

use super::*;
use crate::experiment::made_up;
use crate::experiment::readings::{Outcome, Readings, Spread};
use crate::experiment::runs::{Cell, Plan, Runs};
use crate::experiment::score::{Evidence, score};
use crate::experiment::spec::{Experiment, read};
use crate::experiment::{claims, figures};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// A browser on the path that runs without a screen.
fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH")?;
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = names.iter().flat_map(|n| places.iter().map(move |p| p.join(n)));
    all.into_iter().find(|p| p.is_file())
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

/// The document after the page's scripts and then this one have run, and what went wrong in between; `None` without a browser.
fn after(script: &str, size: &str) -> Option<String> {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium on the path");
        return None;
    };
    // Tests run at the same time; each has a folder of its own.
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let n = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("fencepost-report-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let watch = "<head><script>window.addEventListener('error', function (e) { document.documentElement.setAttribute('data-wrong', e.message); });\
                 console.error = function (m) { document.documentElement.setAttribute('data-wrong', m); };</script>";
    let html = page().replacen("<head>", watch, 1);
    let html = html.replace("</body>", &format!("<script>{script}</script></body>"));
    let file = folder.join("page.html");
    std::fs::write(&file, html).unwrap();
    let out = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--dump-dom",
            size,
        ])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&out.stdout).into_owned();
    let _ = std::fs::remove_dir_all(&folder);
    let errors = String::from_utf8_lossy(&out.stderr);
    let head = &dom[..dom.find("<head>").unwrap_or_else(|| panic!("no page: {errors:.800}"))];
    assert!(!head.contains("data-wrong"), "{head}");
    Some(dom)
}

/// The title that a script gave the page.
fn title(dom: &str) -> &str {
    let (_, rest) = dom.split_once("<title>").expect("a title");
    rest.split("</title>").next().expect("its end")
}

#[test]
fn a_click_on_a_claim_shows_its_readings_runs_and_commands() {
    let click = "document.querySelector('[data-claim=DPO-H1]').click();\
                 document.title = document.querySelectorAll('[data-claim=DPO-H1] .point').length;";
    let Some(dom) = after(click, "--window-size=1280,800") else {
        return;
    };
    assert_eq!(title(&dom), "2", "a point for each choice");
    let (_, behind) = dom.split_once("id=\"behind\"").expect("the panel is there");
    let behind = &behind[..behind.find("<h2").expect("the next part")];
    assert!(
        behind.contains(">log=library</td>") && behind.contains(">4.5</td>"),
        "{behind}"
    );
    assert!(behind.contains("Runs behind it (4)"), "{behind}");
}
#[test]
fn bars_have_the_values_of_the_runs_beside_the_papers() {
    let read = "document.title = Array.from(document.querySelectorAll('#figure-slowdown svg[aria-label*=pcm] text'))\
                .map(function (t) { return t.textContent; }).join(' ');";
    let Some(dom) = after(read, "--window-size=1280,800") else {
        return;
    };
    let texts = title(&dom);
    // The paper states 7.21 and 1.93 for the means, 1.33 and 35.15 for the extremes of SO.
    for text in ["2 | 7.21", "3 | 1.93", "2 | 1.33", "2 | 35.1"] {
        assert!(texts.contains(text), "`{text}` is not in: {texts}");
    }
}
#[test]
fn nothing_scrolls_sideways() {
    for width in [1280, 800, 500] {
        let measure = "document.querySelectorAll('details').forEach(function (d) { d.open = true; });\
                       document.title = document.documentElement.scrollWidth - window.innerWidth;";
        let Some(dom) = after(measure, &format!("--window-size={width},900")) else {
            return;
        };
        let over: i64 = title(&dom).parse().expect("a width");
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
