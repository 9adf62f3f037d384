//! A run: build, event loop, drain, report.

use super::agenda::Agenda;
use super::locks::Locks;
use super::recorder::Recorder;
use super::report::{Counters, HartReport, RunReport};
use super::system::{MemoryPort, System};
use super::{Ev, Machine, RunError, Workload};
use crate::bus::{Bus, Core, SharedCache};
use crate::cache::Tags;
use crate::frontend::{Journal, Thread};
use crate::hart::{Account, Hart, Refused, Shape};
use crate::memory::{Controller, Scheduler};
use crate::seam::{Design, QueuePlan};
use crate::spec::{MachineSpec, MemorySpec};
use fencepost_kernel::{HartId, PersistLog, Ps};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// State at the start of the measured part.
pub(crate) struct Start {
    time: Ps,
    accounts: Vec<(Account, u64, u64, u64)>,
    counters: Counters,
    design_counts: Vec<u64>,
    histograms: Vec<BTreeMap<u64, u64>>,
    log_fence_distances: BTreeMap<u64, u64>,
    log: u64,
}

/// Events at one moment beyond which the machine is taken to be going round in circles.
const LIVELOCK: u64 = 4_000_000;

fn memory_port(
    name: &'static str,
    spec: &MemorySpec,
    plan: &QueuePlan,
    scheduler: Option<Box<dyn Scheduler>>,
    durable: bool,
) -> Result<MemoryPort, RunError> {
    let controller =
        Controller::new(&spec.controller, &spec.media, plan, durable).map_err(|e| RunError::Memory(name, e))?;
    Ok(MemoryPort {
        controller: match scheduler {
            Some(s) => controller.with_scheduler(s),
            None => controller,
        },
        scheduled: None,
        reads: Vec::new(),
        waiting_reads: VecDeque::new(),
        outgoing: Vec::new(),
        line_refused: Vec::new(),
        under_way: Vec::new(),
    })
}

impl Machine {
    /// Puts a machine together.
    ///
    /// # Errors
    /// An impossible specification, or more threads than hardware threads.
    pub fn new(spec: &MachineSpec, design: Box<dyn Design>, work: Workload) -> Result<Machine, RunError> {
        spec.validate()?;
        if work.threads.len() > usize::from(spec.harts()) {
            return Err(RunError::Threads {
                threads: work.threads.len(),
                harts: spec.harts(),
            });
        }
        let functional = Rc::new(RefCell::new(work.initial.clone()));
        let journal = Rc::new(RefCell::new(Journal::new(work.threads.len())));
        let threads = work.threads.into_iter().enumerate();
        let harts: Vec<Hart> = threads
            .map(|(i, body)| Thread::new(body, functional.clone(), journal.clone(), work.sites.clone(), i as u8))
            .map(Hart::new)
            .collect();
        let core = || Core {
            l1: Tags::new(&spec.l1),
            l2: spec.l2.as_ref().map(Tags::new),
            misses: vec![None; spec.l1.mshrs as usize],
            spare: Vec::new(),
            starved: VecDeque::new(),
            blocked: None,
            write_back: VecDeque::new(),
            stuck_fills: Vec::new(),
        };
        let (plan, scheduler) = (design.queue_plan(), design.scheduler());
        let sys = System {
            shape: Shape::new(&spec.core, |kind| design.fence(kind)),
            events: Agenda::default(),
            unfinished: harts.len(),
            harts,
            cores: (0..spec.core.cores).map(|_| core()).collect(),
            llc: SharedCache {
                tags: Tags::new(&spec.llc),
                write_back: VecDeque::new(),
            },
            bus: Bus::default(),
            dram: memory_port("dram", &spec.dram, &QueuePlan::default(), None, false)?,
            pm: memory_port("pm", &spec.pm, &plan, scheduler, true)?,
            locks: Locks::default(),
            functional,
            coherent: with_writers(&work.initial, work.record),
            durable: with_writers(&work.initial, work.record),
            log: PersistLog::new(work.record),
            recorder: work.record.then(|| Recorder::new(0)),
            journal,
            cleans: Vec::new(),
            design_reads: Vec::new(),
            next_write: 0,
            kicked: 0,
            landing: Vec::new(),
            parts: Default::default(),
            versions: Default::default(),
            counters: Counters::default(),
            design_counts: vec![0; design.stats().len()],
            histograms: vec![BTreeMap::new(); design.histograms().len()],
            log_fence_distances: BTreeMap::new(),
            spec: spec.clone(),
        };
        let hooks = design.hooks();
        let mut machine = Machine {
            sys,
            design,
            hooks,
            mem_events: Vec::new(),
            warm_up: work.warm_up,
            start: None,
            initial: work.initial,
        };
        if let Some(r) = &mut machine.sys.recorder {
            *r = Recorder::new(machine.sys.harts.len() as u32);
        }
        if machine.warm_up == 0 {
            machine.snapshot();
        }
        Ok(machine)
    }

