//! The ways through one thread: its accesses, fences and dependences for every choice of what its reads return.

use crate::op::{Address, Barrier, FlushKind, Op, Operand, Order, Reg, Success, Width, flags_of};
use crate::test::{FLAGS, Locations, Thread};

/// A set of events of one thread, by number.
pub type Set = u64;

/// What an event is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Flushes a line.
    Flush(FlushKind),
}

/// What a path depends on: which reads (by number) a later event needs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// For its address.
    pub addr: Set,
    /// For its value.
    pub data: Set,
    /// Control: a branch before it was decided by these.
    pub ctrl: Set,
    /// Control or address of an access, then a context synchronisation, before it.
    pub isync_ctrl: Set,
    /// An access whose address needed these, then a context synchronisation, before it.
    pub isync_addr: Set,
    /// The choice of what it addresses or writes, or of whether it happens, needed these (conditional select, compare and swap).
    pub pick: Set,
    /// As `isync_ctrl` and `isync_addr`, of a choice.
    pub isync_pick: Set,
    /// Reads whose choices decided the address of an access before it.
    pub pick_addr_po: Set,
}

/// An access or a flush.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is.
    pub kind: Kind,
    /// Where.
    pub addr: u64,
    /// What it read or wrote.
    pub value: u64,
    /// Bytes.
    pub width: Width,
    /// Acquire, release.
    pub order: Order,
    /// Part of an exclusive pair.
    pub exclusive: bool,
    /// Part of an atomic instruction.
    pub atomic: bool,
    /// Read of an atomic instruction without a result.
    pub no_return: bool,
    /// Non-temporal store.
    pub nt: bool,
    /// Dependences.
    pub needs: Needs,
    /// Of a write: the read that it forms an atomic pair with.
    pub rmw: Option<u8>,
    /// Operation of the thread's code.
    pub op: u16,
}

impl Event {
    /// Whether it reads.
    pub fn is_read(&self) -> bool {
        self.kind == Kind::Read
    }
    /// Whether it writes.
    pub fn is_write(&self) -> bool {
        self.kind == Kind::Write
    }
}

/// One way through a thread.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// In program order.
    pub events: Vec<Event>,
    /// Each with the number of events before it.
    pub fences: Vec<(u8, Barrier)>,
    /// Final registers.
    pub registers: Vec<u64>,
}

/// The values that a word may have, as far as known.
pub trait Domain {
    /// Every value that a read of the address may return.
    fn values(&self, address: u64) -> &[u64];
}

/// Why paths cannot be listed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// More events than a set holds.
    #[error("more than 64 accesses in a thread")]
    TooManyEvents,
    /// More paths than is sensible.
    #[error("too many ways through a thread")]
    TooManyPaths,
}

/// A value and the reads that it was computed from.
#[derive(Copy, Clone, Default)]
struct Cell {
    value: u64,
    needs: Set,
    /// The choice between values was made by these.
    pick: Set,
}

#[derive(Clone)]
struct State {
    at: usize,
    regs: Vec<Cell>,
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
    /// Jumps back taken, by target.
    back: Vec<(usize, u8)>,
}

/// Jumps back to one place that are followed, as herd does unless told otherwise.
const UNROLL: u8 = 2;
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
    let mut regs = vec![Cell::default(); thread.registers.count()];
    for (reg, value) in &thread.initial {
        regs[usize::from(*reg)].value = *value;
    }
    walk.run(State {
        at: 0,
        regs,
        path: Path::default(),
        ctrl: 0,
        ctrl_pick: 0,
        addr_po: 0,
        addr_pick: 0,
        isync_ctrl: 0,
        isync_addr: 0,
        isync_pick: 0,
        reservation: None,
        back: Vec::new(),
    });
    match walk.error {
        Some(error) => Err(error),
        None => Ok(walk.paths),
    }
}

