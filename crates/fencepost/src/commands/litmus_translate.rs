//! Tests in the form that the native runner takes.

use fencepost_litmus::crash::Layout;
use fencepost_litmus::op::{Address, Alu, Barrier, Cond, Op, Operand};
use fencepost_litmus::{Program, Test};
use fencepost_papers::native::litmus::{Arithmetic, Litmus, Source, Step, When};
use std::collections::BTreeMap;

/// The test in the native runner's form.
pub(super) fn native(test: &Test, program: &Program<'_>, layout: &Layout) -> Result<Litmus, String> {
    let mut widths: BTreeMap<u64, u8> = BTreeMap::new();
    for event in program.paths.iter().flatten().flat_map(|p| &p.events) {
        let access = event.is_read() || event.is_write();
        if access && *widths.entry(event.addr).or_insert(event.width.0) != event.width.0 {
            return Err("accesses of several sizes to a location do not run natively".into());
        }
    }
    let line = |w: &fencepost_litmus::crash::Word| (w.addr.line().0, w.persistent);
    let mut lines: Vec<(u64, bool)> = layout.words.iter().map(line).collect();
    lines.sort_unstable();
    lines.dedup();
    let mut native = Litmus {
        words: layout.words.iter().map(|w| w.initial).collect(),
        places: (layout.words.iter())
            .map(|w| (lines.binary_search(&line(w)).unwrap_or(0), w.addr.word_in_line()))
            .collect(),
        ..Litmus::default()
    };
    for thread in &test.threads {
        // One more register than the test has: for what instructions without a result read.
        let mut registers = vec![0; thread.registers.count() + 1];
        for (reg, value) in &thread.initial {
            registers[usize::from(*reg)] = *value;
        }
        let mut translated = Translated {
            layout,
            initial: &registers,
            written: thread.code.iter().filter_map(result).collect(),
            steps: Vec::new(),
            starts: Vec::new(),
            compared: None,
        };
        for op in &thread.code {
            translated.starts.push(translated.steps.len());
            translated.op(op)?;
        }
        translated.starts.push(translated.steps.len());
        let (starts, mut steps) = (translated.starts, translated.steps);
        for step in &mut steps {
            if let Step::Jump { target, .. } = step {
                *target = starts[*target];
            }
        }
        native.threads.push(steps);
        native.registers.push(registers);
    }
    Ok(native)
}

/// The register that an instruction writes.
fn result(op: &Op) -> Option<u8> {
    match *op {
        Op::Alu { to, .. } | Op::Load { to, .. } | Op::Select { to, .. } => Some(to),
        Op::Rmw { to, .. } => to,
        Op::CompareSwap { expected, .. } => Some(expected),
        _ => None,
    }
}

fn source(operand: Operand) -> Source {
    match operand {
        Operand::Imm(v) => Source::Value(v),
        Operand::Reg(r) => Source::Register(r),
    }
}

struct Translated<'a> {
    layout: &'a Layout,
    initial: &'a [u64],
    written: Vec<u8>,
    steps: Vec<Step>,
    starts: Vec<usize>,
    /// What the flags compare.
    compared: Option<(Source, Source)>,
}

