//! Shared by the memory tests: a controller driven by its own `next_event`.
#![allow(dead_code)]

pub(super) mod round;

use fencepost_kernel::{LineAddr, LineData, Ps, WriteCause};
use fencepost_machine::memory::*;
use fencepost_machine::seam::{Epoch, QueuePlan, Write, WriteId};

/// The default controller without its static latency.
pub(super) fn bare() -> ControllerSpec {
    ControllerSpec {
        static_latency: Ps::ZERO,
        ..ControllerSpec::default()
    }
}
/// A write of `line` whose first word is `value`.
pub(super) fn write(line: u64, value: u64, epoch: Option<u64>) -> Write {
    let mut data = LineData::default();
    data.words[0] = value;
    Write {
        line: LineAddr(line),
        data,
        queue: 0,
        epoch: epoch.map(Epoch),
        cause: WriteCause::Persist,
        hw_thread: None,
        delay: Ps::ZERO,
    }
}

/// A controller and what it reported, with times.
pub(super) struct Harness {
    pub c: Controller,
    pub events: Vec<(u64, MemEvent)>,
    next: u64,
}
impl Harness {
    pub(super) fn new(spec: &ControllerSpec, media: &MediaSpec) -> Harness {
        Harness::with_plan(spec, media, &QueuePlan::default())
    }
    pub(super) fn with_plan(spec: &ControllerSpec, media: &MediaSpec, plan: &QueuePlan) -> Harness {
        Harness {
            c: Controller::new(spec, media, plan, true).unwrap(),
            events: Vec::new(),
            next: 0,
        }
    }
    pub(super) fn id(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
    pub(super) fn read(&mut self, now: u64, line: u64) -> u64 {
        let id = self.id();
        self.c.push_read(Ps(now), ReadId(id), LineAddr(line)).unwrap();
        id
    }
    pub(super) fn write(&mut self, now: u64, w: Write) -> u64 {
        let id = self.id();
        self.c.push_write(Ps(now), WriteId(id), w).unwrap();
        id
    }
    /// Advances from event to event while they are not after `until`.
    pub(super) fn run_until(&mut self, until: u64) {
        let mut out = Vec::new();
        while let Some(t) = self.c.next_event().filter(|t| t.0 <= until) {
            self.c.advance(t, &mut out);
            self.events.extend(out.drain(..).map(|e| (t.0, e)));
        }
    }
    /// Runs until nothing is left; the queues must be empty then.
    pub(super) fn finish(&mut self) {
        self.run_until(u64::MAX);
        assert!(
            self.c.is_empty(),
            "no next event, yet work is pending:\n{}",
            self.c.explain()
        );
    }
    /// Time at which one read, pushed at `now` to an otherwise idle controller, returns.
    pub(super) fn read_alone(&mut self, now: u64, line: u64) -> u64 {
        let id = self.read(now, line);
        self.finish();
        self.read_time(id)
    }
    pub(super) fn read_time(&self, id: u64) -> u64 {
        let done = |e: &&(u64, MemEvent)| matches!(e.1, MemEvent::ReadDone { id: i, .. } if i.0 == id);
        self.events.iter().find(done).expect("read returned").0
    }
    pub(super) fn durable_time(&self, id: u64) -> u64 {
        let done = |e: &&(u64, MemEvent)| matches!(e.1, MemEvent::Durable { id: i, .. } if i.0 == id);
        self.events.iter().find(done).expect("write became durable").0
    }
    /// Durable events in order: id, first word, whether recorded.
    pub(super) fn durable(&self) -> Vec<(u64, u64, bool)> {
        let pick = |e: &(u64, MemEvent)| match e.1 {
            MemEvent::Durable { id, write, record } => Some((id.0, write.data.words[0], record)),
            _ => None,
        };
        self.events.iter().filter_map(pick).collect()
    }
}
