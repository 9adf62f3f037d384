//! Atomic instructions: a read and a write of one location.

use super::Kind;
use super::state::{State, event};
use crate::format::op::{Alu, Op, Order, Reg, flags_of};
use crate::format::test::FLAGS;
use crate::paths::exec::Cell;

/// Reads, computes, writes.
pub(super) fn modify(s: &mut State, op: Op, at: Cell, old: u64, here: usize) {
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
    let read = s.read(width.cut(old), number);
    let new = alu.of(old, value.value, width);
    let release = Order {
        release: order.release,
        ..Order::default()
    };
    let mut e = event(Kind::Write, at, new, width, release, here);
    e.atomic = atomic;
    e.rmw = atomic.then_some(number);
    let from_old = match alu {
        Alu::Move => Cell::default(),
        _ => read,
    };
    (e.needs.data, e.needs.pick) = (value.needs | from_old.needs, value.pick | from_old.pick);
    s.access(e, at);
    if flags {
        let compared = Cell {
            value: flags_of(new, 0, width),
            needs: e.needs.data,
            pick: e.needs.pick,
        };
        s.regs.set(FLAGS, compared);
    }
    if let Some(to) = to {
        s.regs.set(to, read);
    }
}

/// A register, and another cell that it may hold: a compare and swap of Arm that succeeds may answer with the register that it
/// compared (the value is that of memory, and so it depends on the comparison only), or with what it read.
pub(super) fn compare_swap(s: &mut State, op: Op, at: Cell, old: u64, here: usize) -> Option<(Reg, Cell)> {
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
        return None;
    };
    let (wanted, new) = (s.regs.get(expected), s.regs.operand(new));
    let acquire = Order {
        release: false,
        ..order
    };
    let mut e = event(Kind::Read, at, old, width, acquire, here);
    e.atomic = atomic;
    let number = s.access(e, at);
    let read = s.read(width.cut(old), number);
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
        e.needs.pick = new.pick | wanted.needs | wanted.pick | read.needs | read.pick;
        s.access(e, at);
    }
    if flags {
        let compared = Cell {
            value: flags_of(wanted.value, old, width),
            needs: wanted.needs | read.needs,
            pick: wanted.pick | read.pick,
        };
        s.regs.set(FLAGS, compared);
    }
    s.regs.set(expected, read);
    let compared = Cell {
        needs: wanted.needs,
        pick: wanted.needs | wanted.pick | read.needs | read.pick,
        ..read
    };
    (equal && !flags).then_some((expected, compared))
}
