//! Everything of the machine but the design: the state that the handle of the seam reaches into.

use super::agenda::{Agenda, Ev};
use super::recorder::Recorder;
use super::report::Counters;
use crate::bus::{Bus, CleanRequest, Core, OutgoingWrite, SharedCache};
use crate::frontend::Journal;
use crate::hart::{Hart, Shape};
use crate::memory::Controller;
use crate::seam::{Cause, WriteId};
use crate::spec::MachineSpec;
use fencepost_kernel::{Addr, CoreId, HartId, Image, LineAddr, LineData, PersistLog, Ps};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

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
    /// One of the design's, by its place in [`System::design_reads`].
    Design(u32),
}

/// A memory controller and what is on its way to it.
pub(crate) struct MemoryPort {
    pub controller: Controller,
    /// When `advance` is scheduled.
    pub scheduled: Option<Ps>,
    /// Reads in the controller, by read id.
    pub reads: Vec<Option<ReadFor>>,
    /// Reads the controller had no room for.
    pub waiting_reads: std::collections::VecDeque<ReadFor>,
    /// Writes of the machine waiting for admission, oldest first.
    pub outgoing: Vec<OutgoingWrite>,
    /// Queues whose writers were refused because an outgoing write to the same line has to go first.
    pub line_refused: Vec<u8>,
    /// Writes of the machine's own that were admitted and have not arrived.
    pub under_way: Vec<UnderWay>,
}

/// An admitted write on its way.
pub(crate) struct UnderWay {
    pub id: WriteId,
    pub line: LineAddr,
    /// Cleans that wait for its arrival.
    pub notify: Vec<(HartId, u64)>,
}

/// The machine without its design.
pub struct System {
    pub(crate) spec: MachineSpec,
    pub(crate) shape: Shape,
    pub(crate) events: Agenda,
    pub(crate) harts: Vec<Hart>,
    pub(crate) cores: Vec<Core>,
    pub(crate) llc: SharedCache,
    pub(crate) bus: Bus,
    pub(crate) dram: MemoryPort,
    pub(crate) pm: MemoryPort,
    pub(crate) locks: super::locks::Locks,
    pub(crate) functional: Rc<RefCell<Image>>,
    pub(crate) coherent: Image,
    pub(crate) durable: Image,
    pub(crate) log: PersistLog,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) journal: Rc<RefCell<Journal>>,
    pub(crate) cleans: Vec<Option<CleanRequest>>,
    /// Reads that the design asked for: line and tag.
    pub(crate) design_reads: Vec<Option<(LineAddr, u64)>>,
    pub(crate) next_write: u64,
    pub(crate) kicked: u64,
    /// Writes that the controller reports as durable at this moment, while the report is being worked off.
    pub(crate) landing: Vec<(LineAddr, [u64; 8])>,
    /// Lines of log writes that the medium holds, but that count as durable only with the rest of their node.
    pub(crate) parts: FxHashMap<LineAddr, LineData>,
    pub(crate) versions: FxHashMap<(u8, LineAddr, u32), LineData>,
    pub(crate) counters: Counters,
    pub(crate) design_counts: Vec<u64>,
    /// Instructions between consecutive fences that stand between log entries and data, over all harts: value, occurrences.
    pub(crate) log_fence_distances: std::collections::BTreeMap<u64, u64>,
    pub(crate) histograms: Vec<std::collections::BTreeMap<u64, u64>>,
    pub(crate) unfinished: usize,
}

impl System {
    pub(crate) fn now(&self) -> Ps {
        self.events.now()
    }
    pub(crate) fn core_index(&self, hart: HartId) -> usize {
        self.spec.core_of(hart).index()
    }
    pub(crate) fn port(&mut self, side: Side) -> &mut MemoryPort {
        match side {
            Side::Dram => &mut self.dram,
            Side::Pm => &mut self.pm,
        }
    }
    pub(crate) fn new_write_id(&mut self) -> WriteId {
        self.next_write += 1;
        WriteId(self.next_write)
    }
    /// Rounds a time up to the core clock.
    pub(crate) fn align(&self, t: Ps) -> Ps {
        self.shape.align(t)
    }
    /// Schedules a load's access to the L1: in this cycle or, if that lies in the past, the next.
    pub(crate) fn load_at(&mut self, hart: HartId, id: u32, cycle: u64) {
        let at = (self.shape.period * cycle).max(self.align(self.now()));
        self.events.schedule(at, Ev::Load(hart, id));
    }
    /// Schedules a look at the hart's store queue.
    pub(crate) fn wake_stores(&mut self, hart: HartId, at: Ps) {
        let h = &mut self.harts[hart.index()];
        let at = at.max(h.store_port);
        if h.store_event.is_none_or(|t| at < t) {
            h.store_event = Some(at);
            self.events.schedule(at, Ev::Stores(hart));
        }
    }
    /// Schedules the memory controller's next step, if it is earlier than what is scheduled.
    pub(crate) fn wake_memory(&mut self, side: Side) {
        let now = self.now();
        let port = self.port(side);
        if let Some(t) = port.controller.next_event() {
            let t = t.max(now);
            if port.scheduled.is_none_or(|s| t < s) {
                port.scheduled = Some(t);
                self.events.schedule(t, Ev::Memory(side));
            }
        }
    }
    /// A line as the design sees it now.
    pub(crate) fn line_data(&self, line: LineAddr) -> LineData {
        self.coherent.line(line)
    }
    /// First byte and length of the region reserved for a hardware log.
    pub(crate) fn log_region(&self) -> (Addr, u64) {
        (fencepost_kernel::units::LOG_BASE, self.spec.log_area.0)
    }
    /// Charges the wait at the commit head, if any, up to now.
    pub(crate) fn charge_head(&mut self, hart: HartId) {
        let now = self.now();
        let h = &mut self.harts[hart.index()];
        if let Some((cause, _)) = h.head_wait.take() {
            h.account.stall(now, cause);
        }
    }
    /// The instruction at the commit head waits for `cause` from now on.
    pub(crate) fn head_waits(&mut self, hart: HartId, cause: Cause) {
        let now = self.now();
        let h = &mut self.harts[hart.index()];
        match h.head_wait {
            Some((c, _)) if c == cause => {}
            Some((c, _)) => {
                h.account.stall(now, c);
                h.head_wait = Some((cause, now));
            }
            None => h.head_wait = Some((cause, now)),
        }
    }
}
