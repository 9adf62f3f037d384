//! The crash state shown to the user: which stores are durable, which are lost, and where they are in the program.

use super::edges::{Edge, edges};
use super::replay_id::{Deviation, ReplayId};
use crate::graph::{CrashSpace, Grain, NodeId, WhyLost};
use fencepost_kernel::{Addr, CrashPoint, HwThread, Place, StoreId, Violation};
use std::fmt;

/// A store of the execution, as named in a witness.
#[derive(Copy, Clone, Debug)]
pub struct NamedStore {
    /// The node of the persist-order graph (stores of one hardware transaction share theirs).
    pub node: NodeId,
    /// The store of the execution.
    pub store: Option<StoreId>,
    /// Where it wrote.
    pub at: Addr,
    /// What it wrote.
    pub value: u64,
    /// Who stored.
    pub thread: HwThread,
    /// The line of the program, and the library's own.
    pub source: Place,
    /// The operation of its thread in which it was made, if it was made in one.
    pub operation: Option<u32>,
    /// Whether recovery read it, or the order implies it by what recovery read.
    pub read: bool,
    /// Why it may be lost, where it is.
    pub lost: Option<WhyLost>,
}
impl fmt::Display for NamedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}  [{}] = {:#x}  (thread {}",
            self.source, self.at, self.value, self.thread.0
        )?;
        if let Some(k) = self.operation {
            write!(f, ", operation {k}")?;
        }
        match self.lost {
            Some(why) => write!(f, "; {why})"),
            None => f.write_str(")"),
        }
    }
}

/// A crash state that recovery does not survive.
#[derive(Clone, Debug)]
pub struct Witness {
    /// Index of the failure point in [`CrashSpace::points`].
    pub point: usize,
    /// Number of trace events before the power failed.
    pub event: usize,
    /// What had begun and been acknowledged.
    pub crash: CrashPoint,
    /// Stores that are durable although they did not have to be.
    pub persisted: Vec<NamedStore>,
    /// Stores that had executed and are lost.
    pub missing: Vec<NamedStore>,
    /// The smaller of the two.
    pub deviation: Deviation,
    /// Whether no crash state of this failure point with fewer deviating stores breaks recovery (proved by search).
    pub smallest: bool,
    /// What orders those of them that recovery read, each list up to its first sixteen.
    pub edges: Vec<Edge>,
    /// What is wrong after recovery.
    pub why: Violation,
    /// The last operation that each thread had completed, if any.
    pub completed: Vec<Option<u32>>,
    /// The crash state of recovery's own stores from which recovery started again, if power failed a second time.
    pub second: Option<Box<Witness>>,
    /// Self-contained id of the crash state: the caller's prefix, a colon, the failure point and the set.
    pub replay: String,
}

/// Stores of a list between which edges are looked for.
const DRAWN: usize = 16;

