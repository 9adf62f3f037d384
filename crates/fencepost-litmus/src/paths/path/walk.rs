//! The walk through a thread's code that lists its paths.

use super::atomics::{compare_swap, modify};
use super::state::{State, event};
use super::{Domain, Kind, Path, PathError};
use crate::format::op::{Barrier, Op, Order, Success, Width, flags_of};
use crate::format::test::{FLAGS, Locations, Thread};
use crate::paths::exec::Cell;

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
    walk.run(State::initial(thread));
    match walk.error {
        Some(error) => Err(error),
        None => Ok(walk.paths),
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
                    s.regs.set(to, s.read(result, number));
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
                    if let Op::Rmw { .. } = op {
                        modify(&mut s, op, at, *value, here);
                    } else if let Some((reg, own)) = compare_swap(&mut s, op, at, *value, here) {
                        let mut other = s.clone();
                        other.regs.set(reg, own);
                        self.run(other);
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
