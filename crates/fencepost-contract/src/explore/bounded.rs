//! Bounded exploration: crash states in which few cache lines deviate from "all durable" or from "nothing durable".

use super::known::{Known, Status};
use super::path::Path;
use crate::graph::{NodeId, PersistGraph};
use fencepost_kernel::{Addr, LineAddr};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Undecided nodes of one cache line.
struct Line {
    /// Nodes by location, in coherence order; one list if the line's nodes are ordered among themselves.
    chains: Vec<Vec<u32>>,
}

/// The states of one failure point, by number of deviating lines.
pub(super) struct Neighbours {
    lines: Vec<Line>,
    free: Vec<u32>,
    seen: FxHashSet<u128>,
}

impl Neighbours {
    /// Sorts the undecided nodes of the failure point at which `known` stands into lines (a transaction that writes
    /// several lines counts for its first).
    pub(super) fn new(known: &Known, graph: &PersistGraph) -> Neighbours {
        let free: Vec<u32> = known.open_stores().map(|n| n.0).collect();
        let mut lines: BTreeMap<LineAddr, BTreeMap<Addr, Vec<u32>>> = BTreeMap::new();
        for &n in &free {
            let at = graph.writes(NodeId(n))[0].at;
            lines.entry(at.line()).or_default().entry(at).or_default().push(n);
        }
        let order = known.order();
        let line = |places: BTreeMap<Addr, Vec<u32>>| {
            let mut all: Vec<u32> = places.values().flatten().copied().collect();
            all.sort_unstable();
            let ordered = all.windows(2).all(|w| order.before(w[1]).contains(&w[0]));
            Line {
                chains: if ordered {
                    vec![all]
                } else {
                    places.into_values().collect()
                },
            }
        };
        Neighbours {
            lines: lines.into_values().map(line).collect(),
            free,
            seen: FxHashSet::default(),
        }
    }
    /// Number of lines with something undecided: with this many deviations, every state has been visited.
    pub(super) fn lines(&self) -> u32 {
        self.lines.len() as u32
    }
    /// Number of distinct states visited so far.
    pub(super) fn visited(&self) -> u128 {
        self.seen.len() as u128
    }
    /// Calls `visit`, with `path` settled to one state, for every state not visited before in which `t` lines
    /// deviate from one of the two ends. Stops when told to.
    pub(super) fn visit<B>(
        &mut self,
        path: &mut Path,
        t: u32,
        visit: &mut dyn FnMut(&mut Path) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for lose in [true, false] {
            let mut walk = Walk {
                lines: &self.lines,
                free: &self.free,
                seen: &mut self.seen,
                picked: Vec::new(),
                lose,
                visit,
            };
            walk.pick_lines(path, 0, t)?;
        }
        ControlFlow::Continue(())
    }
}

struct Walk<'a, B> {
    lines: &'a [Line],
    free: &'a [u32],
    seen: &'a mut FxHashSet<u128>,
    /// Where lines deviate so far: first lost stores, or last durable ones, none of which follows from another.
    picked: Vec<u32>,
    /// Deviating lines lose their last stores; otherwise only they have stores durable.
    lose: bool,
    visit: &'a mut dyn FnMut(&mut Path) -> ControlFlow<B>,
}

