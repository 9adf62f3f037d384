//! Candidate executions as relations.

use crate::executions::relation::{Rel, low};
use crate::paths::path::Path;

/// Rows of a relation over the events of one path.
pub type Rows = Vec<u64>;

/// What a path fixes of a model's relations. Relations that a model does not use are empty.
#[derive(Clone, Debug, Default)]
pub struct Statics {
    /// What is ordered whatever reads return: all of program order that the model keeps, or nothing.
    pub order: Rows,
    /// Address and data dependences.
    pub data: Rows,
    /// What begins `cc` of Power's preserved program order.
    pub cc: Rows,
    /// What begins `ci`: control and context synchronisation.
    pub ci: Rows,
    /// Strong fences.
    pub strong: Rows,
    /// Light fences.
    pub light: Rows,
    /// Exclusives in program order.
    pub exclusive: Rows,
    /// Program order to the same location.
    pub po_loc: Rows,
}

/// A candidate execution as relations over the events of all threads.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Number of events.
    pub n: usize,
    /// By event: the events of its thread.
    pub thread: [u64; 64],
    /// Events that read.
    pub reads: u64,
    /// Events that write.
    pub writes: u64,
    /// As [`Statics::order`].
    pub order: Rel,
    /// As [`Statics::data`].
    pub data: Rel,
    /// As [`Statics::cc`].
    pub cc: Rel,
    /// As [`Statics::ci`].
    pub ci: Rel,
    /// As [`Statics::strong`].
    pub strong: Rel,
    /// As [`Statics::light`].
    pub light: Rel,
    /// As [`Statics::exclusive`].
    pub exclusive: Rel,
    /// As [`Statics::po_loc`].
    pub po_loc: Rel,
    /// Reads-from; reads of initial values are in none.
    pub rf: Rel,
    /// Coherence; initial writes are left out, nothing comes before them.
    pub co: Rel,
    /// From-read.
    pub fr: Rel,
}

impl Graph {
    /// A candidate without communication yet.
    pub fn new(paths: &[&Path], statics: &[&Statics]) -> Graph {
        let n: usize = paths.iter().map(|p| p.events.len()).sum();
        let none = Rel::empty(n);
        let mut g = Graph {
            n,
            thread: [0; 64],
            reads: 0,
            writes: 0,
            order: none,
            data: none,
            cc: none,
            ci: none,
            strong: none,
            light: none,
            exclusive: none,
            po_loc: none,
            rf: none,
            co: none,
            fr: none,
        };
        let mut first = 0;
        for (path, s) in paths.iter().zip(statics) {
            let own = low(path.events.len()) << first;
            for (i, event) in path.events.iter().enumerate() {
                g.thread[first + i] = own;
                g.reads |= u64::from(event.is_read()) << (first + i);
                g.writes |= u64::from(event.is_write()) << (first + i);
            }
            let parts = [
                (&mut g.order, &s.order),
                (&mut g.data, &s.data),
                (&mut g.cc, &s.cc),
                (&mut g.ci, &s.ci),
                (&mut g.strong, &s.strong),
                (&mut g.light, &s.light),
                (&mut g.exclusive, &s.exclusive),
                (&mut g.po_loc, &s.po_loc),
            ];
            for (rel, rows) in parts {
                rows.iter()
                    .enumerate()
                    .for_each(|(i, row)| rel.add_row(first + i, row << first));
            }
            first += path.events.len();
        }
        g
    }
    /// Pairs of different threads.
    #[must_use]
    pub fn external(&self, rel: &Rel) -> Rel {
        let mut out = Rel::empty(self.n);
        (0..self.n).for_each(|i| out.add_row(i, rel.row(i) & !self.thread[i]));
        out
    }
    /// Pairs of one thread.
    #[must_use]
    pub fn internal(&self, rel: &Rel) -> Rel {
        let mut out = Rel::empty(self.n);
        (0..self.n).for_each(|i| out.add_row(i, rel.row(i) & self.thread[i]));
        out
    }
    /// Adds the communication of one location: who reads from whom and the coherence order.
    pub fn communicate(&mut self, reads_from: &[(u8, Option<u8>)], coherence: &[u8]) {
        let mut later = 0u64;
        for w in coherence.iter().rev() {
            self.co.add_row(usize::from(*w), later);
            later |= 1 << w;
        }
        for (read, source) in reads_from {
            let read = usize::from(*read);
            match source {
                None => self.fr.add_row(read, later),
                Some(w) => {
                    self.rf.add(usize::from(*w), read);
                    let after = self.co.row(usize::from(*w));
                    self.fr.add_row(read, after);
                }
            }
        }
    }
    /// Undoes [`Graph::communicate`].
    pub fn retract(&mut self, reads_from: &[(u8, Option<u8>)], coherence: &[u8]) {
        for w in coherence {
            let w = usize::from(*w);
            let (co, rf) = (self.co.row(w), self.rf.row(w));
            self.co.remove_row(w, co);
            self.rf.remove_row(w, rf);
        }
        for (read, _) in reads_from {
            let read = usize::from(*read);
            let fr = self.fr.row(read);
            self.fr.remove_row(read, fr);
        }
    }
    /// The union of reads-from, coherence and from-read between threads.
    pub fn communication(&self) -> Rel {
        self.external(&self.rf.or(&self.co).or(&self.fr))
    }
}
