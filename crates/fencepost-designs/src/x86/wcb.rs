//! The write-combining buffer of one core.

use fencepost_kernel::decision;
use fencepost_kernel::planted;
use fencepost_kernel::{HwThread, LineAddr, LineData, Ps};
use fencepost_machine::seam::{Cause, WriteId};

/// A position in the buffer: entries allocated before it since the pointers were last reset.
pub type Pointer = u32;

/// One line on its way to the controller.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The line.
    pub line: LineAddr,
    /// Its bytes with every store that was combined into the entry.
    pub data: LineData,
    /// Hardware thread of the newest of those stores.
    pub hw_thread: HwThread,
    /// When the entry was allocated.
    pub since: Ps,
    /// The write at the controller, once the entry was sent there (volatile lines have none).
    pub write: Option<WriteId>,
    /// The ACK bit.
    pub acked: bool,
}

/// What became of a non-temporal store.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    /// It took the entry at the tail.
    Allocated,
    /// It was combined into an entry that has not been sent.
    Coalesced,
}

/// What an acknowledgement changed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Acked {
    /// An older entry is still out: headACK stays.
    OutOfOrder,
    /// headACK moved.
    Advanced,
    /// headACK moved to the end of a forced drain, and every pointer was reset.
    Reset,
}

/// A ring of entries between headACK and tail. `head` is the oldest entry not sent, `head_ack` the oldest not
/// acknowledged, `tail` the next free one; each is an index with wrap bits above it.
#[derive(Clone, Debug)]
pub struct Wcb {
    ring: Vec<Entry>,
    /// The lines of the entries side by side: they are looked for far more often than anything else.
    lines: Vec<LineAddr>,
    head: Pointer,
    tail: Pointer,
    head_ack: Pointer,
    /// Pointers count up to here; then the buffer is drained and they are reset. `None`: they never run out.
    limit: Option<Pointer>,
    /// Entries acknowledged before the last reset.
    base: u64,
    generation: u16,
}

