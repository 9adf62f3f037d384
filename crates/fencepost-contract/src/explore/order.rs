//! The persist order in the form the explorer walks: compact, owned, indexed both ways.

use crate::graph::{Grain, NodeId, PersistGraph};
use fencepost_kernel::{Addr, Image, LineAddr, Span};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Lists of unequal length, back to back.
#[derive(Debug, Default)]
struct Rows<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}
impl<T> Rows<T> {
    fn collect<I: IntoIterator<Item = T>>(rows: impl Iterator<Item = I>) -> Rows<T> {
        let (mut starts, mut items) = (vec![0], Vec::new());
        for row in rows {
            items.extend(row);
            starts.push(items.len() as u32);
        }
        Rows { starts, items }
    }
    fn row(&self, i: u32) -> &[T] {
        &self.items[self.starts[i as usize] as usize..self.starts[i as usize + 1] as usize]
    }
}

/// One version of a location, as seen from the node that writes it.
#[derive(Copy, Clone, Debug)]
pub struct Place {
    /// The location.
    pub part: u32,
    /// Which of the location's versions this is, from 0.
    pub version: u32,
}

/// A location as a part of its word: the whole word, or one byte of it at byte grain.
#[derive(Copy, Clone, Debug)]
pub struct Part {
    /// The graph's number of the location.
    pub id: u32,
    /// How far to shift a value of the location into the word.
    pub shift: u32,
    /// The bits of the word that belong to the location.
    pub mask: u64,
}

/// The graph's nodes and locations as plain numbers, without the reasons for the edges.
///
/// The explorer keeps its own copy because it walks edges millions of times, and because the memory handed to a
/// user's recovery then carries no lifetime of the graph.
#[derive(Debug)]
pub struct Order {
    before: Rows<u32>,
    after: Rows<u32>,
    places: Rows<Place>,
    versions: Rows<(u32, u64)>,
    words: FxHashMap<Addr, Vec<Part>>,
    /// Every line with a location, ascending.
    lines: Vec<LineAddr>,
    /// Per location, the place of its line among them.
    line_of: Vec<u32>,
    initial: Image,
    nodes: u32,
}

impl Order {
    pub fn new(graph: &PersistGraph) -> Order {
        let mut next = vec![0u32; graph.location_count()];
        let places = Rows::collect(graph.nodes().map(|n| {
            let place = |at: Addr| {
                let part = graph.location(at)?.0;
                next[part as usize] += 1;
                Some(Place {
                    part,
                    version: next[part as usize] - 1,
                })
            };
            graph
                .writes(n)
                .iter()
                .map(|w| w.at)
                .filter_map(place)
                .collect::<Vec<_>>()
        }));
        let all = (0..graph.location_count() as u32).map(crate::graph::LocationId);
        let mut words: FxHashMap<Addr, Vec<Part>> = FxHashMap::default();
        for location in all.clone() {
            let at = graph.address(location);
            let (shift, mask) = match graph.grain() {
                Grain::Byte => ((at.0 % 8 * 8) as u32, 0xff << (at.0 % 8 * 8)),
                Grain::Word | Grain::Line => (0, u64::MAX),
            };
            words.entry(at.word()).or_default().push(Part {
                id: location.0,
                shift,
                mask,
            });
        }
        let mut lines: Vec<LineAddr> = words.keys().map(|at| at.line()).collect();
        lines.sort_unstable();
        lines.dedup();
        let line_of = |location| {
            let line = graph.address(location).line();
            lines.partition_point(|l| *l < line) as u32
        };
        Order {
            line_of: all.clone().map(line_of).collect(),
            lines,
            before: Rows::collect(graph.nodes().map(|n| graph.predecessors(n).iter().map(|(p, _)| p.0))),
            after: Rows::collect(graph.nodes().map(|n| graph.successors(n).iter().map(|s| s.0))),
            versions: Rows::collect(all.map(|l| graph.versions(l).iter().map(|v| (v.node.0, v.value)))),
            places,
            words,
            initial: graph.initial().clone(),
            nodes: graph.node_count() as u32,
        }
    }
    pub fn nodes(&self) -> u32 {
        self.nodes
    }
    /// Every line with a location, ascending.
    pub fn lines(&self) -> &[LineAddr] {
        &self.lines
    }
    /// The lines of `span`, as places in [`Order::lines`].
    pub fn lines_of(&self, span: Span) -> Range<usize> {
        let (first, count) = span.lines();
        let end = LineAddr(first.0 + count);
        self.lines.partition_point(|l| *l < first)..self.lines.partition_point(|l| *l < end)
    }
    /// Where the line of a location stands in [`Order::lines`].
    pub fn line_of(&self, part: u32) -> u32 {
        self.line_of[part as usize]
    }
    pub fn before(&self, node: u32) -> &[u32] {
        self.before.row(node)
    }
    pub fn after(&self, node: u32) -> &[u32] {
        self.after.row(node)
    }
    /// What the node writes; empty for barriers.
    pub fn places(&self, node: u32) -> &[Place] {
        self.places.row(node)
    }
    pub fn is_barrier(&self, node: u32) -> bool {
        self.places(node).is_empty()
    }
    /// Versions of a location after the initial one: (node, value).
    pub fn versions(&self, part: u32) -> &[(u32, u64)] {
        self.versions.row(part)
    }
    /// Number of locations.
    pub fn locations(&self) -> usize {
        self.versions.starts.len() - 1
    }
    /// The parts of the aligned word `at` that the execution wrote.
    pub fn parts_of(&self, at: Addr) -> &[Part] {
        self.words.get(&at).map_or(&[], Vec::as_slice)
    }
    /// The word before the execution. DRAM is lost in a crash and reads as zero.
    pub fn initial(&self, at: Addr) -> u64 {
        if at.is_persistent() { self.initial.word(at) } else { 0 }
    }
    /// Lines of `span`, ascending, that differ from `setup` before the execution or that the execution wrote.
    pub fn changed(&self, setup: &Image, span: Span) -> Vec<LineAddr> {
        let mut lines = self.initial.differing(setup, span);
        lines.extend(&self.lines[self.lines_of(span)]);
        lines.sort_unstable();
        lines.dedup();
        lines
    }
    /// A digest of the order: replay ids carry it, so that they are refused on another execution.
    pub fn digest(&self) -> u64 {
        let fold = |h: u64, x: u64| fencepost_kernel::rng::mix(h ^ x).wrapping_add(x);
        let h = self
            .before
            .items
            .iter()
            .fold(u64::from(self.nodes), |h, p| fold(h, u64::from(*p)));
        self.versions
            .items
            .iter()
            .fold(h, |h, v| fold(fold(h, u64::from(v.0)), v.1))
    }
    /// Every node.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes).map(NodeId)
    }
}
