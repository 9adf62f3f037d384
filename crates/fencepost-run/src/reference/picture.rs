//! The picture of a design: one transaction or a few on the simulated machine, and where each persist was at every moment. Where a
//! design keeps order is where the colour of waiting is.

use crate::config::Resolved;
use crate::error::LabError;
use crate::request::Request;
use crate::simulate::{program_of, simulate_timed};
use fencepost_kernel::{LineAddr, Ps, StoreId, Trace, TraceKind};
use fencepost_machine::RunReport;
use fencepost_machine::seam::Cause;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Persists drawn; a run has more.
const MOST: usize = 16;
/// Left edge and width of what has a time, in pixels.
const PLOT: [f64; 2] = [150.0, 640.0];
/// Height of a row and of a bar in it, in pixels.
const ROW: [f64; 2] = [17.0, 11.0];

/// Causes of stalls that are the program's own, or the caches'; every other one keeps or awaits order.
const OWN: [Cause; 6] = [
    Cause::Execute,
    Cause::LoadCache,
    Cause::LoadMemory,
    Cause::StoreQueueFull,
    Cause::Atomic,
    Cause::LockWait,
];

/// A write that the controller has accepted: its stores, and when.
type Accepted = ([Option<StoreId>; 8], Ps);

/// A write on its way to being durable.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Persist {
    /// When the oldest of its stores performed.
    stored: Ps,
    /// When the controller had it.
    accepted: Ps,
    durable: Ps,
}

/// What one run shows: the waits of its thread for order, and its persists in the order in which they became durable.
struct Shown {
    waits: Vec<[Ps; 2]>,
    finished: Ps,
    persists: Vec<Persist>,
}

/// The run that is drawn.
pub(super) fn request(design: &str, machine: &str) -> Request {
    Request {
        program: "sps".into(),
        design: design.into(),
        machine: machine.into(),
        threads: Some(1),
        ops: 2,
        warmup: 0,
        sets: vec!["program.sps.entries=64".into()],
        ..Request::default()
    }
}

/// The picture of a run as SVG.
///
/// # Errors
/// The run cannot be simulated.
pub(super) fn picture(request: &Request) -> Result<String, LabError> {
    let run = of(request)?;
    Ok(drawn(&request.design, &run, run.span()).0)
}

/// Several runs below one another on one clock, as SVG.
///
/// # Errors
/// One cannot be simulated.
pub(super) fn on_one_clock(requests: &[Request]) -> Result<String, LabError> {
    let runs: Vec<Shown> = requests.iter().map(of).collect::<Result<_, _>>()?;
    let longest = runs.iter().map(Shown::span).max().unwrap_or(1);
    let (mut inside, mut y) = (String::new(), 0.0);
    for (request, run) in requests.iter().zip(&runs) {
        let (svg, height) = drawn(&request.design, run, longest);
        inside += &svg.replacen(
            "<svg ",
            &format!("<svg y=\"{y:.0}\" width=\"820\" height=\"{height:.0}\" "),
            1,
        );
        y += height + 8.0;
    }
    let names: Vec<&str> = requests.iter().map(|r| r.design.as_str()).collect();
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 {y:.0}\" role=\"img\"><title>Where persists wait on {}, on one clock</title>\n{inside}</svg>\n",
        names.join(" and on ")
    ))
}

fn of(request: &Request) -> Result<Shown, LabError> {
    let (resolved, design) = Resolved::built(&Request {
        check: true,
        ..request.clone()
    })?;
    let program = program_of(&resolved)?;
    let report = simulate_timed(&resolved, design, &*program)?.report;
    let trace = crate::check::recorded(&report)?;
    Ok(shown(&report, trace))
}

