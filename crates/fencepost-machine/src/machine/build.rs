//! A machine is put together.

use super::agenda::Agenda;
use super::compose::{Machine, Watch};
use super::system::{MemoryPort, System};
use super::threads::Rest;
use super::workload::{RunError, Workload};
use crate::core::{HardwareThread, Locks, Shape, TraceRecorder};
use crate::frontend::{Dataflow, Journal, OwnLines, Recording, Replay, Thread};
use crate::hierarchy::Hierarchy;
use crate::memory::{Controller, FlowControl, ModuleSpec, Scheduler};
use crate::seam::{Design, QueuePlan};
use crate::spec::{MachineSpec, MemorySpec};
use fencepost_kernel::{HwThread, Image, PersistLog, Ps};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What all threads of a machine share.
struct Shared {
    functional: Rc<RefCell<Image>>,
    journal: Rc<RefCell<Journal>>,
    own_lines: Rc<OwnLines>,
}

impl Shared {
    fn new(work: &Workload, threads: usize) -> Shared {
        Shared {
            functional: Rc::new(RefCell::new(work.initial.clone().without_writers())),
            journal: Rc::new(RefCell::new(Journal::new(threads))),
            own_lines: Rc::default(),
        }
    }
}

fn memory_port(
    name: &'static str,
    spec: &MemorySpec,
    module: &ModuleSpec,
    plan: &QueuePlan,
    scheduler: Option<Box<dyn Scheduler>>,
    flow: Option<Box<dyn FlowControl>>,
    durable: bool,
) -> Result<MemoryPort, RunError> {
    let controller = Controller::new(&spec.controller, &spec.media, plan, durable)
        .and_then(|c| c.with_module(module))
        .map_err(|e| RunError::Memory(name, e))?;
    let controller = match scheduler {
        Some(s) => controller.with_scheduler(s),
        None => controller,
    };
    Ok(MemoryPort {
        controller: match flow {
            Some(f) => controller.with_flow_control(f),
            None => controller,
        },
        scheduled: None,
    })
}

impl Machine {
    /// Puts a machine together.
    ///
    /// # Errors
    /// An impossible specification, or more threads than hardware threads.
    pub fn new(spec: &MachineSpec, design: Box<dyn Design>, mut work: Workload) -> Result<Machine, RunError> {
        let bodies = std::mem::take(&mut work.threads);
        let shared = Shared::new(&work, bodies.len());
        let threads = bodies.into_iter().enumerate().map(|(i, body)| {
            let (functional, journal) = (shared.functional.clone(), shared.journal.clone());
            let own_lines = work.record.then(|| shared.own_lines.clone());
            Thread::new(body, functional, journal, work.sites.clone(), (i as u8, own_lines))
        });
        let threads = threads.collect();
        Machine::of_threads(spec, design, work, threads, shared)
    }

    /// Puts a machine together whose threads replay traces: `work` has the threads of all processes, of which there are `processes` with
    /// equally many threads each, and the memory that each begins with. That of each lies `apart` bytes behind that of the one before.
    ///
    /// # Errors
    /// An impossible specification, or more threads than hardware threads.
    pub fn traced(
        spec: &MachineSpec,
        design: Box<dyn Design>,
        mut work: Workload,
        (processes, apart): (usize, u64),
    ) -> Result<Machine, RunError> {
        let mut bodies = std::mem::take(&mut work.threads);
        let shared = Shared::new(&work, bodies.len());
        let each = bodies.len() / processes.max(1);
        let mut threads = Vec::new();
        for process in 0..processes {
            let own = bodies.drain(..each).collect();
            let recording = Recording::new(own, work.initial.clone().without_writers(), &work.sites);
            let recording = Rc::new(RefCell::new(recording));
            let replay = |t| Replay::new(recording.clone(), t, process as u64 * apart);
            threads.extend((0..each).map(|t| Thread::replayed(replay(t))));
        }
        Machine::of_threads(spec, design, work, threads, shared)
    }

