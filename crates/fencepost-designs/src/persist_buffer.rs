//! One persist buffer for all cores: the hooks that such designs have in common, around a rule of order that each has its own of.
//!
//! A store to persistent memory is copied into the buffer as it performs; a full buffer makes it wait. Entries go to the controller
//! oldest first, as soon as the rule lets them. Caches drop what would go from them to persistent memory, because the buffer has it or
//! memory does, so a read that misses every cache may be answered by the buffer. A fence that drains waits until nothing is left to become durable;
//! no other fence waits.

use fencepost_kernel::{Fence, HwThread, LineAddr, LineData, Ps, WriteCause};
use fencepost_machine::seam::{
    Access, Cause, Cx, Design, Exit, Gate, Hooks, Instr, Level, ReadAnswer, StatInfo, Statistics, Way, Why, Write,
    WriteId,
};
use std::collections::VecDeque;

/// In which order the entries of a persist buffer become durable.
pub trait PersistOrder {
    /// Entries of the buffer.
    fn entries(&self) -> usize;
    /// A hardware thread completes a fence; its older stores have entered the buffer.
    fn fence(&mut self, hw_thread: HwThread, kind: Fence);
    /// The epoch of a store that a hardware thread performs now: whatever [`PersistOrder::may_pass`] compares.
    fn epoch(&self, hw_thread: HwThread) -> u64;
    /// Whether a write of epoch `next` may go to the controller, which orders nothing, while an older one of epoch `older` is not durable.
    fn may_pass(&self, next: u64, older: u64) -> bool;
    /// What a fence that drains is counted to wait for.
    fn drain_cause(&self) -> Cause {
        Cause::DrainPending
    }
    /// Stall causes of the design's own.
    fn causes(&self) -> &'static [StatInfo] {
        &[]
    }
}

#[derive(Copy, Clone, Debug)]
struct Entry {
    epoch: u64,
    hw_thread: HwThread,
    line: LineAddr,
    data: LineData,
}

/// The buffer, as a design.
#[derive(Clone, Debug)]
pub struct PersistBuffer<R> {
    rule: R,
    /// Oldest first.
    waiting: VecDeque<Entry>,
    /// Writes that were handed over and are not durable, each with its epoch.
    out: Vec<(WriteId, u64)>,
}

impl<R: PersistOrder> PersistBuffer<R> {
    /// An empty buffer that keeps this order.
    pub fn new(rule: R) -> PersistBuffer<R> {
        PersistBuffer {
            rule,
            waiting: VecDeque::new(),
            out: Vec::new(),
        }
    }
    fn is_full(&self) -> bool {
        self.waiting.len() >= self.rule.entries()
    }
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.out.is_empty()
    }
    fn append(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: LineData) {
        let epoch = self.rule.epoch(hw_thread);
        self.waiting.push_back(Entry {
            epoch,
            hw_thread,
            line,
            data,
        });
        self.send(cx);
    }
    /// Hands over what may go, and asks again whoever found the buffer full.
    fn send(&mut self, cx: &mut dyn Cx) {
        while let Some(&Entry {
            epoch,
            hw_thread,
            line,
            data,
        }) = self.waiting.front()
        {
            if !self.out.iter().all(|(_, older)| self.rule.may_pass(epoch, *older)) {
                return;
            }
            let write = Write {
                line,
                data,
                queue: 0,
                epoch: None,
                cause: WriteCause::Persist,
                hw_thread: Some(hw_thread),
                delay: Ps::ZERO,
            };
            // A refusal is followed by `queue_freed`.
            let Ok(id) = cx.write(write) else { return };
            self.out.push((id, epoch));
            self.waiting.pop_front();
            cx.kick(None);
        }
    }
}

