//! Listing crash states, and merging those that need no run.

use super::paths::{Paths, Point};
use super::words::Words;
use super::{Answer, ImageJob, Progress};
use crate::explore::count::Counter;
use crate::explore::known::{Known, Status};
use crate::explore::order::Order;
use crate::graph::{CrashSpace, Cut, FailurePoint, LocationId, NodeId};
use fencepost_kernel::planted;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Nodes that the counting of crash states may look at.
const COUNTING_EFFORT: u64 = 20_000_000;

/// What to do next.
#[derive(Debug)]
pub enum Next {
    /// Run recovery on this image, and answer.
    Run(Box<ImageJob>),
    /// Nothing can be said before an image that is out has its answer.
    Wait,
    /// Every crash state is covered.
    Done,
}

/// The three passes over the failure points.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Pass {
    /// Everything durable; nothing durable beyond what must be.
    Ends,
    /// Every single deviation from those two.
    Single,
    /// All states.
    All,
    /// No more failure points.
    Over,
}

/// A piece of work at one failure point.
enum Item {
    /// One state: the largest of the cut.
    One(Cut),
    /// Every single deviation from both ends, from this open node on.
    Single { cut: Cut, open: Vec<NodeId>, next: usize },
    /// All states of the cut; locations before this one are decided.
    Split { cut: Cut, from: u32 },
    /// All states of the cut, by what recovery reads from this point of it on.
    Walk { cut: Cut, at: u32 },
}

/// The crash states of an execution, as images to be run and answered for.
pub struct Images<'s> {
    space: &'s CrashSpace,
    words: Words,
    reported: bool,
    cuts: Box<dyn Iterator<Item = (&'s FailurePoint, Cut)> + 's>,
    pass: Pass,
    /// Failure points opened in this pass.
    opened: usize,
    stack: Vec<(usize, Item)>,
    /// Images by key: answered or not.
    answered: FxHashMap<u128, bool>,
    parked: FxHashMap<u128, Vec<(usize, Item)>>,
    out: usize,
    paths: Paths,
    steady: bool,
    known: Known,
    counter: Counter,
    progress: Progress,
}

