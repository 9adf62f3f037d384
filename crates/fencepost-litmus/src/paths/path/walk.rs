//! The walk through a thread's code that lists its paths.

use super::{Domain, Event, Kind, Needs, Path, PathError, Set};
use crate::format::op::{Barrier, Op, Order, Success, Width, flags_of};
use crate::format::test::{FLAGS, Locations, Thread};
use crate::paths::exec::{Cell, Registers, Unrolled};

#[derive(Clone)]
struct State {
    at: usize,
    regs: Registers,
    path: Path,
    /// Reads that branches so far were decided by.
    ctrl: Set,
    /// The same through a choice.
    ctrl_pick: Set,
    /// Reads that addresses so far needed.
    addr_po: Set,
    /// The same through a choice.
    addr_pick: Set,
    isync_ctrl: Set,
    isync_addr: Set,
    isync_pick: Set,
    /// Address and event of the newest load-exclusive.
    reservation: Option<(u64, u8)>,
    back: Unrolled,
}

const MAX_PATHS: usize = 1 << 16;

struct Walk<'a, D> {
    thread: &'a Thread,
    locations: &'a Locations,
    domain: &'a D,
    paths: Vec<Path>,
    error: Option<PathError>,
}

/// Lists every path of a thread. Paths with an invalid address or that jump back too often are left out.
///
/// # Errors
/// If there are too many.
pub fn paths<D: Domain>(thread: &Thread, locations: &Locations, domain: &D) -> Result<Vec<Path>, PathError> {
    let mut walk = Walk {
        thread,
        locations,
        domain,
        paths: Vec::new(),
        error: None,
    };
    walk.run(State {
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
        reservation: None,
        back: Unrolled::default(),
    });
    match walk.error {
        Some(error) => Err(error),
        None => Ok(walk.paths),
    }
}

impl State {
    fn isync(&mut self) {
        self.isync_ctrl |= self.ctrl;
        self.isync_addr |= self.addr_po;
        self.isync_pick |= self.ctrl_pick | self.addr_pick;
    }
    /// The event number of an access to `at`; notes what its address needs.
    fn access(&mut self, event: Event, at: Cell) -> u8 {
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
        self.path.events.push(Event { needs, ..event });
        self.addr_po |= at.needs;
        self.addr_pick |= at.pick;
        number
    }
}

/// An event with nothing special.
fn event(kind: Kind, at: Cell, value: u64, width: Width, order: Order, op: usize) -> Event {
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

impl<D: Domain> Walk<'_, D> {
    fn run(&mut self, mut s: State) {
        while self.error.is_none() {
            let Some(op) = self.thread.code.get(s.at) else {
                return self.finish(s);
            };
            if s.path.events.len() > 60 {
                self.error = Some(PathError::TooManyEvents);
                return;
            }
            let op = *op;
            let here = s.at;
            s.at += 1;
            if let Some(jump) = s.regs.jump(&op) {
                s.ctrl |= jump.tested.needs;
                s.ctrl_pick |= jump.tested.pick;
                if jump.taken {
                    if !s.back.allows(here, jump.target) {
                        return;
                    }
                    s.at = jump.target;
                }
                continue;
            }
            match op {
                Op::Load { .. } | Op::Rmw { .. } | Op::CompareSwap { .. } | Op::StoreExclusive { .. } => {
                    return self.branch(s, op, here);
                }
                _ if !self.straight(&mut s, op, here) => return,
                _ => {}
            }
        }
    }

    fn finish(&mut self, s: State) {
        let mut path = s.path;
        path.registers = s.regs.values();
        self.paths.push(path);
        if self.paths.len() > MAX_PATHS {
            self.error = Some(PathError::TooManyPaths);
        }
    }

    /// What has one outcome; false if the path ends here.
    fn straight(&self, s: &mut State, op: Op, here: usize) -> bool {
        match op {
            Op::Store {
                value,
                at,
                width,
                order,
                nt,
            } => {
                let (value, at) = (s.regs.operand(value), s.regs.address(&at));
                if !self.locations.valid(at.value) {
                    return false;
                }
                let mut e = event(Kind::Write, at, value.value, width, order, here);
                (e.nt, e.needs.data, e.needs.pick) = (nt, value.needs, value.pick);
                s.access(e, at);
            }
            Op::Flush { at, kind } => {
                let at = s.regs.address(&at);
                if !self.locations.valid(at.value) {
                    return false;
                }
                let e = event(Kind::Flush(kind), at, 0, Width::DOUBLE, Order::default(), here);
                s.access(e, at);
            }
            Op::Fence(barrier) => {
                if matches!(barrier, Barrier::Isync) {
                    s.isync();
                }
                s.path.fences.push((s.path.events.len() as u8, barrier));
            }
            _ => return s.regs.step(&op),
        }
        true
    }

    /// What has several outcomes: one path each.
    fn branch(&mut self, s: State, op: Op, here: usize) {
        let domain = self.domain;
        match op {
            Op::Load {
                to,
                at,
                width,
                signed,
                order,
                exclusive,
            } => {
                let at = s.regs.address(&at);
                if !self.locations.valid(at.value) {
                    return;
                }
                for value in domain.values(at.value) {
                    let mut s = s.clone();
                    let mut e = event(Kind::Read, at, *value, width, order, here);
                    e.exclusive = exclusive;
                    let number = s.access(e, at);
                    let result = if signed {
                        width.signed(*value) as u64
                    } else {
                        width.cut(*value)
                    };
                    s.regs.set(to, Cell::read(result, number));
                    if exclusive {
                        s.reservation = Some((at.value, number));
                    }
                    self.run(s);
                }
            }
            Op::StoreExclusive { .. } => self.store_exclusive(s, op, here),
            Op::Rmw { at, .. } | Op::CompareSwap { at, .. } => {
                let at = s.regs.address(&at);
                if !self.locations.valid(at.value) {
                    return;
                }
                for value in domain.values(at.value) {
                    let mut s = s.clone();
                    match op {
                        Op::Rmw { .. } => modify(&mut s, op, at, *value, here),
                        _ => compare_swap(&mut s, op, at, *value, here),
                    }
                    self.run(s);
                }
            }
            _ => {}
        }
    }

    fn store_exclusive(&mut self, mut s: State, op: Op, here: usize) {
        let Op::StoreExclusive {
            value,
            at,
            width,
            order,
            success,
        } = op
        else {
            return;
        };
        let (value, at) = (s.regs.operand(value), s.regs.address(&at));
        let reservation = s.reservation.take();
        let tell = |s: &mut State, done: bool| match success {
            Success::Register(reg) => s.regs.set(reg, Cell::constant(u64::from(!done))),
            Success::Flags => s.regs.set(FLAGS, Cell::constant(flags_of(0, u64::from(!done), width))),
        };
        let mut failed = s.clone();
        tell(&mut failed, false);
        self.run(failed);
        if let Some((reserved, load)) = reservation
            && reserved == at.value
            && self.locations.valid(at.value)
        {
            let mut e = event(Kind::Write, at, value.value, width, order, here);
            (e.exclusive, e.rmw) = (true, Some(load));
            (e.needs.data, e.needs.pick) = (value.needs, value.pick);
            s.access(e, at);
            tell(&mut s, true);
            self.run(s);
        }
    }
}

