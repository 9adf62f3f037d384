//! A small run as a log for the pipeline viewer Konata (`Kanata 0004`): a row for each store, load, flush and fence that the trace has.

use super::events::{Events, MarkKind};
use fencepost_kernel::Ps;
use std::fmt::Write as _;

/// Rows of one run at most: the viewer is for looking at single instructions.
pub const MOST: usize = 100_000;

/// One row.
struct Row {
    thread: usize,
    label: String,
    /// Its stages: name and begin, in order; the last one ends at `end`.
    stages: Vec<(&'static str, Ps)>,
    end: Ps,
    /// Rows that it depends on.
    needs: Vec<usize>,
}

/// The log, with a step for each picosecond; `None` where there are more than [`MOST`] rows.
///
/// Stages of a store: `P` performed and not yet accepted by the controller, `M` accepted and not yet durable. Of what is done at once:
/// `X`. A stall is a row of its own, with stage `W`.
pub fn konata(e: &Events) -> Option<String> {
    let stalls: usize = e.stalls.iter().map(Vec::len).sum();
    if e.stores.len() + e.marks.len() + e.reads.len() + stalls > MOST {
        return None;
    }
    let mut rows: Vec<Row> = stores(e);
    rows.extend(e.marks.iter().filter_map(|m| {
        let name = MarkKind::NAMES[m.kind.index()];
        let at_once = matches!(m.kind, MarkKind::Flush | MarkKind::Fence | MarkKind::Commit);
        at_once.then(|| row(m.thread.index(), name.to_owned(), ("X", m.time), m.time))
    }));
    rows.extend(e.reads.iter().map(|r| Row {
        needs: vec![r.store],
        ..row(r.thread.index(), "load".into(), ("X", r.time), r.time)
    }));
    for (thread, stalls) in e.stalls.iter().enumerate() {
        rows.extend(
            stalls
                .iter()
                .map(|s| row(thread, e.causes[s.cause.index()].to_owned(), ("W", s.from), s.to)),
        );
    }
    Some(log(&rows))
}

fn row(thread: usize, label: String, stage: (&'static str, Ps), end: Ps) -> Row {
    Row {
        thread,
        label,
        stages: vec![stage],
        end,
        needs: Vec::new(),
    }
}

fn stores(e: &Events) -> Vec<Row> {
    let of = |s: &super::events::Stored| {
        let write = s.write.map(|w| &e.writes[w]);
        let mut stages = vec![("P", s.time)];
        // A write that merges stores has been accepted before the last of them.
        let accepted = write.and_then(|w| w.accepted).filter(|a| *a >= s.time);
        stages.extend(accepted.map(|a| ("M", a)));
        Row {
            thread: s.thread.index(),
            label: format!("store {:#x}  {}", s.addr.0, e.sources[s.source]),
            stages,
            end: write.map_or(s.time, |w| w.time.max(s.time)),
            needs: Vec::new(),
        }
    };
    e.stores.iter().map(of).collect()
}

/// What is written at one time.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Begin,
    Stage(usize),
    End,
}

fn log(rows: &[Row]) -> String {
    let mut steps: Vec<(Ps, usize, Step)> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        steps.push((row.stages[0].1, i, Step::Begin));
        steps.extend(row.stages.iter().enumerate().map(|(n, s)| (s.1, i, Step::Stage(n))));
        steps.push((row.end, i, Step::End));
    }
    steps.sort_unstable();
    // The viewer numbers rows as they begin.
    let mut number = vec![0; rows.len()];
    let begun = steps.iter().filter(|s| s.2 == Step::Begin).enumerate();
    begun.for_each(|(n, s)| number[s.1] = n);
    let mut out = String::from("Kanata\t0004\n");
    let (mut now, mut retired) = (steps.first().map_or(Ps(0), |s| s.0), 0);
    let _ = writeln!(out, "C=\t{}", now.0);
    for (time, i, step) in steps {
        if time > now {
            let _ = writeln!(out, "C\t{}", time.0 - now.0);
            now = time;
        }
        let (row, n) = (&rows[i], number[i]);
        match step {
            Step::Begin => {
                let _ = writeln!(out, "I\t{n}\t{n}\t{}\nL\t{n}\t0\t{}", row.thread, row.label);
                row.needs.iter().for_each(|on| {
                    let _ = writeln!(out, "W\t{n}\t{}\t0", number[*on]);
                });
            }
            Step::Stage(s) => {
                let _ = writeln!(out, "S\t{n}\t0\t{}", row.stages[s].0);
            }
            Step::End => {
                let _ = writeln!(
                    out,
                    "E\t{n}\t0\t{}\nR\t{n}\t{retired}\t0",
                    row.stages[row.stages.len() - 1].0
                );
                retired += 1;
            }
        }
    }
    out
}
