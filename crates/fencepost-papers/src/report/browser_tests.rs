//! The claim map in a browser: it draws every point, and a click shows the readings behind one.

use super::*;
use crate::experiment::readings::Outcome;
use crate::experiment::spec::read;
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

/// A page whose claim map has one claim under two choices of readings.
fn page() -> String {
    let experiment: Experiment = read("dpo", "experiment.toml").unwrap_or_else(|e| panic!("{e}"));
    let readings = Readings::of_paper("dpo", &experiment).unwrap_or_else(|e| panic!("{e}"));
    let claims = crate::experiment::claims::of_paper("dpo").unwrap();
    let outcome = |choice: &str, value, reading: &str| Outcome {
        choice: choice.into(),
        readings: vec![reading.into(), "banks=16".into()],
        value: Some(value),
        met: false,
    };
    let spread = Spread {
        low: Some(1.5),
        high: Some(4.5),
        holds: 0.0,
        decided_by: Some("log".into()),
        outcomes: vec![
            outcome("", 1.5, "log=inline"),
            outcome("log=library", 4.5, "log=library"),
        ],
    };
    render(&Report {
        experiment: &experiment,
        scale: "quick",
        seed: 1,
        runs: &Runs::default(),
        plan: &Plan::default(),
        rows: &[],
        implied: &[],
        diagnostics: &[],
        asked: &[],
        claims: &claims,
        readings: &readings,
        worth: &[(claims[0].id.clone(), spread)].into(),
    })
    .unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_click_on_a_point_shows_the_readings_behind_it() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium on the path");
        return;
    };
    // The page as it is, and a click on the point that is not primary once its own script has run.
    let click = "<script>document.querySelector('.point:not(.primary)').dispatchEvent(new MouseEvent('click', {bubbles: true}));\
                 document.title = 'drawn ' + Array.from(document.querySelectorAll('#claim-map .point'))\
                 .filter(function (p) { return p.getBoundingClientRect().width > 5; }).length;</script></body>";
    let folder = std::env::temp_dir().join(format!("fencepost-claim-map-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("page.html");
    std::fs::write(&file, page().replace("</body>", click)).unwrap();
    let out = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&out.stdout).into_owned();
    let _ = std::fs::remove_dir_all(&folder);
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(
        dom.contains("drawn 2"),
        "both points are drawn: {dom:.400} {errors:.400}"
    );
    let (_, behind) = dom.split_once("id=\"behind\"").expect("the panel is there");
    let behind = &behind[..behind.find("</div>").unwrap()];
    assert!(behind.contains("4.5 under log=library"), "{behind}");
    assert!(behind.contains("<li>log=library</li><li>banks=16</li>"), "{behind}");
}
