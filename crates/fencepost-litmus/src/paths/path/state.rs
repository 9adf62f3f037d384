//! A thread on its way: registers, events so far, and what later events will need.

use super::{Event, Kind, Needs, Path, Set};
use crate::format::op::{Order, Width};
use crate::format::test::Thread;
use crate::paths::exec::{Cell, Registers, Unrolled};

#[derive(Clone)]
pub(super) struct State {
    pub at: usize,
    pub regs: Registers,
    pub path: Path,
    /// Reads that branches so far were decided by.
    pub ctrl: Set,
    /// The same through a choice.
    pub ctrl_pick: Set,
    /// Reads that addresses so far needed.
    addr_po: Set,
    /// The same through a choice.
    addr_pick: Set,
    isync_ctrl: Set,
    isync_addr: Set,
    isync_pick: Set,
    /// What the newest store to an address was chosen by: a later load of the thread from there hands it on.
    chosen: Vec<(u64, Set)>,
    /// Address and event of the newest load-exclusive.
    pub reservation: Option<(u64, u8)>,
    pub back: Unrolled,
}

impl State {
    pub(super) fn initial(thread: &Thread) -> State {
        State {
            at: 0,
            regs: Registers::initial(thread),
            path: Path::default(),
            ctrl: 0,
            ctrl_pick: 0,
            addr_po: 0,
            addr_pick: 0,
            isync_ctrl: 0,
            isync_addr: 0,
            isync_pick: 0,
            chosen: Vec::new(),
            reservation: None,
            back: Unrolled::default(),
        }
    }
    pub(super) fn isync(&mut self) {
        self.isync_ctrl |= self.ctrl;
        self.isync_addr |= self.addr_po;
        self.isync_pick |= self.ctrl_pick | self.addr_pick;
    }
    /// The event number of an access to `at`; notes what its address needs.
    pub(super) fn access(&mut self, event: Event, at: Cell) -> u8 {
        let number = self.path.events.len() as u8;
        let needs = Needs {
            addr: at.needs,
            ctrl: self.ctrl,
            isync_ctrl: self.isync_ctrl,
            isync_addr: self.isync_addr,
            pick: event.needs.pick | at.pick | self.ctrl_pick,
            isync_pick: self.isync_pick,
            pick_addr_po: self.addr_pick,
            ..event.needs
        };
        if event.is_write() {
            self.chosen.retain(|(addr, _)| *addr != event.addr);
            let chosen = event.needs.pick | at.pick;
            if chosen != 0 {
                self.chosen.push((event.addr, chosen));
            }
        }
        self.path.events.push(Event { needs, ..event });
        self.addr_po |= at.needs;
        self.addr_pick |= at.pick;
        number
    }
    /// What a register holds that got a value from memory.
    pub(super) fn read(&self, value: u64, number: u8) -> Cell {
        let addr = self.path.events[usize::from(number)].addr;
        let chosen = self.chosen.iter().find(|(a, _)| *a == addr);
        Cell {
            pick: chosen.map_or(0, |(_, by)| *by),
            ..Cell::read(value, number)
        }
    }
}

/// An event with nothing special.
pub(super) fn event(kind: Kind, at: Cell, value: u64, width: Width, order: Order, op: usize) -> Event {
    Event {
        kind,
        addr: at.value,
        value: width.cut(value),
        width,
        order,
        exclusive: false,
        atomic: false,
        no_return: false,
        nt: false,
        needs: Needs::default(),
        rmw: None,
        op: op as u16,
    }
}