impl Wcb {
    /// An empty buffer of `entries` (a power of two). With `pointer_bits`, pointers are that wide.
    pub fn new(entries: u16, pointer_bits: Option<u8>) -> Wcb {
        let entries = usize::from(entries);
        assert!(entries.is_power_of_two());
        let unused = Entry {
            line: LineAddr(0),
            data: LineData::default(),
            hw_thread: HwThread(0),
            since: Ps::ZERO,
            write: None,
            acked: false,
        };
        Wcb {
            ring: vec![unused; entries],
            lines: vec![LineAddr(0); entries],
            head: 0,
            tail: 0,
            head_ack: 0,
            limit: pointer_bits.map(|b| 1 << b),
            base: 0,
            generation: 0,
        }
    }
    #[inline]
    fn slot(&self, at: Pointer) -> usize {
        at as usize & (self.ring.len() - 1)
    }
    /// The tail pointer.
    pub fn tail(&self) -> Pointer {
        self.tail
    }
    /// The headACK pointer: every entry before it is acknowledged.
    pub fn head_ack(&self) -> Pointer {
        self.head_ack
    }
    /// Number of resets so far (modulo 2^16).
    pub fn generation(&self) -> u16 {
        self.generation
    }
    /// Whether every entry is acknowledged.
    pub fn is_empty(&self) -> bool {
        self.head_ack == self.tail
    }
    /// Whether the pointers have run out and the buffer is being drained.
    pub fn wrapping(&self) -> bool {
        self.limit == Some(self.tail)
    }
    /// Entries allocated since the beginning of time.
    pub fn allocated(&self) -> u64 {
        self.base + u64::from(self.tail)
    }
    /// Entries acknowledged, in order, since the beginning of time.
    pub fn acknowledged(&self) -> u64 {
        self.base + u64::from(self.head_ack)
    }
    /// Whether an entry for the line has not been sent.
    pub fn holds_unsent(&self, line: LineAddr) -> bool {
        let unseen = planted!(
            "x86.buffered-line-unseen",
            "a line in a write-combining buffer is not served from elsewhere"
        );
        !unseen && (self.head..self.tail).any(|p| self.is_for(p, line))
    }
    /// Whether an entry for the line has not been acknowledged.
    pub fn holds(&self, line: LineAddr) -> bool {
        (self.head_ack..self.tail).any(|p| self.is_for(p, line))
    }
    /// What is wrong with the buffer, if anything is.
    pub fn unsound(&self) -> Option<&'static str> {
        let entry = |at: Pointer| &self.ring[self.slot(at)];
        let order = self.head_ack <= self.head && self.head <= self.tail;
        let fits = self.tail - self.head_ack <= self.ring.len() as Pointer && self.limit.is_none_or(|l| self.tail <= l);
        if !order || !fits {
            return Some("its pointers");
        }
        let twice = |at: Pointer| (self.head..at).any(|older| self.is_for(older, entry(at).line));
        let acknowledged = |at: Pointer| entry(at).acked && (at == self.head_ack || at >= self.head);
        match () {
            () if (self.head_ack..self.tail).any(|at| !self.is_for(at, entry(at).line)) => {
                Some("the lines of its entries")
            }
            () if (self.head..self.tail).any(twice) => Some("two entries of one line that are not sent"),
            () if (self.head_ack..self.tail).any(acknowledged) => {
                Some("an acknowledged entry that is kept, or was not sent")
            }
            () if self.wrapping() && self.is_empty() => Some("pointers that are not reset"),
            () => None,
        }
    }
    fn is_for(&self, at: Pointer, line: LineAddr) -> bool {
        self.lines[at as usize & (self.lines.len() - 1)] == line
    }

    /// Takes a non-temporal store; `data` is the line with it applied. Refuses while the pointers are being reset and
    /// when no entry is free.
    pub fn push(&mut self, hw_thread: HwThread, line: LineAddr, data: &LineData, now: Ps) -> Result<Placed, Cause> {
        if self.wrapping() {
            return Err(Cause::WcbWrap);
        }
        if let Some(at) = (self.head..self.tail).find(|p| self.is_for(*p, line)) {
            let slot = self.slot(at);
            let e = &mut self.ring[slot];
            let newer_kept = !planted!("x86.combining-drops-bytes", "stores that combine leave the newer bytes");
            if newer_kept {
                e.data = *data;
            }
            e.hw_thread = hw_thread;
            return Ok(Placed::Coalesced);
        }
        if decision!(
            "x86.buffer-full",
            self.tail - self.head_ack == self.ring.len() as Pointer
        ) {
            return Err(Cause::WcbFull);
        }
        let slot = self.slot(self.tail);
        self.lines[slot] = line;
        self.ring[slot] = Entry {
            line,
            data: *data,
            hw_thread,
            since: now,
            write: None,
            acked: false,
        };
        self.tail += 1;
        Ok(Placed::Allocated)
    }
    /// The oldest entry not sent.
    pub fn next(&self) -> Option<&Entry> {
        (self.head < self.tail).then(|| &self.ring[self.slot(self.head)])
    }
    /// The oldest entry not sent leaves for the controller.
    pub fn sent(&mut self, write: Option<WriteId>) {
        debug_assert!(self.head < self.tail);
        let slot = self.slot(self.head);
        self.ring[slot].write = write;
        self.head += 1;
    }
    /// The oldest entry that was sent as this write is acknowledged (`None`: the oldest one without a write). `None`
    /// if there is none.
    pub fn acknowledge(&mut self, write: Option<WriteId>) -> Option<Acked> {
        let here = |e: &Entry| e.write == write && !e.acked;
        let at = (self.head_ack..self.head).find(|at| here(&self.ring[self.slot(*at)]))?;
        let slot = self.slot(at);
        self.ring[slot].acked = true;
        if decision!("x86.acknowledged-out-of-order", at != self.head_ack) {
            return Some(Acked::OutOfOrder);
        }
        while self.head_ack < self.head && self.ring[self.slot(self.head_ack)].acked {
            self.head_ack += 1;
        }
        if decision!("x86.pointers-kept", !(self.wrapping() && self.is_empty())) {
            return Some(Acked::Advanced);
        }
        self.base += u64::from(self.tail);
        (self.head, self.tail, self.head_ack) = (0, 0, 0);
        self.generation = self.generation.wrapping_add(1);
        Some(Acked::Reset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{filled, pm_line};

    fn push(w: &mut Wcb, line: u64) -> Result<Placed, Cause> {
        w.push(HwThread(0), pm_line(line), &filled(line), Ps::ZERO)
    }

    #[test]
    fn stores_to_a_line_combine_until_it_is_sent() {
        let mut w = Wcb::new(4, None);
        assert_eq!(push(&mut w, 1), Ok(Placed::Allocated));
        assert_eq!(push(&mut w, 2), Ok(Placed::Allocated));
        assert_eq!(push(&mut w, 1), Ok(Placed::Coalesced));
        assert!(w.holds_unsent(pm_line(1)));
        w.sent(Some(WriteId(9)));
        assert!(!w.holds_unsent(pm_line(1)) && w.holds(pm_line(1)));
        assert_eq!(push(&mut w, 1), Ok(Placed::Allocated));
        assert_eq!(w.tail(), 3);
    }

    #[test]
    fn head_ack_moves_over_acknowledged_entries_only_in_order() {
        let mut w = Wcb::new(4, None);
        for line in 0..3 {
            push(&mut w, line).unwrap();
            w.sent(Some(WriteId(line)));
        }
        assert_eq!(w.acknowledge(Some(WriteId(1))), Some(Acked::OutOfOrder));
        assert_eq!(w.head_ack(), 0);
        assert_eq!(w.acknowledge(Some(WriteId(0))), Some(Acked::Advanced));
        assert_eq!(w.head_ack(), 2);
        assert_eq!(w.acknowledge(Some(WriteId(7))), None);
        assert_eq!(w.acknowledge(Some(WriteId(2))), Some(Acked::Advanced));
        assert!(w.is_empty());
    }

    #[test]
    fn a_sent_entry_holds_its_place_until_it_is_acknowledged() {
        let mut w = Wcb::new(2, None);
        push(&mut w, 1).unwrap();
        push(&mut w, 2).unwrap();
        w.sent(Some(WriteId(1)));
        assert_eq!(push(&mut w, 3), Err(Cause::WcbFull));
        w.acknowledge(Some(WriteId(1)));
        assert_eq!(push(&mut w, 3), Ok(Placed::Allocated));
    }

    #[test]
    fn pointers_of_any_width_reset_after_as_many_uses_as_their_wrap_bits_count() {
        for (entries, bits, uses) in [(16, 4, 1), (16, 6, 4), (16, 8, 16), (16, 10, 64), (1, 2, 4)] {
            let mut w = Wcb::new(entries, Some(bits));
            let numbers = u64::from(entries) * uses;
            for k in 0..numbers {
                assert!(!w.wrapping());
                push(&mut w, k).unwrap();
                w.sent(Some(WriteId(k)));
                let last = k + 1 == numbers;
                assert_eq!(w.wrapping(), last);
                if last {
                    assert_eq!(push(&mut w, 1 << 40), Err(Cause::WcbWrap));
                }
                let expect = if last { Acked::Reset } else { Acked::Advanced };
                assert_eq!(w.acknowledge(Some(WriteId(k))), Some(expect));
            }
            assert_eq!((w.tail(), w.head_ack(), w.generation()), (0, 0, 1));
            assert_eq!((w.allocated(), w.acknowledged()), (numbers, numbers));
        }
    }
    #[test]
    fn pointers_and_entries_that_contradict_one_another_are_named() {
        let used = || {
            let mut w = Wcb::new(4, Some(4));
            for line in 0..3 {
                push(&mut w, line).unwrap();
            }
            w.sent(Some(WriteId(0)));
            w
        };
        assert_eq!(used().unsound(), None);
        let wrong = |breaks: fn(&mut Wcb)| {
            let mut w = used();
            breaks(&mut w);
            w.unsound()
        };
        assert_eq!(wrong(|w| w.head_ack = 2), Some("its pointers"));
        assert_eq!(wrong(|w| w.tail += 2), Some("its pointers"));
        assert_eq!(wrong(|w| w.lines[1] = pm_line(9)), Some("the lines of its entries"));
        let kept = Some("an acknowledged entry that is kept, or was not sent");
        assert_eq!(wrong(|w| w.ring[0].acked = true), kept);
        assert_eq!(wrong(|w| w.ring[2].acked = true), kept);
        let twice = wrong(|w| (w.ring[2].line, w.lines[2]) = (pm_line(1), pm_line(1)));
        assert_eq!(twice, Some("two entries of one line that are not sent"));
    }
}
