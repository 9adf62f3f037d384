//! What a crash check found, in words.

use crate::witness;
use fencepost_run::result::Check;
use fencepost_run::short;
use std::fmt::Write as _;

/// The verdict on a run's crash states, for people.
pub(super) fn check_text(c: &Check) -> String {
    let contract = c.contract.as_deref().unwrap_or("?");
    let order = match c.conforms {
        Some(true) => format!("as contract `{contract}` allows"),
        Some(false) => format!("NOT as contract `{contract}` allows"),
        None => "not judged".into(),
    };
    let mut t = format!(
        "crash check: {} of {} crash points of the whole run, warm-up included ({} %{}), {}; persist order of all of them {order}, {} stores passed older ones\n",
        c.points,
        c.points_total,
        short(100.0 * c.covered()),
        if c.points < c.points_total && c.violations == 0 {
            ", evenly spread; --points N or a longer --budget examines more"
        } else {
            ""
        },
        if c.violations == 0 {
            "no violation".to_owned()
        } else {
            format!("{} VIOLATED (the search ends there)", c.violations)
        },
        c.reordered
    );
    for line in c.witnesses.iter().map(witness::text).collect::<String>().lines() {
        let _ = writeln!(t, "  {line}");
    }
    t
}
