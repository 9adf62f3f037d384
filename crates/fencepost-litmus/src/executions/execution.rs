//! Candidate executions: a path for every thread, a source for every read, a coherence order for every location.

use crate::executions::models::{Graph, Model, Statics};
use crate::executions::relation::bits;
use crate::format::condition::Atom;
use crate::paths::path::{Event, Path};
use crate::paths::program::{Program, ProgramError};

/// Whether a search goes on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Go,
    /// Enough was seen.
    Stop,
}

/// One location's part of a candidate: who reads from whom, and the coherence order. Coherent and atomic by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The location.
    pub addr: u64,
    /// Each read with its source; `None` is the initial value.
    pub reads_from: Vec<(u8, Option<u8>)>,
    /// Its writes in coherence order.
    pub coherence: Vec<u8>,
}

/// A candidate execution that keeps coherence and atomicity.
pub struct Solution<'a> {
    /// The test.
    pub program: &'a Program<'a>,
    /// The path of each thread.
    pub paths: &'a [&'a Path],
    /// Number of the first event of each thread.
    pub first: &'a [usize],
    /// One choice for each location that is accessed.
    pub choices: &'a [&'a Choice],
    /// Its relations.
    pub graph: &'a Graph,
}

impl Solution<'_> {
    /// Final value of a memory word.
    pub fn memory(&self, addr: u64) -> u64 {
        let choice = self.choices.iter().find(|c| c.addr == addr);
        match choice.and_then(|c| c.coherence.last()) {
            Some(w) => self.event(usize::from(*w)).1.value,
            None => self.program.test.locations.initial(addr),
        }
    }
    /// Final value of what a condition speaks of.
    pub fn value(&self, atom: &Atom) -> u64 {
        match atom {
            Atom::Memory(addr) => self.memory(*addr),
            Atom::Register(thread, reg, _) => {
                let registers = &self.paths[*thread].registers;
                registers.get(usize::from(*reg)).copied().unwrap_or(0)
            }
        }
    }
    /// An event with its thread.
    pub fn event(&self, n: usize) -> (usize, &Event) {
        let thread = self.first.partition_point(|f| *f <= n) - 1;
        // Threads without events begin where the next one does.
        (thread, &self.paths[thread].events[n - self.first[thread]])
    }
}

/// Candidates looked at before a search is given up.
const MAX_CANDIDATES: u64 = 20_000_000;

struct Search<'a, F> {
    program: &'a Program<'a>,
    statics: Vec<Vec<Option<Statics>>>,
    model: Model,
    visit: F,
    candidates: u64,
    /// Whether candidates that the model forbids are visited too.
    all: bool,
}