    /// Runs to the end of every thread, then drains the design.
    ///
    /// # Errors
    /// [`super::Stuck`] when nothing can happen although threads have not finished.
    pub fn run(mut self) -> Result<RunReport, RunError> {
        for h in 0..self.sys.harts.len() {
            self.sys.events.schedule(Ps::ZERO, Ev::Dispatch(HartId(h as u8)));
        }
        let (mut events, mut here, mut at) = (0, 0, Ps::ZERO);
        let (mut drained, mut end) = (false, None);
        loop {
            if self.sys.unfinished == 0 {
                end.get_or_insert_with(|| {
                    self.sys
                        .harts
                        .iter()
                        .filter_map(|h| h.finished)
                        .max()
                        .unwrap_or_default()
                });
                drained = self.design.drain(&mut self.sys);
                self.after();
            }
            let Some((now, ev)) = self.sys.events.pop() else { break };
            events += 1;
            here = if now == at { here + 1 } else { 0 };
            at = now;
            if here > LIVELOCK {
                return Err(self
                    .stuck("time stands still: the same requests are refused over and over")
                    .into());
            }
            self.handle(ev);
            self.after();
        }
        if self.sys.unfinished > 0 || !drained {
            let why = if self.sys.unfinished > 0 {
                "nothing is scheduled"
            } else {
                "the design never finished draining"
            };
            return Err(self.stuck(why).into());
        }
        Ok(self.report(end.unwrap_or_default(), events))
    }

    fn handle(&mut self, ev: Ev) {
        match ev {
            Ev::Dispatch(h) => {
                self.dispatch(h);
                self.check_finished(h);
            }
            Ev::Load(h, id) => self.load(h, id),
            Ev::Stores(h) => {
                // A later wake-up may have been replaced by an earlier one.
                if self.sys.harts[h.index()].store_event == Some(self.sys.now()) {
                    self.stores(h);
                }
            }
            Ev::Head(h) => self.head(h),
            Ev::Grant(core, miss) => self.grant(core, miss),
            Ev::Fill(core, miss) => self.fill(core, miss),
            Ev::Starved(core) => self.serve_starved(core),
            Ev::ReadSend(side, what) => self.send_read(side, what),
            Ev::Clean(slot) => self.clean(slot),
            Ev::Memory(side) => {
                let now = self.sys.now();
                if self.sys.port(side).scheduled == Some(now) {
                    self.memory(side);
                }
            }
            Ev::Timer(tag) => self.design.timer(&mut self.sys, tag),
            Ev::Cleaned(hart, tag) => self.design.cleaned(&mut self.sys, hart, tag, None),
        }
    }

    /// Asks again for the threads that an event's hooks kicked.
    #[inline]
    fn after(&mut self) {
        if self.sys.kicked != 0 {
            self.follow_up();
        }
    }
    #[inline(never)] // seldom needed, and large: with it inlined every event would save and restore its registers
    fn follow_up(&mut self) {
        while self.sys.kicked != 0 {
            let kicked = std::mem::take(&mut self.sys.kicked);
            for h in (0..self.sys.harts.len()).filter(|h| kicked >> h & 1 == 1) {
                self.ask_again(HartId(h as u8));
            }
            if self.hooks.holds {
                for core in 0..self.sys.cores.len() {
                    self.drain_write_back(fencepost_kernel::CoreId(core as u8));
                }
                self.drain_llc_write_back();
                self.unthrottle();
            }
            if !self.sys.bus.refused.is_empty() {
                self.retry_refused();
            }
        }
    }

