//! Tests of the parts: the worked example and local before remote on a controller, the formula, the remote interface.

mod example;
mod formula;
mod remote;

use super::{BroiParams, BroiScheduler, EpochScheduler, Tally};
use fencepost_kernel::units::{LINE_BYTES, PM_BASE};
use fencepost_kernel::{LineAddr, LineData, Ps, WriteCause};
use fencepost_machine::memory::{Choice, Controller, ControllerSpec, MediaSpec, MemEvent, OpenRow, Scheduler, Waiting};
use fencepost_machine::seam::{Epoch, QueuePlan, Write, WriteId};
use std::cell::RefCell;
use std::rc::Rc;

/// A scheduler that the test can look into while a controller has it.
#[derive(Debug)]
struct Shared<S>(Rc<RefCell<S>>);
impl<S: Scheduler> Scheduler for Shared<S> {
    fn next(&mut self, now: Ps, open: &OpenRow, waiting: &mut dyn Iterator<Item = Waiting<'_>>) -> Option<Choice> {
        self.0.borrow_mut().next(now, open, waiting)
    }
    fn arrived(&mut self, now: Ps, bank: u16, id: WriteId, write: &Write) {
        self.0.borrow_mut().arrived(now, bank, id, write);
    }
    fn issued(&mut self, now: Ps, bank: u16, id: WriteId, write: &Write) {
        self.0.borrow_mut().issued(now, bank, id, write);
    }
    fn stored(&mut self, now: Ps, bank: u16, id: WriteId, write: &Write) {
        self.0.borrow_mut().stored(now, bank, id, write);
    }
    fn delay(&self) -> Ps {
        self.0.borrow().delay()
    }
    fn wake(&self, now: Ps) -> Option<Ps> {
        self.0.borrow().wake(now)
    }
}

/// The paper's controller and medium with a scheduler of ours, for `local` threads and two network channels.
struct Memory<S> {
    controller: Controller,
    scheduler: Rc<RefCell<S>>,
    /// When each write's data went to the medium, in order.
    issued: Vec<(Ps, WriteId)>,
}

fn scheduler(params: &BroiParams, local: usize) -> BroiScheduler {
    BroiScheduler::new(params, local, &Rc::new(Tally::default()))
}
fn epoch_first(params: &BroiParams, local: usize) -> EpochScheduler {
    EpochScheduler::new(params, local, &Rc::new(Tally::default()))
}

impl<S: Scheduler + 'static> Memory<S> {
    fn new(scheduler: S) -> Memory<S> {
        let preset = MediaSpec::PRESETS.iter().find(|p| p.word == "broi-nvm");
        let media = (preset.expect("the paper's medium").spec)();
        let plan = QueuePlan {
            queues: 10,
            entries_each: Some(8),
            scheduler_orders: true,
            ..QueuePlan::default()
        };
        let scheduler = Rc::new(RefCell::new(scheduler));
        let controller = Controller::new(&ControllerSpec::default(), &media, &plan, true).expect("a sound memory");
        Memory {
            controller: controller.with_scheduler(Box::new(Shared(scheduler.clone()))),
            scheduler,
            issued: Vec::new(),
        }
    }
    /// A write of BROI entry `entry`, set `set`.
    fn push(&mut self, now: Ps, id: u64, (entry, set): (u8, u64), line: LineAddr) {
        let write = Write {
            line,
            data: LineData::default(),
            queue: entry,
            epoch: Some(Epoch(set)),
            cause: WriteCause::Persist,
            hart: None,
            delay: Ps::ZERO,
        };
        self.controller
            .push_write(now, WriteId(id), write)
            .expect("a free unit");
    }
    /// Runs until `done` says so of an event, or nothing is left to do.
    fn run_until(&mut self, done: impl Fn(&MemEvent) -> bool) {
        let mut events = Vec::new();
        while let Some(now) = self.controller.next_event() {
            self.controller.advance(now, &mut events);
            for e in &events {
                if let MemEvent::Issued { id } = e {
                    self.issued.push((now, *id));
                }
            }
            if events.drain(..).any(|e| done(&e)) {
                return;
            }
        }
    }
    fn order(&self) -> Vec<u64> {
        self.issued.iter().map(|i| i.1.0).collect()
    }
}

/// A line of a bank and row of the paper's medium: rows of 32 lines stride over 8 banks.
fn at(bank: u64, row: u64) -> LineAddr {
    LineAddr(PM_BASE / LINE_BYTES + (row * 8 + bank) * 32)
}
