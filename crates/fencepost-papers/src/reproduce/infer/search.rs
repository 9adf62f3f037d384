//! The directed search: from what was tried towards joint readings that meet more of some rows.
//!
//! It begins from a broad sample, a Latin hypercube. Then it goes on from the best so far: single changes of the best, pairs of
//! changes, and crosses of two good ones. Either way most are judged in part only (successive halving): all with the beginning of
//! each run, the better quarter of them with a fifth, and the better third of those at full length.
//! It only asks; what asks the simulator is the judge, so that tests can search functions whose optimum is known.

use super::archive::{Archive, Judged, Tried};
use super::space::{Space, Taken};
use fencepost_kernel::rng::Stream;
use std::collections::HashSet;

/// How much work stands behind a judgement.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// The whole run.
    Whole,
    /// A fifth of it: enough to tell good from better.
    Fifth,
    /// A 25th of it: enough to tell bad from good.
    Beginning,
}
impl Length {
    /// One part of so many.
    pub(super) const fn of(self) -> u32 {
        match self {
            Length::Whole => 1,
            Length::Fifth => 5,
            Length::Beginning => 25,
        }
    }
    /// Joint readings judged at once, where a search goes on from so many at whole length: the shorter the runs, the more. Four times
    /// what one step has, where more are known: at the end of each call threads wait for the last run.
    const fn batch(self, step: usize) -> usize {
        let whole = 4 * step;
        match self {
            Length::Whole => whole,
            Length::Fifth => KEEP * whole,
            Length::Beginning => TRIED * whole,
        }
    }
}

/// What judges joint readings: the claims of each, in the order of the rows; `None` where inputs contradict each other.
pub(super) type Judge<'a, E> = dyn FnMut(&[Taken], Length) -> Result<Vec<Option<Vec<Judged>>>, E> + 'a;

/// Good joint readings that moves start from.
const ELITE: usize = 12;
/// Of so many judged with a fifth of each run, one goes on to full length.
const KEEP: usize = 3;
/// Joint readings that are tried for each that goes on to full length.
pub(super) const TRIED: usize = 12;
/// Moves that are looked for before a search gives up: the space may be exhausted.
const PATIENCE: usize = 200;

/// A search in progress.
pub(super) struct Search<'a, E> {
    /// The space.
    pub space: &'a Space,
    /// What was tried.
    pub archive: Archive,
    /// Joint readings whose inputs contradict each other.
    pub impossible: Vec<Taken>,
    /// Joint readings that were judged in part, whether or not they went on.
    pub in_part: HashSet<Taken>,
    /// Joint readings that were judged, at whatever length, or cannot be.
    pub judged: HashSet<Taken>,
    /// Joint readings at whole length that a step of a search goes on from: they share runs, and run side by side.
    pub batch: usize,
    dice: Stream,
    judge: &'a mut Judge<'a, E>,
}