impl<'s> Images<'s> {
    /// All crash states of `space`. With `reported`, recovery says what it reads (an answer without reads then stands for
    /// "everything").
    pub fn new(space: &'s CrashSpace, reported: bool) -> Images<'s> {
        Images {
            space,
            words: Words::new(&space.graph),
            reported,
            cuts: Box::new(space.cuts()),
            pass: Pass::Ends,
            opened: 0,
            stack: Vec::new(),
            answered: FxHashMap::default(),
            parked: FxHashMap::default(),
            out: 0,
            paths: Paths::default(),
            steady: true,
            known: Known::new(Rc::new(Order::new(&space.graph))),
            counter: Counter::new(COUNTING_EFFORT),
            progress: Progress {
                total: Some(0),
                ..Progress::default()
            },
        }
    }
    /// How far the search has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }
    /// Whether recovery has always read the same words when the values of those before were the same.
    pub fn is_steady(&self) -> bool {
        self.steady
    }
    /// The next image. After an answer that says "failed" the next ones do not matter.
    pub fn next_image(&mut self) -> Next {
        loop {
            if let Some((point, item)) = self.stack.pop() {
                if let Some(job) = self.step(point, item) {
                    self.out += 1;
                    self.progress.images += 1;
                    return Next::Run(Box::new(job));
                }
            } else if self.reported && self.out > 0 && self.pass == Pass::All {
                return Next::Wait;
            } else if !self.open_point() {
                if self.out > 0 {
                    return Next::Wait;
                }
                self.progress.complete = true;
                return Next::Done;
            }
        }
    }
    /// Takes the answer for an image; false if recovery contradicts itself (see [`Images::is_steady`]).
    pub fn answer(&mut self, job: &ImageJob, answer: &Answer) -> bool {
        self.out -= 1;
        if answer.failed.is_none() {
            self.learn(job, answer);
        }
        self.steady
    }
    /// Whether recovery is known to survive an image.
    pub fn survived(&self, job: &ImageJob) -> bool {
        let history = self.words.key(&[], &job.crash);
        let known = self.reported.then(|| self.paths.known_root(history)).flatten();
        self.answered.get(&job.key) == Some(&true) || known.is_some_and(|root| self.paths.survives(root, &job.values))
    }
    /// Of pieces that recovery read, those that can differ between images: the execution stored to them.
    pub fn stored_to(&self, mut pieces: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
        pieces.retain(|(offset, len)| self.words.within(*offset, *len).next().is_some());
        pieces
    }
    /// Takes an answer known from an earlier search. Later images equal to it are not handed out.
    pub fn learn(&mut self, job: &ImageJob, answer: &Answer) {
        self.answered.insert(job.key, true);
        if self.reported {
            let root = self.root(job.point);
            let all = [(0, u64::MAX)];
            let reads = answer.reads.as_deref().unwrap_or(&all);
            let words = reads.iter().flat_map(|(offset, len)| self.words.within(*offset, *len));
            let mut words: Vec<u32> = words.collect();
            let forgotten = planted!(
                "external.read-forgotten",
                "images are merged that agree on all that recovery read"
            );
            if forgotten {
                words.pop();
            }
            self.steady &= self.paths.add(root, words, &job.values);
        }
        self.stack.extend(self.parked.remove(&job.key).unwrap_or_default());
    }
    /// Counts the states of the failure points that were not opened, for a search that stopped early.
    pub fn count_rest(&mut self) {
        let counted = if self.pass == Pass::All { self.opened } else { 0 };
        for i in counted..self.space.points.len() {
            self.count_point(i);
        }
        self.pass = Pass::Over;
        // Fewer states than images cannot have been covered; the last pass counts them one by one, the first two do not.
        let images = u128::from(self.progress.images) - self.out as u128; // one that was not judged covers nothing
        self.progress.covered = self.progress.covered.max(images);
    }

    fn root(&mut self, point: usize) -> u32 {
        let history = self.words.key(&[], &self.space.points[point].crash);
        self.paths.root(history)
    }
    /// Opens the next failure point, or the next pass.
    fn open_point(&mut self) -> bool {
        if self.pass == Pass::Over {
            return false;
        }
        let Some((point, cut)) = self.cuts.next() else {
            let (next, done) = match self.pass {
                Pass::Ends => (Pass::Single, Some(0)),
                Pass::Single => (Pass::All, Some(1)),
                Pass::All | Pass::Over => (Pass::Over, self.progress.deviations),
            };
            (self.pass, self.progress.deviations) = (next, done);
            self.cuts = Box::new(self.space.cuts());
            self.opened = 0;
            return self.pass != Pass::Over;
        };
        let index = self.opened;
        self.opened += 1;
        let graph = &self.space.graph;
        match self.pass {
            Pass::Ends => {
                let smallest = self.nothing_more(cut.clone());
                self.stack.push((index, Item::One(smallest)));
                self.stack.push((index, Item::One(cut)));
            }
            Pass::Single => {
                let open: Vec<NodeId> = cut.free_nodes(graph).filter(|n| !graph.is_barrier(*n)).collect();
                let next = open.len() * 2;
                self.stack.push((index, Item::Single { cut, open, next }));
            }
            Pass::All | Pass::Over => {
                self.count_point(index);
                self.progress.points += 1;
                debug_assert_eq!(point.event, self.space.points[index].event);
                let item = match self.reported {
                    true => Item::Walk {
                        cut,
                        at: self.root(index),
                    },
                    false => Item::Split { cut, from: 0 },
                };
                self.stack.push((index, item));
            }
        }
        true
    }
    /// The cut in which everything undecided is lost.
    fn nothing_more(&self, mut cut: Cut) -> Cut {
        let free: Vec<NodeId> = cut.free_nodes(&self.space.graph).collect();
        for node in free.into_iter().filter(|n| !self.space.graph.is_barrier(*n)) {
            if cut.is_free(node) {
                self.space.graph.exclude(&mut cut, node);
            }
        }
        cut
    }

    fn step(&mut self, point: usize, item: Item) -> Option<ImageJob> {
        match item {
            Item::One(cut) => self.run_new(point, cut),
            Item::Single { cut, open, next } => {
                let next = next.checked_sub(1)?;
                let (node, mut one) = (open[next / 2], cut.clone());
                if next % 2 == 1 {
                    self.space.graph.exclude(&mut one, node);
                } else {
                    self.space.graph.include(&mut one, node);
                    one = self.nothing_more(one);
                }
                self.stack.push((point, Item::Single { cut, open, next }));
                self.run_new(point, one)
            }
            Item::Split { cut, from } => self.split(point, cut, from),
            Item::Walk { cut, at } => self.walk(point, cut, at),
        }
    }
    fn split(&mut self, point: usize, cut: Cut, from: u32) -> Option<ImageJob> {
        let locations = self.space.graph.location_count() as u32;
        let open = (from..locations).find(|l| self.is_open(&cut, LocationId(*l)));
        match open {
            Some(l) => {
                let children = self.children(&cut, LocationId(l)).into_iter();
                let items = children.map(|cut| (point, Item::Split { cut, from: l + 1 }));
                self.stack.extend(items);
                None
            }
            None => {
                self.progress.covered += self.count_cut(&cut).unwrap_or(1);
                self.run(point, cut, None)
            }
        }
    }
    fn walk(&mut self, point: usize, cut: Cut, mut at: u32) -> Option<ImageJob> {
        loop {
            let word = match self.paths.point(at) {
                Point::Survives => {
                    self.progress.covered += self.count_cut(&cut).unwrap_or(1);
                    return None;
                }
                Point::Unknown => {
                    let parked = Item::Walk { cut: cut.clone(), at };
                    return self.run(point, cut, Some(parked));
                }
                Point::Reads(word, _) => *word,
            };
            let open = self.words.locations(word).iter().find(|l| self.is_open(&cut, **l));
            if let Some(location) = open.copied() {
                let children = self.children(&cut, location).into_iter();
                self.stack.extend(children.map(|cut| (point, Item::Walk { cut, at })));
                return None;
            }
            let value = self.words.value(&self.space.graph, &cut, word);
            at = self.paths.after(at, value);
        }
    }
    /// Whether the location can hold several values: stores of the value that is there already make no difference.
    fn is_open(&self, cut: &Cut, location: LocationId) -> bool {
        let (sure, possible) = cut.bounds(&self.space.graph, location);
        let first = self.value(location, sure);
        (sure + 1..=possible).any(|n| self.value(location, n) != first)
    }
    /// The value of a location after so many of its versions.
    fn value(&self, location: LocationId, versions: usize) -> u64 {
        let graph = &self.space.graph;
        match versions.checked_sub(1) {
            Some(last) => graph.versions(location)[last].value,
            None => graph.initial_value(graph.address(location)),
        }
    }
    /// The cut by the value of one location: runs of versions with one value stay together. Oldest first, so that the
    /// newest is popped first.
    fn children(&self, cut: &Cut, location: LocationId) -> Vec<Cut> {
        let graph = &self.space.graph;
        let (sure, possible) = cut.bounds(graph, location);
        let versions = graph.versions(location);
        let (mut children, mut from) = (Vec::new(), sure);
        while from <= possible {
            let value = self.value(location, from);
            let to = (from..possible)
                .find(|n| self.value(location, n + 1) != value)
                .unwrap_or(possible);
            let mut child = cut.clone();
            if from > sure {
                graph.include(&mut child, versions[from - 1].node);
            }
            if to < possible {
                graph.exclude(&mut child, versions[to].node);
            }
            children.push(child);
            from = to + 1;
        }
        children
    }
    /// As [`Self::run`], unless it is known that recovery survives all that it would read of the state.
    fn run_new(&mut self, point: usize, cut: Cut) -> Option<ImageJob> {
        let root = if self.reported { self.root(point) } else { 0 };
        let values = self.reported.then(|| self.words.largest(&self.space.graph, &cut));
        match values.is_some_and(|v| self.paths.survives(root, &v)) {
            true => None,
            false => self.run(point, cut, None),
        }
    }
    /// The largest state of the cut as a job, unless its image has been handed out. `wait` is work that needs the answer.
    fn run(&mut self, point: usize, cut: Cut, wait: Option<Item>) -> Option<ImageJob> {
        let values = self.words.largest(&self.space.graph, &cut);
        let crash = &self.space.points[point].crash;
        let key = self.words.key(&values, crash);
        if let Some(item) = wait {
            self.parked.entry(key).or_default().push((point, item));
        }
        if self.answered.contains_key(&key) {
            return None;
        }
        self.answered.insert(key, false);
        Some(ImageJob {
            point,
            crash: crash.clone(),
            words: self.words.changes(&values),
            key,
            state: cut,
            values,
        })
    }
    fn count_point(&mut self, index: usize) {
        let point = &self.space.points[index];
        let must = self.space.must[point.newly_must.clone()].iter().map(|m| m.node);
        self.known.advance(point.executed, must);
        let count = self.counter.count(&mut self.known);
        let total = self.progress.total.zip(count).and_then(|(a, b)| a.checked_add(b));
        self.progress.total = total;
    }
    /// States of a cut of the failure point opened last.
    fn count_cut(&mut self, cut: &Cut) -> Option<u128> {
        let mark = self.known.mark();
        for n in self.known.open().to_vec() {
            if self.known.status(NodeId(n)) != Status::Free || self.known.order().is_barrier(n) {
                continue;
            }
            if cut.is_in(NodeId(n)) {
                self.known.include(n);
            } else if cut.is_out(NodeId(n)) {
                self.known.exclude(n);
            }
        }
        let count = self.counter.count(&mut self.known);
        self.known.undo_to(mark);
        count
    }
}
