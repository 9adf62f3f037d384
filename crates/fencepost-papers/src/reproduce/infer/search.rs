//! The directed search: from what was tried towards joint readings that meet more of some rows.
//!
//! It begins from a broad sample, a Latin hypercube. Then it goes on from the best so far: single changes of the best, pairs of
//! changes, and crosses of two good ones. Either way several times as many are judged in part first as go on to full length
//! (successive halving): what is bad shows in a fifth of a run.
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
    /// A part of it: enough to tell bad from better.
    Part,
}

/// What judges joint readings: the claims of each, in the order of the rows; `None` where inputs contradict each other.
pub(super) type Judge<'a, E> = dyn FnMut(&[Taken], Length) -> Result<Vec<Option<Vec<Judged>>>, E> + 'a;

/// Good joint readings that moves start from.
const ELITE: usize = 12;
/// Of those judged in part, one in so many goes on to full length.
const KEEP: usize = 4;
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
    /// Joint readings that were judged in part.
    pub in_part: HashSet<Taken>,
    /// Joint readings asked for at once: they share runs, and run side by side.
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
        for some in new.chunks(self.batch) {
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
    /// Tries a Latin hypercube of `n` joint readings in part, and the quarter of them that meets most of `rows` at full length.
    pub(super) fn sample(&mut self, n: usize, rows: &[usize]) -> Result<(), E> {
        let all = self.space.latin(n, &mut self.dice);
        let better = self.better(all, n.div_ceil(KEEP), rows)?;
        self.try_all(better)
    }
    /// Tries up to `tries` further joint readings on the way to one that meets most of `rows`; ends early when one meets all, or
    /// nothing new is found.
    pub(super) fn towards(&mut self, rows: &[usize], tries: usize) -> Result<(), E> {
        let end = self.count() + tries;
        while self.count() < end && !self.archive.tried.iter().any(|t| t.meets(rows)) {
            let n = self.batch.min(end - self.count());
            let moves = self.moves(rows, KEEP * n);
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
        if all.len() <= n {
            return Ok(all);
        }
        let mut small = Archive::default();
        for some in all.chunks(self.batch) {
            let judged = (self.judge)(some, Length::Part)?;
            for (taken, rows) in some.iter().zip(judged) {
                let taken = taken.clone();
                match rows {
                    Some(rows) => small.add(Tried { taken, rows }),
                    None if self.impossible.contains(&taken) => {}
                    None => self.impossible.push(taken),
                }
            }
        }
        self.in_part.extend(all);
        Ok(small.best(rows, n).into_iter().map(|t| t.taken.clone()).collect())
    }
    /// How many joint readings were asked for at full length.
    pub(super) fn count(&self) -> usize {
        self.archive.tried.len() + self.impossible.len()
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
        search.towards(&rows, 1500).unwrap();
        assert!(
            search.archive.best(&rows, 1)[0].meets(&rows),
            "not found in {}",
            search.count()
        );
        assert!(search.count() < 1500);
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
        search.towards(&[0], 200).unwrap();
        search.towards(&[1], 200).unwrap();
        search.towards(&[0, 1], 200).unwrap();
        let met = |rows: &[usize]| search.archive.tried.iter().any(|t| t.meets(rows));
        assert!(met(&[0]) && met(&[1]) && !met(&[0, 1]));
    }
    #[test]
    fn a_small_space_is_exhausted_and_what_is_impossible_is_asked_once() {
        let space = Space::new(vec![2, 2]);
        let mut asked = Vec::new();
        let mut of_judge = |all: &[Taken], _: Length| {
            asked.extend(all.to_vec());
            let rows = |t: &Taken| (*t != vec![1, 1]).then(|| vec![Judged::order(false)]);
            Ok::<_, Infallible>(all.iter().map(rows).collect())
        };
        let mut search = Search::new(&space, 1, 3, &mut of_judge);
        search.try_all(vec![vec![0, 0]]).unwrap();
        search.towards(&[0], 100).unwrap();
        assert_eq!((search.archive.tried.len(), search.impossible.len()), (3, 1));
        drop(search);
        asked.sort();
        assert_eq!(asked, [vec![0, 0], vec![0, 1], vec![1, 0], vec![1, 1]]);
    }
    /// The better quarter of a sample goes on; judged in part only, the others are not counted as tried.
    #[test]
    fn the_better_quarter_of_a_sample_goes_on() {
        let space = Space::new(vec![8, 8]);
        let mut parts = 0;
        let mut of_judge = |all: &[Taken], length: Length| {
            parts += if length == Length::Part { all.len() } else { 0 };
            let near = |t: &Taken| Some(vec![Judged::number(1.0 + (t[0] + t[1]) as f64, 1.0, false)]);
            Ok::<_, Infallible>(all.iter().map(near).collect())
        };
        let mut search = Search::new(&space, 1, 5, &mut of_judge);
        search.sample(16, &[0]).unwrap();
        assert_eq!(search.archive.tried.len(), 4);
        let worst = search.archive.tried.iter().map(|t| t.taken[0] + t.taken[1]).max();
        drop(search);
        assert_eq!(parts, 16);
        assert!(worst.is_some_and(|w| w <= 6), "{worst:?}");
    }
}