    /// Puts a machine together whose threads are told what their loads read when those perform; `work` has no other threads.
    ///
    /// # Errors
    /// An impossible specification, or more threads than hardware threads.
    pub fn dataflow(
        spec: &MachineSpec,
        design: Box<dyn Design>,
        work: Workload,
        threads: Vec<Box<dyn Dataflow>>,
    ) -> Result<Machine, RunError> {
        let shared = Shared::new(&work, threads.len());
        let threads = threads.into_iter().map(Thread::dataflow).collect();
        Machine::of_threads(spec, design, work, threads, shared)
    }

    fn of_threads(
        spec: &MachineSpec,
        design: Box<dyn Design>,
        work: Workload,
        threads: Vec<Thread>,
        shared: Shared,
    ) -> Result<Machine, RunError> {
        let Shared {
            functional,
            journal,
            own_lines,
        } = shared;
        spec.validate()?;
        if threads.len() > usize::from(spec.hw_threads()) {
            return Err(RunError::Threads {
                threads: threads.len(),
                hw_threads: spec.hw_threads(),
            });
        }
        let threads: Vec<HardwareThread> = (threads.into_iter().enumerate())
            .map(|(i, thread)| {
                let (functional, journal) = (functional.clone(), journal.clone());
                HardwareThread::new(HwThread(i as u8), thread, work.warm_up, functional, journal)
            })
            .collect();
        let (parts, statistics) = (design.controller(&spec.pm.module), design.statistics());
        let flow_control = parts.flow_control.filter(|_| parts.module.entries > 0);
        let sys = System {
            events: Agenda::default(),
            unfinished: threads.len(),
            warmed_up: false,
            warm_up_end: None,
            threads: threads.len() as u8,
            dram: memory_port(
                "dram",
                &spec.dram,
                &spec.dram.module,
                &QueuePlan::default(),
                None,
                None,
                false,
            )?,
            pm: memory_port(
                "pm",
                &spec.pm,
                &parts.module,
                &parts.queues,
                parts.scheduler,
                flow_control,
                true,
            )?,
            locks: Locks::default(),
            functional,
            coherent: copy(&work.initial, work.record),
            durable: copy(&work.initial, work.record),
            log: PersistLog::new(work.record),
            recorder: work.record.then(|| TraceRecorder::new(threads.len() as u32, own_lines)),
            journal,
            next_write: 0,
            kicked: 0,
            released: 0,
            landing: Vec::new(),
            parts: Default::default(),
            design_counts: vec![0; statistics.counters.len()],
            histograms: vec![BTreeMap::new(); statistics.histograms.len()],
            spec: spec.clone(),
        };
        let hooks = design.hooks();
        let mut hier = Hierarchy::new(spec, hooks);
        let mut sys = sys;
        if work.record {
            hier.keep_bytes();
            for port in [&mut sys.dram, &mut sys.pm] {
                port.controller.keep_bytes(work.initial.clone());
                port.controller.record_commands();
            }
        }
        work.resident.warm(&mut hier, spec, |line| sys.line_data(line));
        let rest = Rest {
            hier,
            shape: Shape::new(spec, |kind| design.fence(kind)),
            sys,
            design,
            hooks,
        };
        let mut machine = Machine {
            threads,
            rest,
            network: None,
            mem_events: Vec::new(),
            start: None,
            initial: work.initial,
            measured: None,
            stop_at: Ps(u64::MAX),
            joined: 0,
            watch: work.record.then(Watch::default),
        };
        if work.warm_up == 0 {
            machine.snapshot(None);
        }
        Ok(machine)
    }
}

/// A copy of initial memory. Who wrote what is kept in recorded runs only: it costs another table to write at every store.
fn copy(image: &Image, record: bool) -> Image {
    match record {
        true => image.clone().track_writers(),
        false => image.clone().without_writers(),
    }
}
