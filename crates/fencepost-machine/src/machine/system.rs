//! Everything of the machine but the design: the state that the handle of the seam reaches into.

use super::agenda::{Agenda, Ev};
use crate::core::{Locks, TraceRecorder};
use crate::frontend::Journal;
use crate::hierarchy::Side;
use crate::memory::Controller;
use crate::seam::WriteId;
use crate::spec::MachineSpec;
use fencepost_kernel::{Addr, CoreId, HwThread, Image, LineAddr, LineData, PersistLog, Ps};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// A memory controller, and when it acts next.
pub(crate) struct MemoryPort {
    pub controller: Controller,
    /// When `advance` is scheduled.
    pub scheduled: Option<Ps>,
}

/// What belongs to no component: time, images of memory, the persist log, the trace, the memory controllers.
pub(super) struct System {
    pub(crate) spec: MachineSpec,
    pub(crate) events: Agenda,
    /// Threads that run a program.
    pub(crate) threads: u8,
    pub(crate) dram: MemoryPort,
    pub(crate) pm: MemoryPort,
    pub(crate) locks: Locks,
    pub(crate) functional: Rc<RefCell<Image>>,
    pub(crate) coherent: Image,
    pub(crate) durable: Image,
    pub(crate) log: PersistLog,
    pub(crate) recorder: Option<TraceRecorder>,
    pub(crate) journal: Rc<RefCell<Journal>>,
    pub(crate) next_write: u64,
    pub(crate) kicked: u64,
    /// Cores whose lines may leave: a bit each; all bits: the last cache's as well.
    pub(crate) released: u64,
    /// Writes that the controller reports as durable at this moment, while the report is being worked off.
    pub(crate) landing: Vec<(LineAddr, [u64; 8])>,
    /// Lines of log writes that the medium holds, but that count as durable only with the rest of their node.
    pub(crate) parts: FxHashMap<LineAddr, LineData>,
    pub(crate) design_counts: Vec<u64>,
    pub(crate) histograms: Vec<std::collections::BTreeMap<u64, u64>>,
    pub(crate) unfinished: usize,
    /// Some thread has just finished its warm-up operations.
    pub(crate) warmed_up: bool,
    /// Of the threads that have, the one whose last warm-up operation commits last, and when.
    pub(crate) warm_up_end: Option<(HwThread, Ps)>,
}

impl System {
    pub(crate) fn now(&self) -> Ps {
        self.events.now()
    }
    /// The recorder of a recorded run, set to the present.
    #[inline]
    pub(crate) fn recorder(&mut self) -> Option<&mut TraceRecorder> {
        let now = self.events.now();
        self.recorder.as_mut().map(|r| r.at(now))
    }
    /// The core of a hardware thread; ports of the network have numbers of their own behind all cores.
    pub(crate) fn core_of(&self, hw_thread: HwThread) -> CoreId {
        match hw_thread.0.checked_sub(self.spec.hw_threads()) {
            Some(port) => CoreId(self.spec.core.cores + port),
            None => self.spec.core_of(hw_thread),
        }
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
    /// The newest bytes of a line.
    pub(crate) fn line_data(&self, line: LineAddr) -> LineData {
        self.coherent.line(line)
    }
    /// First byte and length of the region reserved for a hardware log.
    pub(crate) fn log_region(&self) -> (Addr, u64) {
        (fencepost_kernel::units::LOG_BASE, self.spec.log_area.0)
    }
}