fn shown(report: &RunReport, trace: &Trace) -> Shown {
    let mut stored: HashMap<StoreId, Ps> = HashMap::new();
    let mut accepted: HashMap<LineAddr, Vec<Accepted>> = HashMap::new();
    let mut persists = Vec::new();
    for (event, time) in trace.events.iter().zip(&report.times) {
        match event.kind {
            TraceKind::Store(id) | TraceKind::Rmw { store: Some(id), .. } => {
                stored.insert(id, *time);
            }
            TraceKind::Accepted { line, by } => accepted.entry(line).or_default().push((by, *time)),
            TraceKind::Durable { index } => {
                let Some(record) = report.log.records().get(index as usize) else {
                    continue;
                };
                // Several writes of a line may be under way: the one with these stores, and with it those that it took the place of.
                let of_line = accepted.entry(record.line).or_default();
                let same = of_line.iter().rposition(|a| a.0 == record.data.by).unwrap_or(0);
                let taken = of_line.drain(..of_line.len().min(same + 1)).next_back();
                let at = taken.map_or(*time, |a| a.1);
                let oldest = record.data.by.iter().flatten().filter_map(|s| stored.get(s)).min();
                persists.push(Persist {
                    stored: oldest.copied().unwrap_or(at).min(at),
                    accepted: at,
                    durable: *time,
                });
            }
            _ => {}
        }
    }
    let waits = report.stalls.iter().flatten().filter(|s| !OWN.contains(&s.cause));
    Shown {
        waits: waits.map(|s| [s.from, s.to]).collect(),
        finished: report.hw_threads.iter().map(|h| h.finished).max().unwrap_or(Ps(0)),
        persists,
    }
}

/// Mean of so many spans, in nanoseconds.
fn mean(spans: impl Iterator<Item = u64>, n: usize) -> String {
    crate::short(spans.sum::<u64>() as f64 / 1000.0 / n.max(1) as f64)
}

impl Shown {
    fn drawn_persists(&self) -> &[Persist] {
        &self.persists[..self.persists.len().min(MOST)]
    }
    /// When the first thing that is drawn began.
    fn first(&self) -> u64 {
        let stored = self.drawn_persists().iter().map(|p| p.stored.0);
        stored.chain(self.waits.iter().map(|w| w[0].0)).min().unwrap_or(0)
    }
    /// How long it is until the last ended, in picoseconds.
    fn span(&self) -> u64 {
        let durable = self.drawn_persists().iter().map(|p| p.durable.0);
        let last = durable.chain([self.finished.0]).max().unwrap_or(0);
        last.saturating_sub(self.first()).max(1)
    }
}

/// The picture, on a scale of so many picoseconds, and its height.
fn drawn(design: &str, run: &Shown, span: u64) -> (String, f64) {
    let (list, first) = (run.drawn_persists(), run.first());
    let x = |t: Ps| PLOT[0] + PLOT[1] * t.0.saturating_sub(first) as f64 / span as f64;
    let (n, top) = (run.persists.len(), 96.0);
    let height = top + ROW[0] * (list.len() as f64 + 1.0) + 40.0;
    let means = [
        mean(run.waits.iter().map(|w| w[1].0 - w[0].0), n),
        mean(run.persists.iter().map(|p| p.accepted.0 - p.stored.0), n),
        mean(run.persists.iter().map(|p| p.durable.0 - p.accepted.0), n),
    ];
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 {height:.0}\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Where persists wait on {design}</title>\n\
         <desc>Per persist the thread waits {} ns for order; a persist takes {} ns from its store to the controller and {} ns from there until it is durable.</desc>\n\
         {STYLE}<rect class=\"ground\" width=\"820\" height=\"{height:.0}\" rx=\"8\"/>\n",
        means[0], means[1], means[2]
    );
    let boxes = [
        ("core", "wait", format!("waits {} ns a persist", means[0])),
        ("caches and buffers", "way", format!("{} ns on the way", means[1])),
        ("memory controller", "queue", format!("{} ns until durable", means[2])),
    ];
    for (i, (name, class, said)) in boxes.iter().enumerate() {
        let left = 20.0 + 265.0 * i as f64;
        let _ = writeln!(
            out,
            "<rect class=\"{class} box\" x=\"{left}\" y=\"14\" width=\"230\" height=\"46\" rx=\"6\"/><text x=\"{0}\" y=\"33\" text-anchor=\"middle\" font-weight=\"600\">{name}</text><text x=\"{0}\" y=\"51\" text-anchor=\"middle\">{said}</text>",
            left + 115.0
        );
        if i < 2 {
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"42\" text-anchor=\"middle\">&#8594;</text>",
                left + 248.0
            );
        }
    }
    let _ = writeln!(out, "<text x=\"20\" y=\"84\" font-weight=\"600\">{design}</text>");
    let mut bar = |class: &str, row: usize, from: Ps, to: Ps| {
        let (y, width) = (top + ROW[0] * row as f64, x(to) - x(from));
        if width > 0.0 {
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{}\"/>",
                x(from),
                ROW[1]
            );
        }
    };
    bar("busy", 0, Ps(first), run.finished);
    run.waits.iter().for_each(|w| bar("wait", 0, w[0], w[1]));
    for (i, p) in list.iter().enumerate() {
        bar("way", i + 1, p.stored, p.accepted);
        bar("queue", i + 1, p.accepted, p.durable);
    }
    let label = |row: usize, text: &str| {
        let y = top + ROW[0] * row as f64 + 10.0;
        format!(
            "<text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>\n",
            PLOT[0] - 8.0
        )
    };
    out.push_str(&label(0, "thread"));
    for i in 0..list.len() {
        out.push_str(&label(i + 1, &format!("persist {}", i + 1)));
    }
    let more = match n - list.len() {
        0 => String::new(),
        m => format!("; {m} more persists are not drawn"),
    };
    let _ = write!(
        out,
        "<text x=\"{}\" y=\"{:.0}\" text-anchor=\"middle\">time: {} ns{more}</text>\n</svg>\n",
        PLOT[0] + PLOT[1] / 2.0,
        height - 14.0,
        crate::short(run.span() as f64 / 1000.0)
    );
    (out, height)
}

