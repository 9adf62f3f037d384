//! A small run as a log for the pipeline viewer Konata (`Kanata 0004`): a row for each operation, from dispatch until it is durable.

use super::events::{Events, Passage, Stalled, Stored};
use fencepost_kernel::{Addr, Ps};
use fencepost_machine::frontend::OpKind;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Rows of one run at most: the viewer is for looking at single instructions.
pub(super) const MOST: usize = 100_000;

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
/// Stages of an operation: `D` dispatched and waiting for operands or fences, `I` issued (a load in the caches, what acts as the oldest
/// instruction acting), `C` complete and waiting for its turn to commit; of what goes to the store queue then `Q` until it leaves it; of a
/// store to persistent memory `P` performed and not yet accepted by the controller, `M` accepted and not yet durable. A stall is a row of
/// its own, with stage `W`.
pub(super) fn konata(e: &Events) -> Option<String> {
    let stalls: usize = e.stalls.iter().map(Vec::len).sum();
    let passed: usize = e.passages.iter().map(Vec::len).sum();
    if passed + e.stores.len() + stalls > MOST {
        return None;
    }
    let (mut rows, mut of_store) = (Vec::new(), BTreeMap::new());
    let passages = || {
        let all = e.passages.iter().enumerate();
        all.flat_map(|(t, list)| list.iter().map(move |p| (t, p)))
            .filter(|(_, p)| !matches!(p.kind, OpKind::OpBegin | OpKind::OpEnd | OpKind::Ack))
    };
    for (thread, p) in passages() {
        of_store.extend(p.store.map(|s| (s, rows.len())));
        rows.push(operation(e, thread, p));
    }
    for (row, (_, p)) in passages().enumerate() {
        let from = p.read.and_then(|s| of_store.get(&s).copied());
        rows[row].needs.extend(from.filter(|f| *f != row));
    }
    // What came over the network passed no core.
    let drawn: BTreeSet<usize> = of_store.keys().filter_map(|s| e.place.get(s).copied()).collect();
    let others = (0..e.stores.len()).filter(|s| !drawn.contains(s));
    rows.extend(others.map(|s| remote(e, s)));
    for (thread, stalls) in e.stalls.iter().enumerate() {
        let one = |s: &Stalled| row(thread, e.causes[s.cause.index()].to_owned(), ("W", s.from), s.to);
        rows.extend(stalls.iter().map(one));
    }
    Some(log(&rows))
}

/// The row of an operation.
fn operation(e: &Events, thread: usize, p: &Passage) -> Row {
    let mut row = row(thread, label(p), ("D", p.dispatched), p.committed);
    let mut stage = |name, at: Ps| {
        let before = row.stages[row.stages.len() - 1].1;
        row.stages.push((name, at.max(before)));
        row.end = row.end.max(at);
    };
    if let Some(issued) = p.issued {
        stage("I", issued);
    }
    if p.committed > p.completed {
        stage("C", p.completed);
    }
    if let Some(left) = p.left {
        stage("Q", p.committed);
        stage("L", left);
    }
    let store = p.store.and_then(|s| e.place.get(&s)).map(|s| &e.stores[*s]);
    if let Some(s) = store {
        stages_of_store(e, s, stage);
    }
    // Leaving the queue is no stage of its own.
    row.stages.retain(|s| s.0 != "L");
    row
}

/// What becomes of a store that has performed.
fn stages_of_store(e: &Events, s: &Stored, mut stage: impl FnMut(&'static str, Ps)) {
    stage("P", s.time);
    if let Some(write) = s.write.map(|w| &e.writes[w]) {
        // A write that merges stores has been accepted before the last of them.
        if let Some(accepted) = write.accepted.filter(|a| *a >= s.time) {
            stage("M", accepted);
        }
        stage("L", write.time.max(s.time));
    }
}

fn label(p: &Passage) -> String {
    let what = match p.kind {
        OpKind::Compute => return format!("compute {} instructions", p.value),
        OpKind::Load | OpKind::LoadAcquire => "load".to_owned(),
        OpKind::Store | OpKind::StoreRelease => "store".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    };
    let source = format!("{}:{}", p.source.file(), p.source.line());
    match p.addr {
        Addr(0) => format!("{what}  {source}"),
        addr => format!("{what} {:#x}  {source}", addr.0),
    }
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

fn remote(e: &Events, at: usize) -> Row {
    let s = &e.stores[at];
    let label = format!("store {:#x}  {}", s.addr.0, e.sources[s.source]);
    let mut row = row(s.thread.index(), label, ("P", s.time), s.time);
    stages_of_store(e, s, |name, at| {
        row.end = row.end.max(at);
        row.stages.extend((name == "M").then_some((name, at)));
    });
    row
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
