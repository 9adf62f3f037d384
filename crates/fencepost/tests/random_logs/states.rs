//! What a power failure may leave of an execution, by counting: of each line a number of its stores, no fewer than flushes and fences have
//! made durable. It knows nothing of the explorer, its graph or its contracts.

use super::program::{Event, Line, Program, Store, WORDS, What};
use std::collections::{BTreeMap, BTreeSet};

/// What a power failure leaves: operations begun and acknowledged, by thread, and the words of every line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub begun: Vec<u32>,
    pub acked: Vec<u32>,
    pub words: Vec<u64>,
}

/// What becomes durable by itself: a line, or a word of one.
struct Unit {
    /// Its first word, and how many.
    words: (usize, usize),
    of: Line,
    /// Its content after each of its stores; at first nothing.
    versions: Vec<Vec<u64>>,
    /// The number of each of them among all stores.
    numbers: Vec<u64>,
    /// Stores that are durable for sure.
    sure: usize,
    /// Stores that the next fence of each thread makes durable.
    flushed: Vec<usize>,
}

impl Unit {
    fn newest(&self) -> usize {
        self.versions.len() - 1
    }
    fn line(&self) -> usize {
        self.words.0 / WORDS
    }
    /// Its version after the stores up to a number.
    fn at(&self, number: u64) -> usize {
        self.numbers.iter().rposition(|n| *n <= number).unwrap_or(0)
    }
}

/// All states, and how many the contract has where it counts them: before something more is durable for sure, and at the end.
pub(super) struct States {
    pub all: BTreeSet<State>,
    pub counted: u128,
    pub points: u64,
}

/// How far into the order of all stores a thread can see: what its flushes cover of a line that others store to.
#[derive(Clone, Default)]
struct Sight {
    /// The newest store that it has made or read.
    newest: u64,
    /// The newest that it has read of another, or made or read before a fence.
    ready: u64,
    /// The newest of its own, by line.
    own: BTreeMap<usize, u64>,
}

/// The memory as the events go by.
struct Memory {
    units: Vec<Unit>,
    sights: Vec<Sight>,
    /// Stores so far.
    stores: u64,
    /// Who stored last to the word that threads hand on, and which store it was.
    handed_on: Option<(usize, u64)>,
    begun: Vec<u32>,
    acked: Vec<u32>,
}

/// What may be left of `program`; of each line its stores in order, or of each word alone.
pub(super) fn states(program: &Program, line_order: bool) -> States {
    let mut memory = Memory::new(program, line_order);
    let mut found = States {
        all: BTreeSet::new(),
        counted: 0,
        points: 0,
    };
    memory.crash(&mut found.all);
    for event in &program.events {
        let before = memory.sure();
        let count = memory.count();
        memory.perform(*event);
        if memory.sure() > before {
            found.counted += count;
            found.points += 1;
        }
        memory.crash(&mut found.all);
    }
    found.counted += memory.count();
    found.points += 1;
    found
}

