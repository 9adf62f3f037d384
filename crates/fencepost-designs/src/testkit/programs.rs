//! Random programs for the test kit.

use super::bench::{dram_line, pm_line};
use fencepost_kernel::{Fence, Flush, LineAddr, Stream};

/// One step of a thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads a word of a line.
    Load(LineAddr, usize),
    /// Writes a unique value to a word of a line.
    Store(LineAddr, usize),
    /// Writes a unique value to a word of a line, past the caches.
    NtStore(LineAddr, usize),
    /// Flushes a line.
    Flush(LineAddr, Flush),
    /// A fence.
    Fence(Fence),
}
impl Op {
    /// The line it is about.
    pub fn line(self) -> Option<LineAddr> {
        match self {
            Op::Load(l, _) | Op::Store(l, _) | Op::NtStore(l, _) | Op::Flush(l, _) => Some(l),
            Op::Fence(_) => None,
        }
    }
}

/// What random programs are made of.
#[derive(Copy, Clone, Debug)]
pub struct Mix {
    /// Threads.
    pub threads: usize,
    /// Operations of each.
    pub ops: usize,
    /// Persistent lines, two words of each.
    pub pm_lines: u64,
    /// Volatile lines, two words of each.
    pub dram_lines: u64,
    /// Fences, one as often as the other.
    pub fences: &'static [Fence],
    /// Flushes, one as often as the other; empty where nothing is flushed.
    pub flushes: &'static [Flush],
    /// Whether there are non-temporal stores.
    pub nt_stores: bool,
}
impl Mix {
    /// A program for each thread.
    pub fn programs(&self, dice: &mut Stream) -> Vec<Vec<Op>> {
        let thread = |dice: &mut Stream| (0..self.ops).map(|_| self.op(dice)).collect();
        (0..self.threads).map(|_| thread(dice)).collect()
    }
    fn op(&self, dice: &mut Stream) -> Op {
        let any = |dice: &mut Stream| match dice.below(self.pm_lines + self.dram_lines) {
            n if n < self.pm_lines => pm_line(n),
            n => dram_line(n - self.pm_lines),
        };
        let line = any(dice);
        let word = dice.below(2) as usize;
        match dice.below(12) {
            0..=2 if !self.fences.is_empty() => Op::Fence(self.fences[dice.below(self.fences.len() as u64) as usize]),
            3..=5 => Op::Load(line, word),
            6 if self.nt_stores && line.is_persistent() => Op::NtStore(line, word),
            7 | 8 if !self.flushes.is_empty() => {
                Op::Flush(line, self.flushes[dice.below(self.flushes.len() as u64) as usize])
            }
            _ => Op::Store(line, word),
        }
    }
}

/// A random program for each thread: loads, stores and full barriers over a few persistent and volatile lines.
pub fn random_programs(dice: &mut Stream, threads: usize, ops: usize, pm_lines: u64, dram_lines: u64) -> Vec<Vec<Op>> {
    let mix = Mix {
        threads,
        ops,
        pm_lines,
        dram_lines,
        fences: &[Fence::Dmb],
        flushes: &[],
        nt_stores: false,
    };
    mix.programs(dice)
}
