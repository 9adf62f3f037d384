//! Writes of the machine that their memory controller has not taken, oldest first.
//!
//! There are mostly a few, but a thread that flushes a large table fills the list with thousands: nothing here goes through all of
//! them for each of them.

use super::notify::Notify;
use crate::seam::Write;
use fencepost_kernel::{LineAddr, LineData, Ps};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A write of the machine's own that its controller has not taken.
#[derive(Clone, Debug)]
pub(super) struct OutgoingWrite {
    pub write: Write,
    pub notify: Notify,
    pub since: Ps,
    /// An older write to its line waits too, and goes first.
    pub behind: bool,
}

/// Such writes, in the order in which they came.
#[derive(Default)]
pub(super) struct WaitingWrites {
    writes: VecDeque<OutgoingWrite>,
    /// How many there are to each line.
    of_line: FxHashMap<LineAddr, u32>,
}

impl WaitingWrites {
    /// How many wait.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.writes.len()
    }
    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &OutgoingWrite> {
        self.writes.iter()
    }
    /// Adds the youngest one.
    pub(super) fn push(&mut self, write: Write, notify: Notify, since: Ps) {
        let of_line = self.of_line.entry(write.line).or_default();
        let behind = *of_line > 0;
        *of_line += 1;
        self.writes.push_back(OutgoingWrite {
            write,
            notify,
            since,
            behind,
        });
    }
    /// Writes to a line carry these bytes now: those that they had were rolled back.
    pub(super) fn restore(&mut self, line: LineAddr, data: &LineData) {
        if self.of_line.contains_key(&line) {
            let writes = self.writes.iter_mut().map(|w| &mut w.write);
            writes.filter(|w| w.line == line).for_each(|w| w.data = *data);
        }
    }
    /// The one at a position.
    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<&OutgoingWrite> {
        self.writes.get(i)
    }
    /// Whether one of them is to this line.
    #[inline]
    pub(super) fn holds(&self, line: LineAddr) -> bool {
        !self.writes.is_empty() && self.of_line.contains_key(&line)
    }
    /// Whether one younger than the one at `i` is to its line.
    pub(super) fn younger_on_line(&self, i: usize) -> bool {
        let line = self.writes[i].write.line;
        self.of_line.get(&line).is_some_and(|n| *n > 1) && self.next_on_line(i + 1, line).is_some()
    }
    /// The youngest one to a line.
    pub(super) fn newest(&mut self, line: LineAddr) -> Option<&mut OutgoingWrite> {
        let found = self.holds(line);
        found.then(|| self.writes.iter_mut().rfind(|w| w.write.line == line))?
    }
    /// Takes out the one at a position; the next one to its line is behind it no longer.
    pub(super) fn remove(&mut self, i: usize) -> Option<OutgoingWrite> {
        let gone = self.writes.remove(i)?;
        let line = gone.write.line;
        let of_line = self.of_line.get_mut(&line)?;
        *of_line -= 1;
        if *of_line == 0 {
            self.of_line.remove(&line);
        } else if let Some(next) = self.next_on_line(i, line) {
            self.writes[next].behind = gone.behind;
        }
        Some(gone)
    }
    /// The first one to a line from a position on.
    fn next_on_line(&self, from: usize, line: LineAddr) -> Option<usize> {
        let next = self.writes.range(from..).position(|w| w.write.line == line);
        next.map(|n| from + n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::{LineData, WriteCause, rng::Stream};

    /// A write that can be told from others by its time.
    fn write(line: u64) -> Write {
        Write {
            line: LineAddr(line),
            data: LineData::default(),
            queue: 0,
            epoch: None,
            cause: WriteCause::Eviction,
            hw_thread: None,
            delay: Ps::ZERO,
        }
    }

    #[test]
    fn each_knows_whether_an_older_one_to_its_line_waits() {
        let mut rng = Stream::new(3, "waiting");
        let mut waiting = WaitingWrites::default();
        let mut plain: Vec<(u64, u64)> = Vec::new();
        for time in 0..4000 {
            if rng.chance(if time < 2000 { 6 } else { 4 }, 10) || plain.is_empty() {
                let line = rng.below(12);
                waiting.push(write(line), Notify::default(), Ps(time));
                plain.push((line, time));
            } else {
                let i = rng.below(plain.len() as u64) as usize;
                let gone = waiting.remove(i).expect("it is there");
                assert_eq!((gone.write.line.0, gone.since.0), plain.remove(i));
            }
            let found: Vec<_> = waiting.iter().map(|w| (w.write.line.0, w.since.0, w.behind)).collect();
            let behind = |i: usize| plain[..i].iter().any(|p| p.0 == plain[i].0);
            let right: Vec<_> = (0..plain.len()).map(|i| (plain[i].0, plain[i].1, behind(i))).collect();
            assert_eq!(found, right);
            for line in 0..12 {
                let newest = plain.iter().rfind(|p| p.0 == line).map(|p| p.1);
                assert_eq!(waiting.newest(LineAddr(line)).map(|w| w.since.0), newest);
                assert_eq!(waiting.holds(LineAddr(line)), newest.is_some());
            }
        }
        assert_eq!(waiting.len(), plain.len());
    }
}
