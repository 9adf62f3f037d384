//! Threads issue their instructions.

use super::{Buffered, Effect, Machine, Queued, State, Step};
use crate::format::op::flags_of;
use crate::format::op::{Barrier, Op};
use crate::format::test::FLAGS;
use crate::paths::exec::{Cell, Registers};
use fencepost_kernel::Fence;

/// The word that an address means; the path is lost if there is none.
macro_rules! word {
    ($machine:ident, $n:ident, $t:ident, $at:expr, $out:ident, $effect:expr) => {
        match $machine.layout.index($n.hw_threads[$t].regs.address(&$at).value) {
            Some(word) => word,
            None => {
                $n.hw_threads[$t].lost = true;
                $n.hw_threads[$t].at = usize::MAX;
                return $out.push(($t, $effect, $n));
            }
        }
    };
}

impl Machine<'_> {
    /// Runs a thread up to its next instruction that others may notice. Stores, flushes and store fences enter the buffer at once:
    /// nobody can tell when they do.
    pub(super) fn settle(&self, s: &mut State, t: usize) {
        loop {
            let Some(op) = self.threads[t].code.get(s.hw_threads[t].at) else {
                return;
            };
            let hw_thread = &mut s.hw_threads[t];
            if let Some(jump) = hw_thread.regs.jump(op) {
                let here = hw_thread.at;
                hw_thread.at += 1;
                if jump.taken {
                    hw_thread.lost |= !hw_thread.back.allows(here, jump.target);
                    hw_thread.at = if hw_thread.lost { usize::MAX } else { jump.target };
                }
                continue;
            }
            let entry = match *op {
                Op::Store {
                    value, at, width, nt, ..
                } => {
                    let value = width.cut(hw_thread.regs.operand(value).value);
                    self.layout
                        .index(hw_thread.regs.address(&at).value)
                        .map(|w| Buffered::Store(w, value, nt))
                }
                Op::Flush { at, kind } => self
                    .layout
                    .index(hw_thread.regs.address(&at).value)
                    .map(|w| Buffered::Flush(w, kind)),
                Op::Fence(Barrier::Sfence | Barrier::Store | Barrier::StoreSync) => Some(Buffered::Sfence),
                Op::Fence(Barrier::Lfence | Barrier::Load | Barrier::LoadSync | Barrier::Isync) => {
                    hw_thread.at += 1;
                    continue;
                }
                _ if hw_thread.regs.step(op) => {
                    hw_thread.at += 1;
                    continue;
                }
                _ => return,
            };
            hw_thread.at += 1;
            match entry {
                Some(entry) => hw_thread.buffer.push(entry),
                None => (hw_thread.lost, hw_thread.at) = (true, usize::MAX),
            }
        }
    }

    /// Whether no flush of the thread waits in a persist queue.
    pub(super) fn flushes_done(&self, s: &State, thread: usize) -> bool {
        !s.queues.iter().flatten().any(|q| *q == Queued::Flush(thread))
    }

    /// The next instruction of a thread that reads memory or waits.
    pub(super) fn issue(&self, s: &State, t: usize, out: &mut Vec<Step>) {
        let Some(op) = self.threads[t].code.get(s.hw_threads[t].at) else {
            return;
        };
        let mut n = s.clone();
        n.hw_threads[t].at += 1;
        let ready = s.hw_threads[t].buffer.is_empty() && self.flushes_done(s, t);
        let effect = match *op {
            Op::Load {
                to, at, width, signed, ..
            } => {
                let word = word!(self, n, t, at, out, Effect::Nothing);
                let (value, effect) = self.read(s, t, word);
                let value = if signed {
                    width.signed(value) as u64
                } else {
                    width.cut(value)
                };
                n.hw_threads[t].regs.set(to, Cell::constant(value));
                effect
            }
            Op::Rmw { at, atomic: true, .. } | Op::CompareSwap { at, atomic: true, .. } if ready => {
                let word = word!(self, n, t, at, out, Effect::Nothing);
                let new = modify(&mut n.hw_threads[t].regs, op, s.memory[word]);
                if let Some(value) = new {
                    self.perform(&mut n, word, value);
                }
                Effect::Rmw(word, new)
            }
            Op::Rmw { at, atomic: false, .. } | Op::CompareSwap { at, atomic: false, .. } => {
                let word = word!(self, n, t, at, out, Effect::Nothing);
                let (value, effect) = self.read(s, t, word);
                let new = modify(&mut n.hw_threads[t].regs, op, value);
                n.hw_threads[t]
                    .buffer
                    .extend(new.map(|v| Buffered::Store(word, v, false)));
                effect
            }
            Op::Fence(barrier) if ready => Effect::Fence(match barrier {
                Barrier::Pcommit => Fence::Pcommit,
                Barrier::Persist => Fence::PersistBarrier,
                Barrier::NewStrand => Fence::NewStrand,
                _ => Fence::Mfence,
            }),
            _ => return,
        };
        self.settle(&mut n, t);
        out.push((t, effect, n));
    }

    /// What a load of a word returns: the newest own store that waits, or memory.
    fn read(&self, s: &State, t: usize, word: usize) -> (u64, Effect) {
        let own = s.hw_threads[t].buffer.iter().rev().find_map(|b| match b {
            Buffered::Store(w, v, _) if *w == word => Some(*v),
            _ => None,
        });
        own.map_or((s.memory[word], Effect::Load(word)), |v| (v, Effect::Nothing))
    }

    /// A store becomes visible and enters its persist queue.
    pub(super) fn perform(&self, n: &mut State, word: usize, value: u64) {
        n.memory[word] = value;
        if self.persists && self.layout.words[word].persistent {
            n.queues[self.queue(word)].push(Queued::Write(word, value));
        }
    }
}

/// Does a read-modify-write on registers; the value to write, if it writes.
fn modify(regs: &mut Registers, op: &Op, old: u64) -> Option<u64> {
    match *op {
        Op::Rmw {
            alu,
            to,
            value,
            width,
            flags,
            ..
        } => {
            let new = alu.of(old, regs.operand(value).value, width);
            if flags {
                regs.set(FLAGS, Cell::constant(flags_of(new, 0, width)));
            }
            if let Some(to) = to {
                regs.set(to, Cell::constant(width.cut(old)));
            }
            Some(new)
        }
        Op::CompareSwap {
            expected,
            new,
            width,
            flags,
            ..
        } => {
            let wanted = regs.get(expected).value;
            let new = width.cut(regs.operand(new).value);
            if flags {
                regs.set(FLAGS, Cell::constant(flags_of(wanted, old, width)));
            }
            regs.set(expected, Cell::constant(width.cut(old)));
            (width.cut(wanted) == width.cut(old)).then_some(new)
        }
        _ => None,
    }
}
