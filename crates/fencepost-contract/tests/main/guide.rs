//! The guide (docs/checking.md) shows what compiles and does what it says.

#[allow(unreachable_pub)] // a crate of its own, where it is an example
#[path = "../../examples/own_crate.rs"]
#[allow(dead_code)] // its `main` is for `cargo run --example`
mod own_crate;

use fencepost_contract::WhyLost;
use fencepost_contract::explore::Verdict;

#[test]
fn the_guide_shows_the_example_as_it_is() {
    let guide = include_str!("../../../../docs/checking.md");
    let example = include_str!("../../examples/own_crate.rs");
    assert!(
        guide.contains(example.trim()),
        "docs/checking.md shows another own_crate.rs"
    );
    for dependency in ["fencepost-kernel = {", "fencepost-contract = {"] {
        assert!(guide.contains(dependency));
    }
}

#[test]
fn the_example_does_what_the_guide_says() {
    let right = own_crate::check(true).unwrap();
    assert_eq!(
        (right.verdict, right.complete, right.schedules),
        (Verdict::Clean, false, 8)
    );
    let wrong = own_crate::check(false).unwrap();
    let witness = wrong.witness.unwrap();
    assert_eq!(witness.why.why, "a record within the length is missing");
    let lost: Vec<_> = witness.missing.iter().filter(|s| s.read).collect();
    assert!(!lost.is_empty() && lost.iter().all(|s| s.source.file().ends_with("own_crate.rs")));
    assert!(lost.iter().any(|s| s.lost == Some(WhyLost::NotFenced)), "{witness}");
    assert!(witness.to_string().contains("flushed, not fenced"), "{witness}");
}