    /// Asks the design again about everything it refused to a hart.
    fn ask_again(&mut self, hart: HartId) {
        let refused = std::mem::take(&mut self.sys.harts[hart.index()].refused);
        for r in refused {
            match r {
                Refused::Head => self.head(hart),
                Refused::Load(id) => self.load(hart, id),
                Refused::Stores => self.retry_stores(hart),
            }
        }
        if self.blocked(hart).is_none() {
            for id in std::mem::take(&mut self.sys.harts[hart.index()].blocked_loads) {
                self.load(hart, id);
            }
        }
    }

    /// The measured part starts once every thread has finished its warm-up operations.
    pub(crate) fn warm_up_check(&mut self, hart: HartId) {
        let done = |h: &Hart| h.ops_done >= self.warm_up || h.finished.is_some();
        if self.start.is_none()
            && self.sys.harts[hart.index()].ops_done == self.warm_up
            && self.sys.harts.iter().all(done)
        {
            self.snapshot();
        }
    }

    fn snapshot(&mut self) {
        let account = |h: &Hart| (h.account.clone(), h.instructions, h.memory_ops, h.ops_done);
        self.start = Some(Start {
            time: self.sys.now(),
            accounts: self.sys.harts.iter().map(account).collect(),
            counters: self.sys.counters.clone(),
            design_counts: self.sys.design_counts.clone(),
            histograms: self.sys.histograms.clone(),
            log_fence_distances: self.sys.log_fence_distances.clone(),
            log: self.sys.log.len(),
        });
    }

    fn report(mut self, end: Ps, events: u64) -> RunReport {
        let start = self.start.take().unwrap_or_else(|| Start {
            time: Ps::ZERO,
            accounts: vec![Default::default(); self.sys.harts.len()],
            counters: Counters::default(),
            design_counts: vec![0; self.sys.design_counts.len()],
            histograms: vec![BTreeMap::new(); self.sys.histograms.len()],
            log_fence_distances: BTreeMap::new(),
            log: 0,
        });
        let harts = self
            .sys
            .harts
            .iter()
            .zip(&start.accounts)
            .map(|(h, (account, instructions, memory_ops, ops))| HartReport {
                started: account.until,
                finished: h.finished.unwrap_or(h.account.until),
                account: h.account.since(account),
                instructions: h.instructions - instructions,
                memory_ops: h.memory_ops - memory_ops,
                ops: h.ops_done - ops,
            });
        let harts = harts.collect();
        let simulated = self.sys.harts.iter().map(|h| (h.instructions, h.memory_ops));
        let simulated = simulated.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let left_dirty = self.dirty_lines().iter().filter(|l| l.is_persistent()).count();
        RunReport {
            time: end.saturating_sub(start.time),
            drain_time: self.sys.now().saturating_sub(end),
            harts,
            counters: self.sys.counters.since(&start.counters),
            dram: self.sys.dram.controller.stats().clone(),
            pm: self.sys.pm.controller.stats().clone(),
            design_counts: self
                .sys
                .design_counts
                .iter()
                .zip(&start.design_counts)
                .map(|(a, b)| a - b)
                .collect(),
            histograms: self.sys.histograms.iter().zip(&start.histograms).map(since).collect(),
            log_fence_distances: since((&self.sys.log_fence_distances, &start.log_fence_distances)),
            log: self.sys.log,
            log_start: start.log,
            trace: self.sys.recorder.map(Recorder::finish),
            initial: self.initial,
            durable: self.sys.durable,
            coherent: self.sys.coherent,
            left_dirty,
            events,
            simulated,
        }
    }
}

/// A histogram without what an earlier copy of it held.
fn since((now, start): (&BTreeMap<u64, u64>, &BTreeMap<u64, u64>)) -> BTreeMap<u64, u64> {
    let left = |(value, n): (&u64, &u64)| (*value, n - start.get(value).copied().unwrap_or(0));
    now.iter().map(left).filter(|(_, n)| *n > 0).collect()
}

fn with_writers(image: &fencepost_kernel::Image, record: bool) -> fencepost_kernel::Image {
    if record {
        image.clone().track_writers()
    } else {
        image.clone()
    }
}
