//! A failure for people: what every command prints of it.

use fencepost_run::short;
use fencepost_run::witness::{CrashState, Witness};
use std::fmt::Write as _;

/// What is wrong and when, the crash state or else the lines of the program, and how to look again.
pub(crate) fn text(w: &Witness) -> String {
    let mut t = match w.state.as_ref().and_then(|s| s.kind) {
        Some(kind) => format!("{kind}: {}\n", w.why),
        None => format!("{}{}\n", moment(w), w.why),
    };
    match &w.state {
        Some(state) => t += &crash_state(state, ""),
        None => w.source.iter().for_each(|line| {
            let _ = writeln!(t, "  {line}");
        }),
    }
    t + &replay(w)
}

/// When the power failed, where it failed after a durable event.
fn moment(w: &Witness) -> String {
    match (w.event, w.time_ps) {
        (Some(e), Some(ps)) => format!("power fails after durable event {e} at {} us: ", short(ps as f64 / 1e6)),
        (Some(e), None) => format!("power fails after durable event {e}: "),
        _ => String::new(),
    }
}

/// The stores that make a crash state, and how far the threads had come. `proof` is said beside the lists.
pub(crate) fn crash_state(s: &CrashState, proof: &str) -> String {
    let list = |title: &str, stores: &[String]| match stores.is_empty() {
        true => String::new(),
        false => format!("{title}:\n  {}\n", stores.join("\n  ")),
    };
    let mut t = list(&format!("durable, though nothing forced it{proof}"), &s.persisted);
    t += &list(&format!("lost{proof}"), &s.missing);
    if let Some([durable, lost]) = &s.recovery {
        t += "then power fails again while recovery runs; of its stores\n";
        t += &(list("durable", durable) + &list("lost", lost));
    }
    for (thread, last) in s.completed.iter().flatten().enumerate() {
        let _ = match last {
            Some(k) => writeln!(t, "thread {thread} had completed operation {k}"),
            None => writeln!(t, "thread {thread} had completed no operation"),
        };
    }
    t
}

/// How to run recovery again on the state.
pub(crate) fn replay(w: &Witness) -> String {
    let id = w.replay.as_ref();
    id.map_or_else(String::new, |id| format!("replay: fencepost replay '{id}'\n"))
}