impl Witness {
    /// Names the stores of the crash state in which exactly the nodes with `durable` are durable.
    pub(super) fn new(
        space: &CrashSpace,
        point: usize,
        (durable, decided): (&[bool], &[bool]),
        why: Violation,
        smallest: bool,
        id: (&str, u32),
    ) -> Witness {
        let free = free_at(space, point);
        let named = |wanted: bool| {
            let nodes = free.iter().filter(move |n| durable[n.index()] == wanted);
            nodes
                .flat_map(|n| named_stores(space, point, *n, (durable, decided)))
                .collect::<Vec<_>>()
        };
        let (persisted, missing): (Vec<_>, Vec<_>) = (named(true), named(false));
        let drawn = |list: &[NamedStore]| {
            let read = list.iter().filter(|s| s.read).take(DRAWN);
            read.filter_map(|s| Some((s.node, s.store?))).collect::<Vec<_>>()
        };
        let edges = edges(space, &[drawn(&persisted), drawn(&missing)].concat());
        let count = |wanted: bool| free.iter().filter(|n| durable[n.index()] == wanted).count();
        let deviation = if count(true) <= count(false) {
            Deviation::Persisted
        } else {
            Deviation::Missing
        };
        let at = &space.points[point];
        let listed = deviation == Deviation::Persisted;
        let nodes = free.iter().copied().filter(|n| durable[n.index()] == listed).collect();
        let replay = ReplayId {
            point: point as u32,
            deviation,
            nodes,
            digest: id.1,
        }
        .encode(id.0);
        Witness {
            point,
            event: at.event,
            crash: at.crash.clone(),
            persisted,
            missing,
            edges,
            deviation,
            smallest,
            why,
            completed: space.history.completed(at.event),
            second: None,
            replay,
        }
    }
    /// This state, with `second`: the crash state of recovery's own stores when power failed again.
    pub(super) fn interrupted(mut self, second: Witness) -> Witness {
        if let Ok((_, state)) = ReplayId::decode(&second.replay) {
            self.replay = state.encode_again(&self.replay);
        }
        self.second = Some(Box::new(second));
        self
    }
    /// The stores that make the difference: the shorter of the two lists.
    pub fn deviating(&self) -> &[NamedStore] {
        match self.deviation {
            Deviation::Missing => &self.missing,
            Deviation::Persisted => &self.persisted,
        }
    }
    /// Files and lines of the program that made the deviating stores, without repetitions.
    pub fn lines(&self) -> Vec<(&'static str, u32)> {
        let mut lines: Vec<_> = self
            .deviating()
            .iter()
            .map(|s| (s.source.file(), s.source.line()))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
    /// Number of deviating persist units: stores, or hardware transactions as wholes.
    pub fn deviations(&self) -> usize {
        let mut nodes: Vec<NodeId> = self.deviating().iter().map(|s| s.node).collect();
        nodes.dedup();
        nodes.len()
    }
}

/// Writing nodes that may be durable or lost at a failure point, in effect order.
pub(super) fn free_at(space: &CrashSpace, point: usize) -> Vec<NodeId> {
    let mut cut = space.graph.executed(space.points[point].executed);
    for must in space.points[..=point]
        .iter()
        .flat_map(|p| &space.must[p.newly_must.clone()])
    {
        space.graph.include(&mut cut, must.node);
    }
    cut.free_nodes(&space.graph)
        .filter(|n| !space.graph.is_barrier(*n))
        .collect()
}
fn named_stores<'a>(
    space: &'a CrashSpace,
    point: usize,
    node: NodeId,
    (durable, decided): (&'a [bool], &'a [bool]),
) -> impl Iterator<Item = NamedStore> + 'a {
    let event = space.points[point].event;
    let writes = space.graph.writes(node);
    let name = move |w: &crate::graph::Write| NamedStore {
        node,
        store: w.store,
        at: w.at,
        value: w.value,
        thread: w.thread,
        source: w.source,
        operation: w.store.and_then(|s| space.history.operation_of(s, w.thread)),
        read: decided[node.index()],
        lost: (!durable[node.index()]).then(|| match is_torn(space, w, durable) {
            true => WhyLost::Torn,
            false => space
                .history
                .why_lost(w.store, (w.thread, w.at, w.nt, writes.len() > 1), event),
        }),
    };
    writes.iter().map(name)
}
/// Whether other bytes of the same store are durable.
fn is_torn(space: &CrashSpace, write: &crate::graph::Write, durable: &[bool]) -> bool {
    let word = write.at.word();
    let bytes = (0..8).filter_map(|i| space.graph.location(Addr(word.0 + i)));
    let mut others = bytes.flat_map(|l| space.graph.versions(l)).map(|v| v.node);
    let same = |n: &NodeId| space.graph.writes(*n).iter().any(|w| w.store == write.store);
    space.graph.grain() == Grain::Byte && write.store.is_some() && others.any(|n| durable[n.index()] && same(&n))
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        writeln!(
            f,
            "why: {}{}",
            self.why.why,
            self.why.at.map(|a| format!(" (at {a})")).unwrap_or_default()
        )?;
        writeln!(
            f,
            "power fails after event {}; begun {:?}, acknowledged {:?} operations",
            self.event, self.crash.begun, self.crash.acked
        )?;
        for (thread, last) in self.completed.iter().enumerate() {
            match last {
                Some(k) => writeln!(f, "thread {thread} had completed operation {k}")?,
                None => writeln!(f, "thread {thread} had completed no operation")?,
            }
        }
        let proof = if self.smallest {
            "smallest such state"
        } else {
            "not proved smallest"
        };
        let mut list = |title: &str, stores: &[NamedStore]| {
            writeln!(f, "{title}: {}", stores.len())?;
            let mut shown = 0;
            for store in stores.iter().filter(|s| s.read).take(SHOWN) {
                shown += 1;
                writeln!(f, "  {store}")?;
            }
            match stores.len() - shown {
                0 => Ok(()),
                more => writeln!(f, "  and {more} more, with no part in this"),
            }
        };
        match self.deviation {
            Deviation::Missing => list(&format!("durable but for these stores ({proof})"), &self.missing)?,
            Deviation::Persisted => {
                list(&format!("durable, though nothing forced it ({proof})"), &self.persisted)?;
                list("lost", &self.missing)?;
            }
        }
        if let Some(second) = &self.second {
            writeln!(f, "then power fails again while recovery runs; of its stores")?;
            let list = |f: &mut fmt::Formatter<'_>, title: &str, stores: &[NamedStore]| {
                writeln!(f, "  {title}: {}", stores.len())?;
                stores.iter().take(SHOWN).try_for_each(|s| writeln!(f, "    {s}"))
            };
            list(f, "durable", &second.persisted)?;
            list(f, "lost", &second.missing)?;
        }
        writeln!(f, "replay: {}", self.replay)
    }
}