/// The same where threads do not wait for each other: what each leaves alone, in every combination.
pub(super) fn apart(program: &Program) -> BTreeSet<State> {
    let of = |thread: usize| states(&program.alone(thread), true).all;
    let mut all = of(0);
    for thread in 1..program.threads {
        let theirs = of(thread);
        let with = |s: &State| theirs.iter().map(|t| joined(program, s, t, thread)).collect::<Vec<_>>();
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// The same where threads wait for each other by what they hand on alone: each may have got as far as it likes, but no further than what it has seen.
pub(super) fn cuts(program: &Program) -> BTreeSet<State> {
    let mut all = BTreeSet::new();
    let most = |t| program.events.iter().filter(|e| e.thread == t).count();
    for first in 0..=most(0) {
        for second in 0..=if program.threads > 1 { most(1) } else { 0 } {
            let mut left = [first, second];
            let mut memory = Memory::new(program, true);
            // Who stored last to the word that is handed on, and whether that has happened.
            let mut newest = None;
            let mut seen = true;
            for event in &program.events {
                let happens = left[event.thread] > 0;
                let (reads, stores) = event.what.handed_on();
                seen &= !(happens && reads) || newest.is_none_or(|(t, happened)| happened || t == event.thread);
                if stores {
                    newest = Some((event.thread, happens));
                }
                if happens {
                    left[event.thread] -= 1;
                    memory.perform(*event);
                }
            }
            if seen {
                memory.crash(&mut all);
            }
        }
    }
    all
}

/// One state with what another has of `thread`.
fn joined(program: &Program, s: &State, other: &State, thread: usize) -> State {
    let mut joined = s.clone();
    joined.begun[thread] = other.begun[thread];
    joined.acked[thread] = other.acked[thread];
    for (line, _) in program
        .lines
        .iter()
        .enumerate()
        .filter(|(_, l)| l.thread == Some(thread))
    {
        let words = line * WORDS..(line + 1) * WORDS;
        joined.words[words.clone()].copy_from_slice(&other.words[words]);
    }
    joined
}

impl Memory {
    fn new(program: &Program, line_order: bool) -> Memory {
        let width = if line_order { WORDS } else { 1 };
        let unit = |u: usize| Unit {
            words: (u * width, width),
            of: program.lines[u * width / WORDS],
            versions: vec![program.initial[u * width..(u + 1) * width].to_vec()],
            numbers: vec![0],
            sure: 0,
            flushed: vec![0; program.threads],
        };
        Memory {
            units: (0..program.lines.len() * WORDS / width).map(unit).collect(),
            sights: vec![Sight::default(); program.threads],
            stores: 0,
            handed_on: None,
            begun: vec![0; program.threads],
            acked: vec![0; program.threads],
        }
    }
    fn sure(&self) -> usize {
        self.units.iter().map(|u| u.sure).sum()
    }
    fn count(&self) -> u128 {
        self.units.iter().map(|u| (u.newest() - u.sure + 1) as u128).product()
    }
    fn perform(&mut self, Event { thread, what }: Event) {
        match what {
            What::Begin(n) => self.begun[thread] = n + 1,
            What::Ack(n) => self.acked[thread] = n + 1,
            What::Store(store) => {
                let number = self.stored(thread);
                self.sights[thread].own.insert(store.line, number);
                self.store(store, number);
            }
            What::Flush { line, how: "clflush" } => {
                let upto = self.sights[thread].newest;
                self.flush(line, |u| u.sure = u.sure.max(u.at(upto)));
            }
            What::Flush { line, .. } => {
                let sight = &self.sights[thread];
                let upto = sight.own.get(&line).copied().unwrap_or(0).max(sight.ready);
                self.flush(line, |u| u.flushed[thread] = u.flushed[thread].max(u.at(upto)));
            }
            What::Fence(_) => self.fence(thread),
            What::Sync { line } => {
                self.flush(line, |u| u.sure = u.newest());
                self.fence(thread);
            }
            What::Volatile { stores: true, .. } => self.hand_on(thread),
            What::Volatile { .. } => self.take_over(thread),
            What::Atomic { handed_on, .. } => {
                if handed_on {
                    self.take_over(thread);
                    self.hand_on(thread);
                } else {
                    self.stored(thread);
                }
                self.fence(thread);
            }
            What::End(_) => {}
        }
    }
    /// A thread made a store; its number.
    fn stored(&mut self, thread: usize) -> u64 {
        self.stores += 1;
        self.sights[thread].newest = self.stores;
        self.stores
    }
    fn hand_on(&mut self, thread: usize) {
        self.handed_on = Some((thread, self.stored(thread)));
    }
    fn take_over(&mut self, thread: usize) {
        if let Some((by, number)) = self.handed_on {
            let sight = &mut self.sights[thread];
            sight.newest = sight.newest.max(number);
            if by != thread {
                sight.ready = sight.ready.max(number);
            }
        }
    }
    fn store(&mut self, s: Store, number: u64) {
        let word = s.line * WORDS + s.byte / 8;
        let has = |u: &&mut Unit| (u.words.0..u.words.0 + u.words.1).contains(&word);
        let unit = self.units.iter_mut().find(has).expect("a word of a line");
        let mut version = unit.versions[unit.newest()].clone();
        let shift = 8 * (s.byte % 8);
        let mask = (u64::MAX >> (64 - 8 * s.width)) << shift;
        let at = word - unit.words.0;
        version[at] = version[at] & !mask | s.value << shift;
        unit.versions.push(version);
        unit.numbers.push(number);
    }
    fn flush(&mut self, line: usize, act: impl Fn(&mut Unit)) {
        self.units.iter_mut().filter(|u| u.line() == line).for_each(act);
    }
    fn fence(&mut self, thread: usize) {
        self.sights[thread].ready = self.sights[thread].newest;
        for unit in &mut self.units {
            let past_caches = unit.of.nt && unit.of.thread == Some(thread);
            let durable = if past_caches {
                unit.newest()
            } else {
                unit.flushed[thread]
            };
            unit.sure = unit.sure.max(durable);
        }
    }
    /// Every state that a power failure may leave now.
    fn crash(&self, all: &mut BTreeSet<State>) {
        let mut words = vec![vec![]];
        for unit in &self.units {
            let durable: BTreeSet<&Vec<u64>> = unit.versions[unit.sure..].iter().collect();
            let with = |w: &Vec<u64>| durable.iter().map(|v| [&w[..], &v[..]].concat()).collect::<Vec<_>>();
            words = words.iter().flat_map(with).collect();
        }
        let (begun, acked) = (&self.begun, &self.acked);
        all.extend(words.into_iter().map(|words| State {
            begun: begun.clone(),
            acked: acked.clone(),
            words,
        }));
    }
}

/// Lines that become durable one after another as the contract wants it, or, with `late`, one of them not by the fence that needs it:
/// behind which event, and the text. None if nothing can be late.
pub(super) fn durable_lines(
    program: &Program,
    mut choose: impl FnMut(usize) -> usize,
    late: bool,
) -> Option<Vec<(usize, String)>> {
    let mut needs: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    let mut numbers: Vec<Vec<(usize, Store)>> = vec![Vec::new(); program.lines.len()];
    let mut memory = Memory::new(program, true);
    for (i, event) in program.events.iter().enumerate() {
        let before: Vec<usize> = memory.units.iter().map(|u| u.sure).collect();
        memory.perform(*event);
        for (line, unit) in memory.units.iter().enumerate().filter(|(l, u)| u.sure > before[*l]) {
            needs.entry(i).or_default().push((line, unit.sure));
        }
    }
    let all: Vec<(usize, usize, usize)> = needs
        .iter()
        .flat_map(|(i, n)| n.iter().map(|(line, sure)| (*i, *line, *sure)))
        .collect();
    let missed = match late {
        true if all.is_empty() => return None,
        true => Some(all[choose(all.len())]),
        false => None,
    };
    let (mut durable, mut text) = (vec![0; program.lines.len()], Vec::new());
    let mut stored = 0;
    for (i, event) in program.events.iter().enumerate() {
        // Before the event that says so.
        for (line, sure) in needs.get(&i).into_iter().flatten() {
            if durable[*line] < *sure && missed != Some((i, *line, *sure)) {
                text.push((
                    i.checked_sub(1)?,
                    line_text(*line * program.apart, &numbers[*line][durable[*line]..*sure]),
                ));
                durable[*line] = *sure;
            }
        }
        if missed.is_some_and(|m| m.0 == i) && durable[missed?.1] >= missed?.2 {
            return None;
        }
        // Numbered with those to volatile memory.
        stored += usize::from(matches!(
            event.what,
            What::Store(_) | What::Atomic { .. } | What::Volatile { stores: true, .. }
        ));
        if let What::Store(store) = event.what {
            numbers[store.line].push((stored, store));
        }
        let line = choose(program.lines.len());
        let left = numbers[line].len() - durable[line];
        let held = missed.is_some_and(|m| m.1 == line);
        if left > 0 && choose(2) == 0 && !held {
            let more = 1 + choose(left);
            text.push((
                i,
                line_text(
                    line * program.apart,
                    &numbers[line][durable[line]..durable[line] + more],
                ),
            ));
            durable[line] += more;
        }
    }
    Some(text)
}

/// A line becomes durable with these stores, each named by its number.
fn line_text(at: usize, stores: &[(usize, Store)]) -> String {
    let newest: BTreeMap<usize, usize> = stores.iter().map(|(n, s)| (s.byte / 8, *n)).collect();
    let words: Vec<String> = newest.iter().map(|(word, n)| format!("{word}=#{n}")).collect();
    format!("durable pm+{at:#x} : {}", words.join(" "))
}