impl<R: PersistOrder> Design for PersistBuffer<R> {
    fn hooks(&self) -> Hooks {
        Hooks {
            gate_stores: true,
            stores: true,
            leaving: true,
            reads: true,
            writes: true,
            ..Hooks::default()
        }
    }
    fn instr(&mut self, _: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        match instr {
            Instr::Fence(kind) if kind.properties().drains && !self.is_empty() => {
                return Gate::Wait(self.rule.drain_cause());
            }
            Instr::Fence(kind) => self.rule.fence(hw_thread, kind),
            _ => {}
        }
        Gate::Go
    }
    fn may_access(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr, access: Access) -> Gate {
        match access == Access::Store && line.is_persistent() && self.is_full() {
            true => Gate::Wait(Cause::PersistBufferFull),
            false => Gate::Go,
        }
    }
    fn performed(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, a: Access, _: &mut u32) {
        if a == Access::Store && line.is_persistent() {
            let now = cx.coherent(line);
            self.append(cx, hw_thread, line, now);
        }
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData, _: u8) -> Gate {
        if self.is_full() {
            return Gate::Wait(Cause::PersistBufferFull);
        }
        self.append(cx, hw_thread, line, *data);
        Gate::Go
    }
    fn leaving(&mut self, _: &mut dyn Cx, from: Level, way: &Way, _: &LineData, why: Why) -> Exit {
        let to_memory = from == Level::Llc || why == Why::Cleaned;
        match to_memory && way.line.is_persistent() {
            true => Exit::Drop,
            false => Exit::Down,
        }
    }
    fn read_missed(&mut self, _: &mut dyn Cx, _: HwThread, line: LineAddr) -> ReadAnswer {
        let newest = self.waiting.iter().rev().find(|w| w.line == line);
        newest.map_or(ReadAnswer::Pass, |w| ReadAnswer::SupplyBytes(w.data))
    }
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, _: &Write) {
        self.out.retain(|(out, _)| *out != id);
        self.send(cx);
        cx.kick(None);
    }
    fn queue_freed(&mut self, cx: &mut dyn Cx, _: u8) {
        self.send(cx);
    }
    fn drain(&mut self, cx: &mut dyn Cx) -> bool {
        self.send(cx);
        self.is_empty()
    }
    fn statistics(&self) -> Statistics {
        Statistics {
            causes: self.rule.causes(),
            ..Statistics::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delegated;
    use crate::info::Environment;
    use crate::testkit::{Bench, Kit, Mistake, pm_line};

    /// Epochs of all threads follow one another; or, broken, nothing is ordered, or fences open no epoch.
    #[derive(Copy, Clone)]
    struct Epochs {
        opened: u64,
        ordered: bool,
        counted: bool,
    }
    impl PersistOrder for Epochs {
        fn entries(&self) -> usize {
            2
        }
        fn fence(&mut self, _: HwThread, _: Fence) {
            self.opened += u64::from(self.counted);
        }
        fn epoch(&self, _: HwThread) -> u64 {
            self.opened
        }
        fn may_pass(&self, next: u64, older: u64) -> bool {
            next == older || !self.ordered
        }
    }

    #[test]
    fn the_kit_convicts_a_buffer_without_its_rule_and_no_other() {
        for durable_on_accept in [false, true] {
            let kit = Kit::of(&delegated::INFO, Environment::new(durable_on_accept, false));
            let run = |ordered, counted| {
                let rule = Epochs {
                    opened: 0,
                    ordered,
                    counted,
                };
                kit.try_out(|| PersistBuffer::new(rule), 500)
            };
            let reordered = run(true, true).expect("no mistake");
            assert!(
                durable_on_accept || reordered > 0,
                "writes of an epoch pass one another"
            );
            let order = |result| matches!(result, Err((_, Mistake::Order(_))));
            // A queue that is durable takes writes in the order in which they come.
            assert!(durable_on_accept || order(run(false, true)), "without order");
            assert!(durable_on_accept || order(run(true, false)), "with one epoch");
        }
    }

    #[test]
    fn a_read_is_answered_by_the_newest_entry_that_waits() {
        let rule = Epochs {
            opened: 0,
            ordered: true,
            counted: true,
        };
        let mut b = Bench::new(PersistBuffer::new(rule), 1, 1, 8);
        let read = |b: &mut Bench<PersistBuffer<Epochs>>, line| b.design.read_missed(&mut b.cx, HwThread(0), line);
        assert_eq!(read(&mut b, pm_line(0)), ReadAnswer::Pass);
        for value in 0..3 {
            b.store(0, pm_line(0), 0, value);
            b.instr(0, Instr::Fence(Fence::Dmb));
        }
        // The first has gone to the controller; two wait for it.
        let newest = b.cx.coherent(pm_line(0));
        assert_eq!(newest.words[0], 2);
        assert_eq!(read(&mut b, pm_line(0)), ReadAnswer::SupplyBytes(newest));
        assert_eq!(read(&mut b, pm_line(1)), ReadAnswer::Pass);
    }
}
