//! Final states: an execution with the cycle of the axiom that forbids it.

use super::draw::{Arrow, Node, Picture, letter};
use crate::executions::execution::{Flow, Solution};
use crate::executions::models::{Broken, Model};
use crate::executions::relation::{Rel, bits};
use crate::format::condition::Atom;
use crate::paths::program::{Program, ProgramError};

/// An execution in which the test's condition holds: one that the model allows if there is one, else one that it forbids, with
/// the axiom and the cycle. `None` if the condition holds in no coherent execution.
///
/// # Errors
/// If there are too many candidates.
pub fn witness(program: &Program<'_>, model: Model) -> Result<Option<Picture>, ProgramError> {
    let mut best: Option<Picture> = None;
    program.candidates(model, |solution| {
        let value = |atom: &Atom| solution.value(atom);
        if !program.test.condition.holds(&value) {
            return Flow::Go;
        }
        let broken = model.broken(solution.graph);
        let allowed = broken.is_none();
        let shorter = |p: &Picture| match (&p.broken, &broken) {
            (Some(old), Some(new)) => new.cycle.len() < old.cycle.len(),
            (old, new) => old.is_some() && new.is_none(),
        };
        if best.as_ref().is_none_or(shorter) {
            best = Some(picture(solution, model, broken));
        }
        if allowed { Flow::Stop } else { Flow::Go }
    })?;
    Ok(best)
}

fn picture(solution: &Solution<'_>, model: Model, broken: Option<Broken>) -> Picture {
    let g = solution.graph;
    let test = solution.program.test;
    let node = |n: usize| {
        let (thread, event) = solution.event(n);
        let kind = if event.is_read() {
            "R"
        } else if event.is_write() {
            "W"
        } else {
            "flush"
        };
        let place = test.locations.show(event.addr);
        let value = if event.is_read() || event.is_write() {
            format!("={}", test.locations.show(event.value))
        } else {
            String::new()
        };
        let faint = event.is_read() && !(0..g.n).any(|w| g.rf.has(w, n));
        Node {
            thread,
            row: n - solution.first[thread],
            label: format!("{}: {kind} {place}{value}", letter(n)),
            faint,
            durable: None,
        }
    };
    let mut picture = Picture {
        title: format!("{} under {model}", test.name),
        threads: test.threads.iter().map(|t| t.id).collect(),
        nodes: (0..g.n).map(node).collect(),
        arrows: Vec::new(),
        gaps: Vec::new(),
        note: String::new(),
        broken,
    };
    let mut po = Rel::empty(g.n);
    for n in 1..g.n {
        if g.thread[n] >> (n - 1) & 1 == 1 {
            po.add(n - 1, n);
        }
    }
    // Of coherence and from-read only the steps that do not follow from others are drawn.
    let co = g.co.and(&minus(&g.co, &g.co.then(&g.co)));
    let fr = minus(&g.fr, &g.fr.then(&g.co));
    let cycle = picture.broken.as_ref().map_or(Vec::new(), |b| b.cycle.clone());
    let in_cycle = |a: usize, b: usize| (0..cycle.len()).any(|i| cycle[i] == a && cycle[(i + 1) % cycle.len()] == b);
    for (name, rel) in [("po", &po), ("rf", &g.rf), ("co", &co), ("fr", &fr)] {
        for from in 0..g.n {
            for to in bits(rel.row(from)) {
                let cycle = in_cycle(from, to);
                let name = name.to_owned();
                picture.arrows.push(Arrow { from, to, name, cycle });
            }
        }
    }
    // Steps of the cycle that are none of these: what the model preserves.
    for i in 0..cycle.len() {
        let (from, to) = (cycle[i], cycle[(i + 1) % cycle.len()]);
        if !picture.arrows.iter().any(|a| a.from == from && a.to == to) {
            let name = if g.thread[from] >> to & 1 == 1 {
                "ordered"
            } else {
                "propagates"
            };
            picture.arrows.push(Arrow {
                from,
                to,
                name: name.to_owned(),
                cycle: true,
            });
        }
    }
    picture
}

fn minus(a: &Rel, b: &Rel) -> Rel {
    let mut out = *a;
    (0..a.events()).for_each(|i| out.remove_row(i, b.row(i)));
    out
}
