//! Relations over at most 128 events, as rows of bits; and plain enumeration.

/// A set of events.
pub(crate) type Row = u128;

/// `rel[a]` has bit b set if (a, b) is in the relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rel(pub Vec<Row>);

impl Rel {
    pub(crate) fn new(n: usize) -> Rel {
        Rel(vec![0; n])
    }
    pub(crate) fn add(&mut self, a: usize, b: usize) {
        self.0[a] |= 1 << b;
    }
    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }
    pub(crate) fn from(n: usize, f: impl Fn(usize, usize) -> bool) -> Rel {
        let row = |a| (0..n).filter(|b| f(a, *b)).fold(0, |row, b| row | 1 << b);
        Rel((0..n).map(row).collect())
    }
    pub(crate) fn or(&self, o: &Rel) -> Rel {
        Rel(self.0.iter().zip(&o.0).map(|(a, b)| a | b).collect())
    }
    pub(crate) fn and(&self, o: &Rel) -> Rel {
        Rel(self.0.iter().zip(&o.0).map(|(a, b)| a & b).collect())
    }
    /// Composition.
    pub(crate) fn then(&self, o: &Rel) -> Rel {
        let row = |bits: Row| {
            (0..o.0.len())
                .filter(|b| bits >> b & 1 == 1)
                .fold(0, |row, b| row | o.0[b])
        };
        Rel(self.0.iter().map(|bits| row(*bits)).collect())
    }
    pub(crate) fn inverse(&self) -> Rel {
        Rel::from(self.0.len(), |a, b| self.has(b, a))
    }
    pub(crate) fn plus(&self) -> Rel {
        let mut closed = self.clone();
        for k in 0..closed.0.len() {
            let through = closed.0[k];
            closed
                .0
                .iter_mut()
                .filter(|row| **row >> k & 1 == 1)
                .for_each(|row| *row |= through);
        }
        closed
    }
    /// With identity.
    pub(crate) fn reflexive(&self) -> Rel {
        Rel(self.0.iter().enumerate().map(|(i, row)| row | 1 << i).collect())
    }
    pub(crate) fn star(&self) -> Rel {
        self.plus().reflexive()
    }
    pub(crate) fn irreflexive(&self) -> bool {
        self.0.iter().enumerate().all(|(i, row)| row >> i & 1 == 0)
    }
    pub(crate) fn acyclic(&self) -> bool {
        self.plus().irreflexive()
    }
    /// Only pairs from `a` to `b`.
    pub(crate) fn between(&self, a: Row, b: Row) -> Rel {
        Rel(self
            .0
            .iter()
            .enumerate()
            .map(|(i, row)| if a >> i & 1 == 1 { row & b } else { 0 })
            .collect())
    }
}

/// Every order of the items.
pub(crate) fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (i, first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(i);
        for mut tail in permutations(&rest) {
            tail.insert(0, *first);
            all.push(tail);
        }
    }
    all
}

/// Every way to pick one of each list.
pub(crate) fn choices<T: Copy>(lists: &[Vec<T>]) -> Vec<Vec<T>> {
    lists.iter().fold(vec![Vec::new()], |done, list| {
        let extend = |d: &Vec<T>| {
            let d = d.clone();
            list.iter()
                .map(move |x| d.iter().copied().chain([*x]).collect())
                .collect::<Vec<_>>()
        };
        done.iter().flat_map(extend).collect()
    })
}