impl State {
    fn operand(&self, operand: Operand) -> Cell {
        match operand {
            Operand::Imm(value) => Cell {
                value,
                ..Cell::default()
            },
            Operand::Reg(reg) => self.regs[usize::from(reg)],
        }
    }
    fn set(&mut self, reg: Reg, value: u64, from: &[Cell]) {
        let needs = from.iter().fold(0, |s, c| s | c.needs);
        let pick = from.iter().fold(0, |s, c| s | c.pick);
        self.regs[usize::from(reg)] = Cell { value, needs, pick };
    }
    fn address(&self, at: &Address) -> Cell {
        let base = self.operand(at.base);
        let mut cell = base;
        cell.value = cell.value.wrapping_add(at.offset);
        if let Some((reg, shift, signed)) = at.index {
            let index = self.regs[usize::from(reg)];
            let value = if signed {
                Width::WORD.signed(index.value) as u64
            } else {
                index.value
            };
            cell.value = cell.value.wrapping_add(value << (shift & 63));
            cell.needs |= index.needs;
            cell.pick |= index.pick;
        }
        // Registers of 32 bits wrap around.
        if cell.value >> 32 == 1 {
            cell.value &= 0xffff_ffff;
        }
        cell
    }
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
            match op {
                Op::Load { .. } | Op::Rmw { .. } | Op::CompareSwap { .. } | Op::StoreExclusive { .. } => {
                    return self.branch(s, op, here);
                }
                Op::Branch { cond, target } => {
                    let flags = s.regs[usize::from(FLAGS)];
                    s.ctrl |= flags.needs;
                    s.ctrl_pick |= flags.pick;
                    if cond.holds(flags.value) && !jump(&mut s, here, target) {
                        return;
                    }
                }
                Op::BranchZero {
                    reg,
                    mask,
                    zero,
                    target,
                } => {
                    let tested = s.regs[usize::from(reg)];
                    s.ctrl |= tested.needs;
                    s.ctrl_pick |= tested.pick;
                    if (tested.value & mask == 0) == zero && !jump(&mut s, here, target) {
                        return;
                    }
                }
                Op::Jump { target } => {
                    if !jump(&mut s, here, target) {
                        return;
                    }
                }
                _ => {
                    if !self.straight(&mut s, op, here) {
                        return;
                    }
                }
            }
        }
    }

    fn finish(&mut self, s: State) {
        let mut path = s.path;
        path.registers = s.regs.iter().map(|c| c.value).collect();
        self.paths.push(path);
        if self.paths.len() > MAX_PATHS {
            self.error = Some(PathError::TooManyPaths);
        }
    }

    /// What has one outcome; false if the path ends here.
    fn straight(&self, s: &mut State, op: Op, here: usize) -> bool {
        match op {
            Op::Alu {
                alu,
                to,
                a,
                b,
                width,
                flags,
            } => {
                let same = a == b && matches!(a, Operand::Reg(_));
                let (a, b) = (s.operand(a), s.operand(b));
                let value = alu.of(a.value, b.value, width);
                // Exclusive-or of a register with itself keeps the dependence, as the architectures have it.
                let from = if same { [a, a] } else { [a, b] };
                if flags {
                    let compared = match alu {
                        crate::op::Alu::Sub => flags_of(a.value, b.value, width),
                        _ => flags_of(value, 0, width),
                    };
                    s.set(FLAGS, compared, &from);
                }
                s.set(to, value, &from);
            }
            Op::Compare { a, b, width } => {
                let (a, b) = (s.operand(a), s.operand(b));
                s.set(FLAGS, flags_of(a.value, b.value, width), &[a, b]);
            }
            Op::Test { a, b, width } => {
                let (a, b) = (s.operand(a), s.operand(b));
                s.set(FLAGS, flags_of(a.value & b.value, 0, width), &[a, b]);
            }
            Op::Select {
                cond,
                to,
                a,
                b,
                else_add,
                else_not,
                width,
            } => {
                let flags = s.regs[usize::from(FLAGS)];
                let (value, from) = if cond.holds(flags.value) {
                    let a = s.operand(a);
                    (a.value, a)
                } else {
                    let b = s.operand(b);
                    let base = if else_not { !b.value } else { b.value };
                    (base.wrapping_add(else_add), b)
                };
                let picked = Cell {
                    value: 0,
                    needs: 0,
                    pick: flags.needs | flags.pick,
                };
                s.set(to, width.cut(value), &[from, picked]);
            }
            Op::Store {
                value,
                at,
                width,
                order,
                nt,
            } => {
                let (value, at) = (s.operand(value), s.address(&at));
                if !self.locations.valid(at.value) {
                    return false;
                }
                let mut e = event(Kind::Write, at, value.value, width, order, here);
                (e.nt, e.needs.data, e.needs.pick) = (nt, value.needs, value.pick);
                s.access(e, at);
            }
            Op::Flush { at, kind } => {
                let at = s.address(&at);
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
            _ => {}
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
                let at = s.address(&at);
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
                    s.regs[usize::from(to)] = read(result, number);
                    if exclusive {
                        s.reservation = Some((at.value, number));
                    }
                    self.run(s);
                }
            }
            Op::StoreExclusive { .. } => self.store_exclusive(s, op, here),
            Op::Rmw { at, .. } | Op::CompareSwap { at, .. } => {
                let at = s.address(&at);
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
        let (value, at) = (s.operand(value), s.address(&at));
        let reservation = s.reservation.take();
        let tell = |s: &mut State, done: bool| match success {
            Success::Register(reg) => s.regs[usize::from(reg)] = read_nothing(u64::from(!done)),
            Success::Flags => s.regs[usize::from(FLAGS)] = read_nothing(flags_of(0, u64::from(!done), width)),
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

fn read(value: u64, number: u8) -> Cell {
    Cell {
        value,
        needs: 1 << number,
        pick: 0,
    }
}
fn read_nothing(value: u64) -> Cell {
    Cell {
        value,
        ..Cell::default()
    }
}

/// Goes to the target; false if that would be one jump back too many.
fn jump(s: &mut State, here: usize, target: usize) -> bool {
    if target <= here {
        let taken = match s.back.iter_mut().find(|(t, _)| *t == target) {
            Some((_, n)) => n,
            None => {
                s.back.push((target, 0));
                let Some((_, n)) = s.back.last_mut() else { return false };
                n
            }
        };
        if *taken >= UNROLL {
            return false;
        }
        *taken += 1;
    }
    s.at = target;
    true
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
    let value = s.operand(value);
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
    let from_old = if alu == crate::op::Alu::Move { 0 } else { 1 << number };
    (e.needs.data, e.needs.pick) = (value.needs | from_old, value.pick);
    s.access(e, at);
    if flags {
        let compared = Cell {
            value: flags_of(new, 0, width),
            needs: value.needs | from_old,
            pick: value.pick,
        };
        s.regs[usize::from(FLAGS)] = compared;
    }
    if let Some(to) = to {
        s.regs[usize::from(to)] = read(width.cut(old), number);
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
    let (wanted, new) = (s.regs[usize::from(expected)], s.operand(new));
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
        s.regs[usize::from(FLAGS)] = Cell {
            value: flags_of(wanted.value, old, width),
            needs: wanted.needs | 1 << number,
            pick: wanted.pick,
        };
    }
    s.regs[usize::from(expected)] = read(width.cut(old), number);
}
