//! Registers and what instructions without memory do to them.

use crate::format::op::{Address, Alu, Op, Operand, Reg, Width, flags_of};
use crate::format::test::{FLAGS, Thread};
use crate::paths::path::Set;

/// A value and the reads that it was computed from.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Cell {
    /// The value.
    pub value: u64,
    /// The reads, by event.
    pub needs: Set,
    /// The choice between values was made by these reads.
    pub pick: Set,
}

impl Cell {
    /// A value that no read went into.
    pub(crate) fn constant(value: u64) -> Cell {
        Cell {
            value,
            ..Cell::default()
        }
    }
    /// What a read returned.
    pub(crate) fn read(value: u64, number: u8) -> Cell {
        Cell {
            value,
            needs: 1 << number,
            pick: 0,
        }
    }
}

/// The registers of a running thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Registers(Vec<Cell>);

/// A jump that an instruction may make.
pub(crate) struct Jump {
    /// Whether it does.
    pub taken: bool,
    /// Where to.
    pub target: usize,
    /// What decided it.
    pub tested: Cell,
}

impl Registers {
    /// As the test sets them.
    pub(crate) fn initial(thread: &Thread) -> Registers {
        let mut cells = vec![Cell::default(); thread.registers.count()];
        for (reg, value) in &thread.initial {
            cells[usize::from(*reg)].value = *value;
        }
        Registers(cells)
    }
    /// Every value.
    pub(crate) fn values(&self) -> Vec<u64> {
        self.0.iter().map(|c| c.value).collect()
    }
    /// A register.
    pub(crate) fn get(&self, reg: Reg) -> Cell {
        self.0[usize::from(reg)]
    }
    /// Sets a register.
    pub(crate) fn set(&mut self, reg: Reg, cell: Cell) {
        self.0[usize::from(reg)] = cell;
    }
    /// A source operand.
    pub(crate) fn operand(&self, operand: Operand) -> Cell {
        match operand {
            Operand::Imm(value) => Cell::constant(value),
            Operand::Reg(reg) => self.get(reg),
        }
    }
    fn combine(&mut self, reg: Reg, value: u64, from: &[Cell]) {
        let needs = from.iter().fold(0, |s, c| s | c.needs);
        let pick = from.iter().fold(0, |s, c| s | c.pick);
        self.set(reg, Cell { value, needs, pick });
    }
    /// A memory address.
    pub(crate) fn address(&self, at: &Address) -> Cell {
        let mut cell = self.operand(at.base);
        cell.value = cell.value.wrapping_add(at.offset);
        if let Some((reg, shift, signed)) = at.index {
            let index = self.get(reg);
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
    /// Does an instruction that only works on registers; false if it is another one.
    pub(crate) fn step(&mut self, op: &Op) -> bool {
        match *op {
            Op::Alu {
                alu,
                to,
                a,
                b,
                width,
                flags,
            } => {
                // Exclusive-or of a register with itself keeps the dependence, as the architectures have it.
                let (a, b) = (self.operand(a), self.operand(b));
                let value = alu.of(a.value, b.value, width);
                if flags {
                    let compared = match alu {
                        Alu::Sub => flags_of(a.value, b.value, width),
                        _ => flags_of(value, 0, width),
                    };
                    self.combine(FLAGS, compared, &[a, b]);
                }
                self.combine(to, value, &[a, b]);
            }
            Op::Compare { a, b, width } => {
                let (a, b) = (self.operand(a), self.operand(b));
                self.combine(FLAGS, flags_of(a.value, b.value, width), &[a, b]);
            }
            Op::Test { a, b, width } => {
                let (a, b) = (self.operand(a), self.operand(b));
                self.combine(FLAGS, flags_of(a.value & b.value, 0, width), &[a, b]);
            }
            Op::Select { .. } => self.select(op),
            Op::CompareIf {
                cond,
                a,
                b,
                otherwise,
                width,
            } => {
                let before = self.get(FLAGS);
                let picked = Cell {
                    value: 0,
                    needs: 0,
                    pick: before.needs | before.pick,
                };
                let (a, b) = (self.operand(a), self.operand(b));
                match cond.holds(before.value) {
                    true => self.combine(FLAGS, flags_of(a.value, b.value, width), &[a, b, picked]),
                    false => self.combine(FLAGS, otherwise, &[picked]),
                }
            }
            Op::Nop => {}
            _ => return false,
        }
        true
    }
    fn select(&mut self, op: &Op) {
        let Op::Select {
            cond,
            to,
            a,
            b,
            else_add,
            else_not,
            width,
        } = *op
        else {
            return;
        };
        let flags = self.get(FLAGS);
        let (value, from) = if cond.holds(flags.value) {
            let a = self.operand(a);
            (a.value, a)
        } else {
            let b = self.operand(b);
            let base = if else_not { !b.value } else { b.value };
            (base.wrapping_add(else_add), b)
        };
        let picked = Cell {
            value: 0,
            needs: 0,
            pick: flags.needs | flags.pick,
        };
        self.combine(to, width.cut(value), &[from, picked]);
    }
    /// The jump of an instruction, if it is one.
    pub(crate) fn jump(&self, op: &Op) -> Option<Jump> {
        Some(match *op {
            Op::Branch { cond, target } => {
                let tested = self.get(FLAGS);
                Jump {
                    taken: cond.holds(tested.value),
                    target,
                    tested,
                }
            }
            Op::BranchZero {
                reg,
                mask,
                zero,
                target,
            } => {
                let tested = self.get(reg);
                Jump {
                    taken: (tested.value & mask == 0) == zero,
                    target,
                    tested,
                }
            }
            Op::Jump { target } => Jump {
                taken: true,
                target,
                tested: Cell::default(),
            },
            _ => return None,
        })
    }
}

/// How often a thread jumped back to each place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Unrolled(Vec<(usize, u8)>);

/// Jumps back to one place that are followed, as herd does unless told otherwise.
const UNROLL: u8 = 2;

impl Unrolled {
    /// Counts a jump; false if it is one too many.
    pub(crate) fn allows(&mut self, here: usize, target: usize) -> bool {
        if target > here {
            return true;
        }
        match self.0.iter_mut().find(|(t, _)| *t == target) {
            Some((_, n)) if *n >= UNROLL => return false,
            Some((_, n)) => *n += 1,
            None => self.0.push((target, 1)),
        }
        true
    }
}
