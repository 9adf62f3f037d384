//! Machine code of a thread: registers of the test lie in memory at `rdi`, words at `rsi`; `rax` and `rcx` are in between.

use crate::litmus::{Arithmetic, Litmus, Source, Step, When};

/// The code of a thread, a function of the addresses of its registers and of the words (System V).
pub(super) fn assemble(test: &Litmus, thread: usize) -> Vec<u8> {
    let mut code = Code {
        bytes: Vec::new(),
        jumps: Vec::new(),
        starts: Vec::new(),
    };
    for step in &test.threads[thread] {
        code.starts.push(code.bytes.len());
        code.step(test, step);
    }
    code.starts.push(code.bytes.len());
    code.emit(&[0xc3]); // ret
    for (at, target) in std::mem::take(&mut code.jumps) {
        let distance = code.starts[target] as i64 - (at as i64 + 4);
        code.bytes[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
    }
    code.bytes
}

struct Code {
    bytes: Vec<u8>,
    /// Where a distance is to be filled in, and the step that it leads to.
    jumps: Vec<(usize, usize)>,
    /// By step.
    starts: Vec<usize>,
}

/// `rax` or `rcx`.
#[derive(Copy, Clone)]
enum Scratch {
    A = 0,
    C = 1,
}

impl Code {
    fn emit(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
    /// An instruction with the memory operand `[rsi + word]`; `field` is the middle of its ModRM byte.
    fn at_word(&mut self, test: &Litmus, opcode: &[u8], field: u8, word: usize) {
        let (line, place) = test.places[word];
        self.emit(opcode);
        self.emit(&[0x86 | field << 3]);
        self.emit(&((64 * line + 8 * place) as i32).to_le_bytes());
    }
    fn at_register(&mut self, opcode: u8, scratch: Scratch, register: u8) {
        self.emit(&[0x48, opcode, 0x87 | (scratch as u8) << 3]);
        self.emit(&(8 * i32::from(register)).to_le_bytes());
    }
    fn take(&mut self, scratch: Scratch, source: Source) {
        match source {
            Source::Register(r) => self.at_register(0x8b, scratch, r),
            Source::Value(v) => {
                self.emit(&[0x48, 0xb8 | scratch as u8]);
                self.emit(&v.to_le_bytes());
            }
        }
    }
    fn keep(&mut self, scratch: Scratch, register: u8) {
        self.at_register(0x89, scratch, register);
    }

    fn step(&mut self, test: &Litmus, step: &Step) {
        use Scratch::{A, C};
        match *step {
            Step::Set { to, value } => {
                self.take(A, value);
                self.keep(A, to);
            }
            Step::Compute { what, to, a, b } => {
                self.take(A, a);
                self.take(C, b);
                let opcode = match what {
                    Arithmetic::Add => 0x01,
                    Arithmetic::Or => 0x09,
                    Arithmetic::And => 0x21,
                    Arithmetic::Sub => 0x29,
                    Arithmetic::Xor => 0x31,
                };
                self.emit(&[0x48, opcode, 0xc8]);
                self.keep(A, to);
            }
            Step::Load { to, word } => {
                self.at_word(test, &[0x48, 0x8b], A as u8, word);
                self.keep(A, to);
            }
            Step::Store {
                word,
                value,
                non_temporal,
            } => {
                self.take(A, value);
                let opcode: &[u8] = if non_temporal {
                    &[0x48, 0x0f, 0xc3]
                } else {
                    &[0x48, 0x89]
                };
                self.at_word(test, opcode, A as u8, word);
            }
            Step::Exchange { to, word, value } => {
                self.take(A, value);
                self.at_word(test, &[0x48, 0x87], A as u8, word);
                self.keep(A, to);
            }
            Step::FetchAdd { to, word, value } => {
                self.take(A, value);
                self.at_word(test, &[0xf0, 0x48, 0x0f, 0xc1], A as u8, word);
                self.keep(A, to);
            }
            Step::CompareExchange { expected, word, new } => {
                self.take(A, Source::Register(expected));
                self.take(C, new);
                self.at_word(test, &[0xf0, 0x48, 0x0f, 0xb1], C as u8, word);
                self.keep(A, expected);
            }
            Step::Mfence => self.emit(&[0x0f, 0xae, 0xf0]),
            Step::Sfence => self.emit(&[0x0f, 0xae, 0xf8]),
            Step::Lfence => self.emit(&[0x0f, 0xae, 0xe8]),
            Step::Flush { word } => self.at_word(test, &[0x0f, 0xae], 7, word),
            Step::Jump { when, a, b, target } => {
                self.take(A, a);
                self.take(C, b);
                self.emit(&[0x48, 0x39, 0xc8]); // cmp rax, rcx
                match condition(when) {
                    None => self.emit(&[0xe9]),
                    Some(code) => self.emit(&[0x0f, 0x80 | code]),
                }
                self.jumps.push((self.bytes.len(), target));
                self.emit(&[0; 4]);
            }
        }
    }
}

/// The condition's code in a jump.
fn condition(when: When) -> Option<u8> {
    Some(match when {
        When::Always => return None,
        When::Below => 0x2,
        When::AboveEqual => 0x3,
        When::Equal => 0x4,
        When::NotEqual => 0x5,
        When::BelowEqual => 0x6,
        When::Above => 0x7,
        When::Less => 0xc,
        When::GreaterEqual => 0xd,
        When::LessEqual => 0xe,
        When::Greater => 0xf,
    })
}
