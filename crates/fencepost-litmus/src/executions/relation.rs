//! Relations over at most 64 events, as rows of bits: row `a` holds every `b` with `a` related to `b`.

/// A relation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Rel {
    /// Number of events.
    n: u8,
    rows: [u64; 64],
}

impl Rel {
    /// The empty relation over `n` events.
    pub fn empty(n: usize) -> Rel {
        Rel {
            n: n as u8,
            rows: [0; 64],
        }
    }
    /// The identity.
    pub fn identity(n: usize) -> Rel {
        let mut rel = Rel::empty(n);
        (0..n).for_each(|i| rel.rows[i] = 1 << i);
        rel
    }
    /// Number of events.
    pub fn events(&self) -> usize {
        usize::from(self.n)
    }
    /// What `a` is related to.
    pub fn row(&self, a: usize) -> u64 {
        self.rows[a]
    }
    /// Adds a pair.
    pub fn add(&mut self, a: usize, b: usize) {
        self.rows[a] |= 1 << b;
    }
    /// Adds pairs of `a` with each of a set.
    pub fn add_row(&mut self, a: usize, set: u64) {
        self.rows[a] |= set;
    }
    /// Takes away pairs of `a` with each of a set.
    pub fn remove_row(&mut self, a: usize, set: u64) {
        self.rows[a] &= !set;
    }
    /// Whether the pair is in it.
    pub fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a] >> b & 1 == 1
    }
    /// Whether it has no pair.
    pub fn is_empty(&self) -> bool {
        self.rows[..self.events()].iter().all(|r| *r == 0)
    }
    /// Adds another relation's pairs; true if there was a new one.
    pub fn join(&mut self, other: &Rel) -> bool {
        let mut grew = false;
        for i in 0..self.events() {
            let row = self.rows[i] | other.rows[i];
            grew |= row != self.rows[i];
            self.rows[i] = row;
        }
        grew
    }
    /// Union.
    #[must_use]
    pub fn or(&self, other: &Rel) -> Rel {
        let mut out = *self;
        out.join(other);
        out
    }
    /// Intersection.
    #[must_use]
    pub fn and(&self, other: &Rel) -> Rel {
        let mut out = *self;
        (0..self.events()).for_each(|i| out.rows[i] &= other.rows[i]);
        out
    }
    /// Pairs from one set to another.
    #[must_use]
    pub fn between(&self, from: u64, to: u64) -> Rel {
        let mut out = Rel::empty(self.events());
        for i in bits(from).take_while(|i| *i < self.events()) {
            out.rows[i] = self.rows[i] & to;
        }
        out
    }
    /// Composition.
    #[must_use]
    pub fn then(&self, next: &Rel) -> Rel {
        let mut out = Rel::empty(self.events());
        for i in 0..self.events() {
            out.rows[i] = bits(self.rows[i]).fold(0, |row, j| row | next.rows[j]);
        }
        out
    }
    /// The converse.
    #[must_use]
    pub fn inverse(&self) -> Rel {
        let mut out = Rel::empty(self.events());
        for i in 0..self.events() {
            bits(self.rows[i]).for_each(|j| out.rows[j] |= 1 << i);
        }
        out
    }
    /// With every event related to itself.
    #[must_use]
    pub fn reflexive(&self) -> Rel {
        let mut out = *self;
        (0..self.events()).for_each(|i| out.rows[i] |= 1 << i);
        out
    }
    /// Transitive closure.
    #[must_use]
    pub fn plus(&self) -> Rel {
        let mut out = *self;
        for k in 0..out.events() {
            let via = out.rows[k];
            if via == 0 {
                continue;
            }
            for i in 0..out.events() {
                if out.rows[i] >> k & 1 == 1 {
                    out.rows[i] |= via;
                }
            }
        }
        out
    }
    /// Reflexive transitive closure.
    #[must_use]
    pub fn star(&self) -> Rel {
        self.plus().reflexive()
    }
    /// Whether no event is related to itself.
    pub fn irreflexive(&self) -> bool {
        (0..self.events()).all(|i| self.rows[i] >> i & 1 == 0)
    }
    /// Whether it has no cycle.
    pub fn acyclic(&self) -> bool {
        // Events without successors left are taken away until none is, or nothing is left.
        let mut left = low(self.events());
        loop {
            let mut next = left;
            for i in bits(left) {
                if self.rows[i] & next == 0 {
                    next &= !(1 << i);
                }
            }
            if next == 0 {
                return true;
            }
            if next == left {
                return false;
            }
            left = next;
        }
    }
    /// The events of a shortest cycle, in order; empty if there is none.
    pub fn cycle(&self) -> Vec<usize> {
        let mut best: Vec<usize> = Vec::new();
        for start in 0..self.events() {
            let mut from = [usize::MAX; 64];
            let mut queue = std::collections::VecDeque::from([start]);
            let mut seen = 0u64;
            'search: while let Some(a) = queue.pop_front() {
                for b in bits(self.rows[a]) {
                    if b == start {
                        let mut path = vec![a];
                        while path[path.len() - 1] != start {
                            path.push(from[path[path.len() - 1]]);
                        }
                        path.reverse();
                        if best.is_empty() || path.len() < best.len() {
                            best = path;
                        }
                        break 'search;
                    }
                    if seen >> b & 1 == 0 {
                        seen |= 1 << b;
                        from[b] = a;
                        queue.push_back(b);
                    }
                }
            }
        }
        best
    }
}

/// The set of the first `n` events.
pub fn low(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// The members of a set, in order.
pub fn bits(set: u64) -> impl Iterator<Item = usize> {
    let mut left = set;
    std::iter::from_fn(move || {
        let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(bit)
    })
}
