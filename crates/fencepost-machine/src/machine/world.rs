//! The machine as the cache hierarchy sees it.

use super::agenda::Ev;
use super::handle::Handle;
use super::system::System;
use crate::hierarchy::{Hierarchy, Outside, Side, Step, Words};
use crate::memory::ReadId;
use crate::seam::{Design, Exit, Gate, Level, Place, ReadAnswer, Snoop, SnoopAnswer, Way, Why, Write, WriteId};
use fencepost_kernel::{HwThread, LineAddr, LineData, Ps};

/// Everything but the hierarchy.
pub(crate) struct World<'a> {
    pub sys: &'a mut System,
    pub design: &'a mut dyn Design,
}
impl World<'_> {
    fn ask<'b>(&'b mut self, hier: &'b mut Hierarchy) -> (&'b mut dyn Design, Handle<'b>) {
        let sys = &mut *self.sys;
        (&mut *self.design, Handle { hier, sys })
    }
}

impl Outside for World<'_> {
    #[inline]
    fn now(&self) -> Ps {
        self.sys.now()
    }
    #[inline(always)] // which event it is, is known where it is scheduled
    fn schedule(&mut self, at: Ps, step: Step) {
        self.sys.events.schedule(at, Ev::Hierarchy(step));
    }
    fn line_data(&self, line: LineAddr) -> LineData {
        self.sys.line_data(line)
    }

    fn push_write(&mut self, side: Side, write: Write) -> Option<WriteId> {
        let (id, now) = (self.sys.new_write_id(), self.sys.now());
        let pushed = self.sys.port(side).controller.push_write(now, id, write);
        pushed.is_ok().then_some(id)
    }
    fn takes_none(&mut self, side: Side, line: LineAddr, queue: u8) -> bool {
        self.sys.port(side).controller.takes_none(line, queue)
    }
    fn routes(&mut self, side: Side) -> bool {
        self.sys.port(side).controller.routes()
    }
    fn push_read(&mut self, side: Side, id: u64, line: LineAddr) -> bool {
        let now = self.sys.now();
        self.sys.port(side).controller.push_read(now, ReadId(id), line).is_ok()
    }
    fn answer(&mut self, side: Side, id: u64) -> Option<Words> {
        self.sys.port(side).controller.answer(ReadId(id))
    }
    fn wake_memory(&mut self, side: Side) {
        self.sys.wake_memory(side);
    }
    fn memory_is_current(&self, line: LineAddr, from: LineAddr, waiting: Option<&LineData>) -> bool {
        let sys = &self.sys;
        let queued = || sys.pm.controller.forward(from).map(|d| d.words);
        let landing = || sys.landing.iter().rfind(|l| l.0 == from).map(|l| l.1);
        let part = || sys.parts.get(&from).map(|d| d.words);
        match waiting.map(|d| d.words).or_else(queued).or_else(landing).or_else(part) {
            Some(found) => found == sys.coherent.line_words(line),
            None if from == line => sys.durable.same_line(&sys.coherent, line),
            None => sys.durable.line_words(from) == sys.coherent.line_words(line),
        }
    }

    fn may_leave(&mut self, h: &mut Hierarchy, from: Level, way: &Way, why: Why) -> Gate {
        let (design, mut cx) = self.ask(h);
        design.may_leave(&mut cx, from, way, why)
    }
    fn leaving(&mut self, h: &mut Hierarchy, from: Level, way: &Way, data: &LineData, why: Why) -> Exit {
        let (design, mut cx) = self.ask(h);
        design.leaving(&mut cx, from, way, data, why)
    }
    fn snooped(&mut self, h: &mut Hierarchy, by: HwThread, line: LineAddr, kind: Snoop) -> SnoopAnswer {
        let (design, mut cx) = self.ask(h);
        design.snooped(&mut cx, by, line, kind)
    }
    fn place(&mut self, h: &mut Hierarchy, hw_thread: HwThread, way: &Way) -> Place {
        let (design, mut cx) = self.ask(h);
        let placed = design.versions().map(|v| v.place(&mut cx, hw_thread, way));
        placed.unwrap_or(Place::Here)
    }
    fn read_missed(&mut self, h: &mut Hierarchy, by: HwThread, line: LineAddr) -> ReadAnswer {
        let (design, mut cx) = self.ask(h);
        design.read_missed(&mut cx, by, line)
    }
    fn read_from(&mut self, h: &mut Hierarchy, line: LineAddr) -> LineAddr {
        let (design, mut cx) = self.ask(h);
        let from = design.versions().map(|v| v.read_from(&mut cx, line));
        from.unwrap_or(line)
    }
    fn design_read_done(&mut self, h: &mut Hierarchy, tag: u64, line: LineAddr) {
        let data = self.sys.durable.line(line);
        let (design, mut cx) = self.ask(h);
        if let Some(v) = design.versions() {
            v.read_done(&mut cx, tag, line, &data);
        }
    }
    fn cleaned(&mut self, h: &mut Hierarchy, hw_thread: HwThread, tag: u64, found: Option<&LineData>) {
        let (design, mut cx) = self.ask(h);
        design.cleaned(&mut cx, hw_thread, tag, found);
    }
    fn queue_freed(&mut self, h: &mut Hierarchy, queue: u8) {
        let (design, mut cx) = self.ask(h);
        design.queue_freed(&mut cx, queue);
    }
}