impl Program<'_> {
    /// Visits every execution that the model allows.
    ///
    /// # Errors
    /// If there are too many candidates.
    pub fn executions(&self, model: Model, visit: impl FnMut(&Solution<'_>) -> Flow) -> Result<(), ProgramError> {
        self.search(model, false, visit)
    }
    /// Visits every coherent and atomic candidate, allowed or not, with the model's relations.
    ///
    /// # Errors
    /// If there are too many candidates.
    pub fn candidates(&self, model: Model, visit: impl FnMut(&Solution<'_>) -> Flow) -> Result<(), ProgramError> {
        self.search(model, true, visit)
    }
    fn search(&self, model: Model, all: bool, visit: impl FnMut(&Solution<'_>) -> Flow) -> Result<(), ProgramError> {
        let mut search = Search {
            program: self,
            statics: self.paths.iter().map(|p| vec![None; p.len()]).collect(),
            model,
            visit,
            candidates: 0,
            all,
        };
        search.choose(&mut Vec::new(), 0, 0).map(|_| ())
    }
}

impl<'a, F: FnMut(&Solution<'_>) -> Flow> Search<'a, F> {
    /// Chooses paths for the threads from `chosen.len()` on.
    fn choose(&mut self, chosen: &mut Vec<usize>, needs: u128, gives: u128) -> Result<Flow, ProgramError> {
        let program = self.program;
        let thread = chosen.len();
        if needs & !(gives | program.rest_gives[thread]) != 0 {
            return Ok(Flow::Go);
        }
        if thread == program.paths.len() {
            return self.combine(chosen);
        }
        for (i, exchange) in program.exchange[thread].iter().enumerate() {
            chosen.push(i);
            let flow = self.choose(chosen, needs | exchange.needs, gives | exchange.gives)?;
            chosen.pop();
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Go)
    }

    /// Every way in which the chosen paths may communicate.
    fn combine(&mut self, chosen: &[usize]) -> Result<Flow, ProgramError> {
        let program = self.program;
        let paths: Vec<&'a Path> = chosen.iter().enumerate().map(|(t, i)| &program.paths[t][*i]).collect();
        let mut first = Vec::with_capacity(paths.len());
        let mut n = 0;
        for path in &paths {
            first.push(n);
            n += path.events.len();
        }
        let Some(by_location) = locations(program, &paths, &first) else {
            return Ok(Flow::Go);
        };
        for (t, i) in chosen.iter().enumerate() {
            let cell = &mut self.statics[t][*i];
            if cell.is_none() {
                *cell = Some(self.model.statics(paths[t]));
            }
        }
        let none = Statics::default();
        let statics: Vec<&Statics> = chosen
            .iter()
            .enumerate()
            .map(|(t, i)| self.statics[t][*i].as_ref().unwrap_or(&none))
            .collect();
        let mut graph = Graph::new(&paths, &statics);
        drop(statics);
        self.communicate(&paths, &first, &by_location, &mut Vec::new(), &mut graph)
    }

    fn communicate<'c>(
        &mut self,
        paths: &[&Path],
        first: &[usize],
        by_location: &'c [Vec<Choice>],
        choices: &mut Vec<&'c Choice>,
        graph: &mut Graph,
    ) -> Result<Flow, ProgramError> {
        let Some(here) = by_location.get(choices.len()) else {
            self.candidates += 1;
            if self.candidates > MAX_CANDIDATES {
                return Err(ProgramError::TooManyCandidates);
            }
            if !self.all && !self.model.allows(graph) {
                return Ok(Flow::Go);
            }
            let solution = Solution {
                program: self.program,
                paths,
                first,
                choices,
                graph,
            };
            return Ok((self.visit)(&solution));
        };
        for choice in here {
            graph.communicate(&choice.reads_from, &choice.coherence);
            choices.push(choice);
            // What is ordered already stays so: a cycle now is one later too.
            let hopeless =
                !self.all && here.len() > 1 && by_location.len() > choices.len() && !self.model.allows(graph);
            let flow = if hopeless {
                Flow::Go
            } else {
                self.communicate(paths, first, by_location, choices, graph)?
            };
            choices.pop();
            graph.retract(&choice.reads_from, &choice.coherence);
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Go)
    }
}

/// By location, every coherent choice; `None` if some location has none.
fn locations(program: &Program<'_>, paths: &[&Path], first: &[usize]) -> Option<Vec<Vec<Choice>>> {
    let mut addresses: Vec<u64> = Vec::new();
    let mut places: Vec<Place> = Vec::new();
    for (thread, path) in paths.iter().enumerate() {
        for (i, event) in path
            .events
            .iter()
            .enumerate()
            .filter(|(_, e)| e.is_read() || e.is_write())
        {
            let at = addresses.iter().position(|a| *a == event.addr).unwrap_or_else(|| {
                addresses.push(event.addr);
                places.push(Place {
                    addr: event.addr,
                    initial: program.test.locations.initial(event.addr),
                    accesses: Vec::new(),
                });
                places.len() - 1
            });
            let number = (first[thread] + i) as u8;
            places[at].accesses.push(Access {
                number,
                thread: thread as u8,
                event,
                pair: event.rmw.map(|r| first[thread] as u8 + r),
            });
        }
    }
    let mut out = Vec::with_capacity(places.len());
    for place in &places {
        let choices = place.choices();
        if choices.is_empty() {
            return None;
        }
        out.push(choices);
    }
    // Where there is no choice nothing branches.
    out.sort_by_key(Vec::len);
    Some(out)
}

struct Access<'p> {
    number: u8,
    thread: u8,
    event: &'p Event,
    /// Of a write: the read of its atomic pair.
    pair: Option<u8>,
}

