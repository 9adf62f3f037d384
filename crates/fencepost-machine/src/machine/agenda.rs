//! What is going to happen: the machine's events in the queue, two words each.
//!
//! An event is made where it is scheduled, from parts in registers, and stays in registers until the queue writes it:
//! an enum that is written part by part and copied as a whole would wait for its own parts.

use crate::core::Turn;
use crate::hierarchy::{ReadFor, Side, Step};
use crate::network;
use fencepost_kernel::{CoreId, EventQueue, HwThread, Ps};

/// Events of the machine.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ev {
    /// A hardware thread's turn.
    Thread(HwThread, Turn),
    /// A load that found no free miss register starts over; behind it, the next access of its core that found none.
    LoadAgain(HwThread, u32),
    /// A step of the hierarchy.
    Hierarchy(Step),
    /// A memory controller can make progress.
    Memory(Side),
    /// A design's timer.
    Timer(u64),
    /// A step of the network.
    Network(network::Step),
}

/// An event as the queue holds it: kind (8 bits), who (8 bits), which (32 bits); and a design's tag.
#[derive(Copy, Clone)]
pub(crate) struct Packed(u64, u64);

const DISPATCH: u8 = 0;
const LOAD: u8 = 1;
const STORES: u8 = 2;
const HEAD: u8 = 3;
const GRANT: u8 = 4;
const FILL: u8 = 5;
const STARVED: u8 = 6;
const READ_FOR_MISS: u8 = 7;
const READ_FOR_DESIGN: u8 = 8;
const CLEAN: u8 = 9;
const MEMORY: u8 = 10;
const TIMER: u8 = 11;
const CLEANED: u8 = 12;
const CLEAN_ANSWERED: u8 = 13;
const REMOTE: u8 = 14;
const BEGIN: u8 = 15;
const TIMEOUT: u8 = 16;
const DELIVER: u8 = 17;
const ACK: u8 = 18;
const LINE: u8 = 19;
const DURABLE: u8 = 20;
const LOAD_AGAIN: u8 = 21;

impl Packed {
    #[inline(always)]
    fn new(kind: u8, who: u8, which: u32, tag: u64) -> Packed {
        Packed(u64::from(kind) | u64::from(who) << 8 | u64::from(which) << 32, tag)
    }
    #[inline(always)]
    fn pack(ev: Ev) -> Packed {
        match ev {
            Ev::Thread(h, Turn::Dispatch) => Packed::new(DISPATCH, h.0, 0, 0),
            Ev::Thread(h, Turn::Load(at)) => Packed::new(LOAD, h.0, at, 0),
            Ev::LoadAgain(h, at) => Packed::new(LOAD_AGAIN, h.0, at, 0),
            Ev::Thread(h, Turn::Stores) => Packed::new(STORES, h.0, 0, 0),
            Ev::Thread(h, Turn::Head) => Packed::new(HEAD, h.0, 0, 0),
            Ev::Hierarchy(Step::Grant(core, miss)) => Packed::new(GRANT, core.0, u32::from(miss), 0),
            Ev::Hierarchy(Step::Fill(core, miss)) => Packed::new(FILL, core.0, u32::from(miss), 0),
            Ev::Hierarchy(Step::Starved(core)) => Packed::new(STARVED, core.0, 0, 0),
            Ev::Hierarchy(Step::ReadSend(side, ReadFor::Miss(core, miss))) => {
                let reader = u32::from(core.0) << 8 | u32::from(miss);
                Packed::new(READ_FOR_MISS, side as u8, reader, 0)
            }
            Ev::Hierarchy(Step::ReadSend(side, ReadFor::Design(read))) => {
                Packed::new(READ_FOR_DESIGN, side as u8, read, 0)
            }
            Ev::Hierarchy(Step::Clean(slot)) => Packed::new(CLEAN, 0, slot, 0),
            Ev::Memory(side) => Packed::new(MEMORY, side as u8, 0, 0),
            Ev::Timer(tag) => Packed::new(TIMER, 0, 0, tag),
            Ev::Hierarchy(Step::Cleaned(h, tag)) => Packed::new(CLEANED, h.0, 0, tag),
            Ev::Hierarchy(Step::CleanAnswered(slot)) => Packed::new(CLEAN_ANSWERED, 0, slot, 0),
            Ev::Hierarchy(Step::Remote(port)) => Packed::new(REMOTE, port, 0, 0),
            Ev::Network(network::Step::Begin(client)) => Packed::new(BEGIN, client, 0, 0),
            Ev::Network(network::Step::Timeout(client, wait)) => Packed::new(TIMEOUT, client, wait, 0),
            Ev::Network(network::Step::Deliver(channel)) => Packed::new(DELIVER, channel, 0, 0),
            Ev::Network(network::Step::Ack(client)) => Packed::new(ACK, client, 0, 0),
            Ev::Network(network::Step::Line(channel)) => Packed::new(LINE, channel, 0, 0),
            Ev::Network(network::Step::Durable(channel, region)) => Packed::new(DURABLE, channel, region, 0),
        }
    }
    /// The event. Who asks should go on at once by what it is, so that both are one step.
    #[inline(always)]
    pub(super) fn unpack(self) -> Ev {
        let (who, which, tag) = ((self.0 >> 8) as u8, (self.0 >> 32) as u32, self.1);
        let (hw_thread, core, side) = (HwThread(who), CoreId(who), Side::from_bit(who));
        match self.0 as u8 {
            DISPATCH => Ev::Thread(hw_thread, Turn::Dispatch),
            LOAD => Ev::Thread(hw_thread, Turn::Load(which)),
            STORES => Ev::Thread(hw_thread, Turn::Stores),
            LOAD_AGAIN => Ev::LoadAgain(hw_thread, which),
            HEAD => Ev::Thread(hw_thread, Turn::Head),
            GRANT => Ev::Hierarchy(Step::Grant(core, which as u8)),
            FILL => Ev::Hierarchy(Step::Fill(core, which as u8)),
            STARVED => Ev::Hierarchy(Step::Starved(core)),
            READ_FOR_MISS => {
                let reader = ReadFor::Miss(CoreId((which >> 8) as u8), which as u8);
                Ev::Hierarchy(Step::ReadSend(side, reader))
            }
            READ_FOR_DESIGN => Ev::Hierarchy(Step::ReadSend(side, ReadFor::Design(which))),
            CLEAN => Ev::Hierarchy(Step::Clean(which)),
            MEMORY => Ev::Memory(side),
            TIMER => Ev::Timer(tag),
            CLEANED => Ev::Hierarchy(Step::Cleaned(hw_thread, tag)),
            CLEAN_ANSWERED => Ev::Hierarchy(Step::CleanAnswered(which)),
            REMOTE => Ev::Hierarchy(Step::Remote(who)),
            BEGIN => Ev::Network(network::Step::Begin(who)),
            TIMEOUT => Ev::Network(network::Step::Timeout(who, which)),
            DELIVER => Ev::Network(network::Step::Deliver(who)),
            ACK => Ev::Network(network::Step::Ack(who)),
            LINE => Ev::Network(network::Step::Line(who)),
            DURABLE => Ev::Network(network::Step::Durable(who, which)),
            other => unreachable!("no event is packed as kind {other}"),
        }
    }
}

