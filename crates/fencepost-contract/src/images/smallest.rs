//! The smallest crash state of a failure point that recovery does not survive.

use super::state::{cut_at, id_of, open};
use super::words::Words;
use super::{Answer, ImageJob};
use crate::explore::{Deviation, ReplayId};
use crate::graph::{CrashSpace, Cut, NodeId};
use fencepost_kernel::{CrashPoint, StoreId};

/// A crash state that recovery does not survive.
#[derive(Clone, Debug)]
pub struct ImageWitness {
    /// Index of the failure point.
    pub point: usize,
    /// Number of trace events before the power failed.
    pub event: usize,
    /// What had begun and been acknowledged.
    pub crash: CrashPoint,
    /// Stores that are durable although they did not have to be.
    pub persisted: Vec<StoreId>,
    /// Stores that had executed and are lost.
    pub missing: Vec<StoreId>,
    /// The smaller of the two; where recovery fails with everything durable, the stores that are.
    pub deviation: Deviation,
    /// How many writes those are.
    pub(super) deviating_writes: usize,
    /// The newest store to persistent memory before the power failed.
    pub newest: Option<StoreId>,
    /// Whether no state of any failure point with fewer deviating stores fails (proved by trying them all).
    pub smallest: bool,
    /// What recovery said.
    pub why: String,
    /// The state.
    pub id: ReplayId,
    /// The image.
    pub words: Vec<(u64, u64)>,
}

impl ImageWitness {
    /// What a state is, of which recovery says nothing.
    pub fn of(space: &CrashSpace, job: &ImageJob) -> ImageWitness {
        let never = |_: &ImageJob| Ok::<_, std::convert::Infallible>(None);
        let at = Smallest::new(space, job, never);
        let cut = at.settle(job.state.clone(), Deviation::Missing);
        at.witness((cut, String::new()), false)
    }
}

/// The search for it: first by taking deviations away one at a time, then by trying all smaller states.
pub struct Smallest<'s, F> {
    space: &'s CrashSpace,
    words: Words,
    point: usize,
    all: Cut,
    open: Vec<NodeId>,
    ends: &'static [Deviation],
    run: F,
}

/// From either end, or only from "nothing durable".
const BOTH: &[Deviation] = &[Deviation::Missing, Deviation::Persisted];

/// A failing state: its cut and what recovery said.
type Failing = (Cut, String);

