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
