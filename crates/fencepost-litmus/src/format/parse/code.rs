//! What the readers of all instruction sets share: operands, labels, emitted operations.

use super::error::{Read, syntax, unsupported};
use super::names::register;
use super::number::number;
use crate::format::op::{Address, Alu, Op, Operand, Reg, Width};
use crate::format::test::{Arch, Locations, Registers, Thread};

/// Reads the instructions of one thread.
pub(super) struct Reader<'l> {
    pub arch: Arch,
    pub locations: &'l mut Locations,
    registers: Registers,
    code: Vec<Op>,
    line: Vec<u16>,
    here: u16,
    /// Names of labels and the operation they stand before.
    labels: Vec<(String, usize)>,
    /// Jumps and the labels they go to.
    jumps: Vec<(usize, String)>,
}

/// A label behind the last instruction, which no program can name.
const END: &str = "$end";

/// Splits at commas outside brackets.
pub(super) fn operands(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut out) = (0i32, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() || !out.is_empty() {
        out.push(last);
    }
    out
}

impl<'l> Reader<'l> {
    pub(super) fn new(arch: Arch, locations: &'l mut Locations) -> Reader<'l> {
        Reader {
            arch,
            locations,
            registers: Registers::default(),
            code: Vec::new(),
            line: Vec::new(),
            here: 0,
            labels: Vec::new(),
            jumps: Vec::new(),
        }
    }

    /// The number of a register by canonical name.
    pub(super) fn number(&mut self, canonical: &str) -> Read<Reg> {
        match self.registers.number(canonical) {
            Some(reg) => Ok(reg),
            None => unsupported("too many registers"),
        }
    }
    /// A register that no program names.
    pub(super) fn scratch(&mut self, name: &str) -> Read<Reg> {
        self.number(&format!("${name}"))
    }
    /// A register as written, with its width.
    pub(super) fn reg(&mut self, name: &str) -> Read<(Reg, Width)> {
        match register(self.arch, name) {
            Some((canonical, bytes)) => Ok((self.number(&canonical)?, Width(bytes))),
            None => syntax(format!("`{name}` is no register")),
        }
    }
    /// A constant as written, `#` and `$` dropped.
    pub(super) fn constant(&mut self, text: &str) -> Read<u64> {
        let digits = text.trim().trim_start_matches(['#', '$']);
        match number(digits) {
            Some(n) => Ok(n),
            None => syntax(format!("`{text}` is no number")),
        }
    }

    pub(super) fn push(&mut self, op: Op) {
        self.code.push(op);
        self.line.push(self.here);
    }
    /// Emits a jump whose target is filled in at the end.
    pub(super) fn jump(&mut self, op: Op, label: &str) {
        self.jumps.push((self.code.len(), label.trim().to_owned()));
        self.push(op);
    }
    /// Emits a jump behind the last instruction: a return.
    pub(super) fn leave(&mut self) {
        self.jump(Op::Jump { target: 0 }, END);
    }
    /// The number of the next operation.
    pub(super) fn next(&self) -> usize {
        self.code.len()
    }
    /// Puts a label before the next operation.
    pub(super) fn label(&mut self, label: &str) {
        self.labels.push((label.to_owned(), self.code.len()));
    }
    pub(super) fn alu(&mut self, alu: Alu, to: Reg, a: Operand, b: Operand, width: Width) {
        self.push(Op::Alu {
            alu,
            to,
            a,
            b,
            width,
            flags: false,
        });
    }
    pub(super) fn set(&mut self, to: Reg, value: Operand, width: Width) {
        self.alu(Alu::Move, to, Operand::Imm(0), value, width);
    }
    /// A scratch register that holds base plus displacement before it is moved on.
    pub(super) fn advance(&mut self, at: Address, by: u64) {
        if let Operand::Reg(base) = at.base {
            self.alu(Alu::Add, base, at.base, Operand::Imm(by), Width::DOUBLE);
        }
    }

    /// Reads the labels of a cell of the table; the instruction behind them, if there is one.
    pub(super) fn labels<'c>(&mut self, cell: &'c str, line: usize) -> Option<&'c str> {
        self.here = line as u16;
        let mut text = cell.trim();
        while let Some((label, rest)) = text.split_once(':') {
            let label = label.trim();
            if label.is_empty() || !label.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.') {
                break;
            }
            self.labels.push((label.to_owned(), self.code.len()));
            text = rest.trim();
        }
        (!text.is_empty()).then_some(text)
    }

    /// The finished thread.
    pub(super) fn thread(mut self, id: usize, text: Vec<String>, initial: Vec<(Reg, u64)>) -> Read<Thread> {
        self.label(END);
        for (at, label) in std::mem::take(&mut self.jumps) {
            let Some(goal) = self.labels.iter().find(|(l, _)| *l == label).map(|(_, goal)| *goal) else {
                return syntax(format!("label `{label}` is not defined"));
            };
            match &mut self.code[at] {
                Op::Branch { target, .. } | Op::BranchZero { target, .. } | Op::Jump { target } => *target = goal,
                _ => {}
            }
        }
        Ok(Thread {
            id,
            text,
            code: self.code,
            line: self.line,
            registers: self.registers,
            initial,
        })
    }
}
