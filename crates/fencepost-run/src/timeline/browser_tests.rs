//! The page of a run in a browser, and what it is made from.

use super::{Opened, Timeline, render, timeline};
use crate::request::Request;
use fencepost_pages::browser::title_after;

/// Swaps on a design; the ideal one lets log and data pass each other, which recovery does not survive.
fn swaps(design: &str, at: Option<u64>) -> Timeline {
    let request = Request {
        program: "sps".into(),
        design: design.into(),
        machine: "themis".into(),
        threads: Some(2),
        ops: 1,
        warmup: 0,
        sets: vec!["program.sps.entries=64".into()],
        ..Request::default()
    };
    timeline(&request, at, &()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn crash_points_of_a_sound_design_recover_and_those_asked_for_are_among_them() {
    let sound = swaps("x86-adr", None);
    let [points, broken] = sound.recovered();
    assert!(points > 10 && broken == 0, "{points} {broken}");
    // The point asked for is one of the others where all are recovered.
    assert_eq!(swaps("x86-adr", Some(3)).recovered(), [points, 0]);
}
#[test]
fn stalls_and_busy_time_fill_each_thread_up_to_its_end() {
    let run = swaps("x86-adr", None);
    let json = serde_json::to_value(&run).expect("a document");
    let finished = json["tracks"]["finished"].as_array().expect("a list");
    assert_eq!(
        (finished.len(), json["tracks"]["stalls"].as_array().map(Vec::len)),
        (2, Some(2))
    );
    assert!(
        finished
            .iter()
            .all(|f| f.as_u64().is_some_and(|f| f * 100 <= run.finished_ps))
    );
}
#[test]
fn the_slider_is_dragged_and_the_verdict_read() {
    let runs = [swaps("x86-adr", None), swaps("volatile", None)];
    let page = render(&runs, "test", Opened::default()).expect("a page");
    assert!(page.len() < 200_000, "{} bytes", page.len());
    let drag = "fencepost.ready.then(function () { var s = document.getElementById('moment'); s.value = 5;\
                s.dispatchEvent(new Event('input')); document.title = document.getElementById('verdicts').textContent; });";
    let Some(title) = title_after(&page, drag, [800, 600]) else {
        return;
    };
    assert!(title.contains("x86-adr, after 5 of "), "{title}");
    assert!(title.contains("Recovery succeeds"), "{title}");
    assert!(title.contains("volatile, after 0 of 0 durable events"), "{title}");
}
#[test]
fn what_has_drained_is_drawn_empty_to_the_end_of_the_other_run() {
    let mut runs = [swaps("volatile", None), swaps("x86-adr", None)];
    runs.sort_by_key(|r| r.finished_ps);
    let page = render(&runs, "test", Opened::default()).expect("a page");
    // The store queue of the shorter run: colours of its row where the longer one still runs, and of its background.
    let read = "fencepost.model.then(function (runs) { setTimeout(function () { var c = document.querySelector('canvas'), r = window.devicePixelRatio || 1;\
                var row = runs[0].lanes.findIndex(function (l) { return l.name === 'store queue 0'; });\
                var at = function (x, y) { return Array.from(c.getContext('2d').getImageData(x * r, y * r, 1, 1).data).join(); };\
                var y = 20 + 17 * row + 13, end = c.clientWidth - 3; document.title = row + ' ' + (at(end, y) === at(end, 20 + 17 * row + 2)); }, 300); });";
    let Some(title) = title_after(&page, read, [800, 600]) else {
        return;
    };
    assert!(title.ends_with(" true") && !title.starts_with('-'), "{title}");
}
#[test]
fn an_allowed_state_is_picked_and_its_verdict_read() {
    let states = |run: &Timeline| -> Vec<(String, bool)> {
        let json = serde_json::to_value(run).expect("a document");
        let moments = json["crashes"]["allowed"].as_array().expect("a list").clone();
        let states = moments
            .iter()
            .flat_map(|m| m["states"].as_array().expect("a list").clone());
        let one = |s: serde_json::Value| (s["pick"].as_str().expect("a word").to_owned(), !s["why"].is_null());
        states.map(one).collect()
    };
    let (sound, ideal) = (swaps("x86-adr", None), swaps("x86-ideal", None));
    let of_sound = states(&sound);
    assert!(of_sound.len() > 50 && of_sound.iter().all(|s| !s.1), "{of_sound:?}");
    // Without its fence a log entry may be late: then its data are durable before it.
    let of_ideal = states(&ideal);
    assert!(of_ideal.iter().any(|s| s.1 && s.0 == "early"), "{of_ideal:?}");
    assert!(of_ideal.iter().all(|s| !s.1 || s.0 != "most"), "{of_ideal:?}");
    let page = render(&[ideal], "test", Opened::default()).expect("a page");
    let pick = "fencepost.ready.then(function () { var s = document.getElementById('moment'), seen = '';\
                for (var i = 0; i <= Number(s.max) && !seen; i += 1) { s.value = i; s.dispatchEvent(new Event('input'));\
                var p = document.querySelector('select'), k = p ? Array.from(p.options).findIndex(function (o) { return o.textContent.startsWith('fails'); }) : -1;\
                if (k >= 0) { p.value = k; p.dispatchEvent(new Event('change')); seen = document.querySelector('details [role=status]').textContent; } }\
                document.title = seen; });";
    let Some(title) = title_after(&page, pick, [800, 600]) else {
        return;
    };
    assert!(
        title.starts_with("Recovery fails: ") && title.contains("durable though nothing forced"),
        "{title}"
    );
}
#[test]
fn a_page_opens_where_it_is_told_to() {
    let page = render(&[swaps("x86-adr", Some(7))], "test", Opened { events: Some(7) }).expect("a page");
    let read = "fencepost.ready.then(function () { document.title = document.querySelector('[data-design]').dataset.events; });";
    let Some(title) = title_after(&page, read, [500, 600]) else {
        return;
    };
    let shown: u64 = title.parse().expect("a number");
    // Several events may share the moment; the page then shows the state after all of them.
    assert!((7..12).contains(&shown), "{shown}");
}
#[test]
fn the_page_fits_every_width_is_accessible_and_looks_as_kept() {
    let runs = [swaps("x86-adr", None), swaps("volatile", None)];
    let page = render(&runs, "test", Opened::default()).expect("a page");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures");
    fencepost_pages::browser::holds_as_a_page(&page, &folder, "timeline");
}