impl Translated<'_> {
    /// The word of an address that does not change.
    fn word(&self, at: &Address) -> Result<usize, String> {
        let base = match at.base {
            Operand::Imm(v) => Some(v),
            Operand::Reg(r) => (!self.written.contains(&r)).then(|| self.initial[usize::from(r)]),
        };
        let base = base.filter(|_| at.index.is_none());
        let word = base.and_then(|b| self.layout.index(b.wrapping_add(at.offset)));
        word.ok_or_else(|| "an address that is computed does not run natively".into())
    }
    fn scratch(&self) -> u8 {
        (self.initial.len() - 1) as u8
    }
    fn op(&mut self, op: &Op) -> Result<(), String> {
        let unsupported = |what: &str| Err(format!("{what} does not run natively"));
        match *op {
            Op::Alu {
                alu, to, a, b, flags, ..
            } => {
                let (a, b) = (source(a), source(b));
                self.alu(alu, to, a, b)?;
                self.compared = flags.then_some((Source::Register(to), Source::Value(0)));
            }
            Op::Compare { a, b, .. } => self.compared = Some((source(a), source(b))),
            Op::Test { a, b, .. } => {
                let to = self.scratch();
                self.alu(Alu::And, to, source(a), source(b))?;
                self.compared = Some((Source::Register(to), Source::Value(0)));
            }
            Op::Load { to, at, .. } => {
                let word = self.word(&at)?;
                self.steps.push(Step::Load { to, word });
            }
            Op::Store { value, at, nt, .. } => {
                let (word, value) = (self.word(&at)?, source(value));
                self.steps.push(Step::Store {
                    word,
                    value,
                    non_temporal: nt,
                });
            }
            Op::Rmw {
                alu,
                to,
                value,
                at,
                atomic,
                flags,
                ..
            } => {
                if flags {
                    self.compared = None;
                }
                self.modify(alu, to, source(value), &at, atomic)?;
            }
            Op::CompareSwap {
                expected,
                new,
                at,
                atomic: true,
                ..
            } => {
                let (word, new) = (self.word(&at)?, source(new));
                self.steps.push(Step::CompareExchange { expected, word, new });
                self.compared = None;
            }
            Op::Fence(barrier) => match barrier {
                Barrier::Full => self.steps.push(Step::Mfence),
                Barrier::Sfence => self.steps.push(Step::Sfence),
                Barrier::Lfence => self.steps.push(Step::Lfence),
                _ => return unsupported("a fence that x86 does not have"),
            },
            Op::Flush { at, .. } => {
                let word = self.word(&at)?;
                self.steps.push(Step::Flush { word });
            }
            Op::Branch { cond, target } => {
                let Some((a, b)) = self.compared else {
                    return unsupported("a jump on flags that no comparison sets");
                };
                let when = when(cond).ok_or("a jump on a sign does not run natively")?;
                self.steps.push(Step::Jump { when, a, b, target });
            }
            Op::Jump { target } => {
                let (a, b) = (Source::Value(0), Source::Value(0));
                let when = When::Always;
                self.steps.push(Step::Jump { when, a, b, target });
            }
            Op::Nop => {}
            _ => return unsupported("an instruction"),
        }
        Ok(())
    }
    fn alu(&mut self, alu: Alu, to: u8, a: Source, b: Source) -> Result<(), String> {
        let what = match alu {
            Alu::Move => {
                self.steps.push(Step::Set { to, value: b });
                return Ok(());
            }
            Alu::Add => Arithmetic::Add,
            Alu::Sub => Arithmetic::Sub,
            Alu::And => Arithmetic::And,
            Alu::Or => Arithmetic::Or,
            Alu::Xor => Arithmetic::Xor,
            _ => return Err(format!("{alu:?} does not run natively")),
        };
        self.steps.push(Step::Compute { what, to, a, b });
        Ok(())
    }
    fn modify(&mut self, alu: Alu, to: Option<u8>, value: Source, at: &Address, atomic: bool) -> Result<(), String> {
        let (word, to) = (self.word(at)?, to.unwrap_or(self.scratch()));
        match (alu, atomic) {
            (Alu::Move, _) => self.steps.push(Step::Exchange { to, word, value }),
            (Alu::Add, true) => self.steps.push(Step::FetchAdd { to, word, value }),
            (Alu::Sub, true) => match value {
                Source::Value(v) => self.steps.push(Step::FetchAdd {
                    to,
                    word,
                    value: Source::Value(v.wrapping_neg()),
                }),
                Source::Register(_) => return Err("a locked subtraction of a register does not run natively".into()),
            },
            (_, true) => return Err(format!("a locked {alu:?} does not run natively")),
            (_, false) => {
                let new = self.scratch();
                self.steps.push(Step::Load { to: new, word });
                self.alu(alu, new, Source::Register(new), value)?;
                self.steps.push(Step::Store {
                    word,
                    value: Source::Register(new),
                    non_temporal: false,
                });
            }
        }
        Ok(())
    }
}

fn when(cond: Cond) -> Option<When> {
    Some(match cond {
        Cond::Eq => When::Equal,
        Cond::Ne => When::NotEqual,
        Cond::Lt => When::Less,
        Cond::Le => When::LessEqual,
        Cond::Gt => When::Greater,
        Cond::Ge => When::GreaterEqual,
        Cond::Below => When::Below,
        Cond::BelowEq => When::BelowEqual,
        Cond::Above => When::Above,
        Cond::AboveEq => When::AboveEqual,
        Cond::Negative | Cond::NotNegative => return None,
    })
}
