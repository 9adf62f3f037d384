//! `sdg`: a large directed graph kept as adjacency lists. An operation draws edges; it inserts each that is absent and deletes each that
//! is there.
//!
//! As a C++ adjacency list with linked lists of edges is laid out: an array of vertices, each the header of a circular doubly linked list
//! of its out-edges and their number; a node of its own for every edge, with both links, the edge's target and its weight. A new edge
//! goes to the end of its vertex's list. Finding an edge walks the list of its source. Vertices stay; edges come and go.
//!
//! Each vertex has `neighbours` possible targets, spread over the whole graph, so that inserts and deletes keep its size. The default is
//! 65,536 vertices and 262,144 edges: 18 MB. Lists are locked by striped locks over the vertices.
//!
//! The audit walks the lists of the vertices that operations of the run concern, forwards, and compares the backward links and the number.
//!
//! Used by loc (Table II).

mod audit;
mod graph;

pub use audit::{SdgAudit, SdgModel};
pub use graph::Sdg;

use crate::choices::{Coupling, Scheme, Variant};
use crate::dict::{Dict, Keys, Toggle};
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::small::Small;
use crate::tx::{Runtime, Tx, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, params, rng};
use graph::{DEGREE, HEADER, LINKS, NEXT, NODE, PREV, TARGET, VERTEX, WEIGHT};

params! {
    /// Parameters of `sdg`.
    pub struct SdgParams {
        /// Vertices, rounded up to a power of two.
        #[range(1..=1 << 22)]
        vertices: u64 = 65_536,
        /// Different edges that may leave a vertex, at most as many as there are vertices.
        #[range(1..=64)]
        neighbours: u64 = 8,
        /// Edges in the graph before the run.
        #[range(0..=1 << 24)]
        edges: u64 = 262_144,
        /// Inserts or deletes per transaction.
        #[range(1..=16)]
        batch: u32 = 1,
        /// Lock stripes over the vertices.
        #[range(1..=1 << 20)]
        locks: u64 = 512,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

/// What one insert or delete is given.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    from: u64,
    to: u64,
    /// Of the edge, if it is inserted: unique in the run and never 0.
    weight: u64,
}

impl Described for Sdg {
    const NAME: &'static str = "sdg";
    const ABOUT: &'static str = "large graph of adjacency lists: insert an edge if absent, delete it if found";
    const SCHEMES: &'static [Scheme] = Scheme::LOGGED;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[("vertices", "4"), ("neighbours", "4"), ("edges", "8")];

    fn fields() -> Vec<Field> {
        SdgParams::fields()
    }
    fn build(s: &Settings) -> Result<Sdg, ProgramError> {
        let p: SdgParams = read_params::<Sdg, _>(s)?;
        let vertices = p.vertices.next_power_of_two();
        if p.neighbours > vertices {
            let why = format!("neighbours = {} exceeds the {vertices} vertices", p.neighbours);
            return Err(impossible::<Sdg>(why));
        }
        if p.edges > vertices * p.neighbours {
            let why = format!("edges = {} exceeds vertices times neighbours", p.edges);
            return Err(impossible::<Sdg>(why));
        }
        let dict = Dict {
            seed: s.seed,
            keys: vertices * p.neighbours,
            preload: p.edges,
            batch: p.batch,
            value_bits: 32,
        };
        if let Some(why) = dict.refusal(s.ops) {
            return Err(impossible::<Sdg>(why));
        }
        let mut layout = Layout::default();
        let (rows, planted) = (
            Rows::new(&mut layout, VERTEX, vertices),
            Rows::new(&mut layout, NODE, p.edges),
        );
        let pool = Pool::new(&mut layout, s.threads, NODE, u64::from(s.ops) * u64::from(p.batch));
        // A new edge's four words; links on both sides and the number.
        let rt = Runtime::new(&mut layout, s, p.coupling, u64::from(p.batch) * 7, pool);
        let locks = Locks::new(&mut layout, p.locks.min(vertices));
        Ok(Sdg {
            rt,
            dict,
            neighbours: p.neighbours,
            vertices: rows,
            planted,
            locks,
            footprint: layout.footprint(),
        })
    }
}

impl Sdg {
    /// Source and target of an edge that may be there. The targets of a source are different: an odd stride meets each vertex once.
    fn ends(&self, key: u64) -> (u64, u64) {
        let (from, slot) = ((key - 1) / self.neighbours, (key - 1) % self.neighbours);
        let (first, stride) = (rng::mix(from + 1), rng::mix(!from) | 1);
        let to = first.wrapping_add(slot.wrapping_mul(stride)) & (self.vertices.count() - 1);
        (from, to)
    }
    fn edge(&self, wanted: Toggle) -> Edge {
        let (from, to) = self.ends(wanted.key);
        Edge {
            from,
            to,
            weight: wanted.value,
        }
    }
    /// Appends an edge to its vertex's list; returns the word of its weight.
    #[inline(always)]
    fn insert<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, vertex: At<M::Dep>, new: Edge, weight: u64) -> At<M::Dep> {
        let (last, degree) = (tx.read(vertex.field(PREV)).ptr(), tx.read(vertex.field(DEGREE)));
        let node = tx.alloc();
        tx.fresh(node.field(NEXT), vertex.pointer());
        tx.fresh(node.field(PREV), last.pointer());
        tx.fresh(node.field(TARGET), Val::lit(new.to));
        tx.fresh(node.field(WEIGHT), Val::lit(weight));
        tx.protect_once(vertex, HEADER);
        if last.addr != vertex.addr {
            tx.protect_once(last, LINKS);
        }
        tx.write(last.field(NEXT), node.pointer());
        tx.write(vertex.field(PREV), node.pointer());
        tx.write(vertex.field(DEGREE), degree.map(|n| n + 1));
        node.field(WEIGHT)
    }
    /// Takes an edge out of its vertex's list; returns its weight.
    #[inline(always)]
    fn remove<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, vertex: At<M::Dep>, node: At<M::Dep>) -> u64 {
        let weight = tx.read(node.field(WEIGHT)).v;
        let (next, prev) = (tx.read(node.field(NEXT)).ptr(), tx.read(node.field(PREV)).ptr());
        let degree = tx.read(vertex.field(DEGREE));
        tx.protect_once(vertex, HEADER);
        for side in [next, prev] {
            if side.addr != vertex.addr {
                tx.protect_once(side, LINKS);
            }
        }
        tx.write(next.field(PREV), prev.pointer());
        tx.write(prev.field(NEXT), next.pointer());
        // The mistake: the vertex still counts the edge that is gone.
        if !tx.slip(Variant::SemanticMistake) {
            tx.write(vertex.field(DEGREE), degree.map(|n| n.wrapping_sub(1)));
        }
        tx.free(node);
        weight
    }
    /// Inserts or deletes the operation's edges in one transaction; returns the weight found of each (0: none).
    #[inline(always)]
    fn toggle<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        wanted: &[Edge],
    ) -> Result<Small<u64, 16>, Rollback> {
        let (mut found, mut torn) = (Small::new(0), None);
        let mut tx = self.rt.begin(pm, thread, k)?;
        for (sub, edge) in wanted.iter().enumerate() {
            let vertex = self.vertices.at::<M::Dep>(edge.from);
            let mut node = tx.read(vertex.field(NEXT)).ptr();
            while node.addr != vertex.addr && tx.read(node.field(TARGET)).v != edge.to {
                tx.compute(sites::CHAIN_STEP);
                node = tx.read(node.field(NEXT)).ptr();
            }
            if node.addr != vertex.addr {
                found.push(self.remove(&mut tx, vertex, node));
                continue;
            }
            let split = sub + 1 == wanted.len() && tx.slip(Variant::NonAtomicUpdate);
            let at = self.insert(&mut tx, vertex, *edge, if split { 0 } else { edge.weight });
            torn = split.then_some((at, edge.weight));
            found.push(0);
        }
        tx.commit();
        if let Some((at, weight)) = torn {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            tx.update(at, Val::lit(weight));
            tx.commit();
        }
        Ok(found)
    }
}