const STYLE: &str = "<style>.ground{fill:#fff}text{fill:#1b1b1b}.busy{fill:#c4c9cf}.wait{fill:#d55e00}.way{fill:#56b4e9}.queue{fill:#e69f00}\
.box{fill-opacity:.35;stroke:#565656}@media(prefers-color-scheme:dark){.ground{fill:#15181c}text{fill:#eceff2}.busy{fill:#59616a}.box{stroke:#b3bac2}}</style>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_where_their_times_are() {
        let p = |a, b, c| Persist {
            stored: Ps(a),
            accepted: Ps(b),
            durable: Ps(c),
        };
        let run = Shown {
            waits: vec![[Ps(2000), Ps(6000)]],
            finished: Ps(10_000),
            persists: vec![p(0, 2000, 6000), p(4000, 8000, 10_000)],
        };
        let svg = drawn("d", &run, run.span()).0;
        // 10 ns are 640 pixels: the thread waits from 2 to 6 ns, the second persist is in the controller from 8 to 10.
        assert!(
            svg.contains("class=\"wait\" x=\"278.0\" y=\"96.0\" width=\"256.0\""),
            "{svg}"
        );
        assert!(
            svg.contains("class=\"queue\" x=\"662.0\" y=\"130.0\" width=\"128.0\""),
            "{svg}"
        );
        assert!(
            svg.contains("waits 2 ns a persist")
                && svg.contains("3 ns on the way")
                && svg.contains("3 ns until durable")
        );
        assert!(svg.contains("time: 10 ns<"), "{svg}");
    }
    #[test]
    fn a_fence_that_waits_shows_in_the_core_and_delegated_order_in_the_controller() {
        let wait = |design: &str| {
            let (resolved, mechanism) = Resolved::built(&Request {
                check: true,
                ..request(design, "dpo")
            })
            .unwrap();
            let report = simulate_timed(&resolved, mechanism, &*program_of(&resolved).unwrap())
                .unwrap()
                .report;
            let run = shown(&report, crate::check::recorded(&report).unwrap());
            let ns = |spans: Vec<u64>| spans.iter().sum::<u64>() / 1000 / run.persists.len() as u64;
            [
                ns(run.waits.iter().map(|w| w[1].0 - w[0].0).collect()),
                ns(run.persists.iter().map(|p| p.durable.0 - p.accepted.0).collect()),
            ]
        };
        let (so, delegated) = (wait("so"), wait("delegated"));
        assert!(
            so[0] > delegated[0],
            "{so:?} {delegated:?}: the core waits for each fence on one only"
        );
        assert!(
            delegated[1] > so[1],
            "{so:?} {delegated:?}: and persists wait for those before them in the controller on the other"
        );
    }
}