fn modify(s: &mut State, op: Op, at: Cell, old: u64, here: usize) {
    let Op::Rmw {
        alu,
        to,
        value,
        width,
        order,
        atomic,
        flags,
        ..
    } = op
    else {
        return;
    };
    let value = s.regs.operand(value);
    let acquire = Order {
        release: false,
        ..order
    };
    let mut e = event(Kind::Read, at, old, width, acquire, here);
    (e.atomic, e.no_return) = (atomic, to.is_none());
    let number = s.access(e, at);
    let new = alu.of(old, value.value, width);
    let release = Order {
        release: order.release,
        ..Order::default()
    };
    let mut e = event(Kind::Write, at, new, width, release, here);
    e.atomic = atomic;
    e.rmw = atomic.then_some(number);
    let from_old = if alu == crate::format::op::Alu::Move {
        0
    } else {
        1 << number
    };
    (e.needs.data, e.needs.pick) = (value.needs | from_old, value.pick);
    s.access(e, at);
    if flags {
        let compared = Cell {
            value: flags_of(new, 0, width),
            needs: value.needs | from_old,
            pick: value.pick,
        };
        s.regs.set(FLAGS, compared);
    }
    if let Some(to) = to {
        s.regs.set(to, Cell::read(width.cut(old), number));
    }
}

fn compare_swap(s: &mut State, op: Op, at: Cell, old: u64, here: usize) {
    let Op::CompareSwap {
        expected,
        new,
        width,
        order,
        atomic,
        flags,
        ..
    } = op
    else {
        return;
    };
    let (wanted, new) = (s.regs.get(expected), s.regs.operand(new));
    let acquire = Order {
        release: false,
        ..order
    };
    let mut e = event(Kind::Read, at, old, width, acquire, here);
    e.atomic = atomic;
    let number = s.access(e, at);
    let equal = width.cut(old) == width.cut(wanted.value);
    if equal {
        let release = Order {
            release: order.release,
            ..Order::default()
        };
        let mut e = event(Kind::Write, at, new.value, width, release, here);
        e.atomic = atomic;
        e.rmw = atomic.then_some(number);
        e.needs.data = new.needs;
        e.needs.pick = new.pick | wanted.needs | wanted.pick | 1 << number;
        s.access(e, at);
    }
    if flags {
        let compared = Cell {
            value: flags_of(wanted.value, old, width),
            needs: wanted.needs | 1 << number,
            pick: wanted.pick,
        };
        s.regs.set(FLAGS, compared);
    }
    s.regs.set(expected, Cell::read(width.cut(old), number));
}
