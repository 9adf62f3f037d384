//! `rules [CHECK]`: breaks every rule in turn by a switch of the mechanism, and shows that its rows turn to `miss`.

use fencepost_papers::reproduce::papers::statements;
use fencepost_papers::reproduce::rules::{Tried, attempt, without_a_switch};
use std::process::ExitCode;

fn word(found: &Result<String, String>) -> &'static str {
    if found.is_ok() { "match" } else { "miss" }
}

fn line(t: &Tried) -> String {
    let unreached = if t.reached { "" } else { " (never asked)" };
    let claims = t.claims.join(", ");
    format!(
        "{claims:<12} {:<38} {:<6} {:<6} {}{unreached}",
        t.check,
        word(&t.clean),
        word(&t.broken),
        t.fault
    )
}

/// Runs them; 1 if a row does not turn, 2 for an unknown check or a build without switches.
pub(crate) fn command(only: Option<&str>) -> ExitCode {
    if crate::faults::lacking("rules") {
        return ExitCode::from(2);
    }
    let all = statements();
    let rules = || all.iter().filter(|s| s.broken_by.is_some());
    let chosen: Vec<_> = rules().filter(|s| only.is_none_or(|o| o == s.name)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = rules().map(|s| s.name).collect();
        eprintln!("no such check; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    println!("{:<12} {:<38} {:<6} {:<6} switch", "claims", "check", "right", "broken");
    let mut wrong = 0;
    for tried in chosen.into_iter().filter_map(attempt) {
        println!("{}", line(&tried));
        if !tried.turns() {
            wrong += 1;
            let why = |r: &Result<String, String>| r.clone().unwrap_or_else(|e| e);
            println!(
                "    as described: {}\n    broken: {}",
                why(&tried.clean),
                why(&tried.broken)
            );
        }
    }
    if only.is_none() {
        println!("rules without a switch here: {}", without_a_switch().join(", "));
    }
    println!("{wrong} rows do not turn");
    ExitCode::from(u8::from(wrong > 0))
}