/// The accesses to one location, those of a thread in program order.
struct Place<'p> {
    addr: u64,
    initial: u64,
    accesses: Vec<Access<'p>>,
}

impl Place<'_> {
    fn choices(&self) -> Vec<Choice> {
        let reads: Vec<usize> = (0..self.accesses.len())
            .filter(|i| self.accesses[*i].event.is_read())
            .collect();
        let mut out = Vec::new();
        self.sources(&reads, &mut Vec::new(), &mut out);
        out
    }

    /// Every source for the reads from `chosen.len()` on.
    fn sources(&self, reads: &[usize], chosen: &mut Vec<(usize, Option<usize>)>, out: &mut Vec<Choice>) {
        let Some(read) = reads.get(chosen.len()) else {
            return self.orders(chosen, out);
        };
        let r = &self.accesses[*read];
        let mut consider = |source: Option<usize>, out: &mut Vec<Choice>| {
            chosen.push((*read, source));
            self.sources(reads, chosen, out);
            chosen.pop();
        };
        if r.event.width.cut(self.initial) == r.event.value {
            consider(None, out);
        }
        for (i, w) in self.accesses.iter().enumerate().filter(|(_, a)| a.event.is_write()) {
            let later = w.thread == r.thread && i > *read;
            if !later && r.event.width.cut(w.event.value) == r.event.value {
                consider(Some(i), out);
            }
        }
    }

    /// Every coherence order that the sources leave.
    fn orders(&self, sources: &[(usize, Option<usize>)], out: &mut Vec<Choice>) {
        // By access: the writes that come before it in coherence.
        let mut before = vec![0u64; self.accesses.len()];
        let a = &self.accesses;
        let writes = (0..a.len())
            .filter(|i| a[*i].event.is_write())
            .fold(0u64, |s, i| s | 1 << i);
        for w in bits(writes) {
            let own = bits(writes).filter(|v| *v < w && a[*v].thread == a[w].thread);
            before[w] |= own.fold(0, |s, v| s | 1 << v);
        }
        for (k, (read, source)) in sources.iter().enumerate() {
            for w in bits(writes).filter(|w| a[*w].thread == a[*read].thread) {
                match source {
                    None if w < *read => return,
                    None => {}
                    Some(s) if *s == w => {}
                    Some(s) if w < *read => before[*s] |= 1 << w,
                    Some(s) => before[w] |= 1 << s,
                }
            }
            let later = sources[k + 1..].iter().filter(|(r, _)| a[*r].thread == a[*read].thread);
            for (_, next) in later {
                match (source, next) {
                    (Some(s), Some(n)) if s != n => before[*n] |= 1 << s,
                    (Some(_), None) => return,
                    _ => {}
                }
            }
        }
        self.extend(sources, &before, writes, &mut Vec::new(), out);
    }

    fn extend(
        &self,
        sources: &[(usize, Option<usize>)],
        before: &[u64],
        left: u64,
        order: &mut Vec<usize>,
        out: &mut Vec<Choice>,
    ) {
        if left == 0 {
            out.push(Choice {
                addr: self.addr,
                reads_from: (sources.iter())
                    .map(|(r, s)| (self.accesses[*r].number, s.map(|s| self.accesses[s].number)))
                    .collect(),
                coherence: order.iter().map(|w| self.accesses[*w].number).collect(),
            });
            return;
        }
        for w in bits(left).filter(|w| before[*w] & left == 0) {
            if self.atomic(w, sources, order) {
                order.push(w);
                self.extend(sources, before, left & !(1 << w), order, out);
                order.pop();
            }
        }
    }

    /// Whether no write of another thread stands between what the pair of write `w` read and `w`, which comes next.
    fn atomic(&self, w: usize, sources: &[(usize, Option<usize>)], order: &[usize]) -> bool {
        let write = &self.accesses[w];
        let Some(pair) = write.pair else { return true };
        let source = sources.iter().find(|(r, _)| self.accesses[*r].number == pair);
        let Some((_, source)) = source else { return true };
        let from = match source {
            None => 0,
            Some(s) => match order.iter().position(|o| o == s) {
                Some(at) => at + 1,
                None => return true,
            },
        };
        order[from..].iter().all(|o| self.accesses[*o].thread == write.thread)
    }
}
