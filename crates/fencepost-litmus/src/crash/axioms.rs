//! Px86 and its Arm counterpart in axioms (after Cho et al., PLDI'21): consistency with flushes, and what is surely persisted.
//! No same-line order, no non-temporal stores.

use super::layout::Layout;
use crate::executions::execution::{Flow, Solution};
use crate::executions::models::Model;
use crate::executions::relation::{Rel, bits};
use crate::format::op::{Barrier, FlushKind};
use crate::paths::path::{Event, Kind, Path};
use crate::paths::program::{Program, ProgramError};
use std::collections::BTreeSet;

/// Every prefix of a path that ends before an instruction that makes something surely durable, or at the end.
fn prefixes(path: &Path) -> Vec<Path> {
    let mut cuts = vec![(path.events.len(), path.fences.len())];
    for (f, (at, barrier)) in path.fences.iter().enumerate() {
        if matches!(barrier, Barrier::Full | Barrier::FullSync | Barrier::Sfence) {
            cuts.push((usize::from(*at), f));
        }
    }
    for (i, event) in path.events.iter().enumerate() {
        if event.kind == Kind::Flush(FlushKind::Strong) {
            cuts.push((
                i,
                path.fences.iter().take_while(|(at, _)| usize::from(*at) <= i).count(),
            ));
        }
    }
    let cut = |(events, fences): (usize, usize)| Path {
        events: path.events[..events].to_vec(),
        fences: path.fences[..fences].to_vec(),
        registers: path.registers.clone(),
    };
    cuts.into_iter().map(cut).collect()
}

/// Every crash state: values of the persistent words.
///
/// # Errors
/// If there are too many candidates.
pub fn crash_states(program: &Program<'_>, layout: &Layout) -> Result<BTreeSet<Vec<u64>>, ProgramError> {
    let model = if program.test.arch.is_x86() {
        Model::Tso
    } else {
        Model::Aarch64
    };
    let cut = |paths: &Vec<Path>| {
        let mut out: Vec<Path> = Vec::new();
        for path in paths.iter().flat_map(prefixes) {
            if !out.iter().any(|p| p.events == path.events && p.fences == path.fences) {
                out.push(path);
            }
        }
        out
    };
    let cut = Program::of_paths(program.test, program.paths.iter().map(cut).collect());
    let mut states = BTreeSet::new();
    cut.executions(model, |solution| {
        Flushes::new(solution, layout).collect(&mut states);
        Flow::Go
    })?;
    Ok(states)
}

/// A flush and one word of its line with the writes that it may have persisted; the last is the initial value.
struct Guess {
    flush: usize,
    word: usize,
    sources: Vec<Option<usize>>,
}

struct Flushes<'a> {
    solution: &'a Solution<'a>,
    layout: &'a Layout,
    /// Everything ordered without flushes' sources.
    base: Rel,
    guesses: Vec<Guess>,
    x86: bool,
}

