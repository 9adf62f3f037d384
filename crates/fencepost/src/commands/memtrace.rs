//! `memtrace`: requests against one medium, and its commands against the medium's timing rules.

use crate::exit::{CLEAN, VIOLATION};
use crate::layout::table;
use crate::output::Out;
use fencepost_run::LabError;
use fencepost_run::memtrace::{JudgedCommands, judge_commands, memtrace as run};
use std::fmt::Write as _;
use std::path::Path;

/// Requests of a file, back to back.
pub(super) fn memtrace(file: &Path, media: &str, commands: Option<&Path>, out: &Out) -> Result<u8, LabError> {
    let m = run(file, media, commands)?;
    out.document(&m, || {
        let mut text = format!(
            "{} requests ({} reads, {} writes) on {}: {} cycles, {:.3} us, {} row hits; {:.1} million requests per second\n",
            m.requests,
            m.reads,
            m.writes,
            m.media,
            m.cycles,
            m.time_ps as f64 / 1e6,
            m.row_hits,
            m.host.requests_per_s / 1e6
        );
        if let Some(c) = &m.commands {
            let _ = writeln!(text, "{} commands in {}; none breaks a timing rule of {}", c.commands, c.file, c.media);
        }
        text
    })?;
    Ok(CLEAN)
}

/// A trace of commands, judged.
pub(super) fn judge(file: &Path, media: &str, out: &Out) -> Result<u8, LabError> {
    let judged = judge_commands(file, media)?;
    out.document(&judged, || verdict(&judged))?;
    Ok(if judged.violations == 0 { CLEAN } else { VIOLATION })
}

fn verdict(j: &JudgedCommands) -> String {
    let mut text = match j.violations {
        0 => format!("clean: {} commands keep the timing rules of {}\n", j.commands, j.media),
        1 => format!(
            "violated: one of {} commands breaks a timing rule of {}\n",
            j.commands, j.media
        ),
        n => format!(
            "violated: {n} times do {} commands break a timing rule of {}\n",
            j.commands, j.media
        ),
    };
    for slip in &j.first {
        let after = slip
            .after
            .map(|line| format!(", after line {line}"))
            .unwrap_or_default();
        let _ = writeln!(text, "{}:{}: {}: {}{after}", j.file, slip.line, slip.rule, slip.why);
    }
    let row = |(rule, t): (&&str, &fencepost_run::memtrace::Tight)| {
        vec![(*rule).to_owned(), t.pairs.to_string(), t.spare_ps.to_string()]
    };
    let rows: Vec<Vec<String>> = j.rules.iter().map(row).collect();
    text.push_str(&table(&["rule", "asked", "least spare time, ps"], &rows));
    text
}
