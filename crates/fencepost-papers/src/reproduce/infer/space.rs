//! The space of joint readings: one reading of every input.

use fencepost_kernel::rng::Stream;
use std::collections::BTreeSet;

/// A joint reading: the index of the reading taken, per input.
pub(super) type Taken = Vec<usize>;

/// How many readings each input has.
#[derive(Clone, Debug)]
pub(super) struct Space {
    levels: Vec<usize>,
}

impl Space {
    /// Inputs with so many readings each; an input with a single one is never changed.
    pub(super) fn new(levels: Vec<usize>) -> Space {
        Space { levels }
    }
    /// Number of inputs.
    pub(super) fn inputs(&self) -> usize {
        self.levels.len()
    }
    /// How many joint readings there are.
    pub(super) fn size(&self) -> f64 {
        self.levels.iter().map(|n| *n as f64).product()
    }
    /// Every joint reading that differs from one in a single input.
    pub(super) fn neighbours(&self, of: &Taken) -> Vec<Taken> {
        let changed = |i: usize, r: usize| {
            let mut taken = of.clone();
            taken[i] = r;
            taken
        };
        let others = |i: usize| (0..self.levels[i]).filter(move |r| *r != of[i]);
        (0..self.inputs())
            .flat_map(|i| others(i).map(move |r| changed(i, r)))
            .collect()
    }
    /// A Latin hypercube: in `n` joint readings every reading of an input occurs equally often, up to one, in shuffled order.
    pub(super) fn latin(&self, n: usize, dice: &mut Stream) -> Vec<Taken> {
        let column = |levels: &usize, dice: &mut Stream| {
            let mut column: Vec<usize> = (0..n).map(|s| s % levels).collect();
            for s in (1..n).rev() {
                column.swap(s, dice.below(s as u64 + 1) as usize);
            }
            column
        };
        let columns: Vec<Vec<usize>> = self.levels.iter().map(|l| column(l, dice)).collect();
        (0..n).map(|s| columns.iter().map(|c| c[s]).collect()).collect()
    }
    /// Another reading of `inputs` different inputs of a joint reading, or of as many as can change.
    pub(super) fn changed(&self, of: &Taken, inputs: usize, dice: &mut Stream) -> Taken {
        let open: Vec<usize> = (0..self.inputs()).filter(|i| self.levels[*i] > 1).collect();
        let (mut taken, mut done) = (of.clone(), BTreeSet::new());
        while done.len() < inputs.min(open.len()) {
            let i = open[dice.below(open.len() as u64) as usize];
            if done.insert(i) {
                let step = 1 + dice.below(self.levels[i] as u64 - 1) as usize;
                taken[i] = (taken[i] + step) % self.levels[i];
            }
        }
        taken
    }
    /// Every input as in one or the other of two joint readings.
    pub(super) fn crossed(&self, a: &Taken, b: &Taken, dice: &mut Stream) -> Taken {
        let either = |(x, y): (&usize, &usize)| if dice.chance(1, 2) { *x } else { *y };
        a.iter().zip(b).map(either).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_differ_in_one_input_and_are_all() {
        let space = Space::new(vec![2, 3, 1, 4]);
        assert_eq!(space.size(), 24.0);
        let of = vec![0, 1, 0, 2];
        let n = space.neighbours(&of);
        assert_eq!(n.len(), 1 + 2 + 3);
        let different = |t: &Taken| t.iter().zip(&of).filter(|(x, y)| x != y).count();
        assert!(n.iter().all(|t| different(t) == 1));
        assert_eq!(n.iter().collect::<BTreeSet<_>>().len(), n.len());
    }
    #[test]
    fn every_reading_occurs_equally_often_in_a_latin_hypercube() {
        let space = Space::new(vec![2, 3, 5]);
        let all = space.latin(30, &mut Stream::new(7, "latin"));
        for (i, levels) in [2, 3, 5].into_iter().enumerate() {
            for r in 0..levels {
                assert_eq!(all.iter().filter(|t| t[i] == r).count(), 30 / levels);
            }
        }
    }
    #[test]
    fn as_many_inputs_change_as_asked() {
        let space = Space::new(vec![2, 3, 1, 4]);
        let mut dice = Stream::new(1, "changed");
        for n in [1, 2, 3, 9] {
            for _ in 0..100 {
                let t = space.changed(&vec![1, 2, 0, 3], n, &mut dice);
                let different = t.iter().zip([1, 2, 0, 3]).filter(|(x, y)| **x != *y).count();
                assert_eq!(different, n.min(3), "the third input has one reading");
            }
        }
        let crossed = space.crossed(&vec![0, 0, 0, 0], &vec![1, 2, 0, 3], &mut dice);
        assert!(crossed.iter().zip([1, 2, 0, 3]).all(|(x, y)| *x == 0 || *x == y));
    }
}
