//! `ssca2`: construction and analyses of a large scale-free graph. One operation appends an edge to a vertex's adjacency array: read the
//! count, write the edge, count it. An operation of an analysis visits one vertex: it reads the count and every edge.
//!
//! Counts are an array of their own, as in the transactional SSCA 2.2. A vertex has an adjacency array of 15 edges and, behind it,
//! blocks of seven more, the newest first, because the edges of a hub are not known beforehand. Edges are drawn by R-MAT.
//!
//! The default is the paper's 16 MB: 131,072 vertices with 128 bytes of adjacency and 8 of count each. The benchmark's first kernel
//! constructs the graph; the other three (heaviest edges, extraction of a subgraph, centrality) visit vertices and write nothing persistent.
//! `analyses` says which share of the operations is theirs, `degree` how many edges each vertex has before the run.
//!
//! Used by broi (Table IV).

use crate::choices::{Coupling, Scheme, Variant};
use crate::draw;
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::oracle::Builder;
use crate::pool::Pool;
use crate::registers::{RegisterAudit, Registers};
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::tx::{Runtime, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, Violation, params, rng,
};
use std::collections::BTreeMap;

params! {
    /// Parameters of `ssca2`.
    pub struct Ssca2Params {
        /// Vertices, rounded up to a power of two.
        #[range(1..=1 << 22)]
        vertices: u64 = 131_072,
        /// Lock stripes over the vertices.
        #[range(1..=1 << 20)]
        locks: u64 = 512,
        /// Edges of each vertex before the run.
        #[range(0..=15)]
        degree: u64 = 0,
        /// Operations that visit a vertex for an analysis instead of appending an edge, of a hundred.
        #[range(0..=99)]
        analyses: u64 = 0,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

/// Edges in a vertex's array.
const OWN: u64 = 15;
/// Offset of the newest block in a vertex's row.
const NEWEST: u64 = OWN * 8;
const ROW: u64 = 128;
/// Edges of a block; they follow the address of the block before it.
const MORE: u64 = 7;
const BLOCK: u64 = 64;
const APPENDED: u8 = 1;
const VISITED: u8 = 2;

/// The program.
#[derive(Clone, Debug)]
pub struct Ssca2 {
    rt: Runtime,
    seed: u64,
    /// Logarithm of the number of vertices.
    scale: u32,
    degree: u64,
    analyses: u64,
    counts: Rows,
    adjacency: Rows,
    locks: Locks,
    footprint: Footprint,
}

/// What an operation is given: the edge's source, and the word that stands for it in the array (writer, number, destination); or the vertex
/// that it visits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    from: u64,
    word: u64,
    visits: bool,
}

/// What the oracle knows of a run: a register per vertex, its count; and the vertices' edges.
#[derive(Clone, Debug)]
pub struct Ssca2Model {
    registers: Registers,
    edges: BTreeMap<u64, Vec<u64>>,
}

impl Described for Ssca2 {
    const NAME: &'static str = "ssca2";
    const ABOUT: &'static str = "graph construction: appends an edge to a vertex of a scale-free graph";
    const SCHEMES: &'static [Scheme] = Scheme::LOGGED;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[("vertices", "2")];

    fn fields() -> Vec<Field> {
        Ssca2Params::fields()
    }
    fn build(s: &Settings) -> Result<Ssca2, ProgramError> {
        let p: Ssca2Params = read_params::<Ssca2, _>(s)?;
        if s.ops >= 1 << 24 {
            return Err(impossible::<Ssca2>(
                "ops reaches 16777216, beyond which edges would repeat",
            ));
        }
        let vertices = p.vertices.next_power_of_two();
        let mut layout = Layout::default();
        let (counts, adjacency) = (
            Rows::new(&mut layout, 8, vertices),
            Rows::new(&mut layout, ROW, vertices),
        );
        let pool = Pool::new(&mut layout, s.threads, BLOCK, u64::from(s.ops));
        // A block's link, the edge, the newest block, the count.
        let rt = Runtime::new(&mut layout, s, p.coupling, 4, pool);
        let locks = Locks::new(&mut layout, p.locks.min(vertices));
        Ok(Ssca2 {
            rt,
            seed: s.seed,
            scale: vertices.ilog2(),
            degree: p.degree,
            analyses: p.analyses,
            counts,
            adjacency,
            locks,
            footprint: layout.footprint(),
        })
    }
}

impl Ssca2 {
    #[inline(always)]
    fn append<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, edge: Edge) -> Result<u64, Rollback> {
        let (count, row) = (
            self.counts.at::<M::Dep>(edge.from),
            self.adjacency.at::<M::Dep>(edge.from),
        );
        let mut tx = self.rt.begin(pm, thread, k)?;
        let n = tx.read(count);
        // The mistake of logic: an edge takes the place of the one before.
        let i = n.v - u64::from(n.v > 0 && tx.slip(Variant::SemanticMistake));
        let split = tx.slip(Variant::NonAtomicUpdate);
        let word = Val::lit(if split { 0 } else { edge.word });
        tx.protect(count, 8);
        let place = if i < OWN {
            let place = n.map(|_| i).index(row.addr, 8);
            tx.protect(place, 8);
            tx.write(place, word);
            place
        } else if (i - OWN).is_multiple_of(MORE) {
            let (block, older) = (tx.alloc(), tx.read(row.field(NEWEST)));
            tx.fresh(block, older);
            tx.fresh(block.field(8), word);
            tx.protect(row.field(NEWEST), 8);
            tx.write(row.field(NEWEST), block.pointer());
            block.field(8)
        } else {
            let block = tx.read(row.field(NEWEST)).ptr();
            let place = block.field(8 + (i - OWN) % MORE * 8);
            tx.protect(place, 8);
            tx.write(place, word);
            place
        };
        tx.write(count, n.map(|n| n + 1));
        tx.commit();
        if split {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            tx.update(place, Val::lit(edge.word));
            tx.commit();
        }
        Ok(n.v)
    }
    /// The word of edge `i` that a vertex has before the run.
    fn planted(&self, vertex: u64, i: u64) -> u64 {
        let h = rng::hash(&[self.seed, vertex, i]);
        i << 24 | draw::scale_free_edge(h, self.scale).1
    }
    /// Reads a vertex's edges for an analysis; the heaviest of them, which stays with the thread.
    #[inline(always)]
    fn visit<M: Mem>(&self, pm: &mut Pm<'_, M>, vertex: u64) -> u64 {
        let (count, row) = (self.counts.at::<M::Dep>(vertex), self.adjacency.at::<M::Dep>(vertex));
        let n = pm.m.load(count);
        let mut heaviest = 0;
        for i in 0..n.v.min(OWN) {
            heaviest = heaviest.max(pm.m.load(n.map(|_| i).index(row.addr, 8)).v);
        }
        // Blocks of more edges, the newest first and filled last.
        let mut more = n.v.saturating_sub(OWN);
        let mut link = row.field(NEWEST);
        while more > 0 {
            let block = pm.m.load(link).ptr();
            let own = (more - 1) % MORE + 1;
            for i in 0..own {
                heaviest = heaviest.max(pm.m.load(block.field(8 + i * 8)).v);
            }
            more -= own;
            link = block;
        }
        heaviest
    }
    /// Compares a vertex's edges with those that its operations appended, the last first; its count, or what is wrong.
    fn check<M: Mem<Dep = ()>>(&self, m: &mut M, vertex: u64, edges: &[u64]) -> Result<u64, Violation> {
        let (at, row) = (self.counts.at::<()>(vertex), self.adjacency.at::<()>(vertex));
        let count = m.load(at).v;
        if count > edges.len() as u64 {
            return Err(Violation::at(at.addr, "a vertex counts more edges than were appended"));
        }
        let mut block = 0;
        for i in (0..count).rev() {
            if i >= OWN && (i + 1 == count || (i + 1 - OWN).is_multiple_of(MORE)) {
                let link = if block == 0 {
                    row.field(NEWEST)
                } else {
                    At::new(Addr(block))
                };
                block = m.load(link).v;
                if !self.rt.pool().owns(Addr(block)) {
                    return Err(Violation::at(
                        link.addr,
                        "a vertex's edges lead to something that is no block",
                    ));
                }
            }
            let place = match i {
                i if i < OWN => row.field(i * 8),
                i => At::new(Addr(block)).field(8 + (i - OWN) % MORE * 8),
            };
            if m.load(place).v != edges[i as usize] {
                return Err(Violation::at(
                    place.addr,
                    "a counted edge is not the one that was appended",
                ));
            }
        }
        Ok(count)
    }
}

