//! `rules [CHECK]`: breaks every rule in turn by a switch of the mechanism, and shows that its rows turn to `miss`.

use fencepost_papers::semantics::breaks::{BREAKS, Tried, attempt, without_a_switch};
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
pub fn command(only: Option<&str>) -> ExitCode {
    if crate::faults::lacking("rules") {
        return ExitCode::from(2);
    }
    let chosen: Vec<_> = BREAKS.iter().filter(|b| only.is_none_or(|o| o == b.0)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = BREAKS.iter().map(|b| b.0).collect();
        eprintln!("no such check; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    println!("{:<12} {:<38} {:<6} {:<6} switch", "claims", "check", "right", "broken");
    let mut wrong = 0;
    for (check, fault) in chosen {
        let Some(tried) = attempt(check, fault) else {
            println!("{check}: there is no such check");
            wrong += 1;
            continue;
        };
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