/// Everything that is going to happen, in order.
#[derive(Default)]
pub(crate) struct Agenda(EventQueue<Packed>);
impl Agenda {
    /// The present.
    #[inline]
    pub(super) fn now(&self) -> Ps {
        self.0.now()
    }
    /// Schedules an event, not in the past.
    #[inline(always)]
    pub(super) fn schedule(&mut self, at: Ps, ev: Ev) {
        self.0.schedule(at, Packed::pack(ev));
    }
    /// Whether an event is known to happen last of those at `at`.
    #[inline(always)]
    pub(super) fn is_last(&self, at: Ps, ev: Ev) -> bool {
        let Packed(what, tag) = Packed::pack(ev);
        self.0.last_at(at).is_some_and(|last| (last.0, last.1) == (what, tag))
    }
    /// Whether nothing more happens at the present moment.
    pub(super) fn moment_is_over(&self) -> bool {
        self.0.next_at().is_none_or(|at| at > self.now())
    }
    /// The earliest event; time moves to it.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<(Ps, Packed)> {
        self.0.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_comes_out_as_it_went_in() {
        let (hw_thread, core) = (HwThread(255), CoreId(254));
        let events = [
            Ev::Thread(hw_thread, Turn::Dispatch),
            Ev::Thread(hw_thread, Turn::Load(u32::MAX)),
            Ev::LoadAgain(hw_thread, 77),
            Ev::Thread(hw_thread, Turn::Stores),
            Ev::Thread(hw_thread, Turn::Head),
            Ev::Hierarchy(Step::Grant(core, 255)),
            Ev::Hierarchy(Step::Fill(core, 7)),
            Ev::Hierarchy(Step::Starved(core)),
            Ev::Hierarchy(Step::ReadSend(Side::Dram, ReadFor::Miss(core, 255))),
            Ev::Hierarchy(Step::ReadSend(Side::Pm, ReadFor::Design(u32::MAX))),
            Ev::Hierarchy(Step::Clean(u32::MAX)),
            Ev::Memory(Side::Dram),
            Ev::Memory(Side::Pm),
            Ev::Timer(u64::MAX),
            Ev::Hierarchy(Step::Cleaned(hw_thread, u64::MAX)),
            Ev::Hierarchy(Step::CleanAnswered(u32::MAX)),
            Ev::Hierarchy(Step::Remote(3)),
            Ev::Network(network::Step::Begin(4)),
            Ev::Network(network::Step::Timeout(255, u32::MAX)),
            Ev::Network(network::Step::Deliver(5)),
            Ev::Network(network::Step::Ack(6)),
            Ev::Network(network::Step::Line(7)),
            Ev::Network(network::Step::Durable(8, u32::MAX)),
        ];
        let mut agenda = Agenda::default();
        for (i, ev) in events.into_iter().enumerate() {
            agenda.schedule(Ps(i as u64 / 2), ev);
        }
        for (i, ev) in events.into_iter().enumerate() {
            assert_eq!(
                agenda.pop().map(|(at, e)| (at, e.unpack())),
                Some((Ps(i as u64 / 2), ev))
            );
        }
        assert!(agenda.pop().is_none());
    }
}
