//! State of the hierarchy, and what it exchanges with the rest of the machine.

use super::held::Held;
use super::lines::{Behind, Entry, Lines};
use super::notify::Notify;
use super::private::{Departure, Private, Waiter};
use super::tags::{Tags, WayRef};
use super::waiting_writes::WaitingWrites;
use crate::seam::{Cause, CleanKind, Hooks, Level, WriteId};
use crate::spec::{BusSpec, CacheSpec, MachineSpec};
use fencepost_kernel::{CoreId, HwThread, LineAddr, LineData, Ps};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Result of an access to a core's private caches.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// In the L1 with enough permission.
    Hit(WayRef),
    /// The waiter is a [`Hierarchy::waiter`] later.
    Missed,
}

/// The line of a miss is in the L1 (or, for a non-temporal store, nowhere). The waiters act, then
/// [`Hierarchy::served`] takes this back.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(super) at: Entry,
    pub(super) freed: bool,
}

/// Which memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Dram,
    Pm,
}
impl Side {
    pub(crate) fn of(line: LineAddr) -> Side {
        if line.is_persistent() { Side::Pm } else { Side::Dram }
    }
    /// The side whose `as u8` this is.
    pub(crate) fn from_bit(bit: u8) -> Side {
        if bit == Side::Pm as u8 { Side::Pm } else { Side::Dram }
    }
}

/// Whom a memory read is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReadFor {
    Miss(CoreId, u8),
    /// One of the design's own reads, by slot.
    Design(u32),
}

/// What the hierarchy does at a time that it chose ([`super::Outside::schedule`]).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A miss is granted the bus.
    Grant(CoreId, u8),
    /// Data or permission arrives for a miss.
    Fill(CoreId, u8),
    /// Accesses that found no free miss register may start over.
    Starved(CoreId),
    /// A read reaches its memory controller.
    ReadSend(Side, ReadFor),
    /// A clean looks through the hierarchy.
    Clean(u32),
    /// A clean without anything to write is complete.
    Cleaned(HwThread, u64),
    /// The answer to a clean that wrote its line, by slot, reaches its core.
    CleanAnswered(u32),
    /// A line from the network may be taken now: its port asks again.
    Remote(u8),
}

/// The shared last-level cache.
pub(super) struct SharedCache {
    pub tags: Tags,
    pub write_back: VecDeque<Departure>,
}

/// A clean walking the hierarchy.
#[derive(Copy, Clone, Debug)]
pub(super) struct CleanRequest {
    pub hw_thread: HwThread,
    pub line: LineAddr,
    pub kind: CleanKind,
    pub tag: u64,
}

/// A write on its way that its controller has taken.
pub(super) struct UnderWay {
    pub id: WriteId,
    pub line: LineAddr,
    /// Cleans that wait for its arrival.
    pub notify: Notify,
}

/// Where lines leave for one memory controller, and reads with their answers pass.
#[derive(Default)]
pub(super) struct MemoryInterface {
    /// Reads in the controller, by read id.
    pub reads: Vec<Option<ReadFor>>,
    /// Read ids that are free again.
    pub free_reads: Vec<u32>,
    /// Reads that found the controller's queue full.
    pub waiting_reads: VecDeque<ReadFor>,
    /// Writes of the machine that the controller has not taken.
    pub outgoing: WaitingWrites,
    /// Queues whose writers were refused because an outgoing write to the same line, or a read of it, has to go first.
    pub line_refused: Vec<u8>,
    /// Where misses are read whose newest bytes are not at home, until their data is there.
    pub(super) redirected: Vec<LineAddr>,
    /// Writes of the machine that the controller has taken and that have not arrived.
    pub under_way: Vec<UnderWay>,
}

/// A request that was refused at its grant.
#[derive(Copy, Clone)]
pub(super) struct Refused {
    pub who: Behind,
    pub cause: Cause,
    /// The core that may not give the line up; none where something else is in the way.
    pub by: Option<CoreId>,
}

/// The coherence bus.
#[derive(Default)]
pub(super) struct Bus {
    pub free_at: Ps,
    /// Who may hold each line, and who waits for its data.
    pub lines: Lines,
    /// Requests the design delayed.
    pub refused: Vec<Refused>,
    /// Requests that found the write path to memory full.
    pub throttled: VecDeque<Behind>,
    /// Outstanding reads of the shared cache.
    pub reads: u32,
    pub starved_reads: VecDeque<(CoreId, u8)>,
}

/// Sizes and latencies.
pub(super) struct Sizes {
    pub l1: CacheSpec,
    pub l2: Option<CacheSpec>,
    pub llc: CacheSpec,
    pub bus: BusSpec,
}

/// What the hierarchy counts (see [`crate::Counters`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct HierarchyCounters {
    /// Accesses that hit a line that was not used last of its set; the others the core finds by itself and counts.
    pub l1_hits: u64,
    pub l1_misses: u64,
    pub llc_misses: u64,
    pub bus_grants: u64,
    pub invalidations: u64,
    pub private_writebacks: u64,
    pub versions: u64,
    pub memory_reads: [u64; 2],
    pub memory_writes: [u64; 2],
    pub stale_reads: u64,
    pub miss_time: Ps,
}