impl<B> Walk<'_, B> {
    fn pick_lines(&mut self, path: &mut Path, from: usize, left: u32) -> ControlFlow<B> {
        if left == 0 {
            return self.settle(path);
        }
        for i in from..(self.lines.len() + 1).saturating_sub(left as usize) {
            self.deviate(path, (i, self.picked.len()), 0, left)?;
        }
        ControlFlow::Continue(())
    }
    /// Tries every deviation of chain `chain` of line `line`, then the following chains, then further lines. `before`: picks of
    /// earlier lines.
    fn deviate(&mut self, path: &mut Path, (line, before): (usize, usize), chain: usize, left: u32) -> ControlFlow<B> {
        let lines = self.lines;
        let Some(nodes) = lines[line].chains.get(chain) else {
            return match self.picked.len() > before {
                true => self.pick_lines(path, line + 1, left - 1),
                // The line does not deviate.
                false => ControlFlow::Continue(()),
            };
        };
        if lines[line].chains.len() > 1 {
            // The chain stays as it is at this end.
            self.deviate(path, (line, before), chain + 1, left)?;
        }
        for &n in nodes {
            // What follows from earlier picks is a state in which fewer lines deviate.
            if path.known.status(NodeId(n)) != Status::Free {
                continue;
            }
            let mark = path.known.mark();
            match self.lose {
                true => path.known.exclude(n),
                false => path.known.include(n),
            }
            self.picked.push(n);
            let flow = match self.each_is_at_the_edge(path) {
                true => self.deviate(path, (line, before), chain + 1, left),
                false => ControlFlow::Continue(()),
            };
            self.picked.pop();
            path.known.undo_to(mark);
            flow?;
        }
        ControlFlow::Continue(())
    }
    /// Whether no pick follows from another. Without this the picks of stores in one long order would be as many as their subsets,
    /// and the states that they lead to as few as the stores.
    fn each_is_at_the_edge(&self, path: &Path) -> bool {
        let order = path.known.order();
        let is = |status: Status| move |n: &u32| path.known.status(NodeId(*n)) == status;
        self.picked.iter().all(|p| match self.lose {
            true => !order.before(*p).iter().any(is(Status::Out)),
            false => !order.after(*p).iter().any(is(Status::In)),
        })
    }
    fn settle(&mut self, path: &mut Path) -> ControlFlow<B> {
        let mark = path.known.mark();
        for n in self.free {
            if path.known.status(NodeId(*n)) == Status::Free {
                if self.lose {
                    path.known.include(*n);
                } else {
                    path.known.exclude(*n);
                }
            }
        }
        let durable = self.free.iter().map(|n| path.known.status(NodeId(*n)) == Status::In);
        let name = durable
            .zip(self.free)
            .filter(|(durable, _)| *durable)
            .fold(0, |h, (_, n)| h ^ name_of(*n));
        let flow = if self.seen.insert(name) {
            (self.visit)(path)
        } else {
            ControlFlow::Continue(())
        };
        path.known.undo_to(mark);
        flow
    }
}
/// Sets of nodes are named by the exclusive or of 128 random-looking bits for each member.
fn name_of(node: u32) -> u128 {
    let half = |salt| u128::from(fencepost_kernel::rng::hash(&[u64::from(node), salt]));
    half(1) << 64 | half(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::order::Order;
    use crate::graph::{Axiom, Grain, GraphBuilder, Write};
    use fencepost_kernel::{HwThread, Image, Stream};
    use std::collections::BTreeSet;
    use std::panic::Location;
    use std::rc::Rc;

    fn random_graph(rng: &mut Stream) -> PersistGraph {
        let mut g = GraphBuilder::new(Image::default(), Grain::Word);
        let at = |i: u64| Addr::pm(i / 2 * 64 + i % 2 * 8);
        for n in 0..3 + rng.below(6) as u32 {
            let node = g.node();
            let source = Location::caller().into();
            g.write(Write {
                at: at(rng.below(6)),
                value: u64::from(n),
                store: None,
                thread: HwThread(0),
                nt: false,
                source,
            });
            for _ in 0..rng.below(3) {
                if n > 0 {
                    g.edge(NodeId(rng.below(u64::from(n)) as u32), node, Axiom::SameLine)
                        .unwrap();
                }
            }
        }
        g.finish()
    }
    /// How many lines deviate from "all durable": those of the first missing stores; and likewise from "nothing".
    fn distance(graph: &PersistGraph, set: u32) -> usize {
        let durable = |n: NodeId| set >> n.0 & 1 == 1;
        let line = |n: NodeId| graph.writes(n)[0].at.line();
        let first_missing = |n: &NodeId| !durable(*n) && graph.predecessors(*n).iter().all(|(p, _)| durable(*p));
        let last_durable = |n: &NodeId| durable(*n) && graph.successors(*n).iter().all(|s| !durable(*s));
        let lost: BTreeSet<_> = graph.nodes().filter(first_missing).map(line).collect();
        let kept: BTreeSet<_> = graph.nodes().filter(last_durable).map(line).collect();
        lost.len().min(kept.len())
    }
    #[test]
    fn visits_exactly_the_states_within_t_lines() {
        let mut rng = Stream::new(4, "neighbours");
        for _ in 0..600 {
            let graph = random_graph(&mut rng);
            let closed = |set: &u32| {
                graph
                    .nodes()
                    .all(|n| set >> n.0 & 1 == 0 || graph.predecessors(n).iter().all(|(p, _)| set >> p.0 & 1 == 1))
            };
            let sets: Vec<u32> = (0..1 << graph.node_count()).filter(closed).collect();
            let mut path = Path::new(Known::new(Rc::new(Order::new(&graph))));
            path.known.advance(graph.node_count() as u32, std::iter::empty());
            let mut near = Neighbours::new(&path.known, &graph);
            let mut visited = BTreeSet::new();
            for t in 0..=near.lines() {
                let flow = near.visit(&mut path, t, &mut |path| {
                    let bit = |n: NodeId| u32::from(path.known.status(n) == Status::In) << n.0;
                    assert!(graph.nodes().all(|n| path.known.status(n) != Status::Free));
                    assert!(visited.insert(graph.nodes().map(bit).sum::<u32>()), "visited twice");
                    ControlFlow::<()>::Continue(())
                });
                assert!(flow.is_continue());
                let within: BTreeSet<_> = sets
                    .iter()
                    .copied()
                    .filter(|s| distance(&graph, *s) <= t as usize)
                    .collect();
                assert_eq!(visited, within, "t = {t}");
            }
            assert_eq!((visited.len(), near.visited()), (sets.len(), sets.len() as u128));
        }
    }
    /// Stores in one order, on many lines: as many states as stores, and no more work than their pairs at each distance.
    #[test]
    fn stores_in_one_order_are_not_picked_together() {
        const STORES: u32 = 120;
        let mut g = GraphBuilder::new(Image::default(), Grain::Word);
        let mut before = None;
        for n in 0..STORES {
            let node = g.node();
            let source = Location::caller().into();
            g.write(Write {
                at: Addr::pm(u64::from(n % 40) * 64 + u64::from(n / 40) * 8),
                value: u64::from(n),
                store: None,
                thread: HwThread(0),
                nt: false,
                source,
            });
            if let Some(before) = before {
                g.edge(before, node, Axiom::SameLine).unwrap();
            }
            before = Some(node);
        }
        let graph = g.finish();
        let mut path = Path::new(Known::new(Rc::new(Order::new(&graph))));
        path.known.advance(graph.node_count() as u32, std::iter::empty());
        let mut near = Neighbours::new(&path.known, &graph);
        for t in 0..=near.lines() {
            assert!(
                near.visit(&mut path, t, &mut |_| ControlFlow::<()>::Continue(()))
                    .is_continue()
            );
        }
        assert_eq!(near.visited(), u128::from(STORES) + 1);
    }
}
