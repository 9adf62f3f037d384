//! A memory controller with a scheduler of a design's own, driven by hand: requests go in, and the test sees what issues when.

use fencepost_kernel::{LineAddr, LineData, Ps, WriteCause};
use fencepost_machine::memory::{
    Choice, Controller, ControllerSpec, MediaSpec, MemEvent, OpenRow, Scheduler, SpecError, Waiting,
};
use fencepost_machine::seam::{Cause, Epoch, QueuePlan, Write, WriteId};
use std::cell::RefCell;
use std::rc::Rc;

/// A scheduler that can be looked into while a controller has it.
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
    fn unsound(&self) -> Option<String> {
        self.0.borrow().unsound()
    }
    fn delay(&self) -> Ps {
        self.0.borrow().delay()
    }
    fn wake(&self, now: Ps) -> Option<Ps> {
        self.0.borrow().wake(now)
    }
}

/// A controller whose scheduler orders the epochs of each of its queues.
#[derive(Debug)]
pub struct Scheduled<S> {
    controller: Controller,
    /// The scheduler.
    pub scheduler: Rc<RefCell<S>>,
    /// When each write's data went to the medium, in order.
    pub issued: Vec<(Ps, WriteId)>,
}

impl<S: Scheduler + 'static> Scheduled<S> {
    /// `queues` queues of `entries` in front of a medium.
    ///
    /// # Errors
    /// The medium cannot be built.
    pub fn new(scheduler: S, media: &MediaSpec, queues: u8, entries: u16) -> Result<Scheduled<S>, SpecError> {
        let plan = QueuePlan {
            queues,
            entries_each: Some(entries),
            scheduler_orders: true,
            ..QueuePlan::default()
        };
        let scheduler = Rc::new(RefCell::new(scheduler));
        let controller = Controller::new(&ControllerSpec::default(), media, &plan, true)?;
        Ok(Scheduled {
            controller: controller.with_scheduler(Box::new(Shared(Rc::clone(&scheduler)))),
            scheduler,
            issued: Vec::new(),
        })
    }
    /// Sends a write of an epoch of a queue; it arrives at once.
    ///
    /// # Errors
    /// The queue is full.
    pub fn push(&mut self, now: Ps, id: WriteId, (queue, epoch): (u8, Epoch), line: LineAddr) -> Result<(), Cause> {
        let write = Write {
            line,
            data: LineData::default(),
            queue,
            epoch: Some(epoch),
            cause: WriteCause::Persist,
            hw_thread: None,
            delay: Ps::ZERO,
        };
        let pushed = self.controller.push_write(now, id, write);
        pushed.map_err(|_| Cause::WriteQueueFull)
    }
    /// Runs until `done` says so of an event, or nothing is left to do.
    pub fn run_until(&mut self, done: impl Fn(&MemEvent) -> bool) {
        let mut events = Vec::new();
        while let Some(now) = self.controller.next_event() {
            self.controller.advance(now, &mut events);
            let issued = events.iter().filter_map(|e| match e {
                MemEvent::Issued { id } => Some((now, *id)),
                _ => None,
            });
            self.issued.extend(issued);
            if events.drain(..).any(|e| done(&e)) {
                return;
            }
        }
    }
    /// The writes in the order in which their data went to the medium.
    pub fn order(&self) -> Vec<u64> {
        self.issued.iter().map(|i| i.1.0).collect()
    }
}