impl Program for Ssca2 {
    type Input = Edge;
    type Audit = RegisterAudit;
    type Model = Ssca2Model;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        if self.degree == 0 {
            return;
        }
        for vertex in 0..1 << self.scale {
            let row = self.adjacency.at::<M::Dep>(vertex);
            for i in 0..self.degree {
                m.store(row.field(i * 8), Val::lit(self.planted(vertex, i)));
            }
            m.store(self.counts.at::<M::Dep>(vertex), Val::lit(self.degree));
        }
    }
    fn resident(&self) -> Vec<Span> {
        vec![self.counts.span(), self.adjacency.span()]
    }
    fn input(&self, thread: u32, k: u32) -> Edge {
        let h = rng::hash(&[self.seed, u64::from(thread), u64::from(k)]);
        let (from, to) = draw::scale_free_edge(h, self.scale);
        let word = (u64::from(thread) + 1) << 48 | u64::from(k) << 24 | to;
        let draw = rng::mix(h);
        let visits = draw % 100 < self.analyses;
        // An analysis comes to every vertex alike, not as often as edges do.
        let from = if visits {
            (draw / 100) >> 1 & ((1 << self.scale) - 1)
        } else {
            from
        };
        Edge { from, word, visits }
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Edge) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let lock = self.locks.of(input.from);
        pm.lock(lock);
        let result = match input.visits {
            true => Ok(self.visit(pm, input.from)),
            false => self.append(pm, thread, k, *input),
        };
        pm.unlock(lock);
        pm.m.compute(sites::EPILOGUE);
        if input.visits {
            return Ok(Outcome {
                kind: VISITED,
                words: [0; 3],
            });
        }
        result.map(|count| Outcome {
            kind: APPENDED,
            words: [count, 0, 0],
        })
    }
    /// Edges of a vertex are counted in the order in which its lock was granted.
    fn model(&self, ops: &[OpRecord]) -> Ssca2Model {
        let mut b = Builder::new(ops);
        let (mut edges, mut explained) = (BTreeMap::<u64, Vec<u64>>::new(), true);
        for o in ops {
            let edge = self.input(o.thread, o.k);
            if edge.visits {
                continue;
            }
            let list = edges.entry(edge.from).or_insert_with(|| {
                b.initial(edge.from, self.degree);
                (0..self.degree).map(|i| self.planted(edge.from, i)).collect()
            });
            explained &= o.outcome.words[0] == list.len() as u64;
            list.push(edge.word);
            b.write(edge.from, (o.thread, o.k), list.len() as u64);
        }
        let registers = Registers::new(b.build_if(
            explained,
            "what the operations counted is not what the locks' order of them leaves",
        ));
        Ssca2Model { registers, edges }
    }
    fn audit_start(&self, model: &Ssca2Model, crash: &CrashPoint) -> RegisterAudit {
        model.registers.start(crash)
    }
    /// One vertex a step.
    fn audit<M: Mem<Dep = ()>>(&self, model: &Ssca2Model, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        let why = "the counts are those of no prefix of the operations";
        model.registers.step(state, why, |vertex| {
            let count = self.check(m, vertex, &model.edges[&vertex])?;
            Ok((count, self.counts.at::<()>(vertex).addr))
        })
    }
}