impl<'a> Flushes<'a> {
    fn new(solution: &'a Solution<'a>, layout: &'a Layout) -> Flushes<'a> {
        let g = solution.graph;
        let x86 = solution.program.test.arch.is_x86();
        let mut base = g.order.or(&g.communication());
        if x86 {
            base.join(&g.co);
            base.join(&g.fr);
        }
        let mut flushes = Flushes {
            solution,
            layout,
            base,
            guesses: Vec::new(),
            x86,
        };
        for (thread, path) in solution.paths.iter().enumerate() {
            flushes.order(solution.first[thread], path);
        }
        for f in 0..g.n {
            let (_, event) = solution.event(f);
            if let (Kind::Flush(_), Some(line)) = (event.kind, layout.index(event.addr)) {
                let words = (0..layout.words.len()).filter(|w| layout.same_line(*w, line));
                let guess = |word: usize| Guess {
                    flush: f,
                    word,
                    sources: flushes.writes(word).into_iter().map(Some).chain([None]).collect(),
                };
                let guesses: Vec<Guess> = words.map(guess).collect();
                flushes.guesses.extend(guesses);
            }
        }
        flushes
    }

    fn writes(&self, word: usize) -> Vec<usize> {
        let at = self.layout.words[word].at;
        bits(self.solution.graph.writes)
            .filter(|w| self.solution.event(*w).1.addr == at)
            .collect()
    }

    fn line(&self, a: &Event, b: &Event) -> bool {
        match (self.layout.index(a.addr), self.layout.index(b.addr)) {
            (Some(a), Some(b)) => self.layout.same_line(a, b),
            _ => false,
        }
    }

    /// What one thread orders before its flushes.
    fn order(&mut self, first: usize, path: &Path) {
        let fence_between = |a: usize, b: usize, kinds: &[Barrier]| {
            path.fences
                .iter()
                .any(|(at, k)| usize::from(*at) > a && usize::from(*at) <= b && kinds.contains(k))
        };
        let full = [Barrier::Full, Barrier::FullSync];
        for (f, flush) in path.events.iter().enumerate() {
            let Kind::Flush(kind) = flush.kind else { continue };
            for (e, event) in path.events[..f].iter().enumerate() {
                let memory = event.is_read() || event.is_write();
                // A strong flush of the line in between, or this flush itself.
                let strong = path.events[e..f]
                    .iter()
                    .any(|s| s.kind == Kind::Flush(FlushKind::Strong) && self.line(s, flush));
                let same_line = self.line(event, flush) || strong && event.is_write();
                let ordered = if !self.x86 {
                    memory && (self.line(event, flush) || fence_between(e, f, &full))
                } else if kind == FlushKind::Strong {
                    memory
                } else if event.is_read() {
                    true
                } else {
                    memory && (event.atomic || same_line || fence_between(e, f, &[full[0], full[1], Barrier::Sfence]))
                };
                if ordered {
                    self.base.add(first + e, first + f);
                }
            }
        }
    }

    /// Whether a flush has surely taken effect: nothing stops behind it but what waits for it.
    fn committed(&self, f: usize) -> bool {
        let (thread, flush) = self.solution.event(f);
        let (path, at) = (self.solution.paths[thread], f - self.solution.first[thread]);
        let fences = path.fences.iter().filter(|(p, _)| usize::from(*p) > at);
        let mut waits = fences.map(|(_, b)| *b);
        if !self.x86 {
            return waits.any(|b| b == Barrier::FullSync);
        }
        flush.kind == Kind::Flush(FlushKind::Strong)
            || waits.any(|b| matches!(b, Barrier::Full | Barrier::FullSync | Barrier::Sfence))
    }

    fn collect(&self, states: &mut BTreeSet<Vec<u64>>) {
        self.guess(&mut Vec::new(), &self.base.clone(), states);
    }

    fn guess(&self, chosen: &mut Vec<Option<usize>>, order: &Rel, states: &mut BTreeSet<Vec<u64>>) {
        let Some(guess) = self.guesses.get(chosen.len()) else {
            return self.product(chosen, states);
        };
        for source in &guess.sources {
            let mut order = *order;
            match source {
                Some(write) => {
                    order.add(*write, guess.flush);
                    order.add_row(guess.flush, self.solution.graph.co.row(*write));
                }
                None => self
                    .writes(guess.word)
                    .into_iter()
                    .for_each(|w| order.add(guess.flush, w)),
            }
            if order.acyclic() {
                chosen.push(*source);
                self.guess(chosen, &order, states);
                chosen.pop();
            }
        }
    }

    /// The product over words of the values that may survive.
    fn product(&self, chosen: &[Option<usize>], states: &mut BTreeSet<Vec<u64>>) {
        let mut all: Vec<Vec<u64>> = vec![Vec::new()];
        for (number, word) in self.layout.words.iter().enumerate().filter(|(_, w)| w.persistent) {
            let sure = self
                .guesses
                .iter()
                .zip(chosen)
                .filter(|(g, _)| g.word == number && self.committed(g.flush));
            let sure: Vec<usize> = sure.filter_map(|(_, source)| *source).collect();
            let co = &self.solution.graph.co;
            let late = |w: &usize| sure.iter().all(|s| s == w || co.has(*s, *w));
            let writes = self.writes(number).into_iter().filter(late);
            let mut values: Vec<u64> = writes.map(|w| self.solution.event(w).1.value).collect();
            values.extend(sure.is_empty().then_some(word.initial));
            let longer = |state: &Vec<u64>| values.iter().map(|v| [&state[..], &[*v]].concat()).collect::<Vec<_>>();
            all = all.iter().flat_map(longer).collect();
        }
        states.extend(all);
    }
}