impl<'a, E> Search<'a, E> {
    /// A search that has tried nothing.
    pub(super) fn new(space: &'a Space, seed: u64, batch: usize, judge: &'a mut Judge<'a, E>) -> Search<'a, E> {
        Search {
            space,
            archive: Archive::default(),
            impossible: Vec::new(),
            in_part: HashSet::new(),
            judged: HashSet::new(),
            batch: batch.max(1),
            dice: Stream::new(seed, "infer"),
            judge,
        }
    }
    /// Tries joint readings at full length, but for those that were tried.
    pub(super) fn try_all(&mut self, all: Vec<Taken>) -> Result<(), E> {
        let mut new: Vec<Taken> = Vec::new();
        for t in all {
            if !self.known(&t) && !new.contains(&t) {
                new.push(t);
            }
        }
        for some in new.chunks(Length::Whole.batch(self.batch)) {
            self.judged.extend(some.iter().cloned());
            let judged = (self.judge)(some, Length::Whole)?;
            for (taken, rows) in some.iter().zip(judged) {
                match rows {
                    Some(rows) => self.archive.add(Tried {
                        taken: taken.clone(),
                        rows,
                    }),
                    None => self.impossible.push(taken.clone()),
                }
            }
        }
        Ok(())
    }
    /// Tries a Latin hypercube of `n` joint readings, of which those that meet most of `rows` go on to full length.
    pub(super) fn sample(&mut self, n: usize, rows: &[usize]) -> Result<(), E> {
        let all = self.space.latin(n, &mut self.dice);
        let better = self.better(all, n.div_ceil(TRIED), rows)?;
        self.try_all(better)
    }
    /// Tries up to `tries` further joint readings on the way to one that meets most of `rows`; ends early when one meets all, or
    /// nothing new is found. One that was judged in part may be tried again: other rows were looked at then.
    pub(super) fn towards(&mut self, rows: &[usize], tries: usize) -> Result<(), E> {
        let (end, whole) = (self.count() + tries, self.archive.tried.len() + tries.div_ceil(TRIED));
        let met = |s: &Self| s.archive.tried.iter().any(|t| t.meets(rows));
        while self.count() < end && self.archive.tried.len() < whole && !met(self) {
            let most = (end - self.count()).min(TRIED * self.batch);
            let moves = self.moves(rows, most);
            let n = moves.len().div_ceil(TRIED);
            let moves = self.better(moves, n, rows)?;
            if moves.is_empty() {
                break;
            }
            self.try_all(moves)?;
        }
        Ok(())
    }
    /// The `n` that meet most of `rows` in part; all of them where they are no more.
    fn better(&mut self, all: Vec<Taken>, n: usize, rows: &[usize]) -> Result<Vec<Taken>, E> {
        let good = self.best_of(all, KEEP * n, (rows, Length::Beginning))?;
        self.best_of(good, n, (rows, Length::Fifth))
    }
    /// The `n` that meet most of `rows` at a length; all of them where they are no more.
    fn best_of(&mut self, all: Vec<Taken>, n: usize, (rows, length): (&[usize], Length)) -> Result<Vec<Taken>, E> {
        if all.len() <= n {
            return Ok(all);
        }
        let mut small = Archive::default();
        for some in all.chunks(length.batch(self.batch)) {
            let judged = (self.judge)(some, length)?;
            for (taken, rows) in some.iter().zip(judged) {
                let taken = taken.clone();
                match rows {
                    Some(rows) => small.add(Tried { taken, rows }),
                    None if self.impossible.contains(&taken) => {}
                    None => self.impossible.push(taken),
                }
            }
        }
        self.judged.extend(all.iter().cloned());
        self.in_part.extend(all);
        Ok(small.best(rows, n).into_iter().map(|t| t.taken.clone()).collect())
    }
    /// How many joint readings were tried.
    pub(super) fn count(&self) -> usize {
        self.judged.len()
    }
    fn known(&self, taken: &Taken) -> bool {
        self.archive.has(taken) || self.impossible.contains(taken)
    }
    /// New joint readings near the best.
    fn moves(&mut self, rows: &[usize], n: usize) -> Vec<Taken> {
        let elite: Vec<Taken> = self.archive.best(rows, ELITE).iter().map(|t| t.taken.clone()).collect();
        let Some(best) = elite.first() else { return Vec::new() };
        let mut singles: Vec<Taken> = (self.space.neighbours(best).into_iter())
            .filter(|t| !self.known(t))
            .collect();
        let mut out: Vec<Taken> = Vec::new();
        for _ in 0..PATIENCE * n {
            if out.len() == n {
                break;
            }
            let parent = &elite[self.dice.below(elite.len() as u64) as usize];
            let taken = match self.dice.below(8) {
                0..=2 if !singles.is_empty() => singles.swap_remove(self.dice.below(singles.len() as u64) as usize),
                0..=4 => self.space.changed(parent, 2, &mut self.dice),
                5 => self.space.changed(parent, 1, &mut self.dice),
                6 => {
                    let other = &elite[self.dice.below(elite.len() as u64) as usize];
                    self.space.crossed(parent, other, &mut self.dice)
                }
                _ => self.space.changed(parent, 3, &mut self.dice),
            };
            if !self.known(&taken) && !out.contains(&taken) {
                out.push(taken);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Twelve inputs of three readings; row `r` is met where inputs `r` and `r + 6` both take reading 2, and is half as near
    /// where one of them does. 531,441 joint readings, of which one meets all six rows.
    fn judge(all: &[Taken], _: Length) -> Result<Vec<Option<Vec<Judged>>>, Infallible> {
        let row = |t: &Taken, r: usize| {
            let both = usize::from(t[r] == 2) + usize::from(t[r + 6] == 2);
            Judged {
                value: None,
                met: both == 2,
                near: both as f64 / 2.0,
            }
        };
        Ok(all.iter().map(|t| Some((0..6).map(|r| row(t, r)).collect())).collect())
    }

    #[test]
    fn it_finds_what_random_samples_do_not() {
        let (space, rows) = (Space::new(vec![3; 12]), [0, 1, 2, 3, 4, 5]);
        let mut of_judge = judge;
        let mut search = Search::new(&space, 1, 8, &mut of_judge);
        search.try_all(vec![vec![0; 12]]).unwrap();
        search.towards(&rows, 1500 * TRIED).unwrap();
        assert!(
            search.archive.best(&rows, 1)[0].meets(&rows),
            "not found in {}",
            search.count()
        );
        assert!(search.archive.tried.len() < 1500);
        // As many at random never do: one of 531,441 would.
        let random = space.latin(search.count(), &mut Stream::new(1, "random"));
        let most = judge(&random, Length::Whole).unwrap().into_iter().flatten();
        let most = most.map(|r| r.iter().filter(|j| j.met).count()).max().unwrap();
        assert!(most < 6, "{most}");
    }
    /// A pair that contradicts is never met together, however long the search; the two alone are.
    #[test]
    fn contradictions_stay_apart() {
        let space = Space::new(vec![4; 6]);
        let mut of_judge = |all: &[Taken], _: Length| {
            let rows = |t: &Taken| Some(vec![Judged::order(t[0] == 1 && t[1] == 1), Judged::order(t[0] == 2)]);
            Ok::<_, Infallible>(all.iter().map(rows).collect())
        };
        let mut search = Search::new(&space, 3, 4, &mut of_judge);
        search.try_all(vec![vec![0; 6]]).unwrap();
        search.towards(&[0], 200 * TRIED).unwrap();
        search.towards(&[1], 200 * TRIED).unwrap();
        search.towards(&[0, 1], 200 * TRIED).unwrap();
        let met = |rows: &[usize]| search.archive.tried.iter().any(|t| t.meets(rows));
        assert!(met(&[0]) && met(&[1]) && !met(&[0, 1]));
    }
    #[test]
    fn a_small_space_is_exhausted_and_what_is_impossible_is_asked_once() {
        let space = Space::new(vec![2, 2]);
        let mut asked = Vec::new();
        let mut of_judge = |all: &[Taken], length: Length| {
            asked.extend(all.iter().map(|t| (t.clone(), length)));
            let rows = |t: &Taken| (*t != vec![1, 1]).then(|| vec![Judged::order(false)]);
            Ok::<_, Infallible>(all.iter().map(rows).collect())
        };
        let mut search = Search::new(&space, 1, 3, &mut of_judge);
        search.try_all(vec![vec![0, 0]]).unwrap();
        search.towards(&[0], 100 * TRIED).unwrap();
        assert_eq!((search.archive.tried.len(), search.impossible.len()), (3, 1));
        assert_eq!(search.count(), 4);
        drop(search);
        assert_eq!(asked.iter().filter(|a| a.0 == [1, 1]).count(), 1);
        asked.retain(|a| a.1 == Length::Whole && a.0 != [1, 1]);
        asked.sort_by(|a, b| a.0.cmp(&b.0));
        let whole: Vec<Taken> = asked.into_iter().map(|a| a.0).collect();
        assert_eq!(whole, [vec![0, 0], vec![0, 1], vec![1, 0]]);
    }
    /// Of a sample the better quarter is judged again with longer runs and the better third of that at full length; a joint reading counts
    /// once, however far it came.
    #[test]
    fn the_better_part_of_a_sample_goes_on() {
        let space = Space::new(vec![48, 48]);
        let mut judged = Vec::new();
        let sum = |t: &Taken| t[0] + t[1];
        let mut of_judge = |all: &[Taken], length: Length| {
            judged.extend(all.iter().map(|t| (length, sum(t))));
            let near = |t: &Taken| Some(vec![Judged::number(1.0 + sum(t) as f64, 1.0, false)]);
            Ok::<_, Infallible>(all.iter().map(near).collect())
        };
        let mut search = Search::new(&space, 1, 5, &mut of_judge);
        search.sample(48, &[0]).unwrap();
        assert_eq!(
            (search.count(), search.in_part.len(), search.archive.tried.len()),
            (48, 48, 4)
        );
        drop(search);
        let of = |length: Length| {
            let mut all: Vec<usize> = judged.iter().filter(|j| j.0 == length).map(|j| j.1).collect();
            all.sort_unstable();
            all
        };
        let (all, good, best) = (of(Length::Beginning), of(Length::Fifth), of(Length::Whole));
        assert_eq!([all.len(), good.len(), best.len()], [48, 12, 4]);
        assert_eq!((&good[..], &best[..]), (&all[..12], &all[..4]));
    }
}