impl Program for Sdg {
    type Input = Small<Edge, 4>;
    type Audit = SdgAudit;
    type Model = SdgModel;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }

    fn setup<M: Mem>(&self, m: &mut M) {
        for v in 0..self.vertices.count() {
            let vertex = self.vertices.at::<M::Dep>(v);
            m.store(vertex.field(NEXT), vertex.pointer());
            m.store(vertex.field(PREV), vertex.pointer());
        }
        for (i, (key, weight)) in (0..).zip(self.dict.preloaded()) {
            let (from, to) = self.ends(key);
            let (vertex, node) = (self.vertices.at::<M::Dep>(from), self.planted.at::<M::Dep>(i));
            let (last, degree) = (m.load(vertex.field(PREV)), m.load(vertex.field(DEGREE)));
            m.store(node.field(NEXT), vertex.pointer());
            m.store(node.field(PREV), last);
            m.store(node.field(TARGET), Val::lit(to));
            m.store(node.field(WEIGHT), Val::lit(weight));
            m.store(last.ptr().field(NEXT), node.pointer());
            m.store(vertex.field(PREV), node.pointer());
            m.store(vertex.field(DEGREE), degree.map(|n| n + 1));
        }
    }
    fn resident(&self) -> Vec<Span> {
        vec![self.vertices.span(), self.planted.span()]
    }
    fn input(&self, thread: u32, k: u32) -> Small<Edge, 4> {
        let mut all = Small::new(Edge::default());
        (0..self.dict.batch).for_each(|sub| all.push(self.edge(self.dict.toggle(thread, k, sub))));
        all
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Small<Edge, 4>) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let wanted = input.as_slice();
        let stripes = self.locks.stripes(wanted.iter().map(|e| e.from));
        self.locks.lock_all(pm, stripes.as_slice());
        let result = self.toggle(pm, thread, k, wanted);
        self.locks.unlock_all(pm, stripes.as_slice());
        pm.m.compute(sites::EPILOGUE);
        Ok(Dict::outcome::<M>(result?.as_slice()))
    }
    fn model(&self, ops: &[OpRecord]) -> SdgModel {
        self.digest(ops)
    }
    fn audit_start(&self, model: &SdgModel, crash: &CrashPoint) -> SdgAudit {
        SdgAudit::start(model, crash)
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &SdgModel, m: &mut M, state: SdgAudit) -> Flow<SdgAudit> {
        self.judge(model, m, state)
    }
}
