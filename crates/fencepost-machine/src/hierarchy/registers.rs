//! The miss registers of a core's private caches.

use fencepost_kernel::LineAddr;
use std::ops::{Index, IndexMut};

/// No line has this number.
const NONE: LineAddr = LineAddr(u64::MAX);

/// Miss registers, with what is known of the miss in each. The lines of all lie side by side, because every miss looks for its
/// own among them. A free register keeps what it was used for last, so that its lists are used again.
pub(super) struct MissRegisters<M> {
    lines: Vec<LineAddr>,
    misses: Vec<M>,
    open: usize,
}

impl<M: Default> MissRegisters<M> {
    /// So many free registers.
    pub(super) fn new(registers: usize) -> MissRegisters<M> {
        MissRegisters {
            lines: vec![NONE; registers],
            misses: (0..registers).map(|_| M::default()).collect(),
            open: 0,
        }
    }
    /// The miss of a line, if one is open.
    #[inline]
    pub(super) fn of(&mut self, line: LineAddr) -> Option<&mut M> {
        if self.open == 0 {
            return None;
        }
        let register = self.lines.iter().position(|l| *l == line)?;
        Some(&mut self.misses[register])
    }
    /// The first free register.
    #[inline]
    pub(super) fn free(&self) -> Option<u8> {
        match self.has_free() {
            true => self.lines.iter().position(|l| *l == NONE).map(|i| i as u8),
            false => None,
        }
    }
    /// Whether a register is free.
    #[inline]
    pub(super) fn has_free(&self) -> bool {
        self.open < self.lines.len()
    }
    /// A free register takes the miss of a line; what it was used for last, to be replaced.
    #[inline]
    pub(super) fn open(&mut self, register: u8, line: LineAddr) -> &mut M {
        let register = usize::from(register);
        self.lines[register] = line;
        self.open += 1;
        &mut self.misses[register]
    }
    /// Frees the register of an open miss; what is in it, until the register is used again.
    #[inline]
    pub(super) fn close(&mut self, register: u8) -> &mut M {
        let register = usize::from(register);
        debug_assert!(self.lines[register] != NONE, "the miss is open");
        self.lines[register] = NONE;
        self.open -= 1;
        &mut self.misses[register]
    }
    /// The miss in a register, if it is in use.
    #[inline]
    pub(super) fn get_mut(&mut self, register: u8) -> Option<&mut M> {
        let register = usize::from(register);
        (self.lines[register] != NONE).then(|| &mut self.misses[register])
    }
    /// What is wrong with the registers, if anything is: their count, or a line that has two of them.
    pub(super) fn unsound(&self) -> Option<&'static str> {
        let mut open: Vec<LineAddr> = self.lines.iter().copied().filter(|l| *l != NONE).collect();
        open.sort_unstable();
        if open.len() != self.open {
            return Some("the count of open misses");
        }
        let twice = open.windows(2).any(|pair| pair[0] == pair[1]);
        twice.then_some("two misses of one line")
    }
    /// Every open miss.
    pub(super) fn iter(&self) -> impl Iterator<Item = &M> {
        let all = self.lines.iter().zip(&self.misses);
        all.filter(|(l, _)| **l != NONE).map(|(_, m)| m)
    }
    /// Every open miss, to be changed.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut M> {
        let all = self.lines.iter().zip(&mut self.misses);
        all.filter(|(l, _)| **l != NONE).map(|(_, m)| m)
    }
}

/// The miss in a register that is in use.
impl<M> Index<u8> for MissRegisters<M> {
    type Output = M;
    #[inline]
    fn index(&self, register: u8) -> &M {
        debug_assert!(self.lines[usize::from(register)] != NONE, "the miss is open");
        &self.misses[usize::from(register)]
    }
}
impl<M> IndexMut<u8> for MissRegisters<M> {
    #[inline]
    fn index_mut(&mut self, register: u8) -> &mut M {
        debug_assert!(self.lines[usize::from(register)] != NONE, "the miss is open");
        &mut self.misses[usize::from(register)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_is_found_by_its_line_until_it_is_closed() {
        let mut registers = MissRegisters::new(2);
        for (line, miss) in [(LineAddr(7), 'a'), (LineAddr(9), 'b')] {
            let free = registers.free().unwrap();
            *registers.open(free, line) = miss;
        }
        assert_eq!(registers.of(LineAddr(9)).copied(), Some('b'));
        assert_eq!(registers.free(), None);
        assert_eq!((*registers.close(0), registers.free()), ('a', Some(0)));
        assert_eq!((registers.of(LineAddr(7)).is_none(), registers[1]), (true, 'b'));
        // Fewer are open than the number of the one that is.
        assert_eq!(registers.of(LineAddr(9)).copied(), Some('b'));
        assert!(registers.get_mut(0).is_none());
        assert_eq!(registers.iter().collect::<String>(), "b");
    }
    #[test]
    fn a_line_has_one_register() {
        let mut registers = MissRegisters::<char>::new(3);
        assert_eq!(registers.unsound(), None);
        registers.open(2, LineAddr(7));
        registers.open(0, LineAddr(9));
        assert_eq!(registers.unsound(), None);
        registers.open(1, LineAddr(7));
        assert_eq!(registers.unsound(), Some("two misses of one line"));
        registers.open -= 1;
        assert_eq!(registers.unsound(), Some("the count of open misses"));
    }
}