/// Caches, bus and interfaces to memory.
pub(crate) struct Hierarchy {
    pub(super) spec: Sizes,
    /// What the design wants to be asked.
    pub(super) hooks: Hooks,
    pub(super) cores: Vec<Private>,
    /// Cores in whose write-back buffer something may wait, a bit each.
    pub(super) parked: u64,
    /// Lines that wait there, with how many of each do.
    pub(super) parked_lines: FxHashMap<LineAddr, u32>,
    pub(super) llc: SharedCache,
    pub(super) bus: Bus,
    pub(super) interfaces: [MemoryInterface; 2],
    pub(super) cleans: Vec<Option<CleanRequest>>,
    /// Answers to cleans on their way back to their cores: thread, tag and the bytes that were written.
    pub(super) answers: Vec<Option<(HwThread, u64, LineData)>>,
    /// Reads that the design asked for: line and tag.
    pub(super) design_reads: Vec<Option<(LineAddr, u64)>>,
    /// Bytes of frozen versions, by cache, line and mark.
    pub(super) versions: FxHashMap<(u8, LineAddr, u32), LineData>,
    /// Why the design keeps each hardware thread from its L1, if it does.
    pub(super) blocked: Vec<Option<Cause>>,
    /// Bytes of every copy, in a checked run.
    pub(super) held: Option<Box<Held>>,
    /// The first line that a flush found and left otherwise than it should, in a checked run.
    pub(super) misflushed: Option<LineAddr>,
    /// Who waited for the line that has arrived and acts now.
    pub(super) acting: Vec<Waiter>,
    /// What loads wait for from now on, to be taken by [`Hierarchy::take_charges`].
    pub(super) charges: Vec<(HwThread, u32, Cause)>,
    /// Counters.
    pub counters: HierarchyCounters,
}

impl Hierarchy {
    /// Empty caches. The specification must have been validated.
    pub(crate) fn new(spec: &MachineSpec, hooks: Hooks) -> Hierarchy {
        Hierarchy {
            spec: Sizes {
                l1: spec.l1.clone(),
                l2: spec.l2.clone(),
                llc: spec.llc.clone(),
                bus: spec.bus.clone(),
            },
            hooks,
            cores: (0..spec.core.cores)
                .map(|_| Private::new(&spec.l1, spec.l2.as_ref()))
                .collect(),
            parked: 0,
            parked_lines: FxHashMap::default(),
            blocked: vec![None; usize::from(spec.hw_threads())],
            llc: SharedCache {
                tags: Tags::new(&spec.llc),
                write_back: VecDeque::new(),
            },
            bus: Bus::default(),
            interfaces: Default::default(),
            cleans: Vec::new(),
            answers: Vec::new(),
            design_reads: Vec::new(),
            versions: FxHashMap::default(),
            held: None,
            misflushed: None,
            acting: Vec::new(),
            charges: Vec::new(),
            counters: HierarchyCounters::default(),
        }
    }
    /// The tags of a cache, if the machine has it.
    pub(super) fn tags(&mut self, level: Level) -> Option<&mut Tags> {
        match level {
            Level::L1(c) => self.cores.get_mut(c.index()).map(|c| &mut c.l1),
            Level::L2(c) => self.cores.get_mut(c.index()).and_then(|c| c.l2.as_mut()),
            Level::Llc => Some(&mut self.llc.tags),
        }
    }
    /// Sets the design's mark of every way of a cache to zero.
    pub(crate) fn clear_meta(&mut self, level: Level) {
        if let Some(tags) = self.tags(level) {
            tags.clear_meta();
        }
    }
    /// The design's mark of a way of an L1.
    #[inline]
    pub(crate) fn meta(&self, core: CoreId, way: WayRef) -> u32 {
        self.cores[core.index()].l1.meta(way)
    }
    /// Changes the design's mark of a way of an L1.
    #[inline]
    pub(crate) fn set_meta(&mut self, core: CoreId, way: WayRef, meta: u32) {
        self.cores[core.index()].l1.set_meta(way, meta);
    }
    /// Why the design keeps a hardware thread from its L1, if it does.
    #[inline]
    pub(crate) fn blocked(&self, hw_thread: HwThread) -> Option<Cause> {
        self.blocked[hw_thread.index()]
    }
    /// Keeps a hardware thread from its L1, or no longer; returns whether this unblocked it.
    pub(crate) fn block(&mut self, hw_thread: HwThread, cause: Option<Cause>) -> bool {
        let was = std::mem::replace(&mut self.blocked[hw_thread.index()], cause);
        was.is_some() && cause.is_none()
    }
    /// Whether loads wait for something new ([`Hierarchy::take_charges`]).
    #[inline]
    pub(crate) fn has_charges(&self) -> bool {
        !self.charges.is_empty()
    }
    /// Loads and what they wait for from now on, in the order in which it was found out.
    pub(crate) fn take_charges(&mut self) -> impl Iterator<Item = (HwThread, u32, Cause)> + '_ {
        self.charges.drain(..)
    }
    /// Every dirty line of the caches.
    pub(crate) fn dirty_lines(&self) -> Vec<LineAddr> {
        let l2 = |c: &'_ Private| c.l2.iter().flat_map(|t| t.dirty_lines()).collect::<Vec<_>>();
        let private = self.cores.iter().flat_map(|c| c.l1.dirty_lines().chain(l2(c)));
        let mut all: Vec<LineAddr> = private.chain(self.llc.tags.dirty_lines()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
    /// After a roll-back: copies of a line, and what of it is on its way, go back with memory. Of persistent memory, whatever
    /// left the caches for its controller was the design's to let go.
    pub(crate) fn refresh(&mut self, line: LineAddr, newest: &LineData) {
        let buffers = self.cores.iter_mut().map(|c| &mut c.write_back);
        let buffers = buffers.chain([&mut self.llc.write_back]).flatten();
        for d in buffers.filter(|d| d.way.line == line) {
            d.data = *newest;
        }
        if !line.is_persistent() {
            self.interfaces[Side::Dram as usize].outgoing.restore(line, newest);
        }
        self.refresh_words(line, newest);
    }
}