impl<'s, E, F: FnMut(&ImageJob) -> Result<Option<Answer>, E>> Smallest<'s, F> {
    /// Starts from a failing image. `run` runs recovery; it returns `None` when the effort allowed is spent.
    pub fn new(space: &'s CrashSpace, job: &ImageJob, run: F) -> Smallest<'s, F> {
        let all = cut_at(space, job.point).unwrap_or_else(|| space.graph.all_states());
        Smallest::at(space, job.point, all, run)
    }
    /// At a failure point with this cut of all its states.
    pub(super) fn at(space: &'s CrashSpace, point: usize, all: Cut, run: F) -> Smallest<'s, F> {
        Smallest {
            open: open(space, &all),
            words: Words::new(&space.graph),
            point,
            space,
            all,
            ends: BOTH,
            run,
        }
    }
    /// Whether recovery fails with everything durable; `None` when the effort is spent.
    pub(super) fn fails_whole(&mut self) -> Result<Option<bool>, E> {
        let everything = self.settle(self.all.clone(), Deviation::Missing);
        Ok(self.fails(&everything)?.map(|why| why.is_some()))
    }
    /// A failing state with exactly so many deviations, if there is one; `whole` says that recovery fails with everything
    /// durable, too. `None` when the effort is spent.
    pub(super) fn of_size(&mut self, size: usize, whole: bool) -> Result<Option<Option<ImageWitness>>, E> {
        self.ends = if whole { &BOTH[1..] } else { BOTH };
        let told: Vec<Deviation> = self.ends.iter().copied().filter(|d| self.is_told(*d, size)).collect();
        for deviation in told {
            let mut tried = Some(());
            let found = self.try_all(self.all.clone(), deviation, size, 0, &mut tried)?;
            match (found, tried) {
                (Some(found), _) => return Ok(Some(Some(self.witness(found, false)))),
                (None, None) => return Ok(None),
                (None, Some(())) => {}
            }
        }
        Ok(Some(None))
    }
    /// Finds the smallest of its failure point.
    ///
    /// # Errors
    /// Whatever `run` meets.
    pub fn find(mut self, job: &ImageJob, why: &str) -> Result<ImageWitness, E> {
        let state = self.settle(job.state.clone(), Deviation::Missing);
        let (mut best, mut complete) = ((state, why.to_owned()), true);
        let everything = self.settle(self.all.clone(), Deviation::Missing);
        if let Some(Some(why)) = self.fails(&everything)? {
            // Nothing need be lost: what tells is how little need be durable.
            (best, self.ends) = ((everything, why), &BOTH[1..]);
        }
        for deviation in self.ends.iter().copied() {
            match self.descend(&best, deviation)? {
                Some(smaller) => best = smaller,
                None => complete = false,
            }
        }
        let bound = self.size(&best.0);
        'sizes: for size in 0..bound {
            let told: Vec<Deviation> = self.ends.iter().copied().filter(|d| self.is_told(*d, size)).collect();
            for deviation in told {
                let mut tried = Some(());
                let found = self.try_all(self.all.clone(), deviation, size, 0, &mut tried)?;
                if let Some(found) = found {
                    best = found;
                    break 'sizes;
                }
                if tried.is_none() {
                    complete = false;
                    break 'sizes;
                }
            }
        }
        Ok(self.witness(best, complete))
    }

    fn count(&self, cut: &Cut, deviation: Deviation) -> usize {
        let is = |n: &&NodeId| match deviation {
            Deviation::Missing => cut.is_out(**n),
            Deviation::Persisted => cut.is_in(**n),
        };
        self.open.iter().filter(is).count()
    }
    /// How many writes tell what a state is: those that are lost, or those that are durable, if there are any. Where recovery fails
    /// with everything durable, only the latter do.
    fn size(&self, cut: &Cut) -> usize {
        let (lost, durable) = (
            self.count(cut, Deviation::Missing),
            self.count(cut, Deviation::Persisted),
        );
        match (self.ends.len(), durable) {
            (1, _) => durable,
            (_, 0) => lost,
            _ => lost.min(durable),
        }
    }
    /// Whether states with so many deviations of a kind are told by them.
    fn is_told(&self, deviation: Deviation, size: usize) -> bool {
        deviation == Deviation::Missing || size > 0 || self.ends.len() == 1
    }
    /// The state with exactly these deviations: all else is as it is at that end.
    fn state(&self, nodes: impl Iterator<Item = NodeId>, deviation: Deviation) -> Cut {
        let (graph, mut cut) = (&self.space.graph, self.all.clone());
        for node in nodes {
            match deviation {
                Deviation::Missing if cut.is_free(node) => graph.exclude(&mut cut, node),
                Deviation::Persisted if cut.is_free(node) => graph.include(&mut cut, node),
                _ => {}
            }
        }
        self.settle(cut, deviation)
    }
    fn settle(&self, mut cut: Cut, deviation: Deviation) -> Cut {
        for node in &self.open {
            if cut.is_free(*node) {
                match deviation {
                    Deviation::Missing => self.space.graph.include(&mut cut, *node),
                    Deviation::Persisted => self.space.graph.exclude(&mut cut, *node),
                }
            }
        }
        cut
    }
    /// What recovery says about a state: `None` when the effort is spent.
    fn fails(&mut self, cut: &Cut) -> Result<Option<Option<String>>, E> {
        let values = self.words.largest(&self.space.graph, cut);
        let crash = self.space.points[self.point].crash.clone();
        let job = ImageJob {
            point: self.point,
            key: self.words.key(&values, &crash),
            crash,
            words: self.words.changes(&values),
            state: cut.clone(),
            values,
        };
        Ok((self.run)(&job)?.map(|a| a.failed))
    }
    /// Takes deviating stores away one at a time, as long as recovery still fails. `None` when the effort is spent.
    fn descend(&mut self, from: &Failing, deviation: Deviation) -> Result<Option<Failing>, E> {
        let mut best = from.clone();
        let deviates = |cut: &Cut, n: NodeId| match deviation {
            Deviation::Missing => cut.is_out(n),
            Deviation::Persisted => cut.is_in(n),
        };
        for node in self.open.clone() {
            if !deviates(&best.0, node) {
                continue;
            }
            let others = self
                .open
                .iter()
                .copied()
                .filter(|n| *n != node && deviates(&best.0, *n));
            let less = self.state(others, deviation);
            if self.count(&less, deviation) >= self.count(&best.0, deviation) {
                continue;
            }
            match self.fails(&less)? {
                None => return Ok(None),
                Some(Some(why)) => best = (less, why),
                Some(None) => {}
            }
        }
        let smaller = self.size(&best.0) < self.size(&from.0);
        Ok(Some(if smaller { best } else { from.clone() }))
    }
    /// Tries every state with exactly `size` deviations, the nodes before `next` being decided.
    fn try_all(
        &mut self,
        cut: Cut,
        deviation: Deviation,
        size: usize,
        next: usize,
        tried: &mut Option<()>,
    ) -> Result<Option<Failing>, E> {
        let deviating = self.count(&cut, deviation);
        if deviating > size || tried.is_none() {
            return Ok(None);
        }
        if deviating == size {
            let state = self.settle(cut, deviation);
            return match self.fails(&state)? {
                None => {
                    *tried = None;
                    Ok(None)
                }
                Some(why) => Ok(why.map(|why| (state, why))),
            };
        }
        let Some(at) = (next..self.open.len()).find(|i| cut.is_free(self.open[*i])) else {
            return Ok(None);
        };
        let (node, graph) = (self.open[at], &self.space.graph);
        let (mut with, mut without) = (cut.clone(), cut);
        match deviation {
            Deviation::Missing => {
                graph.exclude(&mut with, node);
                graph.include(&mut without, node);
            }
            Deviation::Persisted => {
                graph.include(&mut with, node);
                graph.exclude(&mut without, node);
            }
        }
        match self.try_all(with, deviation, size, at + 1, tried)? {
            Some(found) => Ok(Some(found)),
            None => self.try_all(without, deviation, size, at + 1, tried),
        }
    }
    fn witness(&self, (cut, why): Failing, smallest: bool) -> ImageWitness {
        let (durable, lost): (Vec<NodeId>, Vec<NodeId>) = self.open.iter().partition(|n| cut.is_in(**n));
        let stores = |nodes: &[NodeId]| {
            let writes = nodes.iter().flat_map(|n| self.space.graph.writes(*n));
            let mut stores: Vec<StoreId> = writes.filter_map(|w| w.store).collect();
            stores.dedup();
            stores
        };
        let id = id_of(self.space, self.point, &durable, &lost);
        let (persisted, missing) = (stores(&durable), stores(&lost));
        let point = &self.space.points[self.point];
        let executed = (0..point.executed).rev().map(NodeId);
        let newest = executed.flat_map(|n| self.space.graph.writes(n)).find_map(|w| w.store);
        let values = self.words.largest(&self.space.graph, &cut);
        let deviation = match (self.ends.len(), durable.len()) {
            (1, _) => self.ends[0],
            (_, 0) => Deviation::Missing,
            _ => id.deviation,
        };
        ImageWitness {
            deviating_writes: self.size(&cut),
            point: self.point,
            event: point.event,
            crash: point.crash.clone(),
            persisted,
            missing,
            deviation,
            newest,
            smallest,
            why,
            id,
            words: self.words.changes(&values),
        }
    }
}
