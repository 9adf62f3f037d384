//! Cycles of relations, from which tests are made.

use super::edge::{Com, Direction, Link};

/// A step of a cycle.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Edge {
    /// Between two accesses of a thread, to different locations.
    Program(Link),
    /// To another thread, at one location.
    Com(Com),
    /// Recovery after a power failure reads two locations at once.
    Recovery,
}

/// A cycle: each event's direction and the edge to the next event; the last edge leads to the first event. It begins behind a
/// communication and with an edge of program order (or recovery).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cycle(pub Vec<(Direction, Edge)>);

/// Communications that may follow each other; others come down to a single one.
fn may_follow(first: Com, second: Com) -> bool {
    matches!((first, second), (Com::Coe | Com::Fre, Com::Rfe))
}

impl Cycle {
    /// Every cycle of at most `edges` edges and `threads` threads, its program order plain: skeletons, smallest first. With
    /// `crash`, one more pair of reads is recovery's.
    pub fn skeletons(edges: usize, threads: usize, crash: bool) -> Vec<Cycle> {
        let mut found = Vec::new();
        for length in 3..=edges {
            let mut walk = Walk {
                length,
                threads: threads + usize::from(crash),
                crash,
                found: &mut found,
            };
            for first in [Direction::R, Direction::W] {
                walk.extend(&mut vec![first], &mut Vec::new());
            }
        }
        found
    }

    fn links(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len()).filter(|i| matches!(self.0[*i].1, Edge::Program(_)))
    }
    /// What follows event `i`.
    pub fn next(&self, i: usize) -> usize {
        (i + 1) % self.0.len()
    }
    /// Every way to fill its program order from a list of links.
    pub fn filled(&self, links: &[Link]) -> Vec<Cycle> {
        let mut all = vec![self.clone()];
        for at in self.links() {
            let (from, to) = (self.0[at].0, self.0[self.next(at)].0);
            let fill = |cycle: &Cycle| {
                let fitting = links.iter().filter(|l| l.fits(from, to));
                let filled = fitting.map(|link| {
                    let mut cycle = cycle.clone();
                    cycle.0[at].1 = Edge::Program(*link);
                    cycle
                });
                filled.collect::<Vec<_>>()
            };
            all = all.iter().flat_map(fill).collect();
        }
        all
    }
    /// Its program order filled with one link wherever that fits, `otherwise` elsewhere.
    pub fn uniform(&self, link: Link, otherwise: Link) -> Cycle {
        let mut cycle = self.clone();
        for at in self.links() {
            let (from, to) = (self.0[at].0, self.0[self.next(at)].0);
            let here = [link, otherwise].into_iter().find(|l| l.fits(from, to));
            cycle.0[at].1 = Edge::Program(here.unwrap_or(Link::Po));
        }
        cycle
    }
    /// The links in order.
    pub fn link_names(&self) -> Vec<String> {
        let link = |i: usize| match self.0[i].1 {
            Edge::Program(link) => Some(link.name()),
            _ => None,
        };
        (0..self.0.len()).filter_map(link).collect()
    }
    fn smallest_rotation(&self) -> bool {
        let n = self.0.len();
        let starts =
            |r: &usize| !matches!(self.0[*r].1, Edge::Com(_)) && matches!(self.0[(*r + n - 1) % n].1, Edge::Com(_));
        let rotated = |r: usize| [&self.0[r..], &self.0[..r]].concat();
        (1..n).filter(starts).all(|r| rotated(r) >= self.0)
    }
}

struct Walk<'f> {
    length: usize,
    threads: usize,
    crash: bool,
    found: &'f mut Vec<Cycle>,
}

impl Walk<'_> {
    /// Adds the edge behind event `edges.len()`, the first being one of program order.
    fn extend(&mut self, events: &mut Vec<Direction>, edges: &mut Vec<Edge>) {
        if edges.len() == self.length {
            return self.close(events, edges);
        }
        let here = events[edges.len()];
        let last = edges.len() + 1 == self.length;
        let last_com = match edges.last() {
            Some(Edge::Com(com)) => Some(*com),
            _ => None,
        };
        let first = edges.is_empty();
        if !last {
            // In a critical cycle a thread has at most two accesses; on the way to a power failure every store of it counts.
            let long = !self.crash && matches!(edges.last(), Some(Edge::Program(_)));
            for to in [Direction::R, Direction::W].into_iter().filter(|_| !long) {
                self.step(events, edges, to, Edge::Program(Link::Po));
            }
            // Recovery reads: it follows an external read and is followed by what overwrites its second read.
            if self.crash
                && here == Direction::R
                && (first || last_com == Some(Com::Rfe))
                && !edges.contains(&Edge::Recovery)
            {
                self.step(events, edges, Direction::R, Edge::Recovery);
            }
        }
        if first {
            return;
        }
        for com in [Com::Rfe, Com::Fre, Com::Coe] {
            let (from, to) = com.ends();
            let follows = last_com.is_none_or(|l| may_follow(l, com));
            let after_recovery = edges.last() != Some(&Edge::Recovery) || com == Com::Fre;
            let communications = edges.iter().filter(|e| matches!(e, Edge::Com(_))).count();
            if from == here && follows && after_recovery && communications < self.threads {
                self.step(events, edges, to, Edge::Com(com));
            }
        }
    }

    fn step(&mut self, events: &mut Vec<Direction>, edges: &mut Vec<Edge>, to: Direction, edge: Edge) {
        // Recovery's two reads stand alone.
        if edges.last() == Some(&Edge::Recovery) && !matches!(edge, Edge::Com(_)) {
            return;
        }
        edges.push(edge);
        events.push(to);
        self.extend(events, edges);
        events.pop();
        edges.pop();
    }

    fn close(&mut self, events: &[Direction], edges: &[Edge]) {
        let closes = events[self.length] == events[0] && matches!(edges[self.length - 1], Edge::Com(_));
        let program = edges.iter().filter(|e| !matches!(e, Edge::Com(_))).count();
        let communications = self.length - program;
        let recovery = edges.contains(&Edge::Recovery);
        // Recovery that begins the cycle must follow an external read.
        let sound = edges[0] != Edge::Recovery || edges[self.length - 1] == Edge::Com(Com::Rfe);
        if !closes || program < 2 || recovery != self.crash || !sound || communications < 2 {
            return;
        }
        let cycle = Cycle(
            events[..self.length]
                .iter()
                .copied()
                .zip(edges.iter().copied())
                .collect(),
        );
        if cycle.smallest_rotation() && !self.found.contains(&cycle) {
            self.found.push(cycle);
        }
    }
}
